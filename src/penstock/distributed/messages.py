"""The messages between clients and tasks, as bytes and back.

    message = "PSK1", header length (u32), total length (u64), header (JSON), then blobs and tensors, each at a multiple
    of 64 bytes

The header names the method, its fields, and what follows: the sizes of the blobs, and (type, shape, size) of each
tensor. A tensor is its raw little-endian bytes; one of strings is the lengths of its elements (u64) and then the
elements. Nothing in a message is executed or unpickled, and nothing is allocated because a message says so: every
declared size must agree with the bytes that are there, else ``MalformedMessage``.
"""
from __future__ import annotations

import json
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from penstock import errors
from penstock.execute.frames import DEAD
from penstock.graph import dtypes

MAGIC = b"PSK1"
MAX_HEADER = 64 << 20
MAX_RANK = 254
_PREFIX = struct.Struct("<4sIQ")
_ALIGN = 64
_DEAD_TYPE = 0
_SMALL = 4096  # bytes that are rather copied than handed on
_USUAL = 512  # headers that are kept
_GAPS = [bytes(size) for size in range(_ALIGN)]
_to_json, _from_json = json.JSONEncoder(separators=(",", ":")).encode, json.JSONDecoder().decode

Buffer = Any  # bytes, bytearray or memoryview


class MalformedMessage(ValueError):
    """Bytes that are not a message; never a reason to stop serving."""


@dataclass(slots=True)
class Message:
    """A request or a reply: its method, plain values, protocol buffers as bytes, and tensors (arrays, or DEAD)."""

    method: str
    fields: dict[str, Any] = field(default_factory=dict)
    blobs: list[Buffer] = field(default_factory=list)
    tensors: list[Any] = field(default_factory=list)


# --- to bytes --------------------------------------------------------------------------------------------------------

def encode(message: Message) -> list[Buffer]:
    """The message as a list of buffers, which may share memory with its tensors."""
    payload: list[Buffer] = [*message.blobs]
    described = []
    for value in message.tensors:
        description, parts = _pack(value)
        described.append(description)
        payload.extend(parts)
    header = _header_of(message, described)
    buffers: list[Buffer] = [b"", header]
    total = _PREFIX.size + len(header)
    for part in payload:
        gap = -total % _ALIGN
        if gap:
            buffers.append(_GAPS[gap])
        buffers.append(part)
        total += gap + len(part)
    buffers[0] = _PREFIX.pack(MAGIC, len(header), total)
    return buffers if total > _SMALL else [b"".join(buffers)]


def _header_of(message: Message, described: list[Any]) -> bytes:
    fields = tuple(message.fields.items())
    if not message.blobs and (not fields or (len(fields) == 1 and type(fields[0][1]) is str)):  # a tensor, or "ok": step after step the same
        return _usual_header(message.method, fields, tuple(described))
    return _to_json({"m": message.method, "f": message.fields, "b": [len(blob) for blob in message.blobs], "t": described}).encode()


@lru_cache(_USUAL)
def _usual_header(method: str, fields: tuple[tuple[str, str], ...], described: tuple[Any, ...]) -> bytes:
    return _to_json({"m": method, "f": dict(fields), "b": [], "t": described}).encode()


def _pack(value: Any) -> tuple[tuple[Any, ...], list[Buffer]]:
    if value is DEAD:
        return (_DEAD_TYPE, (), 0), []
    if not isinstance(value, (np.ndarray, np.generic)):
        raise errors.UnimplementedError(None, None, f"a value of type {type(value).__name__} cannot travel between tasks: only tensors can")
    dtype = dtypes.as_dtype(value.dtype)
    data = _string_bytes(np.asarray(value)) if dtype is dtypes.string else _raw_bytes(value)
    return (dtype.as_datatype_enum, value.shape, len(data)), [data]


def _raw_bytes(array: np.ndarray | np.generic) -> Buffer:
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("<"))
    if array.nbytes <= _SMALL:
        return array.tobytes()
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _string_bytes(array: np.ndarray) -> bytes:
    items = [item.encode() if isinstance(item, str) else bytes(item) for item in array.reshape(-1)]
    return b"".join([np.array([len(item) for item in items], "<u8").tobytes(), *items])


# --- from bytes ------------------------------------------------------------------------------------------------------

def decode(data: Buffer) -> Message:
    """The message in ``data``, whose tensors are views of it; MalformedMessage if there is none."""
    view = memoryview(data)
    position = _header_end(view)
    header = bytes(view[_PREFIX.size:position])
    method, fields, sizes, described = _parse_usual_header(header) if len(header) < _SMALL else _parse_header(header)
    blobs = []
    for size in sizes:
        part, position = _take(view, position, size)
        blobs.append(part)
    tensors = []
    for enum, shape, size in described:
        if enum == _DEAD_TYPE:
            tensors.append(DEAD)
            continue
        part, position = _take(view, position, size)
        tensors.append(_unpack(enum, shape, part))
    if position != len(view):
        raise MalformedMessage(f"{len(view) - position} bytes more than the header tells of")
    return Message(method, dict(fields), blobs, tensors)


