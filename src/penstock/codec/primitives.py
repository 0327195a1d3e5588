"""What functions of the language of native code may call: memory, conversions, and a few instructions."""
from __future__ import annotations

from typing import Any

from llvmlite import ir

from penstock.codec.language import F32, F64, I1, I8, I32, I64, POINTER, Primitive, Value


def _cell(f: Any) -> Value:
    """The address of 8 bytes of the function's own, for what another one gives back beside its result."""
    place = f.entry.alloca(I64)
    place.type = POINTER
    return f.b.ptrtoint(place, I64)


def _copy(f: Any, target: Value, source: Value, count: Value) -> Value:
    """memcpy."""
    f.external("llvm.memcpy.p0.p0.i64", ir.VoidType(), [POINTER, POINTER, I64, I1],
               [f.b.inttoptr(target, POINTER), f.b.inttoptr(source, POINTER), count, ir.Constant(I1, 0)])
    return ir.Constant(I64, 0)


def _find(f: Any, start: Value, byte: Value, count: Value) -> Value:
    """The address of the first such byte of ``count`` ones; 0 if there is none."""
    found = f.external("memchr", POINTER, [POINTER, I32, I64], [f.b.inttoptr(start, POINTER), f.b.trunc(byte, I32), count])
    return f.b.ptrtoint(found, I64)


def _call2(f: Any, function: Value, first: Value, second: Value) -> Value:
    """Calls a C function of two integers, or addresses, by its address."""
    kind = ir.FunctionType(I64, [I64, I64])
    return f.b.call(f.b.inttoptr(function, ir.PointerType(kind)), [first, second])


def _crc(f: Any, bits: int, crc: Value, data: Value) -> Value:
    kind = I64 if bits == 64 else I32
    result = f.external(f"llvm.x86.sse42.crc32.{'64.64' if bits == 64 else '32.8'}", kind, [kind, I64 if bits == 64 else I8],
                        [crc if bits == 64 else f.b.trunc(crc, I32), data if bits == 64 else f.b.trunc(data, I8)])
    return result if bits == 64 else f.b.zext(result, I64)


load8 = Primitive(lambda f, at: f.b.zext(f.load(I8, at), I64))  # the byte at an address
load32 = Primitive(lambda f, at: f.b.zext(f.load(I32, at), I64))  # 4 bytes, as an integer from 0 on
load64 = Primitive(lambda f, at: f.load(I64, at))  # 8 bytes
load_float64 = Primitive(lambda f, at: f.load(F64, at))  # a float64
store8 = Primitive(lambda f, at, value: f.store(f.b.trunc(value, I8), at))  # the lowest byte
store32 = Primitive(lambda f, at, value: f.store(f.b.trunc(value, I32), at))  # the lowest 4 bytes
store64 = Primitive(lambda f, at, value: f.store(value, at))  # 8 bytes
store_float32 = Primitive(lambda f, at, value: f.store(f.b.fptrunc(value, F32), at))  # rounded to float32
store_float64 = Primitive(lambda f, at, value: f.store(value, at))
load_single = Primitive(lambda f, at: f.load(F32, at))  # a float32, to compute with
store_single = Primitive(lambda f, at, value: f.store(value, at))
to_single = Primitive(lambda f, value: f.b.sitofp(value, F32))  # an integer as float32
to_float = Primitive(lambda f, value: f.b.sitofp(value, F64))  # an integer as float64
remainder = Primitive(lambda f, left, right: f.b.urem(left, right))  # of a division without signs
cell = Primitive(_cell)  # the address of 8 bytes of the function's own, for what another one gives back beside its result
copy = Primitive(_copy)  # memcpy
find = Primitive(_find)  # the address of the first such byte among ``count``; 0 if there is none
call2 = Primitive(_call2)  # calls a C function of two integers, or addresses, by its address
crc64 = Primitive(lambda f, crc, data: _crc(f, 64, crc, data))  # CRC-32C of 8 bytes more
crc8 = Primitive(lambda f, crc, data: _crc(f, 8, crc, data))  # of one byte more
