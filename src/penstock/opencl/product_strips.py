"""Products on CPUs: a work item computes some rows of C, two vectors of columns at a time, in registers.

B has to have its columns in panels of that width; it is copied into such unless it lies well already. The windows of a convolution are read where
they are: for each tap a row of C has a pointer to its pixel, or to zeros where that is outside of the image. The gradient of a filter goes through
the image line by line, and needs no such test inside of a line.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.native.calls import Array
from penstock.opencl.source import Operand, kernel_text

if TYPE_CHECKING:
    from penstock.opencl.emitter import DeviceEmitter
    from penstock.opencl.products import ProductTask

_BYTES = {"float": 4, "double": 8, "int": 4, "uint": 4, "long": 8, "ulong": 8}
_ROWS = 6  # of C in registers
_BLOCK = 48  # rows that a work item does, at most
_WORTH = 32  # rows of C for which B is copied into panels

_PLAIN = """
    for (long d = 0; d < k; d++) {{
      {v} b0 = vload{lanes}(0, bp + d * b_row), b1 = vload{lanes}(0, bp + d * b_row + {lanes});
      {rows}
    }}
"""
_WINDOW = """
    for (long ty = 0; ty < taps_y; ty++) for (long tx = 0; tx < across; tx++) {{
      {pointers}
      for (long d = 0; d < depth; d++, bq += b_row) {{
        {v} b0 = vload{lanes}(0, bq), b1 = vload{lanes}(0, bq + {lanes});
        {rows}
      }}
    }}
"""
_BODY = """
  long part = get_global_id(2);
  a += a_at + part * a_batch; b += b_at + part * b_batch; c += c_at + part * c_batch;
  {move_added}
  long n0 = (long)get_global_id(0) * {width};
  __global const {t} *bp = b + (long)get_global_id(0) * b_panel;
  long first = (long)get_global_id(1) * {block}, stop = min(first + {block}, m);
  for (long m0 = first; m0 < stop; m0 += {each}) {{
    {declare}
    {start}
    {inner}
    {t} out[{width}];
    {stores}
  }}
"""
_GRADIENT = """
  a += a_at; b += b_at; c += c_at;
  {move_added}
  long n0 = (long)get_global_id(0) * {width};
  __global const {t} *bp = b + (long)get_global_id(0) * b_panel;
  long blocks = (depth + {each} - 1) / {each}, tap = get_global_id(1) / blocks, c0 = get_global_id(1) % blocks * {each};
  long ty = tap / across, tx = tap % across, m0 = tap * depth + c0;
  {declare}
  {offsets}
  long shift = tx * dilation_x - pad_x;
  long x0 = shift >= 0 ? 0 : (-shift + stride_x - 1) / stride_x, x1 = in_width - shift <= 0 ? 0 : min(width, (in_width - 1 - shift) / stride_x + 1);
  long images = k / (width * height);
  for (long image = 0; image < images; image++) for (long y = 0; y < height; y++) {{
    long line = y * stride_y - pad_y + ty * dilation_y;
    if (line < 0 || line >= in_height) continue;
    __global const {t} *ap = a + image * image_step + line * line_step + (x0 * stride_x + shift) * pixel_step;
    __global const {t} *bq = bp + ((image * height + y) * width + x0) * b_row;
    for (long x = x0; x < x1; x++, ap += stride_x * pixel_step, bq += b_row) {{
      {v} b0 = vload{lanes}(0, bq), b1 = vload{lanes}(0, bq + {lanes});
      {rows}
    }}
  }}
  {t} out[{width}];
  {stores}
