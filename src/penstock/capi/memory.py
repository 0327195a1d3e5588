"""Bytes, protos and arrays of C, in and out."""
from __future__ import annotations

import ctypes
from typing import Any, TypeVar

from google.protobuf.message import DecodeError, Message

from penstock.capi import handles
from penstock.capi.entries import Services
from penstock.capi.structs import Buffer
from penstock.errors import InvalidArgumentError
from penstock.graph.node import Operation, Tensor

_Proto = TypeVar("_Proto", bound=Message)


def read_bytes(address: int | None, length: int) -> bytes:
    """A copy of some bytes."""
    if not address and length:
        raise InvalidArgumentError(None, None, f"{length} bytes are wanted from NULL")
    return ctypes.string_at(address or 0, length) if length else b""


def parsed(cls: type[_Proto], content: bytes, what: str) -> _Proto:
    """A proto; InvalidArgumentError if the bytes are none."""
    try:
        proto = cls()
        proto.ParseFromString(content)
        return proto
    except DecodeError:
        raise InvalidArgumentError(None, None, f"{what}: Unparseable {cls.DESCRIPTOR.name} proto ({len(content)} bytes)") from None


def from_buffer(cls: type[_Proto], buffer: Any) -> _Proto:
    """The proto of a TF_Buffer."""
    if not buffer:
        raise InvalidArgumentError(None, None, f"the TF_Buffer* with a {cls.DESCRIPTOR.name} is NULL")
    return parsed(cls, read_bytes(buffer.contents.data, buffer.contents.length), "TF_Buffer")


def fill(buffer: Any, content: bytes) -> None:
    """Puts bytes into a TF_Buffer, which must be empty."""
    if not buffer:
        raise InvalidArgumentError(None, None, "the TF_Buffer* for the result is NULL")
    if buffer.contents.data:
        raise InvalidArgumentError(None, None, "Passing non-empty TF_Buffer is invalid.")
    Services.fill_buffer(ctypes.addressof(buffer.contents), content, len(content))


def check_empty(buffer: Any, what: str) -> None:
    """InvalidArgumentError if something is in a TF_Buffer for a result: before the work is done."""
    if buffer and buffer.contents.data:
        raise InvalidArgumentError(None, None, f"Passing non-empty {what} is invalid.")


def new_buffer(content: bytes) -> int:
    """A new TF_Buffer."""
    new = Services.library.TF_NewBufferFromString
    new.restype = ctypes.c_void_p
    return int(new(content, ctypes.c_size_t(len(content))))


def buffer_struct(content: bytes) -> Buffer:
    """A TF_Buffer by value, whose bytes C owns."""
    buffer = Buffer()
    Services.fill_buffer(ctypes.addressof(buffer), content, len(content))
    return buffer


def items(pointer: Any, count: int, what: str) -> list[Any]:
    """``count`` elements of an array."""
    if count < 0 or (count and not pointer):
        raise InvalidArgumentError(None, None, f"{what}: {count} elements are wanted" + ("" if pointer else " from NULL"))
    return pointer[:count] if count else []


def tensors(outputs: Any, count: int, what: str) -> list[Tensor]:
    """The tensors of an array of TF_Outputs."""
    return [handles.tensor(output.oper, output.index) for output in items(outputs, count, what)]


def operations(pointers: Any, count: int, what: str) -> list[Operation]:
    """The operations of an array of TF_Operation*."""
    return [handles.get(number, Operation, f"TF_Operation* {what}") for number in items(pointers, count, what)]


def texts(pointers: Any, count: int, what: str) -> list[str]:
    """The strings of an array."""
    given = items(pointers, count, what)
    if None in given:
        raise InvalidArgumentError(None, None, f"{what}: element {given.index(None)} is NULL")
    return [text.decode(errors="surrogateescape") for text in given]


def write_output(place: Any, tensor: Tensor) -> None:
    """Sets a TF_Output."""
    place.oper, place.index = handles.add(tensor.op), tensor.value_index
