"""Optimizers of problems with constraints: one player moves the parameters, the other the weights of the constraints.

Each step computes both players' gradients before either of them moves.
"""
from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.train.optimizer import Optimizer
from penstock.variables.initializers import Constant
from penstock.variables.scope import get_variable_scope


class ConstrainedMinimizationProblem(ABC):
    """``tf.contrib.constrained_optimization.ConstrainedMinimizationProblem``: an objective, and constraints that are not to be positive."""

    @property
    @abstractmethod
    def objective(self) -> Any:
        """What is to be minimized: a number."""

    @property
    @abstractmethod
    def constraints(self) -> Any:
        """A vector of what is not to be positive."""

    @property
    def proxy_constraints(self) -> Any:
        """What has gradients in the place of the constraints, if they have none; or None."""
        return None

    @property
    def pre_train_ops(self) -> list[Any]:
        """Operations to run before each step."""
        return []

    @property
    def num_constraints(self) -> int:
        """The number of constraints."""
        shapes = [tf.convert_to_tensor(each).shape for each in (self.constraints, self.proxy_constraints) if each is not None]
        if any(not shape.is_fully_defined() for shape in shapes):
            raise ValueError(f"Constraints (and proxy constraints) need shapes that are fully known, got {shapes}.")
        if len({tuple(shape.as_list()) for shape in shapes}) > 1:
            raise ValueError(f"Constraints and proxy constraints need one shape, got {shapes}.")
        return int(np.prod(shapes[0].as_list()))


