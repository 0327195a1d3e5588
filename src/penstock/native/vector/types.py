"""The types of elements, as LLVM has them: while they are computed with, and in memory."""
from __future__ import annotations

from llvmlite import ir

from penstock.graph import dtypes as dt
from penstock.graph.dtypes import DType
from penstock.native.machine import target
from penstock.native.unsupported import Unsupported
from penstock.native.vector.vectors import I1, I8, IR

NARROW = (dt.float16, dt.bfloat16)


class VectorValue:
    """A vector and the type of its elements. Elements of narrow types are held as float32, bools as single bits."""

    __slots__ = ("dtype", "ir")

    def __init__(self, value: IR, dtype: DType) -> None:
        self.ir, self.dtype = value, dtype


def scalar_type(dtype: DType) -> ir.Type:
    """The LLVM type of one element while it is computed with. Raises Unsupported."""
    if dtype is dt.float16 and not target.has_half():
        raise Unsupported("the CPU has no conversions of float16")
    if dtype in (dt.float32, *NARROW):
        return ir.FloatType()
    if dtype is dt.float64:
        return ir.DoubleType()
    if dtype.is_bool:
        return I1
    if dtype.is_integer:
        return ir.IntType(dtype.size * 8)
    raise Unsupported(f"there is no native code for {dtype.name}")


def memory_type(dtype: DType) -> ir.Type:
    """The LLVM type of an element in memory."""
    scalar = scalar_type(dtype)
    return ir.IntType(16) if dtype in NARROW else I8 if dtype.is_bool else scalar
