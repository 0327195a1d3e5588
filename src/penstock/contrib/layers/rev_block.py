"""Layers that give memory back: reversible blocks, whose inputs are computed again of their outputs, and functions that are computed twice.

Both are functions with a gradient of their own (``tf.custom_gradient``), so their variables are resource variables.
"""
from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any

from penstock.contrib.framework.arg_scope import arg_scope, current_arg_scope
from penstock.custom_gradient import custom_gradient
from penstock.gradients import gradients
from penstock.graph import nest
from penstock.graph.node import Tensor
from penstock.graph.scopes import control_dependencies
from penstock.layers.scoped import Layer
from penstock.ops.array.passing import stop_gradient
from penstock.ops.constant import identity
from penstock.ops.flow.misc import tuple_
from penstock.ops.math.add_n import add_n
from penstock.variables.scope import get_variable_scope, variable_scope

_USE_DEFAULT = "__rev_block_lib_default"
_LAYER = re.compile(r".*revlayer_([0-9]*)/([fg])/.*")


def _call(function: Callable[..., Any], x: Any, side: Sequence[Any]) -> Any:
    return function(x, list(side)) if side else function(x)


def _sums(*lists: Sequence[Any]) -> list[Any]:
    """Gradients of several uses, added; None where there are none."""
    result = []
    for each in zip(*lists):
        present = [gradient for gradient in each if gradient is not None]
        result.append(add_n(present) if present else None)
    return result


def _in_scope(function: Callable[..., Any], scope: str) -> Callable[..., Any]:
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with variable_scope(scope, use_resource=True):
            return function(*args, **kwargs)
    return wrapped


class RevBlock(Layer):
    """``y1 = x1 + f(x2)``, ``y2 = x2 + g(y1)``, several times. The gradient computes x1 and x2 again, so no step keeps them."""

    def __init__(self, f: Any, g: Any, num_layers: int = 1, f_side_input: Any = None, g_side_input: Any = None,
                 use_efficient_backprop: bool = True, name: str = "revblock", **kwargs: Any) -> None:
        super().__init__(name=name, **kwargs)
        functions = []
        for what, given in (("f", f), ("g", g)):
            listed = given if isinstance(given, list) else [given] * num_layers
            if len(listed) != num_layers:
                raise ValueError(f"RevBlock has {num_layers} layers, but {what} is a list of {len(listed)} functions.")
            functions.append([_in_scope(function, f"revlayer_{index}/{what}") for index, function in enumerate(listed)])
        self.f, self.g = functions
        self.num_layers = num_layers
        self.f_side_input, self.g_side_input = list(f_side_input or []), list(g_side_input or [])
        self._use_efficient_backprop = use_efficient_backprop

    def build(self, _: Any) -> None:
        """Nothing: variables are made by the first call."""
        self.built = True

    def call(self, inputs: Any, forward: bool = True) -> Any:
        """(y1, y2) of (x1, x2), or the other way round."""
        scope = get_variable_scope()
        known = {id(variable) for variable in scope.global_variables()}
        outputs = self._forward(*inputs) if forward else self._backward(*inputs)
        trained = {id(variable) for variable in scope.trainable_variables()}
        for variable in scope.global_variables():
            if id(variable) not in known:
                (self._trainable_weights if id(variable) in trained else self._non_trainable_weights).append(variable)
        return outputs

    def forward(self, x1: Any, x2: Any) -> Any:
        """(y1, y2)."""
        return self.apply([x1, x2])

    def backward(self, y1: Any, y2: Any) -> Any:
        """(x1, x2) of what ``forward`` gave."""
        return self.apply([y1, y2], forward=False)

    def _forward(self, x1: Any, x2: Any) -> tuple[Any, Any]:
        sides = [self.f_side_input, self.g_side_input]

        def run(x1: Any, x2: Any, *flat: Any) -> Any:
            f_side, g_side = nest.pack_sequence_as(sides, flat)
            for f, g in zip(self.f, self.g):
                y1 = x1 + _call(f, x2, f_side)
                y2 = x2 + _call(g, y1, g_side)
                x1, x2 = tuple_([y1, y2]) if self._use_efficient_backprop else (y1, y2)
            return x1, x2

        @custom_gradient
        def with_gradient(*args: Any) -> Any:
            outputs = run(*args)
            return tuple(outputs), self._gradient(args[2:], outputs)

        flat_sides = nest.flatten(sides)
        return with_gradient(x1, x2, *flat_sides) if self._use_efficient_backprop else run(x1, x2, *flat_sides)

    def _backward(self, y1: Any, y2: Any) -> tuple[Any, Any]:
        for f, g in zip(reversed(self.f), reversed(self.g)):
            x2 = y2 - _call(g, y1, self.g_side_input)
            y1, y2 = y1 - _call(f, x2, self.f_side_input), x2
        return y1, y2

    def _gradient(self, sides: Sequence[Any], outputs: Any) -> Callable[..., Any]:
        """The gradient function of a call with these side inputs and outputs."""
        f_count = len(self.f_side_input)

        def grad_fn(*grad_ys: Any, variables: Sequence[Any] = ()) -> Any:
            owned: dict[tuple[int, str], list[Any]] = {}
            for variable in variables:
                match = _LAYER.match(variable.name)
                if match is None:
                    raise ValueError(f"The variable {variable.name} was not made by f or g of this block, so it has no gradient here.")
                owned.setdefault((int(match.group(1)), match.group(2)), []).append(variable)
            ys, grads, by_variable = tuple(outputs), tuple(grad_ys), {}
            f_sides, g_sides = [[None] * f_count], [[None] * (len(sides) - f_count)]
            with variable_scope(self.scope_name, reuse=True):
                for layer in reversed(range(self.num_layers)):
                    f_vars, g_vars = owned.get((layer, "f"), []), owned.get((layer, "g"), [])
                    ys, grads, of_f, of_g = _layer_gradient(ys, grads, self.f[layer], self.g[layer], f_vars, sides[:f_count], g_vars,
                                                            sides[f_count:])
                    by_variable.update({id(variable): each for variable, each in zip([*f_vars, *g_vars], [*of_f[:len(f_vars)], *of_g[:len(g_vars)]])})
                    f_sides.append(of_f[len(f_vars):])
                    g_sides.append(of_g[len(g_vars):])
            of_inputs = [*grads, *_sums(*f_sides), *_sums(*g_sides)]
            return (of_inputs, [by_variable[id(variable)] for variable in variables]) if variables else of_inputs
        return grad_fn


