"""Pooling and local response normalization on a device: a work item per element of the result, whose window it goes through."""
from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from penstock.graph.dtypes import as_dtype
from penstock.native.calls import Array
from penstock.native.kernels.pooling import Pooling
from penstock.opencl.builder import literal
from penstock.opencl.source import Operand, kernel_text, loaded, memory_name, name_of, operand, stored

_AXIS = ("size", "window", "stride", "before", "count")
_FORWARD = """
  long channel = get_global_id(0), place = get_global_id(1);
  if (channel >= channels || place >= places) return;
  long x = place % count2, y = place / count2 % count1, z = place / count2 / count1 % count0, entry = place / count2 / count1 / count0;
  {start}
  for (long i = 0; i < window0; i++) for (long j = 0; j < window1; j++) for (long k = 0; k < window2; k++) {{
    {where}
    long from = (((entry * size0 + u) * size1 + v) * size2 + w) * channels + channel;
    {visit}
  }}
  {end}
"""
_THERE = """long u = z * stride0 - before0 + i, v = y * stride1 - before1 + j, w = x * stride2 - before2 + k;
    if (u < 0 || u >= size0 || v < 0 || v >= size1 || w < 0 || w >= size2) continue;"""
_BACK = """long u = z + before0 - i, v = y + before1 - j, w = x + before2 - k;
    if (u < 0 || u % stride0 || v < 0 || v % stride1 || w < 0 || w % stride2) continue;
    u /= stride0; v /= stride1; w /= stride2;
    if (u >= size0 || v >= size1 || w >= size2) continue;"""


class DevicePooling(Pooling):
    """Windows are given as the NumPy kernels have them."""

    def _call(self, how: str, dtype: np.dtype, operands: Sequence[Array], axes: Sequence[Sequence[int]], shape: Sequence[int]) -> None:
        if not math.prod(shape):
            return
        kind = as_dtype(dtype)
        own, source = name_of(kind), loaded(kind, "source[from]")
        at = "place * channels + channel"
        if how in ("max", "argmax"):
            lowest = literal(-np.inf if kind.is_floating else kind.min, kind)
            start = f"{own} best = {lowest}; int tap = -1;"
            better = "value > best || value != value" if how == "max" else "tap < 0 || value > best"
            visit = f"{own} value = {source}; if ({better}) {{ best = value; tap = (int)((i * window1 + j) * window2 + k); }}"
            end = stored(kind, f"result[{at}]", "best") if how == "max" else f"result[{at}] = (short)tap;"
        elif how in ("mean", "share"):
            start = f"{own} total = 0; long taps = 0;"
            visit = f"{'total += ' + source + ';' if how == 'mean' else ''} taps++;"
            value = "total" if how == "mean" else loaded(kind, f"source[{at}]")
            end = stored(kind, f"result[{at}]", f"taps ? {value} / ({own})taps : 0")
        else:
            start, end = f"{own} total = 0;", stored(kind, f"result[{at}]", "total")
            mine = "" if how == "sum" else "if (taps[from] == (i * window1 + j) * window2 + k) "
            visit = f"{mine}total += {source};"
        body = _FORWARD.format(start=start, visit=visit, end=end, where=_BACK if how in ("sum", "pick") else _THERE)
        numbers = {"channels": shape[-1], "places": math.prod(shape[:-1]),
                   **{f"{name}{k}": axis[index] for k, axis in enumerate(axes) for index, name in enumerate(_AXIS)}}
        result = "short" if how == "argmax" else memory_name(kind)
        names = [operand("source", dtype), *([Operand("taps", "short")] if how == "pick" else []), Operand("result", result)]
        taps = math.prod(axis[1] for axis in axes)
        self.emit.launch(kernel_text(names, list(numbers), body), operands, list(numbers.values()), (numbers["channels"], numbers["places"]),
                         f"pool {how}", flops=math.prod(shape) * taps)