def _header_end(view: memoryview) -> int:
    if len(view) < _PREFIX.size:
        raise MalformedMessage(f"{len(view)} bytes are not a message")
    magic, length, total = _PREFIX.unpack_from(view)
    if magic != MAGIC:
        raise MalformedMessage(f"it begins with {magic!r}, not {MAGIC!r}: not this protocol, or another version of it")
    end = _PREFIX.size + length
    if total != len(view) or length > MAX_HEADER or end > total:
        raise MalformedMessage(f"declared as {total} bytes with a header of {length}; {len(view)} are there")
    return end


def _parse_header(data: bytes) -> tuple[str, dict[str, Any], list[int], list[Any]]:
    """The method, the fields, the sizes of the blobs and what is told of the tensors; not to be changed."""
    try:
        header = _from_json(data.decode())
    except (ValueError, RecursionError) as error:
        raise MalformedMessage(f"the header is not JSON: {error}") from None
    if not (isinstance(header, dict) and isinstance(header.get("m"), str) and isinstance(header.get("f"), dict) and _are_sizes(header.get("b"))
            and isinstance(header.get("t"), list) and all(_is_description(item) for item in header["t"])):
        raise MalformedMessage("the header lacks a part")
    return header["m"], header["f"], header["b"], header["t"]


_parse_usual_header = lru_cache(_USUAL)(_parse_header)  # the headers of tensors and of most replies are the same in every step


def _are_sizes(value: Any) -> bool:
    return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)


def _is_description(value: Any) -> bool:
    return (isinstance(value, list) and len(value) == 3 and type(value[0]) is int and _are_sizes(value[1]) and len(value[1]) <= MAX_RANK
            and type(value[2]) is int and value[2] >= 0)


def _take(view: memoryview, position: int, size: int) -> tuple[memoryview, int]:
    position += -position % _ALIGN
    if position + size > len(view):
        raise MalformedMessage(f"a part of {size} bytes is declared; {max(0, len(view) - position)} are left")
    return view[position:position + size], position + size


def _unpack(enum: int, shape: Sequence[int], part: memoryview) -> np.ndarray:
    try:
        dtype = dtypes.as_dtype(enum)
    except TypeError:
        raise MalformedMessage(f"there is no type {enum}") from None
    count = math.prod(shape)
    if dtype is dtypes.string:
        strings = _strings(count, part)
        try:
            return strings.reshape(shape)
        except (ValueError, OverflowError) as error:
            raise _no_shape(shape, error) from None
    if dtype.is_ref or dtype.np.hasobject:
        raise MalformedMessage(f"a tensor of type {dtype.name} cannot travel")
    if count * dtype.np.itemsize != len(part):
        raise MalformedMessage(f"a tensor of type {dtype.name} and shape {list(shape)} has {count * dtype.np.itemsize} bytes, not {len(part)}")
    try:
        return np.ndarray(shape, dtype.np, part)
    except (ValueError, OverflowError) as error:
        raise _no_shape(shape, error) from None


def _no_shape(shape: Sequence[int], error: Exception) -> MalformedMessage:
    """NumPy has no arrays with an axis of 2**62, though another one is 0."""
    return MalformedMessage(f"a tensor of shape {list(shape)}: {error}")


def _strings(count: int, part: memoryview) -> np.ndarray:
    if count * 8 > len(part):
        raise MalformedMessage(f"{count} strings are declared in {len(part)} bytes")
    lengths = np.frombuffer(part, "<u8", count)
    ends = np.cumsum(lengths, dtype=np.float64)  # floats cannot wrap around; the sum is checked before it is used
    if count * 8 + (ends[-1] if count else 0) != len(part):
        raise MalformedMessage("the lengths of the strings do not add up")
    result = np.empty(count, object)
    position = count * 8
    for index, length in enumerate(lengths.tolist()):
        result[index] = bytes(part[position:position + length])
        position += length
    return result


# --- errors ----------------------------------------------------------------------------------------------------------

ERROR = "error"


def error_message(error: errors.OpError) -> Message:
    """A reply that says what went wrong; class, message and the op's name survive."""
    return Message(ERROR, error_fields(error))


def error_fields(error: errors.OpError) -> dict[str, Any]:
    """An error as plain values."""
    named = error.op.name if error.op is not None else getattr(error, "op_name", None)
    return {"code": error.error_code, "message": error.message, "op": named}


def error_from(fields: dict[str, Any]) -> errors.OpError:
    """The error that ``error_fields`` described; its attribute ``op_name`` names the op, which lives in the client's graph."""
    code, text, name = fields.get("code"), fields.get("message"), fields.get("op")
    if type(code) is not int or not errors.CANCELLED <= code <= errors.UNAUTHENTICATED or not isinstance(text, str):
        raise MalformedMessage(f"no error: {fields!r}")
    error = errors.exception_type_from_error_code(code)(None, None, text)
    error.op_name = name if isinstance(name, str) else None  # type: ignore[attr-defined]
    return error