def _layer_gradient(ys: Any, grad_ys: Any, f: Any, g: Any, f_vars: list[Any], f_side: Any, g_vars: list[Any], g_side: Any) -> Any:
    """((x1, x2), (their gradients), gradients of f's variables and side inputs, those of g's), of one layer."""
    (y1, y2), (grad_y1, grad_y2) = ys, grad_ys
    y1_stop, g_side = stop_gradient(y1), [stop_gradient(each) for each in g_side]
    g_of_y1 = _call(g, y1_stop, g_side)
    x2 = y2 - g_of_y1
    x2_stop, f_side = stop_gradient(x2), [stop_gradient(each) for each in f_side]
    f_of_x2 = _call(f, x2_stop, f_side)
    x1 = y1 - f_of_x2
    through_g, *of_g = gradients(g_of_y1, [y1_stop, *g_vars, *g_side], grad_y2)
    grad_x1 = _sums([grad_y1], [through_g])[0]
    through_f, *of_f = gradients(f_of_x2, [x2_stop, *f_vars, *f_side], grad_x1)
    grad_x2 = _sums([grad_y2], [through_f])[0]
    result = (x1, x2), (grad_x1, grad_x2), of_f, of_g
    flat = nest.flatten(result)
    gated = iter(tuple_([each for each in flat if each is not None]))
    return nest.pack_sequence_as(result, [None if each is None else next(gated) for each in flat])


def rev_block(x1: Any, x2: Any, f: Any, g: Any, num_layers: int = 1, f_side_input: Any = None, g_side_input: Any = None,
              is_training: bool = True) -> Any:
    """A new RevBlock, called on ``x1`` and ``x2``."""
    block = RevBlock(f=f, g=g, num_layers=num_layers, f_side_input=f_side_input, g_side_input=g_side_input, use_efficient_backprop=is_training,
                     _reuse=get_variable_scope().reuse)
    return block.forward(x1, x2)


# --- functions that are computed twice -------------------------------------------------------------------------------

def recompute_grad(fn: Any = None, use_data_dep: Any = _USE_DEFAULT, tupleize_grads: bool = False) -> Any:
    """A decorator: the function is computed again for its gradient, so that nothing inside it is kept."""
    if fn is None:
        return functools.partial(recompute_grad, use_data_dep=use_data_dep, tupleize_grads=tupleize_grads)
    _check_closure(fn)

    @functools.wraps(fn) if hasattr(fn, "__name__") else (lambda wrapped: wrapped)
    def wrapped(*args: Any) -> Any:
        if not all(isinstance(arg, Tensor) for arg in args):
            raise ValueError("All inputs to function must be Tensors")
        return _recompute(fn, tupleize_grads)(*args)
    return wrapped


def _check_closure(fn: Any) -> None:
    code = getattr(fn, "__code__", None)
    for name, cell in zip(code.co_freevars if code else (), fn.__closure__ or () if code else ()):
        value = cell.cell_contents
        if isinstance(value, Tensor) or hasattr(value, "initialized_value"):
            raise ValueError(f"fn decorated with @recompute_grad closes over Tensor {value.name} (local variable name: {name}). The decorated fn "
                             "must not close over Tensors or Variables because gradients will NOT be computed for them through fn. To ensure "
                             "correct gradients, make the Tensor an input to fn.")


def _recompute(fn: Any, gate: bool) -> Callable[..., Any]:
    says_so = "is_recomputing" in inspect.signature(fn).parameters
    scope, arguments = get_variable_scope(), current_arg_scope()

    @custom_gradient
    def twice(*args: Any) -> Any:
        def grad_fn(*grads: Any, variables: Sequence[Any] = ()) -> Any:
            inputs = [identity(arg) for arg in args]
            with control_dependencies([each for each in grads if each is not None]), arg_scope(arguments), variable_scope(scope, reuse=True):
                outputs = fn(*inputs, **({"is_recomputing": True} if says_so else {}))
            grads_of_all = gradients(list(outputs) if isinstance(outputs, (list, tuple)) else [outputs], [*inputs, *variables], list(grads))
            if gate:
                grads_of_all = tuple_(grads_of_all)
            return (grads_of_all[:len(inputs)], grads_of_all[len(inputs):]) if variables else grads_of_all

        return fn(*args, **({"is_recomputing": False} if says_so else {})), grad_fn
    return twice
