"""Pooling and local response normalization on a device: a work item per element of the result, whose window it goes through."""
from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from penstock.graph.dtypes import DType, as_dtype
from penstock.native.calls import Array
from penstock.native.kernels.pooling import Pooling
from penstock.opencl.builder import literal
from penstock.opencl.source import Operand, kernel_text, loaded, memory_name, name_of, operand, stored

_AXIS = ("size", "window", "stride", "before", "count")
_TOGETHER = 64  # channels that a work item of a CPU does
_BODY = """
  long c0 = (long)get_global_id(0) * {width}, n = min((long){width}, channels - c0);
  long place0 = (long)get_global_id(1) * rows, place1 = min(place0 + rows, places);
  if (n <= 0) return;
  for (long place = place0; place < place1; place++) {{
    long x = place % count2, y = place / count2 % count1, z = place / count2 / count1 % count0, entry = place / count2 / count1 / count0;
    long at = place * channels + c0, valid = 0;
    {declare}
    for (long c = 0; c < n; c++) {{ {start} }}
    for (long i = 0; i < window0; i++) for (long j = 0; j < window1; j++) for (long k = 0; k < window2; k++) {{
      {where}
      long from = (((entry * size0 + u) * size1 + v) * size2 + w) * channels + c0, tap = (i * window1 + j) * window2 + k;
      valid++;
      {vectors}
      for (long c = 0; c < n; c++) {{ {visit} }}
    }}
    for (long c = 0; c < n; c++) {{ {end} }}
  }}
"""
_THERE = """long u = z * stride0 - before0 + i, v = y * stride1 - before1 + j, w = x * stride2 - before2 + k;
      if (u < 0 || u >= size0 || v < 0 || v >= size1 || w < 0 || w >= size2) continue;"""
_BACK = """long u = z + before0 - i, v = y + before1 - j, w = x + before2 - k;
      if (u < 0 || u % stride0 || v < 0 || v % stride1 || w < 0 || w % stride2) continue;
      u /= stride0; v /= stride1; w /= stride2;
      if (u >= size0 || v >= size1 || w >= size2) continue;"""

_NORM = "float norm(__global const float *row, long c, long channels, long radius, float bias, float alpha) {\n" \
    "  float total = 0;\n" \
    "  for (long j = max(c - radius, 0L); j <= min(c + radius, channels - 1); j++) total += row[j] * row[j];\n" \
    "  return bias + alpha * total;\n}\n"
_LRN = "y[i] = x[i] * pow(norm(row, c, channels, radius, bias, alpha), -beta);"
_LRN_GRADIENT = """
  float total = 0;
  for (long j = max(c - radius, 0L); j <= min(c + radius, channels - 1); j++)
    total += grad[i - c + j] * output[i - c + j] / norm(row, j, channels, radius, bias, alpha);
  y[i] = grad[i] * pow(norm(row, c, channels, radius, bias, alpha), -beta) - 2 * alpha * beta * x[i] * total;
"""


class DevicePooling(Pooling):
    """Windows are given as the NumPy kernels have them. A work item does one channel of a place; on a CPU, several channels of several places."""

    def _call(self, how: str, dtype: np.dtype, operands: Sequence[Array], axes: Sequence[Sequence[int]], shape: Sequence[int]) -> None:
        if not math.prod(shape):
            return
        kind, strips = as_dtype(dtype), self.emit.traits.strips
        width = _TOGETHER if strips else 1
        result = "short" if how == "argmax" else memory_name(kind)
        names = [operand("source", dtype), *([Operand("taps", "short")] if how == "pick" else []), Operand("result", result)]
        channels, places = shape[-1], math.prod(shape[:-1])
        rows = max(1, min(-(-places // (8 * self.emit.traits.units)), 4096 // min(channels, width))) if strips else 1
        numbers = {"channels": channels, "places": places, "rows": rows,
                   **{f"{name}{k}": axis[index] for k, axis in enumerate(axes) for index, name in enumerate(_AXIS)}}
        body = _BODY.format(width=width, where=_BACK if how in ("sum", "pick") else _THERE, vectors=_VECTORS if strips else "",
                            **_parts(how, kind, width))
        taps = math.prod(axis[1] for axis in axes)
        self.emit.launch(kernel_text(names, list(numbers), body), operands, list(numbers.values()), (-(-channels // width), -(-places // rows)),
                         f"pool {how}", flops=math.prod(shape) * taps, group=(1, 1) if strips else None)

    def lrn(self, source: Array, radius: int, bias: float, alpha: float, beta: float) -> Array:
        """Local response normalization."""
        return self._normalize([source], _LRN, radius, bias, alpha, beta)

    def lrn_gradient(self, grad: Array, source: Array, output: Array, radius: int, bias: float, alpha: float, beta: float) -> Array:
        """Its gradient."""
        if not grad.shape == source.shape == output.shape:
            self.emit.unsupported("the shapes do not fit")
        return self._normalize([source, grad, output], _LRN_GRADIENT, radius, bias, alpha, beta)

    def _normalize(self, arrays: list[Array], statement: str, radius: int, bias: float, alpha: float, beta: float) -> Array:
        source = arrays[0]
        if source.dtype != np.float32:
            self.emit.unsupported("neighbours are normalized as float32")
        result = self.emit.empty(source.shape, source.dtype)
        bits = [int(np.float32(each).view(np.int32)) for each in (bias, alpha, beta)]
        body = "long i = get_global_id(0); if (i >= size) return; long c = i % channels; __global const float *row = x + i - c;\n" \
            f"float bias = as_float((int)bias_), alpha = as_float((int)alpha_), beta = as_float((int)beta_);\n{statement}"
        names = ["x", *["grad", "output"][:len(arrays) - 1], "y"]
        text = kernel_text([Operand(name, "float") for name in names], ["size", "channels", "radius", "bias_", "alpha_", "beta_"], body, _NORM)
        if result.size:
            self.emit.launch(text, [*map(self.emit.contiguous, arrays), result], [source.size, source.shape[-1], radius, *bits], (source.size,),
                             "lrn", flops=source.size * (2 * radius + 1))
        return result


_VECTORS = "#pragma clang loop vectorize(assume_safety)"


def _parts(how: str, kind: DType, width: int) -> dict[str, str]:
    """What is declared per place, done per channel before, at each place of the source that is reached, and after."""
    own, source, target = name_of(kind), loaded(kind, "source[from + c]"), "result[at + c]"
    if how in ("max", "argmax"):
        lowest = literal(-np.inf if kind.is_floating else kind.min, kind)
        better = "value > best[c] || value != value" if how == "max" else "best_tap[c] < 0 || value > best[c]"
        note = "" if how == "max" else "best_tap[c] = (short)tap;"
        return {"declare": f"{own} best[{width}]; short best_tap[{width}];", "start": f"best[c] = {lowest}; best_tap[c] = -1;",
                "visit": f"{own} value = {source}; if ({better}) {{ best[c] = value; {note} }}",
                "end": stored(kind, target, "best[c]") if how == "max" else f"{target} = best_tap[c];"}
    declare, start = f"{own} total[{width}];", "total[c] = 0;"
    if how in ("mean", "share"):
        value = "total[c]" if how == "mean" else loaded(kind, "source[at + c]")
        return {"declare": declare, "start": start, "visit": f"total[c] += {source};" if how == "mean" else "",
                "end": stored(kind, target, f"valid ? {value} / ({own})valid : 0")}
    mine = "" if how == "sum" else "taps[from + c] != tap ? 0 : "
    return {"declare": declare, "start": start, "visit": f"total[c] += {mine}{source};", "end": stored(kind, target, "total[c]")}
