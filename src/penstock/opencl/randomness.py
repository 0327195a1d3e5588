"""Random numbers on a device: Philox4x32-10, bit for bit as in ``ops/random/philox.py``. A work item draws a block of four words."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.native.calls import Array
from penstock.native.kernels.randomness import Randomness
from penstock.opencl.emitter import HostCall
from penstock.opencl.source import Operand, kernel_text, operand

_PHILOX = """
uint4 philox(__global const ulong *g, ulong block) {
  ulong low = g[1] + block, high = g[2] + (low < block);
  uint4 w = (uint4)((uint)low, (uint)(low >> 32), (uint)high, (uint)(high >> 32));
  uint k0 = (uint)g[0], k1 = (uint)(g[0] >> 32);
  for (int turn = 0; turn < 10; turn++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u)
    w = (uint4)(mul_hi(w.z, 0xCD9E8D57u) ^ w.y ^ k0, w.z * 0xCD9E8D57u, mul_hi(w.x, 0xD2511F53u) ^ w.w ^ k1, w.x * 0xD2511F53u);
  return w;
}
"""
_FLOAT = "float unit(uint w) { return as_float((w & 0x7FFFFFu) | 0x3F800000u) - 1.0f; }\n"
_DOUBLE = "double unit2(uint a, uint b) { return as_double(((ulong)((a & 0xFFFFFu) | 0x3FF00000u) << 32) | b) - 1.0; }\n"
_NORMAL = f"""
float2 normal(float a, float b) {{
  float radius = sqrt((float)log((double)(a > 1e-7f ? a : 1e-7f)) * -2.0f), angle = (float)((double)b * {2 * math.pi!r});
  return (float2)((float)sin((double)angle) * radius, (float)cos((double)angle) * radius);
}}
"""
_NORMAL_SINGLE = f"""
float2 normal(float a, float b) {{
  float radius = sqrt(log(a > 1e-7f ? a : 1e-7f) * -2.0f), angle = b * {2 * math.pi!r}f;
  return (float2)(sin(angle) * radius, cos(angle) * radius);
}}
"""
_NORMAL_DOUBLE = f"""
double2 normal2(double a, double b) {{
  double radius = sqrt(log(a > 1e-7 ? a : 1e-7) * -2.0), angle = b * {2 * math.pi!r};
  return (double2)(sin(angle) * radius, cos(angle) * radius);
}}
"""
_START = "long i = get_global_id(0); if (i * {each} >= size) return;\nuint4 w = philox(g, (ulong)i);\n"
_STORE4 = "for (int j = 0; j < 4 && i * 4 + j < size; j++) result[i * 4 + j] = v[j];"
_STORE2 = "for (int j = 0; j < 2 && i * 2 + j < size; j++) result[i * 2 + j] = v[j];"
_DRAWS = {
    ("uniform", "float32"): (_FLOAT, 4, f"float v[4] = {{unit(w.x), unit(w.y), unit(w.z), unit(w.w)}};\n{_STORE4}"),
    ("uniform", "float64"): (_DOUBLE, 2, f"double v[2] = {{unit2(w.x, w.y), unit2(w.z, w.w)}};\n{_STORE2}"),
    ("normal", "float32"): (_FLOAT + "NORMAL", 4, "float2 p = normal(unit(w.x), unit(w.y)), q = normal(unit(w.z), unit(w.w));\n"
                            f"float v[4] = {{p.x, p.y, q.x, q.y}};\n{_STORE4}"),
    ("normal", "float64"): (_DOUBLE + _NORMAL_DOUBLE, 2, "double2 p = normal2(unit2(w.x, w.y), unit2(w.z, w.w)); "
                            f"double v[2] = {{p.x, p.y}};\n{_STORE2}"),
}
_TRUNCATED = """
  long i = get_global_id(0); if (i * 4 >= size) return;
  int count = 0;
  for (ulong depth = 0; count < 4; depth++) {
    uint4 w = philox(g, (ulong)i * 256 + depth);
    float2 p = normal(unit(w.x), unit(w.y)), q = normal(unit(w.z), unit(w.w));
    float v[4] = {p.x, p.y, q.x, q.y};
    for (int j = 0; j < 4 && count < 4; j++) if (fabs(v[j]) < 2.0f) { if (i * 4 + count < size) result[i * 4 + count] = v[j]; count++; }
  }
