"""Arrays as TensorProtos and back, and the conversion of Python values to arrays with TensorFlow's rules of type."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
from tensorboard.compat.proto.tensor_pb2 import TensorProto

from penstock.graph import dtypes
from penstock.graph.dtypes import DType
from penstock.graph.shape import TensorShape, as_shape

_FIELDS = {
    dtypes.float32: "float_val", dtypes.float64: "double_val", dtypes.int32: "int_val", dtypes.uint8: "int_val",
    dtypes.int16: "int_val", dtypes.int8: "int_val", dtypes.uint16: "int_val", dtypes.string: "string_val",
    dtypes.int64: "int64_val", dtypes.bool_: "bool_val", dtypes.uint32: "uint32_val", dtypes.uint64: "uint64_val",
    dtypes.float16: "half_val", dtypes.bfloat16: "half_val", dtypes.complex64: "scomplex_val", dtypes.complex128: "dcomplex_val",
    dtypes.qint8: "int_val", dtypes.quint8: "int_val", dtypes.qint16: "int_val", dtypes.quint16: "int_val", dtypes.qint32: "int_val"}

_CONTENT_TYPES = frozenset([  # those that ``tf.make_tensor_proto`` writes as bytes; the elements of others stand in fields, one by one
    dtypes.float32, dtypes.float64, dtypes.int32, dtypes.uint8, dtypes.int16, dtypes.int8, dtypes.int64, dtypes.qint8, dtypes.quint8,
    dtypes.qint16, dtypes.quint16, dtypes.qint32, dtypes.uint32, dtypes.uint64])

_LAYOUT = {dtype.as_datatype_enum: (field, dtype.np.itemsize, 2 if dtype.is_complex else 1) for dtype, field in _FIELDS.items()}

MAX_ELEMENTS = 1 << 31  # an array that a proto may declare: a guard against hostile sizes
_VARINT_BITS = 63
_LARGE = 1 << 20  # elements; a constant of more, all equal, is kept as one of them
_SMALL, _FACTOR = 64 << 20, 1000  # bytes that values which repeat the last one may take, whatever the proto's size; and times that size


def array_to_proto(array: np.ndarray, dtype: DType | None = None, raw: bool = False) -> TensorProto:
    """The TensorProto of an array: raw bytes for numbers (a single one as a number, unless ``raw``; the one that a large constant repeats
    stands in it once), a list of strings for strings."""
    dtype = (dtype or dtypes.as_dtype(array.dtype)).base_dtype
    proto = TensorProto(dtype=dtype.as_datatype_enum, tensor_shape=TensorShape(array.shape).as_proto())
    if dtype is dtypes.string:
        proto.string_val.extend(_as_bytes(item) for item in array.flat)
    elif array.size == 1 and not raw and dtype in (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64, dtypes.bool_):
        getattr(proto, _FIELDS[dtype]).append(array.reshape(-1)[0].item())
    elif array.size > _LARGE and not raw and not any(array.strides):
        proto.MergeFrom(array_to_values(array[(0,) * array.ndim].reshape(1), dtype))
    else:
        proto.tensor_content = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    return proto


def array_to_values(array: np.ndarray, dtype: DType) -> TensorProto:
    """A TensorProto with nothing but the elements, one by one in the field of their type: what old formats ask for."""
    flat = array.reshape(-1)
    if dtype in (dtypes.float16, dtypes.bfloat16):
        flat = flat.view(np.uint16)
    elif dtype.is_complex:
        flat = flat.view(dtype.real_dtype.np)
    return TensorProto(**{_FIELDS[dtype]: flat.tolist()})


def proto_to_array(proto: TensorProto) -> np.ndarray:
    """The array of a TensorProto; ValueError if it is malformed.

    Values shorter than the shape repeat the last one, as TensorFlow packs constants.
    """
    dtype = dtypes.as_dtype(proto.dtype).base_dtype
    if dtype not in _FIELDS:
        raise ValueError(f"a TensorProto of type {dtype.name} holds no array")
    shape = TensorShape(proto.tensor_shape)
    shape.assert_is_fully_defined()
    dims = shape.as_list()
    size = math.prod(dims)  # type: ignore[arg-type]
    if size > MAX_ELEMENTS:
        raise ValueError(f"a TensorProto declares {size} elements; at most {MAX_ELEMENTS} are read")
    content = proto.tensor_content  # once: each look copies it
    if content:
        if dtype is dtypes.string:
            return _from_packed_strings(content, size).reshape(dims)
        if len(content) != size * dtype.np.itemsize:
            raise ValueError(f"a TensorProto of shape {shape} and type {dtype.name} holds {len(content)} bytes")
        return np.frombuffer(content, dtype.np.newbyteorder("<")).astype(dtype.np).reshape(dims)
    if expanded_bytes(proto) > max(_SMALL, _FACTOR * proto.ByteSize()):
        raise ValueError(f"a TensorProto of {proto.ByteSize()} bytes declares {size} elements, of which it repeats the last: too many to be honest")
    return _from_values(_values(proto, dtype), dtype, size).reshape(dims)


def expanded_bytes(proto: TensorProto) -> int:
    """The memory of an array whose TensorProto may be shorter than it; 0 where it is not, and for one that is malformed."""
    if proto.tensor_content or proto.dtype not in _LAYOUT or any(dim.size < 0 for dim in proto.tensor_shape.dim):
        return 0
    field, item_size, per_item = _LAYOUT[proto.dtype]
    size = math.prod(dim.size for dim in proto.tensor_shape.dim)
    if size <= 1 or (size > _LARGE and len(getattr(proto, field)) <= per_item):
        return 0
    return int(size * item_size)


def value_count(proto: TensorProto) -> int:
    """How many elements are written in the field of the proto's type."""
    field, _, per_item = _LAYOUT.get(proto.dtype, ("tensor_content", 0, 1))
    return len(getattr(proto, field)) // per_item


