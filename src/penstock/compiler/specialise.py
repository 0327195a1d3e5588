"""A region for given shapes: its nodes become items with known shapes, groups of them calls, and the calls a table.

What depends on shapes alone (``tf.shape(x)``, and all that is computed from it) is computed here, once. A node that cannot be native for
these shapes raises ``Demoted``: the region is then cut around it.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.compiler import clusters
from penstock.compiler.calls import Array, Buffer, Unsupported, row_major
from penstock.compiler.emitter import Emitter
from penstock.compiler.ir import Node
from penstock.compiler.table import Table
from penstock.compiler.values import Item, Value
from penstock.graph import dtypes
from penstock.graph.dtypes import DType
from penstock.graph.graph import Graph, Tensor
from penstock.graph.opdef import OpDef, lookup
from penstock.graph.shape import TensorShape

_LARGEST_FOLDED = 1 << 16  # elements of a value that is computed while code is made


class Demoted(Exception):
    """A node that NumPy has to run."""

    def __init__(self, node: Node, reason: str) -> None:
        super().__init__(f"{node.name}: {reason}")
        self.node, self.reason = node, reason


def pure(definition: OpDef) -> bool:
    """True if the op's kernel is a function of its inputs and attributes."""
    return definition.kernel is not None and not (definition.stateful or definition.blocking or definition.control_flow) \
        and "ctx" not in definition._kernel_parameters


