"""A function of one element as a function of many, stacked along a new first axis: what ``map`` calls if a batch of its results is asked for.

The results must be the same, bit for bit, so only ops that treat elements alike are taken: elementwise ones, and those that say in ``batched`` what
they are for many. ``batched(op, inputs, stacked)`` gets the node, the tensors that it is to use and the positions of those that have the new axis; it
builds the outputs, or returns None. They have that axis, or are Ragged where elements are vectors of many lengths, or None where there is no such
form. A function with anything else, with state or with elements of unknown shape has none either.
"""
from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from penstock.graph.function import FuncGraph
from penstock.graph.graph import Graph
from penstock.graph.node import Operation, Tensor
from penstock.graph.shape import TensorShape
from penstock.graph.traverse import operations_behind
from penstock.ops.array.shape_ops import reshape
from penstock.ops.common import Ragged, itemwise
from penstock.ops.constant import constant

_known: weakref.WeakKeyDictionary[FuncGraph, dict[int, Vectorised | None]] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


class Vectorised(NamedTuple):
    """The form for many elements: its outputs are those of the function, but for a ragged one its values and its lengths."""

    graph: FuncGraph
    ragged: tuple[bool, ...]

    def components(self, outputs: list[Any]) -> tuple[Any, ...]:
        """The outputs of a call, one for each of the function: an array, or for vectors of many lengths a Ragged."""
        following = iter(outputs)
        return tuple([Ragged(next(following), next(following)) if ragged else next(following) for ragged in self.ragged])


def vectorised(function: FuncGraph, captures: int) -> Vectorised | None:
    """The function for many elements; the last ``captures`` inputs are the same for all. None if there is no such form."""
    with _lock:
        forms = _known.setdefault(function, {})
        if captures not in forms:
            forms[captures] = _Form(function.inputs, len(function.inputs) - captures, function.outputs).make()
        return forms[captures]


def form_for_many(inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> Vectorised | None:
    """What is computed of ``inputs``, in any graph, as a function of many of them."""
    return _Form(inputs, len(inputs), outputs).make()


class _Form:
    """A function while its form for many elements is made; inputs behind the first ``arguments`` are the same for all."""

    def __init__(self, inputs: Sequence[Tensor], arguments: int, outputs: Sequence[Tensor]) -> None:
        self._inputs, self._arguments, self._outputs = inputs, arguments, outputs
        self._graph = FuncGraph("vectorised", Graph())
        self._copies: dict[Tensor, Tensor] = {}
        self._stacked: set[Tensor] = set()  # tensors of the new graph with an axis for the elements
        self._lengths: dict[Tensor, Tensor] = {}  # of tensors that hold a vector of each element, one after the other: how long they are

    def make(self) -> Vectorised | None:
        """The new function."""
        inputs = self._inputs
        if not all(tensor.shape.is_fully_defined() and not tensor.dtype.is_ref for tensor in inputs[:self._arguments]) or any(
                tensor.dtype.is_ref for tensor in inputs):
            return None
        operations = operations_behind(self._outputs, (), inputs)
        with self._graph.as_default():
            for index, tensor in enumerate(inputs):
                self._copies[tensor] = copy = self._graph.add_input(
                    tensor.dtype, TensorShape([None]).concatenate(tensor.shape) if index < self._arguments else tensor.shape, f"input_{index}")
                copy._handle_data = tensor._handle_data
                if index < self._arguments:
                    self._stacked.add(copy)
            if not all(map(self._translate, operations)):
                return None
        outputs = [self._copies.get(tensor) for tensor in self._outputs]
        if any(output not in self._stacked and output not in self._lengths for output in outputs):
            return None
        self._graph.outputs = [part for output in outputs for part in ([output, self._lengths[output]] if output in self._lengths else [output])]
        return Vectorised(self._graph, tuple(output in self._lengths for output in outputs))

    def _translate(self, op: Operation) -> bool:
        """Adds what stands for an operation; False if nothing can."""
        if op in (tensor.op for tensor in self._inputs):
            return True
        if op._control_inputs or op.definition.blocking:
            return False
        if any(tensor not in self._copies for tensor in op._inputs):  # an output that has no form for many
            return False
        inputs = [self._copies[tensor] for tensor in op._inputs]
        ragged = {index for index, tensor in enumerate(inputs) if tensor in self._lengths}
        if ragged:
            return self._on_vectors(op, inputs, ragged)
        stacked = {index for index, tensor in enumerate(inputs) if tensor in self._stacked}
        if not stacked:
            return (not op.definition.stateful or op.definition.batched is itemwise) and self._keep(op, self._again(op, inputs), stacked=False)
        if op.definition.batched is not None:
            return self._keep(op, op.definition.batched(op, inputs, stacked))
        if op.definition.stateful or not op.definition.elementwise:
            return False
        aligned = self._align(op, inputs, stacked)
        return aligned is not None and self._keep(op, self._again(op, aligned))

    def _on_vectors(self, op: Operation, inputs: list[Tensor], ragged: set[int]) -> bool:
        """An op that treats items alike, on the vectors of all elements: all its other inputs are scalars that are the same for all."""
        others = [index for index in range(len(inputs)) if index not in ragged]
        lengths = {self._lengths[inputs[index]] for index in ragged}
        if len(lengths) > 1 or any(inputs[index] in self._stacked or inputs[index].shape.ndims != 0 for index in others):
            return False
        outputs: list[Any] | None = None
        if op.definition.batched is not None:
            outputs = op.definition.batched(op, inputs, ragged)
        elif op.definition.elementwise and not op.definition.stateful:
            outputs = self._again(op, inputs)
        if outputs is None or any(output.shape.ndims != 1 for output in op.outputs):
            return False
        self._copies.update(zip(op.outputs, outputs))
        self._lengths.update(dict.fromkeys(outputs, *lengths))
        return True

    def _again(self, op: Operation, inputs: list[Tensor]) -> list[Tensor]:
        return list(op.definition.add_node(self._graph, op.name, tuple(inputs), op.attrs).outputs)

    def _keep(self, op: Operation, outputs: list[Any] | None, stacked: bool = True) -> bool:
        if outputs is None:
            return False
        for tensor, output in zip(op.outputs, outputs):
            if isinstance(output, Ragged):
                self._copies[tensor] = output.values
                self._lengths[output.values] = output.lengths
            elif output is not None:
                self._copies[tensor] = output
                if stacked:
                    self._stacked.add(output)
        return True

    def _align(self, op: Operation, inputs: list[Tensor], stacked: set[int]) -> list[Tensor] | None:
        """The inputs of an elementwise op so that their axes meet as those of single elements do; None if ranks are not known."""
        ranks = [tensor.shape.ndims for tensor in op._inputs]
        if len(inputs) == 1:
            return inputs
        if None in ranks:
            return None
        most = max(rank for rank in ranks if rank is not None)
        aligned = []
        for index, (tensor, rank) in enumerate(zip(inputs, ranks)):
            if index in stacked and rank != most:
                extents = op._inputs[index].shape.extents or ()
                if None in extents:
                    return None
                tensor = reshape(tensor, constant(np.array([-1, *[1] * (most - (rank or 0)), *extents], np.int32)))
            aligned.append(tensor)
        return aligned
