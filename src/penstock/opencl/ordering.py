"""The largest elements of rows, and places in sorted rows, on a device: a work item per row, or per value. Whole rows are sorted by the host."""
from __future__ import annotations

import numpy as np

from penstock.graph.dtypes import as_dtype
from penstock.native.calls import Array
from penstock.native.kernels.ordering import Ordering
from penstock.opencl.source import Operand, kernel_text, loaded, memory_name, name_of, operand, stored

_MOST = 64  # elements that are picked by comparing each with those so far


class DeviceOrdering(Ordering):
    """Rows are along the last axis. NaNs are larger than all numbers."""

    def top_k(self, array: Array, k: int) -> tuple[Array, Array]:
        """The k largest of each row, largest first, of equal ones the earlier first; and where they stand."""
        if not array.rank or not 0 <= k <= array.shape[-1] or k > _MOST:
            self.emit.unsupported(f"{k} elements of rows of {array.shape[-1:]}: the host sorts")
        kind, length = as_dtype(array.dtype), array.shape[-1]
        shape = [*array.shape[:-1], k]
        values, indices = self.emit.empty(shape, array.dtype), self.emit.empty(shape, np.int32)
        if values.size:
            own = name_of(kind)
            larger = "value > other || (value != value && other == other)" if kind.is_floating else "value > other"
            body = f"""
  long row = get_global_id(0); if (row >= rows) return;
  long have = 0;
  for (long i = 0; i < length; i++) {{
    {own} value = {loaded(kind, "x[row * length + i]")};
    long place = have;
    for (; place > 0; place--) {{
      {own} other = {loaded(kind, "values[row * k + place - 1]")};
      if (!({larger})) break;
      if (place < k) {{ values[row * k + place] = values[row * k + place - 1]; indices[row * k + place] = indices[row * k + place - 1]; }}
    }}
    if (place < k) {{ {stored(kind, "values[row * k + place]", "value")} indices[row * k + place] = (int)i; if (have < k) have++; }}
  }}"""
            names = [operand("x", array.dtype), operand("values", array.dtype), Operand("indices", "int")]
            rows = array.size // length
            self.emit.launch(kernel_text(names, ["rows", "length", "k"], body), [self.emit.contiguous(array), values, indices], [rows, length, k],
                             (rows,), "top_k", writes=2)
        return values, indices

    def search(self, rows: Array, values: Array, right: bool, dtype: np.dtype) -> Array:
        """Where each value would be inserted into its sorted row: before its equals, or behind them."""
        if rows.rank != 2 or values.rank != 2 or rows.shape[0] != values.shape[0] or rows.dtype != values.dtype:
            self.emit.unsupported("the shapes do not fit")
        kind, result = as_dtype(rows.dtype), self.emit.empty(values.shape, dtype)
        if kind.is_floating:
            self.emit.unsupported("floats may be NaN: the host searches")
        if result.size:
            body = f"""
  long i = get_global_id(0), row = get_global_id(1); if (i >= count || row >= rows) return;
  {name_of(kind)} value = {loaded(kind, "values[row * count + i]")};
  long low = 0, high = length;
  while (low < high) {{
    long middle = (low + high) / 2;
    {name_of(kind)} other = {loaded(kind, "x[row * length + middle]")};
    if (other {"<=" if right else "<"} value) low = middle + 1; else high = middle;
  }}
  result[row * count + i] = low;"""
            names = [operand("x", rows.dtype), operand("values", values.dtype), operand("result", result.dtype)]
            self.emit.launch(kernel_text(names, ["rows", "length", "count"], body),
                             [self.emit.contiguous(rows), self.emit.contiguous(values), result], [rows.shape[0], rows.shape[1], values.shape[1]],
                             (values.shape[1], rows.shape[0]), "search")
        return result

    def in_top_k(self, predictions: Array, targets: Array, k: int) -> Array:
        """Whether each row's target is among its k largest: fewer than k are larger, and all are finite."""
        if predictions.rank != 2 or predictions.dtype != np.float32 or targets.shape != predictions.shape[:1] or not predictions.shape[1]:
            self.emit.unsupported("the shapes do not fit")
        result = self.emit.empty(targets.shape, np.bool_)
        if result.size:
            body = """
  long row = get_global_id(0); if (row >= rows) return;
  long target = (long)targets[row], more = 0;
  bool sound = target >= 0 && target < classes;
  float chosen = x[row * classes + (sound ? target : 0)];
  for (long i = 0; i < classes; i++) { float value = x[row * classes + i]; more += value > chosen; sound = sound && fabs(value) < INFINITY; }
  result[row] = sound && more < k;"""
            names = [Operand("x", memory_name(as_dtype(predictions.dtype))), operand("targets", targets.dtype), Operand("result", "uchar")]
            self.emit.launch(kernel_text(names, ["rows", "classes", "k"], body),
                             [self.emit.contiguous(predictions), self.emit.contiguous(targets), result],
                             [*predictions.shape, k], (predictions.shape[0],), "in_top_k")
        return result
