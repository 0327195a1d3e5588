"""Conditionals and loops as operations on functions, which are FuncGraphs held in attributes: If and While."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import OpError
from penstock.graph import dtypes as dt
from penstock.graph.attrs import FUNC, SHAPE, TYPE, Attr
from penstock.graph.function import FuncGraph
from penstock.graph.node import Operation, Tensor
from penstock.graph.opdef import op
from penstock.state.resources import dereference

SHAPES = Attr("list(shape)", ())
TYPES = Attr("list(type)")


@op("_FuncInput", "-> output: T", T=TYPE, shape=SHAPE, is_ref=False)
class FuncInput:
    """An argument of a function."""

    stateful = True  # its value comes from the caller

    def shape(shape):
        return shape

    gradient = None


def by_value(parameters: list[Tensor], values: Any) -> list[Any]:
    """Arguments for a function: references are read where it takes a value."""
    return [value if tensor.dtype.is_ref or tensor.dtype is dt.resource else dereference(value) for tensor, value in zip(parameters, values)]


def _results_by_value(function: FuncGraph, values: Any) -> list[Any]:
    """What a branch gives: a value where it ends in a reference (that of an assignment), since nothing that follows expects one."""
    return [value if tensor.dtype.base_dtype is dt.resource else dereference(value) for tensor, value in zip(function.outputs, values)]


def _check_functions(*functions: Any) -> None:
    for function in functions:
        if not isinstance(function, FuncGraph):
            raise ValueError(f"the function {function!r} cannot be called: {getattr(function, 'reason', 'it is not part of the graph')}")


def _check_signature(function: FuncGraph, what: str, inputs: Any, outputs: Any) -> None:
    """ValueError unless the function takes and returns tensors of these types."""
    for kind, tensors, wanted in (("takes", function.inputs, inputs), ("returns", function.outputs, outputs)):
        given = [tensor.dtype.base_dtype for tensor in tensors]
        if wanted is not None and given != [dtype.base_dtype for dtype in wanted]:
            raise ValueError(f"{what} '{function.name}' {kind} {[dtype.name for dtype in given]}, expected {[dtype.name for dtype in wanted]}")


def is_true(value: Any) -> bool:
    """A condition: a bool, a number that is not zero, a string that is not empty, or an array with elements; perhaps that of a variable."""
    array = np.asarray(dereference(value))
    return bool(array.size) if array.ndim else bool(array[()])


def in_iteration(error: OpError, iteration: int, name: str, loop: Operation | None) -> OpError:
    """The error of a loop's body, which says where in the loop it happened."""
    made_at = loop.origin if loop is not None and loop.origin else "an unknown place"
    described = type(error)(None, error.op, f"{error.message}\n  in iteration {iteration} of the loop '{name}', made at {made_at}")
    described.__cause__ = error.__cause__
    return described


_IF = "cond: Tcond, input: Tin -> output: Tout"
_WHILE = "input: T -> output: T"
_BRANCHES = {"Tcond": TYPE, "Tin": TYPES, "Tout": TYPES, "then_branch": FUNC, "else_branch": FUNC, "output_shapes": SHAPES}
_LOOP = {"T": TYPES, "cond": FUNC, "body": FUNC, "output_shapes": SHAPES, "parallel_iterations": 10}


class _Branching:
    passes_references = sees_unused = True
    captures = "Tin"
    host_memory = ("cond",)

    def shape(then_branch, else_branch, Tin, Tout):
        _check_functions(then_branch, else_branch)
        _check_signature(then_branch, "then_branch", Tin, Tout)
        _check_signature(else_branch, "else_branch", Tin, Tout)
        return [one.shape.most_specific_compatible_shape(other.shape) for one, other in zip(then_branch.outputs, else_branch.outputs)]

    def branch(attributes, cond):
        return attributes["then_branch" if is_true(cond) else "else_branch"]

    def kernel(ctx, cond, input, then_branch, else_branch):
        branch = then_branch if is_true(cond) else else_branch
        return _results_by_value(branch, ctx.call(branch, by_value(branch.inputs, input)))

    def native(emit):  # (which knows its inputs: they may differ between the branches)
        return emit.flow.branch()

    def gradient(op, *dys):
        from penstock.function_gradients import if_gradient  # differentiation stands above the ops
        return if_gradient(op, dys)


class _Looping:
    passes_references = repeats = sees_unused = True
    captures = "T"

    def shape(output_shapes, cond, body, T):
        _check_functions(cond, body)
        _check_signature(body, "body", T, T)
        _check_signature(cond, "cond", T, None)
        if len(cond.outputs) != 1:
            raise ValueError(f"cond '{cond.name}' returns {len(cond.outputs)} values instead of one condition")
        return output_shapes

    def kernel(ctx, input, cond, body):
        values = by_value(body.inputs, input)
        iteration = 0
        try:
            while is_true(ctx.on_host(ctx.call(cond, values)[0], cond.outputs[0].dtype)):
                values = by_value(body.inputs, ctx.call(body, values))  # variables that it uses stay references
                iteration += 1
        except OpError as error:
            raise in_iteration(error, iteration, ctx.node.name, ctx.op) from error.__cause__
        return [*values, *input[len(values):]]  # (generators that the compiler has added)

    def native(emit, input):
        return emit.flow.loop(input)

    def gradient(op, *dys):
        from penstock.function_gradients import while_gradient  # differentiation stands above the ops
        return while_gradient(op, dys)


@op("If", _IF, **_BRANCHES)
class If(_Branching):
    """Runs one of two functions. What the other one would do does not happen."""

    stateful = True


@op("While", _WHILE, **_LOOP)
class While(_Looping):
    """Runs a function on its own results as long as another one says so."""

    stateful = True


@op("StatelessIf", _IF, **_BRANCHES)
class StatelessIf(_Branching):
    """If, as TensorFlow 2 writes it where it knows that the functions have no effects."""


@op("StatelessWhile", _WHILE, **_LOOP)
class StatelessWhile(_Looping):
    """While, as TensorFlow 2 writes it where it knows that the functions have no effects."""
