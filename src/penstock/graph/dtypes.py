"""DType: the element types of tensors, numbered and named as in TensorFlow.

A DType is a singleton per (type, is_ref). A *ref* type marks an edge that carries a reference to a variable's buffer instead of a value.
"""
from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

_REF_OFFSET = 100
_NumpyType = np.dtype[Any]


class DType:
    """The type of a tensor's elements.

    >>> float32.as_numpy_dtype, float32.size, float32.is_floating
    (<class 'numpy.float32'>, 4, True)
    """

    _enum: int
    _name: str
    _numpy: Any
    _other: DType  # the ref type of a plain one, and the other way round
    base_dtype: DType
    is_ref: bool
    np: _NumpyType  # what arrays of this type have as their dtype
    __slots__ = ("_enum", "_name", "_numpy", "_other", "base_dtype", "is_ref", "np")

    def __new__(cls, type_enum: Any) -> DType:
        """The type that has this number in TensorFlow's protos."""
        if isinstance(type_enum, str) or int(type_enum) not in _TABLE:
            raise TypeError(f"type_enum is not a valid types_pb2.DataType: {type_enum}")
        return _TABLE[int(type_enum)]

    @classmethod
    def _define(cls, enum: int, name: str, numpy_type: Any, plain: Any) -> DType:
        """A new type; ``plain`` is the NumPy type that arrays of it have here."""
        self = object.__new__(cls)
        self._enum, self._name, self._numpy = enum, name, numpy_type
        self.is_ref = enum > _REF_OFFSET
        self.np = np.dtype(plain)
        self.base_dtype = self
        return self

    @property
    def name(self) -> str:
        """``float32``; a ref type is called ``float32_ref``."""
        return self._name

    @property
    def as_datatype_enum(self) -> int:
        """The number of this type in TensorFlow's protos."""
        return self._enum

    @property
    def as_numpy_dtype(self) -> Any:
        """The NumPy scalar class, as in ``np.float32``; for a quantized type a structured NumPy dtype with one field, as in TensorFlow."""
        return self._numpy

    @property
    def real_dtype(self) -> DType:
        """The type of the real part of a complex type; any other type itself."""
        base = self.base_dtype
        real = {complex64: float32, complex128: float64}.get(base, base)
        return real._as_ref if self.is_ref else real

    @property
    def _as_ref(self) -> DType:
        return self if self.is_ref else self._other

    @property
    def _is_ref_dtype(self) -> bool:
        return self.is_ref

    @property
    def size(self) -> int:
        """Bytes per element; for a string those of a pointer, 1 for resource and variant, as in TensorFlow."""
        if self.np.kind == "O":
            return 8 if self.base_dtype == string else 1
        return int(self.np.itemsize)

    @property
    def is_floating(self) -> bool:
        """True for the float types, bfloat16 included."""
        return self.base_dtype in _FLOATS

    @property
    def is_integer(self) -> bool:
        """True for signed and unsigned integers, not for bool or quantized types."""
        return self.base_dtype in _INTEGERS

    @property
    def is_complex(self) -> bool:
        """True for complex64 and complex128."""
        return self.base_dtype in (complex64, complex128)

    @property
    def is_bool(self) -> bool:
        """True for bool."""
        return self.base_dtype is bool_

    @property
    def is_unsigned(self) -> bool:
        """True for unsigned integers."""
        return self.base_dtype in (uint8, uint16, uint32, uint64)

    @property
    def is_quantized(self) -> bool:
        """True for the quantized types, which have names here but no kernels."""
        return self in QUANTIZED_DTYPES

    @property
    def is_numpy_compatible(self) -> bool:
        """False for resources and variants, which have no array form."""
        base = self.base_dtype
        return base is not resource and base is not variant

    @property
    def min(self) -> Any:
        """The smallest value of this type; TypeError where there is none."""
        return self._limit("min")

    @property
    def max(self) -> Any:
        """The largest value of this type; TypeError where there is none."""
        return self._limit("max")

    @property
    def limits(self) -> tuple[Any, Any]:
        """(0 or min, 1 or max) as images use them: floats span [0, 1], integers their whole range."""
        return (0, 1) if self.is_floating else (self.min, self.max)

    def _limit(self, which: str) -> Any:
        base = self.base_dtype
        if base is bfloat16:
            return getattr(ml_dtypes.finfo(ml_dtypes.bfloat16), which)  # type: ignore[no-untyped-call]
        if base.is_floating:
            return getattr(np.finfo(base.np), which)
        if base.is_integer:
            return getattr(np.iinfo(base.np), which)
        raise TypeError(f"Cannot find {which}imum value of {self}.")

    def is_compatible_with(self, other: Any) -> bool:
        """True if a tensor of type ``other`` may stand where this type is asked for."""
        other = as_dtype(other)
        return self is other or self is other.base_dtype

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is DType or other is None or any(other is kind for kind in (int, str, bytes, complex)):  # NumPy has other types for the last
            return False
        try:
            return self is as_dtype(other)
        except TypeError:
            return False

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return self._enum

    def __int__(self) -> int:
        return self._enum

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self._name,)

    def __repr__(self) -> str:
        return f"tf.{self._name}"

    def __str__(self) -> str:
        return f"<dtype: {self._name!r}>"