def _from_packed_strings(content: bytes, count: int) -> np.ndarray:
    """Strings as TensorFlow's runtime packs those that it sends: the length of each as a varint, then their bytes, one after another."""
    lengths: list[int] = []
    place = 0
    while len(lengths) < count:
        length, shift, more = 0, 0, True
        while more:
            if place == len(content) or shift > _VARINT_BITS:
                raise ValueError(f"a TensorProto of {count} strings ends among their lengths")
            length |= (content[place] & 0x7F) << shift
            more, shift, place = content[place] > 0x7F, shift + 7, place + 1
        lengths.append(length)
    if place + sum(lengths) != len(content):
        raise ValueError(f"a TensorProto of {count} strings declares {sum(lengths)} bytes and holds {len(content) - place}")
    values = np.empty(count, object)
    for index, length in enumerate(lengths):
        values[index] = content[place:place + length]
        place += length
    return values


def _values(proto: TensorProto, dtype: DType) -> np.ndarray:
    field = getattr(proto, _FIELDS[dtype])
    if dtype is dtypes.string:
        values = np.empty(len(field), object)
        values[:] = list(field)
        return values
    if dtype in (dtypes.float16, dtypes.bfloat16):
        return np.array(field, np.uint16).view(dtype.np)
    if dtype.is_complex:
        return np.array(field, dtype.real_dtype.np).view(dtype.np)
    return np.array(field).astype(dtype.np)


def _from_values(values: np.ndarray, dtype: DType, size: int) -> np.ndarray:
    if len(values) > size:
        raise ValueError(f"a TensorProto for {size} elements holds {len(values)}")
    if len(values) == size:
        return values
    if len(values) <= 1 and size > _LARGE:  # a few bytes must not become gigabytes before they are used
        one = values if len(values) else np.zeros(1, dtype.np) if dtype is not dtypes.string else np.full(1, b"", object)
        return np.broadcast_to(one, size)
    try:
        result = np.zeros(size, dtype.np) if dtype is not dtypes.string else np.full(size, b"", object)
    except MemoryError:
        raise ValueError(f"a TensorProto of {size} elements of type {dtype.name} does not fit into the memory") from None
    if len(values):
        result[:len(values)], result[len(values):] = values, values[-1]
    return result


def _as_bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return bytes(value)  # of an np.bytes_, which NumPy prints otherwise; bytes themselves stay as they are
    if isinstance(value, str):
        return value.encode()
    raise TypeError(f"{value!r} is not a string")


# --- Python values to arrays -----------------------------------------------------------------------------------------

