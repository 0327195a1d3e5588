"""Reading and writing by index on a device. Indices are checked before anything is written: a kernel that finds one out of range sets the status.

Rows that are changed one after the other, because an index may come twice, are shared among work items by their numbers: each goes through all
indices, and changes those rows that are its own. So results do not depend on which work item is first.
"""
from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from penstock.graph.dtypes import as_dtype
from penstock.native.calls import Array
from penstock.native.kernels.indexing import Indexing, RowLayout
from penstock.native.kernels.rows import RowRule
from penstock.opencl.builder import SourceBuilder
from penstock.opencl.contractions import convert_elements
from penstock.opencl.functions import texts
from penstock.opencl.source import WORDS, Operand, kernel_text, loaded, memory_name, operand, stored

_STATUS = Operand("status", "long")
_PARTS = 64  # work items that share rows
_FEW = 8  # on a CPU


class DeviceIndexing(Indexing):
    """Rows are what lies behind the axes that are indexed."""

    def _gather(self, params: Array, indices: Array, result: Array, picks: int, batched: bool, layout: RowLayout) -> None:
        size = params.dtype.itemsize
        times, limit, length = layout[:3]
        times_step, row = layout.times_step // size, layout.row_step // size
        body = """
  long e = get_global_id(0), pick = get_global_id(1), time = get_global_id(2);
  if (e >= length || pick >= picks) return;
  long index = (long)indices[time * index_step + pick];
  if (index < 0 || index >= limit) { *status = 1; return; }
  result[(time * picks + pick) * length + e] = params[time * times_step + index * row + e];"""
        element = WORDS[size]
        text = kernel_text([Operand("params", element), operand("indices", indices.dtype), Operand("result", element), _STATUS],
                           ["length", "picks", "limit", "times_step", "row", "index_step"], body)
        self.emit.launch(text, [params, indices, result, self.emit.status], [length, picks, limit, times_step, row, picks * batched],
                         (length, picks, times), "gather", writes=2)

    def flatten_indices(self, indices: Array, shape: Sequence[int], ends: Sequence[int] | None = None) -> Array:
        """Positions in the first axes of a shape as row numbers; they must be inside of the shape, and before ``ends``."""
        depth = indices.shape[-1]
        if depth > len(shape):
            self.emit.unsupported("more coordinates than axes")
        count = indices.size // max(depth, 1)
        result = self.emit.empty([count], np.int64)
        if not count:
            return result
        lines = ["long i = get_global_id(0); if (i >= count) return;", "long place = 0;"]
        for axis in range(depth):
            lines.append(f"{{ long at = (long)indices[i * {depth} + {axis}]; if (at < 0 || at >= l{axis}) {{ *status = 1; at = 0; }} "
                         f"place = place * e{axis} + at; }}")
        names = ["count", *(f"{letter}{axis}" for letter in "el" for axis in range(depth))]
        text = kernel_text([operand("indices", indices.dtype), Operand("result", "long"), _STATUS], names, "\n".join([*lines, "result[i] = place;"]))
        numbers = [count, *shape[:depth], *(ends or shape)[:depth]]
        self.emit.launch(text, [self.emit.contiguous(indices), result, self.emit.status], numbers, (count,), "positions", writes=2)
        return result

    def check(self, indices: Array, limit: int, negatives: bool = False) -> Array:
        """Fails the step if an index is not below the limit, or negative. The indices, contiguous."""
        indices = self.emit.contiguous(indices)
        if indices.size:
            low = "" if negatives else "index < 0 || "
            body = f"long i = get_global_id(0); if (i >= n) return; long index = (long)indices[i]; if ({low}index >= limit) *status = 1;"
            text = kernel_text([operand("indices", indices.dtype), _STATUS], ["n", "limit"], body)
            self.emit.launch(text, [indices, self.emit.status], [indices.size, limit], (indices.size,), "check")
        return indices

    def refuse(self, bad: Array, needed: Sequence[Array]) -> None:
        """Fails the step if a number, an int64, is not 0. What is ``needed`` to say why is in memory until then."""
        names = [Operand("bad", "long"), *(operand(f"needed_{index}", array.dtype) for index, array in enumerate(needed)), _STATUS]
        self.emit.launch(kernel_text(names, [], "if (*bad) *status = 1;"), [bad, *needed, self.emit.status], [], (1,), "check")

    def _check_sorted(self, ids: Array, limit: int, strict: bool, label: str) -> None:
        wrong = "<=" if strict else "<"
        body = f"""
  long i = get_global_id(0); if (i >= n) return;
  long id = (long)ids[i];
  if (id < 0 || id >= limit || (i && id {wrong} (long)ids[i - 1])) *status = 1;"""
        text = kernel_text([operand("ids", ids.dtype), _STATUS], ["n", "limit"], body)
        self.emit.launch(text, [ids, self.emit.status], [ids.size, limit], (ids.size,), label)

    def _wide_sums(self, data: Array, ids: Array, number: int) -> Array:
        if self.emit.traits.doubles:
            shape = [number, *data.shape[ids.rank:]]
            sums = self.emit.move.copy_of(self.emit.move.full(shape, 0, np.float64), "segments")
            wide = self.emit.empty(data.shape, np.float64)
            convert_elements(self.emit, self.emit.contiguous(data), wide)
            self.change("Add", sums, ids, wide)
            result = self.emit.empty(shape, np.float32)
            convert_elements(self.emit, sums, result)
            return result
        result = self.emit.move.zeros([number, *data.shape[ids.rank:]], data.dtype)
        self.change("Add", result, ids, data)
        return result

    def _weight(self, source: Array, ids: Array, power: float, result: Array) -> Array:
        number, kind = source.shape[0], memory_name(as_dtype(source.dtype))
        if source.dtype.itemsize < 4:
            self.emit.unsupported("rows are weighed as float32 or float64")
        weights = self.emit.empty([number], source.dtype)
        rows = "sqrt(rows)" if power == 0.5 else "rows"
        body = f"""
  long segment = get_global_id(0); if (segment >= number) return;
  {kind} rows = 0;
  for (long i = 0; i < n; i++) rows += ids[i] == segment;
  weights[segment] = rows > 0 ? 1 / {rows} : 0;"""
        text = kernel_text([operand("ids", ids.dtype), Operand("weights", kind)], ["n", "number"], body)
        if number:
            self.emit.launch(text, [ids, weights], [ids.size, number], (number,), "segment weights")
        if source.size:
            self._weigh(source, weights, result)
        return result

    def _weigh(self, source: Array, weights: Array, result: Array) -> None:
        if source.dtype.kind != "f" or source.dtype.itemsize < 4:
            self.emit.unsupported("rows are weighed as float32 or float64")
        kind, width = memory_name(as_dtype(source.dtype)), source.size // source.shape[0]
        body = "long i = get_global_id(0); if (i >= n) return; result[i] = source[i] * weights[i / width];"
        text = kernel_text([Operand("source", kind), Operand("weights", kind), Operand("result", kind)], ["n", "width"], body)
        self.emit.launch(text, [source, weights, result], [source.size, width], (source.size,), "weigh rows", flops=source.size)

    def apply(self, rule: RowRule, name: str, states: Sequence[Array], rows: Array, updates: Sequence[Array], scalars: Sequence[Array],
              distinct: bool = False) -> None:
        """Changes rows of the states by a rule. ``distinct``: no row is named twice."""
        width, limit = math.prod(states[0].shape[1:]), states[0].shape[0]
        if not rows.size or not states[0].size:
            return
        builder = SourceBuilder()
        loads = [*((f"u{k}", kind, "i * width + e") for k, kind in enumerate(rule.updates)),
                 *((f"c{k}", kind, "0") for k, kind in enumerate(rule.scalars)),
                 *((f"s{k}", kind, "index * width + e") for k, kind in enumerate(rule.states))]
        values = [builder.variable(loaded(kind, f"{each}[{place}]"), kind) for each, kind, place in loads]
        ups, others = len(rule.updates), len(rule.updates) + len(rule.scalars)
        new = rule.change(builder, values[others:], values[:ups], values[ups:others])
        change = [*builder.lines, *(stored(kind, f"s{k}[index * width + e]", str(value.ir)) for k, (kind, value) in enumerate(zip(rule.states, new)))]
        each = ["long index = (long)rows[i];", "if (index >= 0 && index < limit) {" if distinct else
                "if (index >= 0 && index < limit && index % parts == part) {", *change, "}"]
        parts = 1 if distinct else _FEW if self.emit.traits.strips else _PARTS
        if distinct:
            body = ["long e = get_global_id(0), i = get_global_id(1); if (e >= width || i >= count) return;", *each]
        else:
            body = ["long e = get_global_id(0), part = get_global_id(1); if (e >= width || part >= parts) return;",
                    "for (long i = 0; i < count; i++) {", *each, "}"]
        names = [operand("rows", rows.dtype), *(Operand(each, memory_name(kind)) for each, kind, _ in loads)]
        text = kernel_text(names, ["width", "count", "limit", "parts"], "\n".join(body), texts(builder.used, False))
        operands = [rows, *[self.emit.contiguous(update) for update in updates], *scalars, *states]
        self.emit.launch(text, operands, [width, rows.size, limit, parts], (width, rows.size if distinct else parts), f"rows {name}",
                         writes=len(states), flops=rows.size * width)
