"""Optimizers outside of the graph: all variables as one vector, its loss and gradient as a function that SciPy minimizes."""
from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize

from penstock.contrib import prelude as tf
from penstock.graph.stacks import default_session
from penstock.platform import logging

Evaluation = Callable[[np.ndarray], list[Any]]


class ExternalOptimizerInterface:
    """``tf.contrib.opt.ExternalOptimizerInterface``: a subclass says in ``_minimize`` how a function of one vector is minimized."""

    def __init__(self, loss: Any, var_list: Any = None, equalities: Any = None, inequalities: Any = None, var_to_bounds: Any = None,
                 **optimizer_kwargs: Any) -> None:
        self._loss, self._equalities, self._inequalities = loss, equalities or [], inequalities or []
        self._vars = tf.trainable_variables() if var_list is None else list(var_list)
        self._packed_bounds = None if var_to_bounds is None else self._pack_bounds(var_to_bounds)
        self._update_placeholders = [tf.placeholder(var.dtype.base_dtype) for var in self._vars]
        self._var_updates = [var.assign(tf.reshape(placeholder, var.shape.as_list()))
                             for var, placeholder in zip(self._vars, self._update_placeholders)]
        self.optimizer_kwargs = optimizer_kwargs
        self._packed_var = self._pack(self._vars)
        self._packed_loss_grad = self._packed_gradient(loss)
        self._packed_equality_grads = [self._packed_gradient(each) for each in self._equalities]
        self._packed_inequality_grads = [self._packed_gradient(each) for each in self._inequalities]
        ends = np.cumsum([0, *(var.shape.num_elements() for var in self._vars)]).tolist()
        self._packing_slices = [slice(start, end) for start, end in itertools.pairwise(ends)]

    def _pack_bounds(self, var_to_bounds: dict[Any, Any]) -> list[tuple[float, float]]:
        packed: list[tuple[float, float]] = []
        for var in self._vars:
            low, high = (np.broadcast_to(bound, var.shape.as_list()).ravel() for bound in var_to_bounds.get(var, (-np.inf, np.inf)))
            packed += list(zip(low, high))
        return packed

    def _packed_gradient(self, tensor: Any) -> tf.Tensor:
        gradients = tf.gradients(tensor, self._vars)
        return self._pack([tf.zeros_like(var) if gradient is None else gradient for var, gradient in zip(self._vars, gradients)])

    @staticmethod
    def _pack(tensors: list[Any]) -> Any:
        flat = [tf.reshape(tensor, [-1]) for tensor in tensors]
        return None if not flat else flat[0] if len(flat) == 1 else tf.concat(flat, 0)

    def minimize(self, session: Any = None, feed_dict: Any = None, fetches: Any = None, step_callback: Any = None, loss_callback: Any = None,
                 **run_kwargs: Any) -> None:
        """Minimizes the loss and leaves the best point in the variables.

        ``loss_callback`` gets the values of ``fetches`` at each evaluation of the loss, ``step_callback`` the vector after each step.
        """
        session = session or default_session()
        feed_dict, fetches = feed_dict or {}, fetches or []

        def evaluations(tensors: list[Any]) -> list[Evaluation]:
            return [self._evaluation([tensor], session, feed_dict, fetches) for tensor in tensors]

        best = self._minimize(
            initial_val=session.run(self._packed_var),
            loss_grad_func=self._evaluation([self._loss, self._packed_loss_grad], session, feed_dict, fetches, loss_callback),
            equality_funcs=evaluations(self._equalities), equality_grad_funcs=evaluations(self._packed_equality_grads),
            inequality_funcs=evaluations(self._inequalities), inequality_grad_funcs=evaluations(self._packed_inequality_grads),
            packed_bounds=self._packed_bounds, step_callback=step_callback or (lambda xk: None), optimizer_kwargs=self.optimizer_kwargs)
        values = [best[part] for part in self._packing_slices]
        session.run(self._var_updates, feed_dict=dict(zip(self._update_placeholders, values)), **run_kwargs)

    def _evaluation(self, tensors: list[Any], session: Any, feed_dict: Any, fetches: list[Any], callback: Any = None) -> Evaluation:
        """The values of tensors as a function of the vector."""
        def evaluate(x: np.ndarray) -> list[Any]:
            point = {var: x[part].reshape(var.shape.as_list()) for var, part in zip(self._vars, self._packing_slices)}
            values = session.run([*tensors, *fetches], feed_dict={**point, **feed_dict})
            if callable(callback):
                callback(*values[len(tensors):])
            return values[:len(tensors)]

        return evaluate

    def _minimize(self, initial_val: Any, loss_grad_func: Any, equality_funcs: Any, equality_grad_funcs: Any, inequality_funcs: Any,
                  inequality_grad_funcs: Any, packed_bounds: Any, step_callback: Any, optimizer_kwargs: Any) -> Any:
        raise NotImplementedError("To use ExternalOptimizerInterface, subclass from it and implement the _minimize() method.")


class ScipyOptimizerInterface(ExternalOptimizerInterface):
    """``tf.contrib.opt.ScipyOptimizerInterface``: ``scipy.optimize.minimize``, by L-BFGS-B unless ``method`` says otherwise."""

    _DEFAULT_METHOD = "L-BFGS-B"

    def _minimize(self, initial_val: Any, loss_grad_func: Any, equality_funcs: Any, equality_grad_funcs: Any, inequality_funcs: Any,
                  inequality_grad_funcs: Any, packed_bounds: Any, step_callback: Any, optimizer_kwargs: Any) -> Any:
        def loss_and_gradient(x: np.ndarray) -> tuple[Any, np.ndarray]:
            loss, gradient = loss_grad_func(x)
            return float(loss), gradient.astype(np.float64)

        options = dict(optimizer_kwargs)
        arguments = {"jac": True, "callback": step_callback, "method": options.pop("method", self._DEFAULT_METHOD), "bounds": packed_bounds,
                     "constraints": [*_constraints("eq", equality_funcs, equality_grad_funcs),
                                     *_constraints("ineq", inequality_funcs, inequality_grad_funcs)]}
        for name in arguments:
            if name in options:
                raise ValueError("Bounds must be set using the var_to_bounds argument" if name == "bounds" else
                                 f"Optimizer keyword arg '{name}' is set automatically and cannot be injected manually")
        result = scipy.optimize.minimize(loss_and_gradient, np.asarray(initial_val, np.float64), **arguments, **options)
        counts = [f"\n  Number of {what}: {result[key]}" for key, what in (("nit", "iterations"), ("nfev", "functions evaluations"))
                  if key in result]
        logging.info("Optimization terminated with:\n  Message: %s\n  Objective function value: %f%s", result.message, result.fun, "".join(counts))
        return result["x"]


def _constraints(kind: str, functions: list[Evaluation], gradients: list[Evaluation]) -> list[dict[str, Any]]:
    def as_doubles(evaluation: Evaluation) -> Callable[[np.ndarray], np.ndarray]:
        return lambda x: np.asarray(evaluation(x)[0], np.float64)

    return [{"type": kind, "fun": as_doubles(function), "jac": as_doubles(gradient)} for function, gradient in zip(functions, gradients)]
