"""Vectors in LLVM IR: constants, the plain operations of one float type, and calls of the C library lane by lane."""
from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from penstock.native.machine import target
from penstock.native.unsupported import Unsupported

LANES = 16  # elements per vector: one AVX-512 register of float32, two of AVX2

I1, I8, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 32, 64))
VOID = ir.VoidType()
POINTER = ir.PointerType()
IR = Any  # an llvmlite value


def vector(scalar: ir.Type) -> ir.VectorType:
    """The vector of this element type."""
    return ir.VectorType(scalar, LANES)


class Literal(ir.Constant):  # type: ignore[misc]
    """A constant in LLVM's own notation: llvmlite would spell out each element of a vector."""

    def __init__(self, kind: ir.Type, text: str) -> None:
        self._text = text
        super().__init__(kind, None)

    def get_reference(self) -> str:
        return self._text


def splat(scalar: ir.Type, value: Any) -> IR:
    """A constant in every lane."""
    return Literal(vector(scalar), f"splat ({scalar} {ir.Constant(scalar, value).get_reference()})")


def zeros(kind: ir.Type) -> ir.Constant:
    """Zero in every lane."""
    return Literal(kind, "zeroinitializer")


def broadcast(b: ir.IRBuilder, scalar: IR, lanes: int = LANES) -> IR:
    """A scalar in all lanes."""
    kind = ir.VectorType(scalar.type, lanes)
    nothing = Literal(kind, "poison")
    lane = b.insert_element(nothing, scalar, ir.Constant(I32, 0))
    return b.shuffle_vector(lane, nothing, zeros(ir.VectorType(I32, lanes)))


def allocate(builder: ir.IRBuilder, element: ir.Type, length: int) -> IR:
    """Memory on the stack, aligned for vectors; to be called in the first block of a function."""
    memory = builder.alloca(element, ir.Constant(I64, length))
    memory.align = 64
    memory.type = POINTER  # llvmlite still gives it the type of the element, and then refuses to store vectors
    return memory


def intrinsic(builder: ir.IRBuilder, name: str, *operands: IR) -> IR:
    """Calls ``llvm.NAME`` for operands of one type, scalars or vectors."""
    kind = operands[0].type
    return builder.call(declare(builder.module, f"llvm.{name}.{suffix(kind)}", kind, [kind] * len(operands)), operands)


def masked_load(b: ir.IRBuilder, pointer: IR, mask: IR, kind: ir.VectorType, align: int) -> IR:
    """A vector with zeros where the mask is false; nothing is read there."""
    function = declare(b.module, f"llvm.masked.load.{suffix(kind)}.p0", kind, [POINTER, I32, mask.type, kind])
    return b.call(function, [pointer, ir.Constant(I32, align), mask, zeros(kind)])


def masked_store(b: ir.IRBuilder, value: IR, pointer: IR, mask: IR, align: int) -> None:
    """Stores where the mask is true."""
    function = declare(b.module, f"llvm.masked.store.{suffix(value.type)}.p0", VOID, [value.type, POINTER, I32, mask.type])
    b.call(function, [value, pointer, ir.Constant(I32, align), mask])


def prefetch(b: ir.IRBuilder, pointer: IR, write: bool = False, locality: int = 3) -> None:
    """Asks the cache (3: the first one, 2: the second) for a line that is needed soon; any address is allowed."""
    b.call(declare_prefetch(b.module), [pointer, ir.Constant(I32, int(write)), ir.Constant(I32, locality), ir.Constant(I32, 1)])


def declare_prefetch(module: ir.Module) -> ir.Function:
    """The intrinsic."""
    return declare(module, "llvm.prefetch.p0", VOID, [POINTER, I32, I32, I32])


def suffix(kind: ir.Type) -> str:
    """Of the names of intrinsics for a type."""
    scalar, lanes = (kind.element, f"v{kind.count}") if isinstance(kind, ir.VectorType) else (kind, "")
    return f"{lanes}{'i' if isinstance(scalar, ir.IntType) else 'f'}{width(scalar)}"


def width(scalar: ir.Type) -> int:
    """The bits of an element."""
    return scalar.width if isinstance(scalar, ir.IntType) else {ir.HalfType: 16, ir.FloatType: 32, ir.DoubleType: 64}[type(scalar)]


def declare(module: ir.Module, name: str, result: ir.Type, parameters: Sequence[ir.Type]) -> ir.Function:
    """An intrinsic, or a function of the C library; declared once."""
    existing = module.globals.get(name)
    return ir.Function(module, ir.FunctionType(result, parameters), name) if existing is None else existing


