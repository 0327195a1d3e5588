"""Calls of traced functions with loops or branches, whose operations cannot be taken apart: such a call is one operation.

Where a tape is open, the function also gives what its gradient needs: so a gradient runs nothing again, and sees the numbers that were drawn and the
variables as they were. Gradients of higher orders need more; as many orders are provided for as tapes are open.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.backward import Backward
from penstock.errors import UnimplementedError
from penstock.function_gradients import as_dense, is_differentiable, zeros_for
from penstock.gradients import gradients
from penstock.graph import dtypes
from penstock.graph.convert import to_tensor
from penstock.graph.function import FuncGraph
from penstock.graph.node import Operation, Tensor
from penstock.imperative.eager_graph import EagerGraph
from penstock.ops.flow.call_function import CallFunction


class View(FuncGraph):
    """A traced graph with outputs of its own. Gradients change its loops, which keep what they need."""

    def __init__(self, graph: FuncGraph) -> None:
        self.__dict__.update(graph.__dict__)
        self.whole, self.inputs, self.outputs = graph, list(graph.inputs), list(graph.outputs)
        self._reduced = {}

    @property
    def _mutations(self) -> int:  # type: ignore[override]
        """Those of the graph: plans made before are void."""
        return self.whole._mutations


class TapedView(View):
    """A traced graph whose further outputs are what some orders of gradients need."""

    def __init__(self, graph: FuncGraph, orders: int) -> None:
        super().__init__(graph)
        self.backward: list[_BackwardCall] = []
        for _ in range(orders):
            self.backward.append(_BackwardCall(self))

    def differentiate(self, op: Operation, dys: Sequence[Any]) -> list[Any]:
        """The gradients of the arguments of a call."""
        last = max((index for index, dy in enumerate(dys) if dy is not None), default=-1)
        for backward in self.backward:
            if last < backward.count:
                return backward.call(op, dys)
        raise UnimplementedError(None, None, f"the function '{self.name}' was called while {len(self.backward)} tape(s) were open, and has loops or "
                                 "branches: a gradient of a higher order needs one open tape per order")


class _BackwardCall:
    """The function that gives gradients of the inputs of a view, from those of the outputs that it has so far."""

    def __init__(self, view: TapedView) -> None:
        self._view, self.count = view, len(view.outputs)
        self._taken: dict[Tensor, tuple[bool, int]] = {}  # input of the backward function: (is it an output of the forward one?, its place)
        self._graph = Backward(f"{view.name}_grad", view.whole, self._saved)
        self._dys: dict[Tensor, int] = {}
        with self._graph.as_default():
            for index, tensor in enumerate(view.outputs[:self.count]):
                if _has_gradient(tensor):
                    self._dys[self._input(tensor, "grad_ys")] = index
            sources = [tensor for tensor in view.inputs if _has_gradient(tensor)]
            grads = gradients([view.outputs[index] for index in self._dys.values()], sources, list(self._dys)) if self._dys and sources else []
            found = [(view.inputs.index(source), grad) for source, grad in zip(sources, grads) if grad is not None]
            self._graph.outputs = [self._graph.capture(to_tensor(as_dense(grad))) for _, grad in found]
        self._wanted = [index for index, _ in found]

    def _input(self, tensor: Tensor, name: str) -> Tensor:
        inner = self._graph.add_input(tensor.dtype.base_dtype, tensor.shape, name)
        inner._handle_data = tensor._handle_data
        return inner

    def _saved(self, backward: Backward, tensor: Tensor) -> Tensor:
        inner, view = self._input(tensor, "saved"), self._view
        if tensor in view.inputs:
            self._taken[inner] = False, view.inputs.index(tensor)
            return inner
        if tensor not in view.outputs:
            view.outputs.append(tensor)
        self._taken[inner] = True, view.outputs.index(tensor)
        return inner

    def call(self, op: Operation, dys: Sequence[Any]) -> list[Any]:
        """The gradients of the inputs of ``op``, a call of the view."""
        captured = {inner: outer for outer, inner in self._graph.captures.items()}
        arguments = []
        for tensor in self._graph.inputs:
            if tensor in self._dys:
                index = self._dys[tensor]
                arguments.append(zeros_for(op.outputs[index]) if dys[index] is None else to_tensor(as_dense(dys[index])))
            elif tensor in self._taken:
                is_output, index = self._taken[tensor]
                arguments.append(op.outputs[index] if is_output else op.inputs[index])
            else:
                arguments.append(captured[tensor])
        assert isinstance(op.graph, EagerGraph)
        results = dict(zip(self._wanted, call_whole(op.graph, self._graph, arguments))) if self._wanted else {}
        return [results.get(index) for index in range(len(op.inputs))]


def _has_gradient(tensor: Tensor) -> bool:
    """True for numbers, variables and the lists that loops keep."""
    return is_differentiable(tensor) or tensor.dtype.base_dtype is dtypes.variant


def call_whole(graph: EagerGraph, function: FuncGraph, arguments: Sequence[Tensor]) -> list[Tensor]:
    """The outputs of a function that is called as one operation."""
    tapes = graph.thread.recording.open_tapes
    orders = len(tapes) + sum(tape.persistent for tape in tapes)
    view = function.views.get(orders)
    if view is None:
        view = function.views[orders] = TapedView(function, orders) if orders else View(function)
    op = CallFunction.node([list(arguments)], {"f": view, "Tout": [tensor.dtype for tensor in view.outputs]})
    for tensor, inside in zip(op.outputs, view.outputs):
        if inside._handle_data is not None:
            tensor._handle_data = inside._handle_data
    return op.outputs[:len(function.outputs)]
