"""Functions of floats that OpenCL does not have, and forms of others without branches, which a compiler for CPUs turns into vectors.

GPUs have the latter as instructions or as good library functions; there the built-in ones are called.
"""
from __future__ import annotations

from typing import NamedTuple


class SourceFunction(NamedTuple):
    """The text of a function, and the others that it calls. ``always``: there is none built in."""

    text: str
    calls: tuple[str, ...] = ()
    always: bool = False


FUNCTIONS = {
    "p_sigmoid32": SourceFunction("float p_sigmoid32(float x) { return 1.0f / (1.0f + P_EXP(-x)); }", ("P_EXP",), True),
    "p_sigmoid64": SourceFunction("double p_sigmoid64(double x) { return 1.0 / (1.0 + exp(-x)); }", (), True),
    "p_exp32": SourceFunction("""
float p_exp32(float x) {
  float y = x < -104.0f ? -104.0f : x > 89.0f ? 89.0f : x;
  float n = RINT32(y * 1.44269504f);
  float r = (n * -0.693359375f + y);
  r = (n * 2.12194440e-4f + r);
  float p = 1.9875691500e-4f;
  p = (p * r + 1.3981999507e-3f);
  p = (p * r + 8.3334519073e-3f);
  p = (p * r + 4.1665795894e-2f);
  p = (p * r + 1.6666665459e-1f);
  p = (p * r + 5.0000001201e-1f);
  p = ((p * r) * r + r) + 1.0f;
  int k = (int)n, h = k >> 1;
  float result = p * as_float((h + 127) << 23) * as_float((k - h + 127) << 23);
  result = x > 88.72284f ? INFINITY : x < -103.98f ? 0.0f : result;
  return x != x ? x : result;
}"""),
    "p_tanh32": SourceFunction("""
float p_tanh32(float x) {
  float a = FABS32(x), s = x * x;
  float p = ((((((((-5.70498872745e-3f) * s + 2.06390887954e-2f)) * s + -5.37397155531e-2f)) * s + 1.33314422036e-1f)) * s + -3.33332819422e-1f);
  float small = ((p * s) * x + x);
  float e = p_exp32(a < 20.0f ? 2.0f * a : 40.0f);
  float large = (x < 0.0f ? -1.0f : 1.0f) * (1.0f - 2.0f / (e + 1.0f));
  float result = a < 0.625f ? small : large;
  return x != x ? x : result;
}""", ("p_exp32",)),
    "p_log32": SourceFunction("""
float p_log32(float x) {
  bool tiny = x < 1.17549435e-38f;
  float y = tiny ? x * 8388608.0f : x;
  int bits = as_int(y);
  int e = ((bits >> 23) & 255) - 126 - (tiny ? 23 : 0);
  float m = as_float((bits & 0x007fffff) | 0x3f000000);
  bool low = m < 0.707106781f;
  float k = (float)(low ? e - 1 : e);
  m = low ? m + m - 1.0f : m - 1.0f;
  float s = m * m;
  float p = 7.0376836292e-2f;
  p = (p * m + -1.1514610310e-1f);
  p = (p * m + 1.1676998740e-1f);
  p = (p * m + -1.2420140846e-1f);
  p = (p * m + 1.4249322787e-1f);
  p = (p * m + -1.6668057665e-1f);
  p = (p * m + 2.0000714765e-1f);
  p = (p * m + -2.4999993993e-1f);
  p = (p * m + 3.3333331174e-1f);
  p = p * m * s;
  p = (k * -2.12194440e-4f + p);
  p = (s * -0.5f + p);
  float result = (k * 0.693359375f + m + p);
  result = x == INFINITY ? INFINITY : x == 0.0f ? -INFINITY : result;
  return x < 0.0f || x != x ? NAN : result;
}"""),
}
FUNCTIONS["P_EXP"] = SourceFunction("")  # whichever exponential there is: see ``texts``


_INSTRUCTIONS = ("fabs", "sqrt", "floor", "ceil", "rint", "trunc")
_BUILTINS = "#ifdef __clang__\n" + "".join(
    f"#define {name.upper()}{bits} __builtin_{name}{'f' if bits == 32 else ''}\n" for name in _INSTRUCTIONS
    for bits in (32, 64)) + "#else\n" + "".join(
    f"#define {name.upper()}{bits} {name}\n" for name in _INSTRUCTIONS for bits in (32, 64)) + "#endif\n"


def texts(used: set[str], quick: bool) -> str:
    """The functions that are used, and those that they call, in an order in which they can stand."""
    result: list[str] = []

    def add(name: str) -> None:
        function = FUNCTIONS[name]
        for other in function.calls:
            if other == "P_EXP":
                if quick:
                    add("p_exp32")
            else:
                add(other)
        text = function.text.replace("P_EXP", "p_exp32" if quick else "exp")
        if text not in result:
            result.append(text)

    for name in sorted(used):
        add(name)
    return (_BUILTINS if quick else "") + "\n".join(result)
