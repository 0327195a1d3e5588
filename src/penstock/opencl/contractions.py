"""Products of matrices and convolutions on a device: those of ``native/contract``, whose products ``emitter.multiply`` writes."""
from __future__ import annotations

import math
from typing import Any

from penstock.graph.dtypes import as_dtype
from penstock.native.calls import Array
from penstock.native.contract.contractions import Contractions
from penstock.native.contract.convolutions import AllConvolutions
from penstock.native.contract.product import Epilogue
from penstock.opencl.builder import SourceBuilder
from penstock.opencl.products import bound_text
from penstock.opencl.source import Operand, kernel_text, loaded, operand, stored

_AXIS = ("count", "extent", "taps", "stride", "before", "dilation", "every")
_GATHER = """
  long channel = get_global_id(0), place = get_global_id(1), image = get_global_id(2);
  if (channel >= channels || place >= y_count * x_count) return;
  long y = place / x_count, x = place % x_count;
  {t} total = 0;
  for (long i = 0; i < y_taps; i++) {{
    long v = y * y_stride + y_before + i * y_dilation;
    if (v < 0 || v % y_every || v / y_every >= y_extent) continue;
    for (long j = 0; j < x_taps; j++) {{
      long u = x * x_stride + x_before + j * x_dilation;
      if (u < 0 || u % x_every || u / x_every >= x_extent) continue;
      long from = image * image_step + v / y_every * line_step + u / x_every * pixel_step + channel;
      total += source[from] * filter[(i * x_taps + j) * channels + channel];
    }}
  }}
  long pixel = (image * y_count + y) * x_count + x;
  {added}{bounds}
  result[pixel * channels + channel] = total;
"""
_CORRELATE = """
  long channel = get_global_id(0), tap = get_global_id(1);
  if (channel >= channels || tap >= y_taps * x_taps) return;
  long i = tap / x_taps, j = tap % x_taps;
  {t} total = 0;
  for (long image = 0; image < images; image++) for (long y = 0; y < y_count; y++) {{
    long v = y * y_stride + y_before + i * y_dilation;
    if (v < 0 || v >= y_extent) continue;
    for (long x = 0; x < x_count; x++) {{
      long u = x * x_stride + x_before + j * x_dilation;
      if (u < 0 || u >= x_extent) continue;
      long from = image * image_step + v * line_step + u * pixel_step + channel, at = (image * y_count + y) * x_count + x;
      total += source[from] * filter[at * channels + channel];
    }}
  }}
  result[tap * channels + channel] = total;
"""


class DeviceContractions(Contractions):
    """Products of matrices."""

    def convert(self, source: Array, result: Array) -> None:
        """Floats as floats of another size, element after element."""
        convert_elements(self.b, source, result)


def convert_elements(b: Any, source: Array, result: Array) -> None:
    """The elements of an array as elements of another type; both lie one after the other."""
    kinds = [as_dtype(each.dtype) for each in (source, result)]
    builder = SourceBuilder()
    value = builder.cast(builder.variable(loaded(kinds[0], "x[i]"), kinds[0]), kinds[1])
    body = "\n".join(["long i = get_global_id(0); if (i >= n) return;", *builder.lines, stored(kinds[1], "y[i]", str(value.ir))])
    text = kernel_text([operand("x", source.dtype), operand("y", result.dtype)], ["n"], body)
    if source.size:
        b.launch(text, [source, result], [source.size], (source.size,), "convert")


class DeviceConvolutions(AllConvolutions):
    """Convolutions; depthwise ones have kernels of their own."""

    def _gather(self, source: Array, filter: Array, result: Array, axes: list[tuple[int, ...]], label: str, epilogue: Epilogue | None = None) -> None:
        epilogue, step = self._with_added(epilogue, result.shape)
        work, filter = result.size * math.prod(filter.shape[:2]), self.b.contiguous(filter)
        operands = [source, filter, *([] if epilogue.added is None else [epilogue.added]), result]
        added = "" if epilogue.added is None else f"total += added[{'pixel * channels + ' if step else ''}channel];"
        self._call("gather", operands, axes, result.shape[0] * result.shape[1], work, label, added, bound_text(epilogue, result.dtype, "total"))

    def _call(self, name: str, operands: list[Array], axes: list[tuple[int, ...]], extent: int, work: int, label: str, added: str = "",
              bounds: str = "") -> None:
        source, result = operands[0], operands[-1]
        if not result.size:
            return
        b: Any = self.b
        size, t = result.dtype.itemsize, "double" if result.dtype.itemsize == 8 else "float"
        numbers = {"channels": source.shape[3], **dict(zip(("image_step", "line_step", "pixel_step"), (each // size for each in source.strides[:3]))),
                   **{f"{axis}_{part}": value for axis, values in zip("yx", axes) for part, value in zip(_AXIS, values)}, "images": source.shape[0]}
        body = (_GATHER if name == "gather" else _CORRELATE).format(t=t, added=added, bounds=bounds)
        names = ("source", "filter", "result") if len(operands) == 3 else ("source", "filter", "added", "result")
        text = kernel_text([Operand(each, t) for each in names], list(numbers), body)
        places = numbers["y_count"] * numbers["x_count"] if name == "gather" else math.prod(axis[2] for axis in axes)
        b.launch(text, operands, list(numbers.values()), (numbers["channels"], places, source.shape[0] if name == "gather" else 1),
                 label, flops=2 * work)

