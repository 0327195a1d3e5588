"""Lookups of embeddings over padded ids on a device: what ``native/kernels/lookups.py`` describes."""
from __future__ import annotations

import math

import numpy as np

from penstock.graph.dtypes import as_dtype
from penstock.native.calls import Array
from penstock.native.kernels.lookups import Lookups
from penstock.opencl.source import Operand, kernel_text, memory_name, operand

_STATUS = Operand("status", "long")
_PARTS, _FEW = 64, 8  # work items that share rows, and those of a CPU
_SUMS = """
  long e = get_global_id(0), part = get_global_id(1); if (e >= width || part >= parts) return;
  for (long i = 0; i < count; i++) {
    long row = (long)places[i];
    if (row >= 0 && row % parts == part) sums[row * width + e] += values[i * width + e];
  }
"""


class DeviceLookups(Lookups):
    """Rows are what lies behind the first axis."""

    def _kind(self, array: Array) -> str:
        if array.dtype.kind != "f" or array.dtype.itemsize < 4:
            self.emit.unsupported("rows are added up as float32 or float64")
        return memory_name(as_dtype(array.dtype))

    def rows(self, params: Array, ids: Array, segments: Array, counts: Array, power: float) -> Array:
        """For each of the counts the sum of the params of its ids, divided by the count to the power: 0, 1/2 or 1."""
        if ids.shape != segments.shape or ids.rank != 1 or counts.rank != 1 or not params.rank or not params.contiguous:
            self.emit.unsupported("there is not one segment per id, or the params are no plain table")
        kind, width, number = self._kind(params), math.prod(params.shape[1:]), counts.shape[0]
        result = self.emit.empty([number, *params.shape[1:]], params.dtype)
        self.emit.index.check(ids, params.shape[0], negatives=True)
        if not result.size:
            return result
        divide = "" if not power else f"if (counts[row] > 1) total /= {'sqrt' if power == 0.5 else ''}(({kind})counts[row]);"
        body = f"""
  long e = get_global_id(0), row = get_global_id(1); if (e >= width || row >= number) return;
  {kind} total = 0;
  long low = 0, high = count;
  while (low < high) {{
    long middle = (low + high) / 2;
    if ((long)segments[middle] < row && segments[middle] >= 0) low = middle + 1; else high = middle;
  }}
  for (long i = low; i < count && (long)segments[i] == row; i++) {{
    long id = (long)ids[i];
    if (id >= 0 && id < limit) total += params[id * width + e];
  }}
  {divide}
  result[row * width + e] = total;"""
        names = [Operand("params", kind), operand("ids", ids.dtype), operand("segments", segments.dtype), operand("counts", counts.dtype),
                 Operand("result", kind)]
        operands = [self.emit.contiguous(each) for each in (params, ids, segments, counts)]
        self.emit.launch(kernel_text(names, ["width", "number", "count", "limit"], body), [*operands, result],
                         [width, number, ids.size, params.shape[0]], (width, number), "lookup", flops=ids.size * width)
        return result

    def gradient(self, grad: Array, segments: Array, counts: Array, power: float) -> Array:
        """The row of the gradient for each id, divided by the count to the power; 0 for padding."""
        if not grad.rank or segments.rank != 1 or grad.shape[:1] != counts.shape:
            self.emit.unsupported("the gradient does not have one row per count")
        kind, width = self._kind(grad), math.prod(grad.shape[1:])
        result = self.emit.empty([segments.shape[0], *grad.shape[1:]], grad.dtype)
        if not result.size:
            return result
        divide = "" if not power else f" / {'sqrt' if power == 0.5 else ''}(({kind})counts[segment])"
        body = f"""
  long e = get_global_id(0), i = get_global_id(1); if (e >= width || i >= count) return;
  long segment = (long)segments[i];
  if (segment >= limit) {{ *status = 1; return; }}
  result[i * width + e] = segment < 0 ? 0 : grad[segment * width + e]{divide};"""
        names = [Operand("grad", kind), operand("segments", segments.dtype), operand("counts", counts.dtype), Operand("result", kind), _STATUS]
        operands = [self.emit.contiguous(each) for each in (grad, segments, counts)]
        self.emit.launch(kernel_text(names, ["width", "count", "limit"], body), [*operands, result, self.emit.status],
                         [width, segments.size, grad.shape[0]], (width, segments.size), "lookup gradient", writes=2)
        return result

    def sums(self, values: Array, indices: Array, padded: bool) -> tuple[Array, Array]:
        """Rows with equal indices added up, and those indices; both padded. One work item gives each distinct index a row."""
        if indices.rank != 1 or values.shape[:1] != indices.shape:
            self.emit.unsupported("there is not one row per index")
        kind, count, width = self._kind(values), indices.shape[0], math.prod(values.shape[1:])
        sums, distinct = self.emit.empty(values.shape, values.dtype), self.emit.empty(indices.shape, indices.dtype)
        if not count:
            return sums, distinct
        size = 1 << max(1, (2 * count - 1).bit_length())
        table, places = self.emit.empty([size], np.int32), self.emit.empty([count], np.int32)
        refuse = "" if padded else "*status = 1;"
        body = f"""
  for (long t = 0; t < size; t++) table[t] = 0;
  int many = 0;
  for (long i = 0; i < count; i++) {{
    long index = (long)indices[i];
    if (index < 0) {{ {refuse} places[i] = -1; continue; }}
    long at = (long)(((ulong)index * 0x9E3779B97F4A7C15UL) >> 32) & (size - 1);
    while (table[at] && (long)distinct[table[at] - 1] != index) at = (at + 1) & (size - 1);
    if (!table[at]) {{ distinct[many] = indices[i]; table[at] = ++many; }}
    places[i] = table[at] - 1;
  }}
  for (long i = many; i < count; i++) distinct[i] = -1;"""
        names = [operand("indices", indices.dtype), Operand("table", "int"), Operand("places", "int"), operand("distinct", indices.dtype), _STATUS]
        self.emit.launch(kernel_text(names, ["count", "size"], body), [self.emit.contiguous(indices), table, places, distinct, self.emit.status],
                         [count, size], (1,), "distinct", writes=4, group=(1,))
        self.emit.copy(self.emit.move.full((), 0, values.dtype), sums)
        parts = _FEW if self.emit.traits.strips else _PARTS
        text = kernel_text([Operand("values", kind), Operand("places", "int"), Operand("sums", kind)], ["width", "count", "parts"], _SUMS)
        if width:
            self.emit.launch(text, [self.emit.contiguous(values), places, sums], [width, count, parts], (width, parts), "sum duplicates",
                             flops=values.size)
        return sums, distinct