def to_array(value: Any, dtype: DType | None = None, shape: Any = None) -> np.ndarray:
    """The array for a Python or NumPy value, as ``tf.constant`` reads it.

    Python floats become float32 and ints int32, also where NumPy's scalars stand among them in a list; NumPy values keep their type
    unless ``dtype`` asks for another one. A float where an integer type is asked for is a TypeError: nothing is rounded silently.

    >>> to_array([1, 2]).dtype, to_array(1.5).dtype
    (dtype('int32'), dtype('float32'))
    """
    if dtype is not None:
        dtype = dtypes.as_dtype(dtype).base_dtype
    full_shape = None if shape is None else as_shape(shape)
    if full_shape is not None and full_shape.num_elements() == 0 and not isinstance(value, np.ndarray):
        kind = dtype.np if dtype is not None else _from_python(value, None).dtype
        return np.empty(full_shape.as_list(), kind)  # type: ignore[arg-type]  # whatever the value: there is no element to hold it
    array = value if isinstance(value, (np.ndarray, np.generic)) else None
    array = _from_python(value, dtype) if array is None else _from_numpy(np.asarray(array), dtype)
    return array if full_shape is None else _fill(array, full_shape)


def _from_numpy(array: np.ndarray, dtype: DType | None) -> np.ndarray:
    if dtype is dtypes.string or (dtype is None and array.dtype.kind in "SUO"):
        return _string_array(array)
    array = dtypes.plain_array(array)
    if array.dtype.kind in "SUO":
        raise TypeError(f"Expected {dtype.name if dtype else 'numbers'}, got an array of {array.dtype}")
    if dtype is None:
        dtype = dtypes.as_dtype(array.dtype)
    return array.astype(dtype.np, copy=False)


def _from_python(value: Any, dtype: DType | None) -> np.ndarray:
    if value is None:
        raise ValueError("None values not supported.")
    if isinstance(value, (str, bytes)) or dtype is dtypes.string:
        return _string_array(value, dtype)
    if dtype is not None and dtype.is_quantized and (fields := _quantized_integers(value, dtype)) is not None:
        return fields
    try:
        array = np.asarray(value)
    except ValueError as error:  # ragged
        raise ValueError(f"Argument must be a dense tensor: {_short(value)} ({error})") from None
    kind = array.dtype.kind
    if kind in "SU":
        return _string_array(value, dtype)
    if kind == "O":
        return _from_objects(value, array, dtype)
    if dtype is None:
        return array.astype(_default_numpy_type(value, array), copy=False) if not _holds_arrays(value) else array
    _check_kind(value, array, dtype)
    return array.astype(dtype.np, copy=False)


def _quantized_integers(value: Any, dtype: DType) -> np.ndarray | None:
    """The integers of nested lists whose elements are tuples of one integer, which is how TensorFlow writes quantized values; else None."""
    leaf = value
    while isinstance(leaf, (list, np.ndarray)) and len(leaf):
        leaf = leaf[0]
    return dtypes.plain_array(np.array(value, dtype.as_numpy_dtype)) if isinstance(leaf, tuple) and len(leaf) == 1 else None


def _default_numpy_type(value: Any, array: np.ndarray) -> np.dtype:
    """float32 for Python floats; int32 for Python ints that fit, int64 otherwise."""
    if array.dtype == np.float64:
        return np.dtype(np.float32)
    if array.dtype == np.int64 and (array.size == 0 or (array.max() <= 2**31 - 1 and array.min() >= -2**31)):
        return np.dtype(np.int32) if array.size else np.dtype(np.float32)
    return array.dtype


def _holds_arrays(value: Any) -> bool:
    """True for nests that begin with an array: it keeps its type. NumPy's scalars among Python's numbers count as those."""
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    return hasattr(value, "__array__") and np.ndim(value) > 0


def _check_kind(value: Any, array: np.ndarray, dtype: DType) -> None:
    kind = array.dtype.kind
    fits = (kind == "b") if dtype.is_bool else kind in "biu" if dtype.is_integer or dtype.is_quantized else kind in "biufV" \
        if dtype.is_floating else kind in "biufc"
    if array.size == 0 or fits or (_holds_arrays(value) and not dtype.is_bool):
        if dtype.is_integer and array.size and kind in "iu":
            low, high = np.iinfo(dtype.np).min, np.iinfo(dtype.np).max
            if int(array.min()) < low or int(array.max()) > high:
                raise ValueError(f"{_short(value)} does not fit into {dtype.name}")
        return
    raise TypeError(f"Expected {dtype.name}, got {_short(value)} of type '{_leaf(value, array)}' instead.")


def _leaf(value: Any, array: np.ndarray) -> str:
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    return type(value).__name__