class Floats:
    """The operations of float32 or float64 vectors. Comparisons with a NaN are false."""

    def __init__(self, builder: ir.IRBuilder, bits: int) -> None:
        self.builder, self.bits = builder, bits
        self.scalar = ir.FloatType() if bits == 32 else ir.DoubleType()
        self.word = ir.IntType(bits)
        self.mantissa = 23 if bits == 32 else 52
        self.bias = 127 if bits == 32 else 1023
        # Adding this number rounds to an integer, which then stands in the lowest bits.
        self.magic = 1.5 * 2.0 ** self.mantissa
        self.magic_bits = int.from_bytes(struct.pack("<f" if bits == 32 else "<d", self.magic), "little")
        for name in ("fadd", "fsub", "fmul", "fdiv", "fneg"):
            setattr(self, name[1:], getattr(builder, name))

    add: Any
    sub: Any
    mul: Any
    div: Any
    neg: Any

    def number(self, value: float) -> IR:
        """A constant."""
        return splat(self.scalar, value)

    def integer(self, value: int) -> IR:
        """A constant of the integer type of the same size."""
        return splat(self.word, value)

    def fma(self, x: IR, y: IR, z: IR) -> IR:
        """x * y + z, rounded once."""
        if target.has_fma() or (self.bits == 64 and target.foreign() is not None):  # the linker finds a function for it
            return intrinsic(self.builder, "fma", x, y, z)
        if target.foreign() is None:
            raise Unsupported("this CPU has no fused multiply-add")
        return self._fma_in_doubles(x, y, z)

    def _fma_in_doubles(self, x: IR, y: IR, z: IR) -> IR:
        """x * y + z of float32: the product of two is exact in float64, so there is hardly ever more than one rounding."""
        wide = ir.VectorType(ir.DoubleType(), x.type.count) if isinstance(x.type, ir.VectorType) else ir.DoubleType()
        a, b, c = (self.builder.fpext(each, wide) for each in (x, y, z))
        return self.builder.fptrunc(self.builder.fadd(self.builder.fmul(a, b), c), x.type)

    def call(self, name: str, *operands: IR) -> IR:
        """An LLVM intrinsic: fabs, floor, copysign, sqrt, ..."""
        return intrinsic(self.builder, name, *operands)

    def compare(self, how: str, x: IR, y: IR) -> IR:
        """Lanes of true or false."""
        return self.builder.fcmp_ordered(how, x, y)

    def is_nan(self, x: IR) -> IR:
        """True where x is not a number."""
        return self.builder.fcmp_unordered("uno", x, x)

    def select(self, condition: IR, x: IR, y: IR) -> IR:
        """x where the condition holds, else y."""
        return self.builder.select(condition, x, y)

    def larger(self, x: IR, limit: float) -> IR:
        """The larger one; the limit for NaN."""
        return self.select(self.compare(">", x, self.number(limit)), x, self.number(limit))

    def smaller(self, x: IR, limit: float) -> IR:
        """The smaller one; the limit for NaN."""
        return self.select(self.compare("<", x, self.number(limit)), x, self.number(limit))

    def bits_of(self, x: IR) -> IR:
        """The bit pattern as an integer."""
        return self.builder.bitcast(x, vector(self.word))

    def from_bits(self, x: IR) -> IR:
        """The float with this bit pattern."""
        return self.builder.bitcast(x, vector(self.scalar))

    def rounded_integer(self, shifted: IR) -> IR:
        """The integer in x + magic."""
        return self.builder.sub(self.bits_of(shifted), self.integer(self.magic_bits))

    def from_integer(self, x: IR) -> IR:
        """A small integer as a float: conversions of 64-bit integers are slow before AVX-512."""
        return self.sub(self.from_bits(self.builder.add(x, self.integer(self.magic_bits))), self.number(self.magic))

    def power_of_two(self, exponent: IR) -> IR:
        """2 to the power of an integer that a normal number can have."""
        biased = self.builder.add(exponent, self.integer(self.bias))
        return self.from_bits(self.builder.shl(biased, self.integer(self.mantissa)))

    def polynomial(self, x: IR, coefficients: Sequence[float]) -> IR:
        """By Horner's rule."""
        result = self.number(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            result = self.fma(result, x, self.number(coefficient))
        return result

    def library(self, name: str, *operands: IR) -> IR:
        """A function of the C library, called for each lane. Operands too small to be normal are 0, as everywhere in native code: the library works
        with their bits, and computes garbage when its own operations take them for 0."""
        own = f"lanes.{name}.{self.bits}"
        function = self.builder.module.globals.get(own)
        if function is None:
            function = self._lanes(own, name + ("f" if self.bits == 32 else ""), len(operands))
        return self.builder.call(function, [self._flush_denormals(operand) for operand in operands])

    def _flush_denormals(self, x: IR) -> IR:
        small = self.compare("<", self.call("fabs", x), self.number(2.0 ** (1 - self.bias)))
        return self.select(small, self.call("copysign", self.number(0.0), x), x)

    def _lanes(self, own: str, name: str, count: int) -> ir.Function:
        kind = vector(self.scalar)
        function = ir.Function(self.builder.module, ir.FunctionType(kind, [kind] * count), own)
        function.linkage = "internal"
        function.attributes.add("noinline")
        called = declare(self.builder.module, name, self.scalar, [self.scalar] * count)
        builder = ir.IRBuilder(function.append_basic_block())
        result: IR = ir.Constant(kind, ir.Undefined)
        for lane in range(LANES):
            index = ir.Constant(ir.IntType(32), lane)
            value = builder.call(called, [builder.extract_element(argument, index) for argument in function.args])
            result = builder.insert_element(result, value, index)
        builder.ret(result)
        return function

    def rarely(self, mask: IR, common: IR, name: str, *operands: IR) -> IR:
        """``common``, but by the C library where the mask has a lane that is true."""
        builder = self.builder
        some = builder.icmp_unsigned("!=", builder.bitcast(mask, ir.IntType(LANES)), ir.Constant(ir.IntType(LANES), 0))
        before = builder.block
        with builder.if_then(some, likely=False):
            precise = self.select(mask, self.library(name, *operands), common)
            inside = builder.block
        result = builder.phi(common.type)
        result.add_incoming(common, before)
        result.add_incoming(precise, inside)
        return result
