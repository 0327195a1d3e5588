"""Products on GPUs: 16 by 16 work items compute 64 by 64 elements of C, sixteen each; pieces of A and B, 16 deep, pass through local memory."""
from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.native.calls import Array
from penstock.opencl.source import Operand, kernel_text

if TYPE_CHECKING:
    from penstock.opencl.emitter import DeviceEmitter
    from penstock.opencl.products import ProductTask

_SIDE, _EACH, _DEEP = 16, 4, 16
_TILE = _SIDE * _EACH

_WINDOW = """
  long q = {q}, pixel = {pixel};
  long ci = q % depth, tap = q / depth, ty = tap / across, tx = tap % across;
  long y = pixel / width % height * stride_y - pad_y + ty * dilation_y, x = pixel % width * stride_x - pad_x + tx * dilation_x;
  bool in_image = y >= 0 && y < in_height && x >= 0 && x < in_width;
  value = in_image ? a[pixel / width / height * image_step + y * line_step + x * pixel_step + ci] : 0;
"""
_BODY = """
  __local {t} as[{deep}][{tile} + 1], bs[{deep}][{tile} + 1];
  long part = get_group_id(2);
  a += a_at + part * a_batch; b += b_at + part * b_batch; c += c_at + part * c_batch;
  {move_added}
  int lx = get_local_id(0), ly = get_local_id(1), lid = ly * {side} + lx;
  long m0 = (long)get_group_id(1) * {tile}, n0 = (long)get_group_id(0) * {tile};
  {t} acc[{each}][{each}];
  for (int i = 0; i < {each}; i++) for (int j = 0; j < {each}; j++) acc[i][j] = 0;
  for (long k0 = 0; k0 < k; k0 += {deep}) {{
    for (int e = lid; e < {tile} * {deep}; e += {side} * {side}) {{
      int r = {a_row}, d = {a_deep};
      long row = m0 + r, deep = k0 + d;
      {t} value = 0;
      if (row < m && deep < k) {{ {load_a} }}
      as[d][r] = value;
    }}
    for (int e = lid; e < {tile} * {deep}; e += {side} * {side}) {{
      int col = {b_col}, d = {b_deep};
      long column = n0 + col, deep = k0 + d;
      bs[d][col] = column < n && deep < k ? b[{b_index}] : 0;
    }}
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = 0; d < {deep}; d++) {{
      {t} av[{each}], bv[{each}];
      for (int i = 0; i < {each}; i++) {{ av[i] = as[d][ly + i * {side}]; bv[i] = bs[d][lx + i * {side}]; }}
      for (int i = 0; i < {each}; i++) for (int j = 0; j < {each}; j++) acc[i][j] += av[i] * bv[j];
    }}
    barrier(CLK_LOCAL_MEM_FENCE);
  }}
  for (int i = 0; i < {each}; i++) for (int j = 0; j < {each}; j++) {{
    long row = m0 + ly + i * {side}, column = n0 + lx + j * {side};
    if (row < m && column < n) {store}
  }}
"""


def emit(b: DeviceEmitter, task: ProductTask, operands: list[Array], label: str) -> None:
    """Appends the kernel."""
    pixel, q = ("deep", "row") if task.a_transposed else ("row", "deep")
    if task.windows:
        load = _WINDOW.format(q=q, pixel=pixel)
    else:
        load = "value = a[deep * a_step + row];" if task.a_transposed else "value = a[row * a_step + deep];"
    along_rows = (task.a_transposed and not task.windows) or (task.windows and task.a_transposed)  # neighbours in memory are neighbours in a group
    body = _BODY.format(t=task.element, deep=_DEEP, tile=_TILE, side=_SIDE, each=_EACH, load_a=load, store=task.store("row", "column", "acc[i][j]"),
                        a_row=f"e % {_TILE}" if along_rows else f"e / {_DEEP}", a_deep=f"e / {_TILE}" if along_rows else f"e % {_DEEP}",
                        b_col=f"e / {_DEEP}" if task.b_transposed else f"e % {_TILE}", b_deep=f"e % {_DEEP}" if task.b_transposed else f"e / {_TILE}",
                        b_index="column * b_step + deep" if task.b_transposed else "deep * b_step + column",
                        move_added="added += added_at + part * added_batch;" if task.added else "")
    used = {name: value for name, value in task.numbers.items() if name not in ("batch", "length")}
    for name in ("a_batch", "b_batch", "c_batch", *(("added_batch", "added_step") if task.added else ())):
        used.setdefault(name, 0)
    names = ["a", "b", *(["added"] if task.added else []), "c"]
    text = kernel_text([Operand(name, task.element) for name in names], list(used), body, group=(_SIDE, _SIDE, 1))
    size = (-(-task.numbers["n"] // _TILE) * _SIDE, -(-task.numbers["m"] // _TILE) * _SIDE, task.numbers["batch"])
    flops = 2 * task.numbers["m"] * task.numbers["n"] * task.numbers["k"] * task.numbers["batch"]
    b.launch(text, operands, list(used.values()), size, label, flops=flops, group=(_SIDE, _SIDE, 1))