_TABLE: dict[Any, DType] = {}


def _define(enum: int, name: str, numpy_type: Any, plain: Any = None) -> DType:
    plain = plain or numpy_type
    dtype, ref = DType._define(enum, name, numpy_type, plain), DType._define(enum + _REF_OFFSET, name + "_ref", numpy_type, plain)
    dtype._other, ref._other, ref.base_dtype = ref, dtype, dtype
    for each in (dtype, ref):
        _TABLE[each._enum] = _TABLE[each._name] = each
    return dtype


def _define_quantized(enum: int, name: str, plain: Any) -> DType:
    return _define(enum, name, np.dtype([(name, plain)]), plain)


float32 = _define(1, "float32", np.float32)
float64 = _define(2, "float64", np.float64)
int32 = _define(3, "int32", np.int32)
uint8 = _define(4, "uint8", np.uint8)
int16 = _define(5, "int16", np.int16)
int8 = _define(6, "int8", np.int8)
string = _define(7, "string", np.object_)
complex64 = _define(8, "complex64", np.complex64)
int64 = _define(9, "int64", np.int64)
bool_ = _define(10, "bool", np.bool_)
qint8 = _define_quantized(11, "qint8", np.int8)
quint8 = _define_quantized(12, "quint8", np.uint8)
qint32 = _define_quantized(13, "qint32", np.int32)
bfloat16 = _define(14, "bfloat16", ml_dtypes.bfloat16)
qint16 = _define_quantized(15, "qint16", np.int16)
quint16 = _define_quantized(16, "quint16", np.uint16)
uint16 = _define(17, "uint16", np.uint16)
complex128 = _define(18, "complex128", np.complex128)
float16 = _define(19, "float16", np.float16)
resource = _define(20, "resource", np.object_)
variant = _define(21, "variant", np.object_)
uint32 = _define(22, "uint32", np.uint32)
uint64 = _define(23, "uint64", np.uint64)
half, double = float16, float64

_FLOATS = frozenset([float16, bfloat16, float32, float64])
_INTEGERS = frozenset([uint8, uint16, uint32, uint64, int8, int16, int32, int64])

for _dtype in (float16, bfloat16, float32, float64, uint8, uint16, uint32, uint64, int8, int16, int32, int64, bool_,
               complex64, complex128):
    _TABLE[_dtype.np] = _TABLE[_dtype._numpy] = _dtype
_TABLE.update({float: float32, int: int32, bool: bool_, complex: complex128, str: string, bytes: string, object: string,
               np.object_: string, np.dtype(object): string, "half": float16, "float": float32, "double": float64,
               "half_ref": float16._as_ref, "float_ref": float32._as_ref, "double_ref": float64._as_ref})

for _dtype in (qint8, quint8, qint16, quint16, qint32):
    _TABLE[_dtype._numpy] = _dtype

QUANTIZED_DTYPES = frozenset(d for q in (qint8, quint8, qint16, quint16, qint32) for d in (q, q._as_ref))

# The names and values that TensorFlow keeps beside its types, by the number or the NumPy type; floats count as images.
_TYPE_TO_STRING = {dtype._enum: dtype._name for dtype in _TABLE.values()}
dtype_range: dict[Any, tuple[Any, Any]] = {
    np.bool_: (False, True), np.float32: (-1, 1), np.float64: (-1, 1),
    **{dtype._numpy: (dtype.min, dtype.max) for dtype in (uint8, uint16, uint32, uint64, int8, int16, int32, int64)}}


def plain_array(array: np.ndarray) -> np.ndarray:
    """An array of a quantized type, which has one field, as the integers that it consists of; any other array itself."""
    return array.view(_TABLE[array.dtype].np) if array.dtype.names is not None and array.dtype in _TABLE else array


def quantized_type_of(value: Any) -> DType | None:
    """The type of an array of a quantized NumPy type; None for anything else."""
    kind = getattr(value, "dtype", None)
    return _TABLE.get(kind) if isinstance(kind, np.dtype) and kind.names is not None else None


def as_dtype(type_value: Any) -> DType:
    """The DType for a DType, its name or number, a NumPy dtype or scalar class, or a Python type.

    >>> as_dtype("float32") is as_dtype(np.float32) is as_dtype(1) is float32
    True
    """
    if type(type_value) is DType:
        return type_value
    try:
        dtype = _TABLE.get(type_value)
    except TypeError:  # unhashable
        dtype = None
    if dtype is not None:
        return dtype
    try:
        numpy_dtype = np.dtype(type_value) if type_value is not None else None  # NumPy reads None as float64
    except (TypeError, ValueError):
        numpy_dtype = None
    if numpy_dtype is not None:
        if numpy_dtype.kind in "SUO":
            return string
        dtype = _TABLE.get(numpy_dtype.newbyteorder("="))
        if dtype is not None:
            return dtype
    raise TypeError(f"Cannot convert value {type_value!r} to a TensorFlow DType.")
