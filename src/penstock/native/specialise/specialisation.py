"""A region for given shapes, as a table of native calls."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from penstock.graph import dtypes
from penstock.graph.dtypes import DType
from penstock.native.calls import Array, Buffer, row_major
from penstock.native.emitter import Emitter
from penstock.native.items import Value, is_reference
from penstock.native.specialise.fallback import Fallback
from penstock.native.specialise.scope import Scope
from penstock.native.table.call_table import CallTable
from penstock.native.table.side_by_side import put_side_by_side
from penstock.program.ir import Edge, Node


class Specialisation:
    """The table of a region, and what to call it with.

    ``results``: per output of the region ("output", which array of the table), ("known", value), ("input", which input: a reference handed on) or
    ("either", three such: a condition, what is the output if it is true, and if it is not).
    ``fresh``: shapes and types of the arrays that the caller makes for the outputs. ``updated``: which inputs are written to. The
    ``emitter`` says what kernels are written for, and ``make_table`` how they are called.
    """

    def __init__(self, nodes: Sequence[Node], inputs: Sequence[Node], outputs: Sequence[Edge], shapes: Sequence[tuple[tuple[int, ...], DType]],
                 emitter: Emitter, make_table: Callable[[Any, Sequence[Array], Sequence[Array]], Any] = CallTable) -> None:
        self.emitter = emitter
        self.inputs = [_input(shape, dtype) for shape, dtype in shapes]
        scope = Scope(self.emitter, nodes, {(node, 0): value for node, value in zip(inputs, self.inputs)}, outputs)
        for node, index in outputs:
            if node.output_dtypes[index] in (dtypes.variant, dtypes.resource):
                raise Fallback(node, "lists and handles do not leave native code")
        scope.emit()
        arrays: list[Array] = []
        self.results = [self._result(value, arrays) for value in scope.outputs]
        if emitter.threads > 1 and not emitter.ahead:  # ahead of time, calls over constants go first: ``export/tables.py``
            self.emitter.calls = put_side_by_side(self.emitter.calls, self.emitter.status.buffer)
        given = [value.array for value in self.inputs]
        self.table = make_table(self.emitter, given, arrays)  # type: ignore[arg-type]
        written = {array.buffer for call in self.emitter.calls for array in call.operands[len(call.operands) - call.writes:]}
        self.updated = [position for position, array in enumerate(given) if array is not None and array.buffer in written]
        self.fresh = [(array.shape, array.dtype) for array in arrays]

    def _result(self, value: Value, arrays: list[Array]) -> tuple[str, Any]:
        """Where an output is found after a run; one that has no memory of its own is copied."""
        if value.known is not None:
            return "known", value.known
        if value.either is not None:
            return "either", tuple(self._result(each, arrays) for each in (value.either.condition, *value.either.cases))
        array = value.array
        assert array is not None
        if is_reference(value):
            return "input", next(position for position, given in enumerate(self.inputs) if given.array and given.array.buffer is array.buffer)
        taken = any(other.buffer is array.buffer for other in arrays)
        if array.buffer.kind != "arena" or taken or not array.contiguous or array.nbytes != array.buffer.nbytes or array.offset:
            fresh = self.emitter.empty(array.shape, array.dtype)
            self.emitter.for_items([] if value.item is None else [value.item]).copy(array, fresh)
            array = fresh
        arrays.append(array)
        return "output", len(arrays) - 1


def _input(shape: tuple[int, ...], dtype: DType) -> Value:
    size = dtype.np.itemsize
    return Value(shape, dtype, array=Array(Buffer("input", math.prod(shape) * size), dtype.np, shape, row_major(shape, size)))