class Specialisation:
    """The table of a region, and which arrays to call it with.

    ``results``: per output of the region ("output", which array of the table), ("known", value) or ("input", which input: a reference handed on).
    """

    def __init__(self, members: Sequence[Node], inputs: Sequence[tuple[Node, int]], outputs: Sequence[tuple[Node, int]],
                 shapes: Sequence[tuple[tuple[int, ...], DType]], threads: int) -> None:
        self._graph = Graph()
        self._stand_ins: dict[Value, Tensor] = {}
        self.emitter = Emitter(threads)
        self.values: dict[tuple[Node, int], Value] = {}
        self.inputs = [self._input(edge, shape, dtype) for edge, (shape, dtype) in zip(inputs, shapes)]
        self.items: list[Item] = []
        for node in members:
            self._add(node)
        for edge in outputs:
            self.values[edge].wanted = True
        self._order_accesses()
        self.groups = clusters.group(self.items)
        self._left = {value: len(value.users) for value in self.values.values()}
        for group in self.groups:
            self._emit(group)
        self.results: list[tuple[str, Any]] = []
        arrays: list[Array] = []
        for edge in outputs:
            self.results.append(self._result(self.values[edge], arrays))
        input_arrays = [value.array for value in self.inputs]
        self.table = Table(self.emitter, input_arrays, arrays)  # type: ignore[arg-type]
        written = {array.buffer for call in self.emitter.calls for array in call.operands[-call.writes:]}
        self.updated = [position for position, array in enumerate(input_arrays) if array is not None and array.buffer in written]
        self.fresh = [(array.shape, array.dtype) for array in arrays]

    # --- items ---------------------------------------------------------------------------------------------------------------------------

    def _input(self, edge: tuple[Node, int], shape: tuple[int, ...], dtype: DType) -> Value:
        value = self.values[edge] = Value(shape, dtype)
        nbytes = math.prod(shape) * dtype.np.itemsize
        value.array = Array(Buffer("input", nbytes), dtype.np, shape, row_major(shape, dtype.np.itemsize))
        producer, index = edge
        if producer.output_dtypes[index] is dtypes.resource:
            self._stand_ins[value] = self._stand_in(producer.output_dtypes[index], shape, producer, index)
        return value

    def _add(self, node: Node) -> None:
        inputs = [self.values[edge] for edge in node.inputs]
        found = self._folded(node, inputs)
        if found is not None:
            for index, known in enumerate(found):
                value = self.values[node, index] = Value(known.shape, node.output_dtypes[index].base_dtype, known)
                value.array = self.emitter.constant(known)
            return
        item = Item(node, inputs, [])
        for index, shape in enumerate(self._shapes(node, inputs)):
            value = self.values[node, index] = Value(shape, node.output_dtypes[index].base_dtype, None, item)
            item.outputs.append(value)
        for value in inputs:
            value.users.append(item)
        self.items.append(item)

    def _folded(self, node: Node, inputs: list[Value]) -> list[np.ndarray] | None:
        """The outputs, if they depend on nothing but shapes and constants."""
        definition = node.definition
        if not pure(definition) or not (definition.shape_only or all(value.known is not None for value in inputs)):
            return None
        if sum(value.known.size for value in inputs if value.known is not None) > _LARGEST_FOLDED:
            return None
        arrays = [value.known if value.known is not None else np.broadcast_to(np.zeros((), value.dtype.np), value.shape) for value in inputs]
        try:
            with np.errstate(all="ignore"):
                result = definition.bind(node, None)(*arrays)  # type: ignore[arg-type]
        except Exception as error:  # it will be raised again where the user sees it, by the kernel
            raise Demoted(node, f"its kernel fails: {error}") from error
        outputs = [np.asarray(item) for item in ([result] if len(node.output_dtypes) == 1 else result)]
        if inputs and any(output.size > _LARGEST_FOLDED for output in outputs):
            return None
        return outputs

    def _shapes(self, node: Node, inputs: list[Value]) -> list[tuple[int, ...]]:
        definition = node.definition
        if definition.elementwise and getattr(definition.shape, "broadcasts", False):
            try:
                return [np.broadcast_shapes(*[value.shape for value in inputs])]
            except ValueError as error:
                raise Demoted(node, str(error)) from error
        tensors = tuple(self._tensor(value) for value in inputs)
        try:
            shapes = definition._infer_shapes(node.name, tensors, node.attrs, len(node.output_dtypes))
        except Exception as error:
            raise Demoted(node, f"its shape function fails: {error}") from error
        if not all(shape.is_fully_defined() for shape in shapes):
            raise Demoted(node, "its shape depends on values that are computed in the step")
        return [tuple(shape.as_list()) for shape in shapes]

    def _tensor(self, value: Value) -> Tensor:
        found = self._stand_ins.get(value)
        if found is None:
            if value.known is not None and value.known.size <= _LARGEST_FOLDED:
                attributes = {"value": value.known, "dtype": value.dtype}
                found = lookup("Const").add_node(self._graph, self._graph.unique_name("known"), (), attributes).outputs[0]
            else:
                found = self._stand_in(value.dtype, value.shape)
            self._stand_ins[value] = found
        return found

    def _stand_in(self, dtype: DType, shape: tuple[int, ...], producer: Node | None = None, index: int = 0) -> Tensor:
        attributes = {"dtype": dtype, "shape": TensorShape([] if dtype is dtypes.resource else shape)}
        made = lookup("Placeholder").add_node(self._graph, self._graph.unique_name("input"), (), attributes).outputs[0]
        if producer is not None and producer.origin is not None:
            made._handle_data = producer.origin.outputs[index]._handle_data
        return made

    # --- state ---------------------------------------------------------------------------------------------------------------------------

    def _order_accesses(self) -> None:
        """Reads and writes of a variable stay in the order of the program."""
        for variable in self.inputs:
            writer: Item | None = None
            readers: list[Item] = []
            for item in variable.users:
                if writer is not None:
                    item.after.append(writer)
                if variable in self._written(item):
                    item.after += [other for other in readers if other is not item]
                    writer, readers = item, []
                else:
                    readers.append(item)
                    if item.node.definition.snapshot:
                        readers += item.outputs[0].users
            self._drop_later(variable)

    def _drop_later(self, variable: Value) -> None:
        """Users of a snapshot that stand after a write must not hold it up: they get a copy."""
        position = {item: index for index, item in enumerate(self.items)}
        for item in variable.users:
            item.after = [other for other in dict.fromkeys(item.after) if position[other] < position[item]]

    @staticmethod
    def _written(item: Item) -> list[Value]:
        """The variables that an item writes to."""
        updates = item.node.definition.updates
        if not updates:
            return []
        return [value for arg, values in item.node.definition.group(item.inputs, item.node.attrs) if arg.name in updates for value in values]

    # --- calls ---------------------------------------------------------------------------------------------------------------------------

    def _emit(self, group: list[Item]) -> None:
        emitter = self.emitter
        emitter.nodes = group
        for item in group:
            for variable in self._written(item):
                self._keep_snapshots(variable, group)
        alone = group[0] if len(group) == 1 else None
        try:
            if alone is not None and alone.node.definition.native is not None:
                self._emit_native(alone)
            else:
                clusters.emit(emitter, group)
        except Unsupported as reason:
            raise Demoted(group[0].node, str(reason)) from reason
        for item in group:
            for value in item.inputs:
                self._left[value] -= 1

    def _emit_native(self, item: Item) -> None:
        node = item.node
        arrays = [value.array for value in item.inputs]
        found = node.definition.emit(self.emitter, arrays, node.attrs)
        if len(found) != len(item.outputs):
            raise AssertionError(f"native of {node.definition.type} gave {len(found)} outputs for {len(item.outputs)}")
        for value, array in zip(item.outputs, found):
            if array.shape != value.shape or array.dtype != value.dtype.np:
                raise AssertionError(f"native of {node.definition.type} gave {array.dtype}{array.shape} for {value.dtype.np}{value.shape}")
            value.array = array

    def _keep_snapshots(self, variable: Value, group: list[Item]) -> None:
        """Values that are views of a variable's buffer are copied before it is written, if somebody still needs them."""
        assert variable.array is not None
        for value in self.values.values():
            array = value.array
            if value.item is None or array is None or array.buffer is not variable.array.buffer or value.item in group:
                continue
            if value.dtype.is_ref or value.item.node.output_dtypes[value.item.outputs.index(value)].is_ref:
                continue  # a reference sees the new value
            same = (array.shape, array.strides, array.offset) == (variable.array.shape, variable.array.strides, variable.array.offset)
            here = sum(item.inputs.count(value) for item in group) if same else 0
            if value.wanted or self._left[value] > here:
                fresh = self.emitter.empty(array.shape, array.dtype)
                self.emitter.copy(array, fresh)
                value.array = fresh

    def _result(self, value: Value, arrays: list[Array]) -> tuple[str, Any]:
        if value.known is not None:
            return "known", value.known
        array = value.array
        assert array is not None
        for position, given in enumerate(self.inputs):
            if value.item is not None and given.array is not None and given.array.buffer is array.buffer:
                if value.item.node.output_dtypes[value.item.outputs.index(value)].is_ref:
                    return "input", position
        taken = any(other.buffer is array.buffer for other in arrays)
        if array.buffer.kind != "arena" or taken or not array.contiguous or array.nbytes != array.buffer.nbytes or array.offset:
            fresh = self.emitter.empty(array.shape, array.dtype)
            self.emitter.nodes = [] if value.item is None else [value.item]
            self.emitter.copy(array, fresh)
            array = fresh
        arrays.append(array)
        return "output", len(arrays) - 1