class ConstrainedOptimizer:
    """``tf.contrib.constrained_optimization.ConstrainedOptimizer``: the base of all."""

    def __init__(self, optimizer: Optimizer) -> None:
        self._optimizer = optimizer

    @property
    def optimizer(self) -> Optimizer:
        """The optimizer of the parameters."""
        return self._optimizer

    def _minimize_constrained(self, minimization_problem: ConstrainedMinimizationProblem, global_step: Any = None, **arguments: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._minimize_constrained")

    def minimize_constrained(self, minimization_problem: ConstrainedMinimizationProblem, global_step: Any = None, var_list: Any = None,
                             gate_gradients: int = Optimizer.GATE_OP, aggregation_method: Any = None, colocate_gradients_with_ops: bool = False,
                             name: str | None = None, grad_loss: Any = None) -> Any:
        """A step that respects the constraints."""
        with tf.control_dependencies(list(minimization_problem.pre_train_ops)):
            return self._minimize_constrained(minimization_problem, global_step, var_list=var_list, gate_gradients=gate_gradients, name=name,
                                              aggregation_method=aggregation_method, colocate_gradients_with_ops=colocate_gradients_with_ops,
                                              grad_loss=grad_loss)

    def minimize_unconstrained(self, minimization_problem: ConstrainedMinimizationProblem, global_step: Any = None, var_list: Any = None,
                               gate_gradients: int = Optimizer.GATE_OP, aggregation_method: Any = None, colocate_gradients_with_ops: bool = False,
                               name: str | None = None, grad_loss: Any = None) -> Any:
        """A step that does not look at the constraints."""
        with tf.control_dependencies(list(minimization_problem.pre_train_ops)):
            return self._optimizer.minimize(minimization_problem.objective, global_step=global_step, var_list=var_list, gate_gradients=gate_gradients,
                                            aggregation_method=aggregation_method, colocate_gradients_with_ops=colocate_gradients_with_ops,
                                            name=name, grad_loss=grad_loss)

    def minimize(self, minimization_problem: ConstrainedMinimizationProblem, unconstrained_steps: Any = None, global_step: Any = None,
                 var_list: Any = None, gate_gradients: int = Optimizer.GATE_OP, aggregation_method: Any = None,
                 colocate_gradients_with_ops: bool = False, name: str | None = None, grad_loss: Any = None) -> Any:
        """A step; the first ``unconstrained_steps`` do not look at the constraints."""
        arguments = {"global_step": global_step, "var_list": var_list, "gate_gradients": gate_gradients, "aggregation_method": aggregation_method,
                     "colocate_gradients_with_ops": colocate_gradients_with_ops, "name": name, "grad_loss": grad_loss}
        if unconstrained_steps is None:
            return self.minimize_constrained(minimization_problem, **arguments)
        if global_step is None:
            raise ValueError("unconstrained_steps needs a global_step, by which the steps are counted.")
        is_free = tf.convert_to_tensor(global_step) < tf.cast(unconstrained_steps, global_step.dtype.base_dtype)
        return tf.cond(is_free, lambda: self.minimize_unconstrained(minimization_problem, **arguments),
                       lambda: self.minimize_constrained(minimization_problem, **arguments))


class _TwoPlayers(ConstrainedOptimizer):
    """An optimizer with a variable of the second player."""

    _state_name: str

    def __init__(self, optimizer: Optimizer, constraint_optimizer: Optimizer | None) -> None:
        super().__init__(optimizer)
        self._constraint_optimizer = optimizer if constraint_optimizer is None else constraint_optimizer

    @abstractmethod
    def _initial_state(self, num_constraints: int) -> np.ndarray:
        """The first value of the variable."""

    @abstractmethod
    def _weights(self, state: Any) -> tuple[Any, Any]:
        """(weight of the objective, weights of the constraints)."""

    @abstractmethod
    def _reward(self, state: Any, constraints: Any) -> Any:
        """What the second player goes along, of the form of its variable."""

    @abstractmethod
    def _project(self, state: Any) -> Any:
        """The nearest value that is allowed."""

    def _minimize_constrained(self, minimization_problem: ConstrainedMinimizationProblem, global_step: Any = None, **arguments: Any) -> Any:
        count = minimization_problem.num_constraints
        objective = tf.convert_to_tensor(minimization_problem.objective)
        dtype = objective.dtype.base_dtype
        with tf.variable_scope(get_variable_scope(), use_resource=True):
            first = self._initial_state(count)
            variable = tf.get_variable(self._state_name, first.shape, dtype, Constant(first), trainable=False)
        state = tf.identity(variable)
        constraints = tf.reshape(minimization_problem.constraints, [count])
        proxies = minimization_problem.proxy_constraints
        proxies = constraints if proxies is None else tf.reshape(proxies, [count])
        share, weights = self._weights(state)
        loss = share * objective + tf.reduce_sum(tf.stop_gradient(weights) * proxies)
        name, grad_loss = arguments.pop("name"), arguments.pop("grad_loss")
        gradients = self._optimizer.compute_gradients(loss, grad_loss=grad_loss, **arguments)
        reward = self._reward(state, tf.stop_gradient(constraints))
        computed = [gradient for gradient, _ in gradients if gradient is not None]
        with tf.control_dependencies([*(getattr(each, "values", each) for each in computed), reward]):
            moved = self._optimizer.apply_gradients(gradients, global_step=global_step, name=name)
            risen = self._constraint_optimizer.apply_gradients([(-reward, variable)])
        with tf.control_dependencies([risen]):
            projected = tf.assign(variable, self._project(tf.identity(variable))).op
        return tf.group(moved, projected)


class AdditiveExternalRegretOptimizer(_TwoPlayers):
    """``tf.contrib.constrained_optimization.AdditiveExternalRegretOptimizer``: Lagrange multipliers that follow the violations."""

    _state_name = "external_regret_optimizer_state"

    def __init__(self, optimizer: Optimizer, constraint_optimizer: Optimizer | None = None, maximum_multiplier_radius: float | None = None) -> None:
        super().__init__(optimizer, constraint_optimizer)
        if maximum_multiplier_radius is not None and maximum_multiplier_radius <= 0:
            raise ValueError(f"maximum_multiplier_radius must be strictly positive, got {maximum_multiplier_radius}.")
        self._radius = maximum_multiplier_radius

    def _initial_state(self, num_constraints: int) -> np.ndarray:
        return np.zeros([num_constraints])

    def _weights(self, state: Any) -> tuple[Any, Any]:
        return 1.0, state

    def _reward(self, state: Any, constraints: Any) -> Any:
        return constraints

    def _project(self, state: Any) -> Any:
        positive = tf.maximum(state, 0.0)
        if self._radius is None:
            return positive
        return tf.where_v2(tf.reduce_sum(positive) > self._radius, on_simplex(state[:, None], self._radius)[:, 0], positive)


class _SwapRegretOptimizer(_TwoPlayers):
    """The second player has a matrix whose columns are distributions; the weights are what it leaves in place."""

    _state_name = "swap_regret_optimizer_state"

    @abstractmethod
    def _matrix(self, state: Any) -> Any:
        """The stochastic matrix."""

    def _distribution(self, state: Any) -> Any:
        matrix = self._matrix(state)
        size = matrix.shape[0].value
        first = tf.one_hot([0], size, dtype=matrix.dtype)
        # What is left in place, with the sum 1 in the place of one equation, which the others imply.
        system = tf.concat([tf.ones_like(matrix[:1]), (matrix - tf.eye(size, dtype=matrix.dtype))[1:]], 0)
        return tf.stop_gradient(tf.matrix_solve(system, tf.transpose(first))[:, 0])

    def _weights(self, state: Any) -> tuple[Any, Any]:
        distribution = self._distribution(state)
        return distribution[0], distribution[1:]

    def _reward(self, state: Any, constraints: Any) -> Any:
        return tf.concat([tf.zeros_like(constraints[:1]), constraints], 0)[:, None] * self._distribution(state)[None]


class AdditiveSwapRegretOptimizer(_SwapRegretOptimizer):
    """``tf.contrib.constrained_optimization.AdditiveSwapRegretOptimizer``: a matrix that follows the violations."""

    def __init__(self, optimizer: Optimizer, constraint_optimizer: Optimizer | None = None) -> None:
        super().__init__(optimizer, constraint_optimizer)

    def _initial_state(self, num_constraints: int) -> np.ndarray:
        state = np.zeros([num_constraints + 1] * 2)
        state[0] = 1.0
        return state

    def _matrix(self, state: Any) -> Any:
        return state

    def _project(self, state: Any) -> Any:
        return on_simplex(state, 1.0)


class MultiplicativeSwapRegretOptimizer(_SwapRegretOptimizer):
    """``tf.contrib.constrained_optimization.MultiplicativeSwapRegretOptimizer``: the logarithms of a matrix follow the violations."""

    def __init__(self, optimizer: Optimizer, constraint_optimizer: Optimizer | None = None, minimum_multiplier_radius: float = 1e-3,
                 initial_multiplier_radius: float | None = None) -> None:
        super().__init__(optimizer, constraint_optimizer)
        if not 0 < minimum_multiplier_radius < 1:
            raise ValueError(f"minimum_multiplier_radius must be in the range (0,1), got {minimum_multiplier_radius}.")
        initial = minimum_multiplier_radius if initial_multiplier_radius is None else initial_multiplier_radius
        if not minimum_multiplier_radius <= initial < 1:
            raise ValueError(f"initial_multiplier_radius must be in the range [minimum_multiplier_radius,1), got {initial}.")
        self._minimum, self._initial = minimum_multiplier_radius, initial

    def _initial_state(self, num_constraints: int) -> np.ndarray:
        size = num_constraints + 1
        matrix = np.full([size, size], self._initial / size)
        matrix[0] += 1 - self._initial
        return np.log(matrix)

    def _matrix(self, state: Any) -> Any:
        return tf.exp(state)

    def _project(self, state: Any) -> Any:
        normal = state - tf.reduce_logsumexp(state, axis=0, keepdims=True)
        return tf.maximum(normal, math.log(self._minimum / state.shape[0].value))


def on_simplex(columns: Any, radius: float) -> Any:
    """The nearest column whose elements are not negative and have the sum ``radius``, for each column."""
    size = columns.shape[0].value
    ordered = tf.transpose(tf.top_k(tf.transpose(columns), size)[0])
    counts = tf.range(1, size + 1, dtype=columns.dtype)[:, None]
    shifts = (tf.cumsum(ordered) - radius) / counts
    count = tf.reduce_sum(tf.cast(ordered > shifts, tf.int32), 0)
    shift = tf.reduce_sum(shifts * tf.one_hot(count - 1, size, dtype=columns.dtype, axis=0), 0, keepdims=True)
    return tf.maximum(columns - shift, 0.0)
