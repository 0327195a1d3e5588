"""The text of kernels in OpenCL C: the types of elements, how they are loaded and stored, and the frame around the body of a kernel.

Elements of narrow floats are computed with as float, and rounded after each step; bools are bytes in memory. Each operand of a kernel is the memory
that it lies in and where it begins there, in bytes; then come numbers, all of them ``long``.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.graph import dtypes as dt
from penstock.graph.dtypes import DType, as_dtype
from penstock.native.unsupported import Unsupported

_NAMES = {dt.float32: "float", dt.float64: "double", dt.int8: "char", dt.int16: "short", dt.int32: "int", dt.int64: "long", dt.uint8: "uchar",
          dt.uint16: "ushort", dt.uint32: "uint", dt.uint64: "ulong", dt.bool_: "bool", dt.float16: "float", dt.bfloat16: "float"}
_IN_MEMORY = {dt.bool_: "uchar", dt.float16: "ushort", dt.bfloat16: "ushort"}
WORDS = {1: "uchar", 2: "ushort", 4: "uint", 8: "ulong", 16: "ulong2"}  # to move elements by

_DOUBLES = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
_NARROW = """
float narrow_bf16(float x) {
  uint u = as_uint(x);
  return as_float(x != x ? (u | 0x400000u) & 0xffff0000u : (u + 0x7fffu + ((u >> 16) & 1u)) & 0xffff0000u);
}
float narrow_f16(float x) { ushort h; vstore_half_rte(x, 0, (half *)&h); return vload_half(0, (half *)&h); }
float load_bf16(ushort h) { return as_float((uint)h << 16); }
float load_f16(ushort h) { return vload_half(0, (half *)&h); }
ushort bits_bf16(float x) { return (ushort)(as_uint(narrow_bf16(x)) >> 16); }
ushort bits_f16(float x) { ushort h; vstore_half_rte(x, 0, (half *)&h); return h; }
"""
_KINDS = {dt.float16: "f16", dt.bfloat16: "bf16"}


def name_of(dtype: DType) -> str:
    """The type of an element while it is computed with. Raises Unsupported."""
    try:
        return _NAMES[dtype]
    except KeyError:
        raise Unsupported(f"there are no OpenCL kernels for {dtype.name}") from None


def memory_name(dtype: DType) -> str:
    """The type of an element in memory."""
    return _IN_MEMORY.get(dtype) or name_of(dtype)


def loaded(dtype: DType, place: str) -> str:
    """The element at a place (an lvalue of the memory's type)."""
    return f"load_{_KINDS[dtype]}({place})" if dtype in _KINDS else f"({place} != 0)" if dtype.is_bool else place


def stored(dtype: DType, place: str, value: str) -> str:
    """The statement that stores an element."""
    return f"{place} = bits_{_KINDS[dtype]}({value});" if dtype in _KINDS else f"{place} = {value};"


def narrowed(dtype: DType, value: str) -> str:
    """A computed value as the type can hold it."""
    return f"narrow_{_KINDS[dtype]}({value})" if dtype in _KINDS else value


@dataclass(frozen=True)
class Operand:
    """An argument that is an array: its name in the body, the type of its elements there, and whether others share its memory."""

    name: str
    element: str
    alone: bool = False


def operand(name: str, dtype: np.dtype, alone: bool = False) -> Operand:
    """One of elements of this type, as they are in memory."""
    return Operand(name, memory_name(as_dtype(dtype)), alone)


def kernel_text(operands: Sequence[Operand], numbers: Sequence[str], body: str, before: str = "", group: tuple[int, ...] | None = None) -> str:
    """A program whose kernel is called ``run``. ``before``: functions that the body calls. ``group``: the only size of work groups."""
    arguments = [f"__global char *p_{each.name}, long o_{each.name}" for each in operands] + [f"long {name}" for name in numbers]
    restrict = {True: " restrict", False: ""}
    places = [f"  __global {each.element} *{restrict[each.alone]} {each.name} = (__global {each.element} *)(p_{each.name} + o_{each.name});"
              for each in operands]
    size = f"__attribute__((reqd_work_group_size({', '.join(map(str, (*group, 1, 1)[:3]))})))\n" if group else ""
    text = f"{before}\n__kernel {size}void run({', '.join(arguments)}) {{\n" + "\n".join([*places, body]) + "\n}\n"
    return (_DOUBLES if "double" in text else "") + (_NARROW if "f16" in text else "") + text