"""


def emit(b: DeviceEmitter, task: ProductTask, operands: list[Array], label: str) -> None:
    """Appends the kernels."""
    t, lanes = task.element, b.traits.vector_bytes // _BYTES[task.element]
    numbers = {name: value for name, value in task.numbers.items() if name not in ("batch", "length", "b_step", "b_batch", "b_at")}
    operands = list(operands)
    operands[1], panels = _panels(b, task, operands[1], 2 * lanes, label)
    numbers |= panels
    gradient = task.windows and task.a_transposed
    for name in ("a_batch", "b_batch", "c_batch", *(("added_batch", "added_step") if task.added else ())):
        numbers.setdefault(name, 0)
    each = min(_ROWS, task.numbers["depth"]) if gradient else min(_ROWS, task.numbers["m"])
    names = ["a", "b", *(["added"] if task.added else []), "c"]
    columns = -(-task.numbers["n"] // (2 * lanes))
    common = {"t": t, "v": f"{t}{lanes}", "lanes": lanes, "width": 2 * lanes, "each": each,
              "move_added": f"added += added_at{'' if gradient else ' + part * added_batch'};" if task.added else "",
              "declare": " ".join(f"{t}{lanes} s{r}_0 = 0, s{r}_1 = 0;" for r in range(each)), "stores": _stores(task, each, lanes, gradient)}
    if gradient:
        body = _gradient(task, each, lanes, common)
        size = (columns, task.numbers["m"] // task.numbers["depth"] * -(-task.numbers["depth"] // each), 1)
        for name in ("a_step", "batch", "a_batch", "b_batch", "c_batch", "added_batch"):
            numbers.pop(name, None)
    else:
        block = _block(b, task.numbers["m"], columns * task.numbers["batch"], each)
        body = _forward(task, each, lanes, common | {"block": "block"})
        numbers["block"] = block
        size = (columns, -(-task.numbers["m"] // block), task.numbers["batch"])
        if task.windows:
            numbers["taps_y"] = task.numbers["k"] // (task.numbers["depth"] * task.numbers["across"])
            operands.insert(0, b.constant(np.zeros(task.numbers["depth"], operands[0].dtype)))
            names.insert(0, "zeros")
    text = kernel_text([Operand(name, t) for name in names], list(numbers), body)
    flops = 2 * task.numbers["m"] * task.numbers["n"] * task.numbers["k"] * task.numbers["batch"]
    b.launch(text, operands, list(numbers.values()), size, label, flops=flops, group=(1, 1, 1))


def _block(b: DeviceEmitter, m: int, others: int, each: int) -> int:
    """Rows that a work item does: fewer if there would not be work for all units."""
    wanted = max(b.traits.units * 4 // max(others, 1), 1)
    rows = min(_BLOCK, -(-m // wanted))
    return max(-(-rows // each) * each, each)


def _panels(b: DeviceEmitter, task: ProductTask, right: Array, width: int, label: str) -> tuple[Array, dict[str, int]]:
    """B in panels of columns, and how it lies: where they begin, and the steps from panel to panel, from row to row, from matrix to matrix."""
    numbers = task.numbers
    n, k, batch, at, step = (numbers.get(name, 0) for name in ("n", "k", "batch", "b_at", "b_step"))
    several = numbers.get("b_batch", 0)
    if not task.b_transposed and n % width == 0 and (numbers["m"] < _WORTH or (task.windows and task.a_transposed) or n == width):
        return right, {"b_at": at, "b_panel": width, "b_row": step, "b_batch": several}
    panels, copies = -(-n // width), batch if several else 1
    key = right.buffer, right.offset, n, k, copies, at, step, several, task.b_transposed
    result = b.known_copy(right, key)
    if result is None:
        result = b.empty((copies, panels, k, width), right.dtype)
        _copy_to_panels(b, task, right, result)
        b.note_copy(key, result)
    return result, {"b_at": 0, "b_panel": k * width, "b_row": width, "b_batch": panels * k * width if several else 0}


def _copy_to_panels(b: DeviceEmitter, task: ProductTask, right: Array, result: Array) -> None:
    numbers, (copies, _, k, width), size = task.numbers, result.shape, right.dtype.itemsize
    n, at, step, several = (numbers.get(name, 0) for name in ("n", "b_at", "b_step", "b_batch"))
    deep, across = (size, step * size) if task.b_transposed else (step * size, size)
    whole, rest = divmod(n, width)
    origin = at * size
    if whole:
        source = b.view(right, (copies, whole, k, width), (several * size, width * across, deep, across), origin)
        b.copy(source, b.view(result, (copies, whole, k, width), result.strides))
    if rest:
        last = b.view(result, (copies, k, width), (result.strides[0], *result.strides[2:]), whole * result.strides[1])
        b.copy(b.move.full((), 0, right.dtype), last)
        source = b.view(right, (copies, k, rest), (several * size, deep, across), origin + whole * width * across)
        b.copy(source, b.view(last, (copies, k, rest), last.strides))


def _rows(t: str, lanes: int, each: int, value: str) -> str:
    """The multiplications of one row of B."""
    return "\n      ".join(f"{{ {t}{lanes} w = ({t}{lanes})({value.format(r=r)}); s{r}_0 += w * b0; s{r}_1 += w * b1; }}"
                           for r in range(each))


def _stores(task: ProductTask, each: int, lanes: int, gradient: bool) -> str:
    lines = []
    for r in range(each):
        inside = f"c0 + {r} < depth" if gradient else f"m0 + {r} < stop"
        lines.append(f"vstore{lanes}(s{r}_0, 0, out); vstore{lanes}(s{r}_1, 0, out + {lanes});\n    "
                     f"if ({inside}) {{ long row = m0 + {r}; "
                     f"for (int j = 0; j < {2 * lanes} && n0 + j < n; j++) {{ long column = n0 + j; {task.store('row', 'column', 'out[j]')} }} }}")
    return "\n    ".join(lines)


def _forward(task: ProductTask, each: int, lanes: int, common: dict[str, object]) -> str:
    t = task.element
    if not task.windows:
        step = "1" if task.a_transposed else "a_step"
        start = "\n    ".join(f"__global const {t} *a{r} = a + min(m0 + {r}, m - 1) * {step};" for r in range(each))
        value = "a{r}[d * a_step]" if task.a_transposed else "a{r}[d]"
        inner = _PLAIN.format(rows=_rows(t, lanes, each, value), **common)
    else:
        start = f"__global const {t} *bq = bp;\n    " + "\n    ".join(
            f"long p{r} = min(m0 + {r}, m - 1), x{r} = p{r} % width * stride_x - pad_x, y{r} = p{r} / width % height * stride_y - pad_y; "
            f"__global const {t} *i{r} = a + p{r} / width / height * image_step;" for r in range(each))
        pointers = "\n      ".join(
            f"long v{r} = y{r} + ty * dilation_y, u{r} = x{r} + tx * dilation_x; "
            f"__global const {t} *a{r} = v{r} >= 0 && v{r} < in_height && u{r} >= 0 && u{r} < in_width "
            f"? i{r} + v{r} * line_step + u{r} * pixel_step : zeros;"
            for r in range(each))
        inner = _WINDOW.format(pointers=pointers, rows=_rows(t, lanes, each, "a{r}[d]"), **common)
    return _BODY.format(start=start, inner=inner, **common)


def _gradient(task: ProductTask, each: int, lanes: int, common: dict[str, object]) -> str:
    offsets = " ".join(f"long e{r} = min(c0 + {r}, depth - 1);" for r in range(each))
    return _GRADIENT.format(offsets=offsets, rows=_rows(task.element, lanes, each, "ap[e{r}]"), **common)
