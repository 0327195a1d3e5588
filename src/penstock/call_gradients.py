"""The gradients of calls of functions: a call of a backward function, or a SymbolicGradient, which computes the function again."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.backward import Backward
from penstock.function_gradients import add_output, as_dense, is_differentiable, zeros_for
from penstock.gradients import gradients
from penstock.graph import dtypes
from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import DType
from penstock.graph.function import FuncGraph, FunctionSignature
from penstock.graph.function_copy import add_copy
from penstock.graph.node import Operation, Tensor
from penstock.ops.array.fill import zeros_like
from penstock.ops.flow.function_call import SymbolicGradient, backward_function


def symbolic_gradient(function: FuncGraph) -> FuncGraph:
    """The gradient of a function, as a function of its inputs and of the gradients of its outputs: it computes the function again.

    It is made once. What has no gradient gets zeros.
    """
    known: FuncGraph | None = function._backward
    if known is None:
        known = function._backward = _new_symbolic_gradient(function)
    return known


def _new_symbolic_gradient(function: FuncGraph) -> FuncGraph:
    graph = FuncGraph(f"{function.name}_grad", function.outer)
    graph._names, graph._collections = {}, {}  # it may be made while steps run: nothing of the graph around it changes
    graph._name_stack = graph.scope = f"{function.scope}_grad"
    with graph.as_default(), graph.control_dependencies(None):
        xs = [_like(graph, tensor, f"x_{index}") for index, tensor in enumerate(function.inputs)]
        dys = [_like(graph, tensor, f"dy_{index}") for index, tensor in enumerate(function.outputs)]
        inside = add_copy(function, graph, xs)
        pairs = [(inside[y], dy) for y, dy in zip(function.outputs, dys) if is_differentiable(y)]
        sources = [x for x in xs if is_differentiable(x)]
        grads = _gradients_by_source(pairs, sources)
        graph.outputs = [graph.capture(to_tensor(as_dense(grads[x])) if x in grads else zeros_for(x)) for x in xs]
    graph.signature = FunctionSignature([tensor.op.name.rpartition("/")[2] for tensor in (*xs, *dys)], [f"dx_{index}" for index in range(len(xs))])
    return graph


def _gradients_by_source(pairs: list[tuple[Tensor, Tensor]], sources: list[Tensor]) -> dict[Tensor, Any]:
    """The gradients of outputs, each paired with its own gradient, of the sources that they depend on."""
    if not pairs or not sources:
        return {}
    grads = gradients([y for y, _ in pairs], sources, [dy for _, dy in pairs])
    return {x: grad for x, grad in zip(sources, grads) if grad is not None}


def _like(graph: FuncGraph, tensor: Tensor, name: str) -> Tensor:
    argument = graph.add_input(tensor.dtype, tensor.shape, name)
    argument._handle_data = tensor._handle_data
    return argument


def _gradient_dtype(tensor: Tensor) -> DType:
    """The type of a tensor's gradient: that of the variable, for a handle."""
    dtype = tensor.dtype.base_dtype
    return tensor._handle_data[0] if dtype is dtypes.resource and tensor._handle_data is not None else dtype


def _call_backward(op: Operation, function: FuncGraph, dys: Sequence[Any]) -> list[Any]:
    """The gradients of a node's inputs by a SymbolicGradient of ``function``."""
    given = [zeros_like(y) if dy is None else to_tensor(as_dense(dy)) for y, dy in zip(op.outputs, dys)]
    node = SymbolicGradient.node([[*op.inputs, *given]], {"Tout": [_gradient_dtype(tensor) for tensor in op.inputs], "f": function})
    return [dx if is_differentiable(x) else None for x, dx in zip(op.inputs, node.outputs)]


def named_call_gradient(op: Operation, dys: Sequence[Any]) -> Any:
    """The gradients of a call by name: what the function says itself, or a SymbolicGradient."""
    function: FuncGraph = op.attrs["f"]
    if function.signature is not None and function.signature.python_gradient is not None:
        return function.signature.python_gradient(op, *dys)
    return _call_backward(op, function, dys)


def gradient_of_gradient(op: Operation, dys: Sequence[Any]) -> list[Any]:
    """The gradients of a SymbolicGradient: those of the function that it stands for."""
    function = op.attrs["f"]
    if not isinstance(function, FuncGraph):
        raise LookupError(f"The gradient of the function {function} is not known: it is not in the library of the graph.")
    return _call_backward(op, backward_function(function, len(op.outputs)), dys)


def _save_in_call(op: Operation, function: FuncGraph) -> Callable[[Backward, Tensor], Tensor]:
    """Makes a tensor of the function an output of the call, whose function is a view of ``function`` with outputs of its own."""
    def saved(backward: Backward, tensor: Tensor) -> Tensor:
        if tensor in function.inputs:  # an argument of the call
            return FuncGraph.capture(backward, op.inputs[function.inputs.index(tensor)])
        outputs: dict[Tensor, Tensor] = op._saved[1]
        if tensor not in outputs:
            op.attrs["f"].outputs.append(tensor)
            outputs[tensor] = add_output(op, tensor.dtype.base_dtype, tensor.shape, "Tout")
            outputs[tensor]._handle_data = tensor._handle_data
        return FuncGraph.capture(backward, outputs[tensor])

    return saved


def call_gradient(op: Operation, dys: Sequence[Any]) -> list[Any]:
    """The gradients of a PartitionedCall: a call of a function that uses what the call has computed."""
    if op._saved is None:
        op._saved = (op.attrs["f"], dict[Tensor, Tensor]())
        op.attrs["f"] = op.attrs["f"].with_more_outputs(op.name)
    function: FuncGraph = op._saved[0]
    backward = Backward(f"{op.name}_grad", function, _save_in_call(op, function))
    sources = [tensor for tensor in function.inputs if is_differentiable(tensor)]
    with backward.as_default():
        pairs = [(y, backward.capture(to_tensor(as_dense(dy)))) for y, dy in zip(function.outputs, dys) if dy is not None]
        wanted = {x: backward.capture(to_tensor(as_dense(grad))) for x, grad in _gradients_by_source(pairs, sources).items()}
    backward.outputs = list(wanted.values())
    if not wanted:
        return [None] * len(op.inputs)
    node = op.definition.node([list(backward.captures)], {"Tout": [tensor.dtype.base_dtype for tensor in backward.outputs], "f": backward})
    grads = dict(zip(wanted, node.outputs))
    return [grads.get(x) for x in function.inputs]
