"""Calls of the functions of a graph's library.

A call is expanded where a step is planned: the operations of its function run in its place (``program/ir.py``), so that they are placed, fused and
spread over tasks as all others are. A call stays one node if its function says so (``noinline``).
"""
from __future__ import annotations

from typing import Any

from penstock.errors import InvalidArgumentError, KernelError, NotFoundError, invalid_argument
from penstock.graph.attrs import FUNC, type_list
from penstock.graph.device import DeviceSpec
from penstock.graph.function import FuncGraph
from penstock.graph.opdef import op
from penstock.ops.flow.functional import by_value


def _defined_function(f: Any) -> FuncGraph:
    """The function itself; KernelError if the graph has none of its name."""
    if not isinstance(f, FuncGraph):
        raise KernelError(NotFoundError, f"Function {f} is not defined: {getattr(f, 'reason', 'it is not in the library of the graph')}")
    return f


def _expansion(attributes: dict[str, Any]) -> FuncGraph | None:
    function = attributes["f"]
    stays = not isinstance(function, FuncGraph) or (function.signature is not None and function.signature.stays_call)
    return None if stays else function


class _Call:
    stateful = True  # the function may be
    passes_references = True
    expands = staticmethod(_expansion)

    def shape(f, Tout):
        return [tensor.shape for tensor in f.outputs] if isinstance(f, FuncGraph) else [None] * len(Tout)

    def kernel(ctx, args, f):
        function = _defined_function(f)
        return tuple(ctx.call(function, by_value(function.inputs, args)))

    def gradient(op, *dys):
        from penstock.call_gradients import call_gradient  # differentiation stands above the ops
        return call_gradient(op, dys)


_TYPES = {"Tin": type_list(), "Tout": type_list(), "f": FUNC}
_OPTIONS = {"config": "", "config_proto": "", "executor_type": ""}


@op("PartitionedCall", "args: Tin -> output: Tout", **_TYPES, **_OPTIONS)
class PartitionedCall(_Call):
    """What a function gives, whose operations may run on several devices. The options of its executor are not needed."""


@op("StatefulPartitionedCall", "args: Tin -> output: Tout", **_TYPES, **_OPTIONS)
class StatefulPartitionedCall(_Call):
    """What a function with effects gives."""


@op("_CallNamed", "args: Tin -> output: Tout", **_TYPES)
class CallNamed(_Call):
    """A call by the name of the function, which is the type of the node: see ``graph/function_calls.py``."""

    def gradient(op, *dys):
        from penstock.call_gradients import named_call_gradient  # differentiation stands above the ops
        return named_call_gradient(op, dys)


def _backward(attributes: dict[str, Any]) -> FuncGraph | None:
    function = attributes["f"]
    return backward_function(function, len(attributes["Tout"])) if isinstance(function, FuncGraph) else None


def backward_function(function: FuncGraph, results: int) -> FuncGraph:
    """The gradient of a function: a function of its inputs and the gradients of its outputs. InvalidArgumentError unless it gives ``results``."""
    from penstock.call_gradients import symbolic_gradient  # differentiation stands above the ops
    given = None if function.signature is None else function.signature.gradient
    backward = symbolic_gradient(function) if given is None else given
    if len(backward.outputs) != results:
        raise InvalidArgumentError(None, None, f"SymGrad expects to return {results} tensor(s) but get {len(backward.outputs)} tensor(s) instead.")
    return backward


@op("SymbolicGradient", "input: Tin -> output: Tout", Tin=type_list(1), Tout=type_list(1), f=FUNC)
class SymbolicGradient:
    """The gradients of a function's inputs, given those and the gradients of its outputs. The function is computed again."""

    passes_references = True
    expands = staticmethod(_backward)

    def shape(input, Tout):
        if len(Tout) > len(input):
            raise ValueError(f"SymbolicGradient returns {len(Tout)} gradients, and has {len(input)} inputs")
        return [tensor.shape for tensor in input[:len(Tout)]]

    def kernel(ctx, input, f, Tout):
        backward = backward_function(_defined_function(f), len(Tout))
        return tuple(ctx.call(backward, by_value(backward.inputs, input)))

    def gradient(op, *dys):
        from penstock.call_gradients import gradient_of_gradient  # differentiation stands above the ops
        return gradient_of_gradient(op, dys)


@op("RemoteCall", "target: string, args: Tin -> output: Tout", Tin=type_list(1), Tout=type_list(1), f=FUNC)
class RemoteCall(_Call):
    """What a function gives on a device that the step names, of this task or another one."""

    ranks = {"target": 0}
    blocking = cancellable = True
    expands = None

    def gradient(op, *dys):
        raise LookupError(f"No gradient defined for operation '{op.name}' (op type: {op.type})")  # TensorFlow has none either

    def shape(Tout):
        return [None] * len(Tout)

    def kernel(ctx, target, args, f):
        function, name = _defined_function(f), target.item().decode()
        here = DeviceSpec.from_string(ctx.device)
        try:
            there = here.make_merged_spec(DeviceSpec.from_string(name))
        except ValueError:
            raise invalid_argument(f"Could not parse {name} into a device specification.") from None
        return tuple(ctx.call_at(there.to_string(), function, by_value(function.inputs, args)))