"""
_AHEAD = "ulong before = g[1], after = before + (ulong)blocks; g[1] = after; g[2] += after < before;"


class DeviceRandomness(Randomness):
    """Draws from a generator, which is moved ahead by as many blocks as the NumPy kernels reserve: here and, at the same time, on the host."""

    def draw(self, generator: Array, shape: Sequence[int], dtype: np.dtype, how: str, reserved: int) -> Array:
        """An array of "uniform", "normal" or "truncated" (normal) numbers; ``reserved``: how many blocks are set aside for each."""
        normal = _NORMAL if self.emit.traits.doubles else _NORMAL_SINGLE
        if how == "truncated" and dtype == np.float32:
            before, each, body = _FLOAT + normal, 4, _TRUNCATED
        elif (how, np.dtype(dtype).name) in _DRAWS:
            before, each, body = _DRAWS[how, np.dtype(dtype).name]
            before, body = before.replace("NORMAL", normal), _START.format(each=each) + body
        else:
            self.emit.unsupported(f"{how} random numbers of type {dtype}")
        result = self._fresh(shape, dtype)
        if result.size:
            text = kernel_text([Operand("g", "ulong"), operand("result", result.dtype)], ["size"], body, _PHILOX + before)
            self.emit.launch(text, [generator, result], [result.size], (-(-result.size // each),), f"random {how}", flops=result.size * 30)
        self._ahead(generator, result.size * reserved)
        return result

    def integers(self, generator: Array, shape: Sequence[int], low: Array, high: Array, reserved: int) -> Array:
        """Integers from ``low`` on, below ``high``."""
        result = self._fresh(shape, low.dtype)
        wide = low.dtype.itemsize == 8
        kind, unsigned, each = ("long", "ulong", 2) if wide else ("int", "uint", 4)
        words = "{(ulong)w.x | (ulong)w.y << 32, (ulong)w.z | (ulong)w.w << 32}" if wide else "{w.x, w.y, w.z, w.w}"
        body = f"""
  long i = get_global_id(0); {kind} base = *low, end = *high;
  if (base >= end) {{ *status = 1; return; }}
  if (i * {each} >= size) return;
  uint4 w = philox(g, (ulong)i);
  {unsigned} v[{each}] = {words}, span = ({unsigned})end - ({unsigned})base;
  for (int j = 0; j < {each} && i * {each} + j < size; j++) result[i * {each} + j] = ({kind})(v[j] % span + ({unsigned})base);"""
        names = [Operand("g", "ulong"), Operand("low", kind), Operand("high", kind), Operand("result", kind), Operand("status", "long")]
        self.emit.launch(kernel_text(names, ["size"], body, _PHILOX), [generator, low, high, result, self.emit.status], [result.size],
                         (max(-(-result.size // each), 1),), "random integers", writes=2, flops=result.size * 30)
        self._ahead(generator, result.size * reserved)
        return result

    def _ahead(self, generator: Array, blocks: int) -> None:
        self.emit.launch(kernel_text([Operand("g", "ulong")], ["blocks"], _AHEAD), [generator], [blocks], (1,), "random ahead", group=(1,))

        def move_on(instance: Any) -> None:
            state = instance.generators[generator.buffer.position]
            total = int(state[1]) + blocks
            state[1] = total & (1 << 64) - 1
            state[2] = (int(state[2]) + (total >> 64)) & (1 << 64) - 1

        self.emit.calls.append(HostCall("ahead", [generator], [], "random ahead", 0, 0, list(self.emit.items), action=move_on))  # type: ignore[arg-type]