class NoneInside(TypeError, ValueError):
    """None among values: a TypeError in TensorFlow's graphs, a ValueError in its imperative style."""


def _from_objects(value: Any, array: np.ndarray, dtype: DType | None) -> np.ndarray:
    leaves = list(array.flat)
    if any(leaf is None for leaf in leaves):
        expected = dtype.name if dtype else "values"
        raise NoneInside(f"None values not supported. Expected {expected}, got None of type 'NoneType' instead, in {_short(value)}")
    if all(isinstance(leaf, (str, bytes)) for leaf in leaves):
        return _string_array(value, dtype)
    if all(isinstance(leaf, int) or hasattr(leaf, "__index__") for leaf in leaves):  # ints beyond int64, Dimensions
        if all(-2**63 <= int(leaf) < 2**64 for leaf in leaves):
            try:
                return _from_python(np.array([int(leaf) for leaf in leaves], dtype.np if dtype else None).reshape(array.shape).tolist(), dtype)
            except OverflowError as error:
                raise ValueError(f"{_short(value)}: {error}") from None
    raise TypeError(f"Failed to convert object of type {type(value)} to Tensor. Contents: {_short(value)}. "
                    "Consider casting elements to a supported type.")


def _string_array(value: Any, dtype: DType | None = None) -> np.ndarray:
    if dtype is not None and dtype is not dtypes.string:
        raise TypeError(f"Expected {dtype.name}, got {_short(value)} of type '{type(value).__name__}' instead.")
    source = value if isinstance(value, np.ndarray) else np.asarray(value, dtype=object)
    result = np.empty(source.shape, object)
    flat = result.reshape(-1)
    for index, item in enumerate(source.flat):
        flat[index] = _as_bytes(item)
    return result


def _fill(array: np.ndarray, shape: TensorShape) -> np.ndarray:
    """``tf.constant(value, shape=...)``: too few values repeat the last one."""
    dims = shape.as_list()
    size = math.prod(dims)  # type: ignore[arg-type]
    if size == array.size:
        return array.reshape(dims)
    if array.size == 0:
        return np.zeros(dims, array.dtype)  # type: ignore[arg-type]
    if array.size > size:
        raise ValueError(f"Too many elements provided. Needed at most {size}, but received {array.size}")
    if array.size == 1 and size > _LARGE:
        return np.broadcast_to(array.reshape(()), dims)  # type: ignore[arg-type]
    result = np.full(size, array.reshape(-1)[-1], array.dtype)
    result[:array.size] = array.reshape(-1)
    return result.reshape(dims)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def make_tensor_proto(values: Any, dtype: Any = None, shape: Any = None, verify_shape: bool = False, allow_broadcast: bool = False) -> TensorProto:
    """``tf.make_tensor_proto``: a TensorProto for a Python or NumPy value."""
    if allow_broadcast and verify_shape:
        raise ValueError("allow_broadcast and verify_shape are not both allowed.")
    if isinstance(values, TensorProto):
        return values
    dtype = dtypes.quantized_type_of(values) if dtype is None else dtypes.as_dtype(dtype)
    if shape is not None and (verify_shape or allow_broadcast):
        wanted, given = tuple(as_shape(shape).as_list()), to_array(values, dtype, None).shape
        if given != wanted if verify_shape else given not in ((), (1,)) and math.prod(given) != math.prod(wanted):  # type: ignore[arg-type]
            raise TypeError(f"Expected Tensor's shape: {wanted}, got {given}.")
    array = to_array(values, dtype, shape)
    length = array.size if shape is None or dtype is dtypes.string else to_array(values, dtype).size
    dtype = (dtype or dtypes.as_dtype(array.dtype)).base_dtype
    if dtype in _CONTENT_TYPES and array.size > 1 and length == array.size:
        return array_to_proto(array, dtype)
    proto = array_to_values(array.reshape(-1)[:length], dtype)
    proto.dtype = dtype.as_datatype_enum
    proto.tensor_shape.CopyFrom(TensorShape(array.shape).as_proto())
    return proto


def make_ndarray(tensor: TensorProto) -> np.ndarray:
    """``tf.make_ndarray``: the array in a TensorProto; of a quantized NumPy type, if it is quantized."""
    array, dtype = proto_to_array(tensor), dtypes.as_dtype(tensor.dtype)
    return array.view(dtype.as_numpy_dtype) if dtype.is_quantized else array
