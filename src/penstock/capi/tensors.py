"""TF_Tensors as arrays, and arrays as TF_Tensors."""
from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np

from penstock.capi.entries import Services
from penstock.capi.structs import TensorBlock, TensorStruct
from penstock.errors import InvalidArgumentError, UnimplementedError
from penstock.graph import dtypes
from penstock.graph.dtypes import DType, as_dtype
from penstock.platform.varints import varint

_COPIED = 64 << 10  # bytes: smaller results are copied, so that the thread that deletes one need not wait for Python's lock


class _Shared:
    """Memory of a TF_Tensor in use by an array: it is given back when the array goes."""

    def __init__(self, block: Any, typestr: str, shape: tuple[int, ...]) -> None:
        self._release, self._block = Services.library.penstock_release, ctypes.addressof(block)
        self.__array_interface__ = {"version": 3, "typestr": typestr, "shape": shape, "data": (block.data, False)}
        Services.library.penstock_retain(ctypes.c_void_p(self._block))

    def __del__(self) -> None:
        self._release(ctypes.c_void_p(self._block))


def array_of(address: int | None) -> tuple[np.ndarray[Any, Any], DType]:
    """The value of a TF_Tensor, and its type. Numbers are not copied; strings become an array of bytes objects."""
    if not address:
        raise InvalidArgumentError(None, None, "a TF_Tensor* is NULL")
    struct = TensorStruct.from_address(address)
    shape, dtype = tuple(struct.dims[:struct.rank]), _type(struct.type)
    block = struct.block.contents
    if dtype is dtypes.string:
        return _strings(block, shape), dtype
    plain = dtype.np
    if plain.kind == "O":
        raise UnimplementedError(None, None, f"a tensor of type {dtype.name} cannot come from outside of Penstock")
    if not math.prod(shape):
        return np.empty(shape, plain), dtype
    if plain.isbuiltin == 1:
        return np.asarray(_Shared(block, plain.str, shape)), dtype
    return np.asarray(_Shared(block, f"<V{plain.itemsize}", shape)).view(plain), dtype


def _type(number: int) -> DType:
    try:
        return as_dtype(number)
    except TypeError as error:
        raise InvalidArgumentError(None, None, str(error)) from None


def _strings(block: TensorBlock, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """The strings of a tensor in TensorFlow 1's form. Nothing in it is trusted."""
    count, result = math.prod(shape), np.empty(math.prod(shape), object)
    content = ctypes.string_at(block.data, block.length) if block.length else b""
    start = 8 * count
    if start > len(content):
        raise InvalidArgumentError(None, None, f"Malformed TF_STRING tensor; too short to hold number of elements: {count} strings, "
                                               f"{len(content)} bytes")
    for index, offset in enumerate(np.frombuffer(content, np.uint64, count).tolist()):
        result[index] = _string(content, start + offset, index)
    return result.reshape(shape)


def _string(content: bytes, at: int, index: int) -> bytes:
    length = shift = 0
    while True:
        if at >= len(content) or shift > 63:
            raise InvalidArgumentError(None, None, f"Malformed TF_STRING tensor; element {index} out of range")
        byte = content[at]
        length |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            break
    if at + length > len(content):
        raise InvalidArgumentError(None, None, f"Malformed TF_STRING tensor; element {index} out of range")
    return content[at:at + length]


def tensor_of(value: Any, dtype: DType) -> int:
    """A new TF_Tensor with this value."""
    dtype = dtype.base_dtype
    if dtype is dtypes.string:
        return _string_tensor(np.asarray(value, object))
    if dtype.np.kind == "O":
        raise UnimplementedError(None, None, f"a value of type {dtype.name} cannot leave Penstock")
    given = np.asarray(value, dtype.np)
    array = np.ascontiguousarray(given).reshape(given.shape)  # a scalar stays one
    dims = (ctypes.c_int64 * array.ndim)(*array.shape)
    if array.nbytes <= _COPIED:
        return _allocate(dtype, dims, array.ndim, array.ctypes.data, array.nbytes)
    new, owner = Services.library.TF_NewTensor, ctypes.py_object(array)
    new.restype = ctypes.c_void_p
    ctypes.pythonapi.Py_IncRef(owner)
    release = ctypes.cast(Services.library.penstock_release_object, ctypes.c_void_p)
    return int(new(ctypes.c_int(dtype.as_datatype_enum), dims, ctypes.c_int(array.ndim), ctypes.c_void_p(array.ctypes.data),
                   ctypes.c_size_t(array.nbytes), release, ctypes.c_void_p(id(array))))


def _allocate(dtype: DType, dims: Any, rank: int, data: Any, length: int) -> int:
    allocate = Services.library.TF_AllocateTensor
    allocate.restype = ctypes.c_void_p
    address = allocate(ctypes.c_int(dtype.as_datatype_enum), dims, ctypes.c_int(rank), ctypes.c_size_t(length))
    if not address:
        raise MemoryError(f"{length} bytes for a tensor")
    if length:
        ctypes.memmove(TensorStruct.from_address(address).block.contents.data, data, length)
    return int(address)


def _string_tensor(array: np.ndarray[Any, Any]) -> int:
    parts, offsets, at = [], [], 0
    for item in array.reshape(-1):
        text = item.encode() if isinstance(item, str) else bytes(item)
        encoded = varint(len(text)) + text
        parts.append(encoded)
        offsets.append(at)
        at += len(encoded)
    content = np.array(offsets, np.uint64).tobytes() + b"".join(parts)
    return _allocate(dtypes.string, (ctypes.c_int64 * array.ndim)(*array.shape), array.ndim, content, len(content))
