"""Messages survive the way over the wire, and nothing that is not a message gets in."""
from __future__ import annotations

import json
import random
import struct

import ml_dtypes
import numpy as np
import pytest

from penstock import errors
from penstock.distributed.messages import (
    MAGIC,
    MalformedMessage,
    Message,
    decode,
    encode,
    error_from,
    error_message,
)
from penstock.execute.frames import DEAD

pytestmark = pytest.mark.process

TENSORS = [np.arange(6, dtype=np.float32).reshape(2, 3), np.float64(3.5), np.zeros((0, 4), np.int64), np.array([True, False]),
           np.array([1 + 2j], np.complex64), np.array([[1.5]], ml_dtypes.bfloat16), np.arange(10)[::3], np.arange(3, dtype=">i4"),
           np.array([[b"a", b""], [b"\xff\x00long", b"x" * 1000]], object), np.array(b"scalar", object), np.zeros(0, object)]


def sent(message: Message) -> Message:
    return decode(b"".join(encode(message)))


def test_everything_arrives():
    message = Message("RunStep", {"text": "ä", "list": [1, None, True], "nested": {"a": 1.5}}, [b"", b"blob"], [*TENSORS, DEAD])
    got = sent(message)
    assert (got.method, got.fields) == (message.method, message.fields) and [bytes(blob) for blob in got.blobs] == message.blobs
    assert got.tensors[-1] is DEAD
    for value, want in zip(got.tensors, TENSORS):
        want = np.asarray(want)
        assert value.shape == want.shape and value.dtype == want.dtype.newbyteorder("=")
        np.testing.assert_array_equal(value, want)


def test_tensors_are_aligned():
    got = sent(Message("x", {}, [b"abc"], [np.zeros(3, np.uint8), np.ones(5)]))
    assert got.tensors[1].flags.aligned


@pytest.mark.parametrize("enum", [1, 7], ids=["numbers", "strings"])
def test_a_shape_that_no_array_has(enum):
    """It has no elements, so its size is right."""
    text = json.dumps({"m": "x", "f": {}, "b": [], "t": [[enum, [2**62, 2**62, 0], 0]]}).encode()
    data = struct.pack("<4sIQ", MAGIC, len(text), 16 + len(text)) + text
    data += bytes(-len(data) % 64)
    data = data[:4] + struct.pack("<IQ", len(text), len(data)) + data[16:]
    with pytest.raises(MalformedMessage, match="a tensor of shape"):
        decode(data)


def test_what_cannot_travel():
    with pytest.raises(errors.UnimplementedError, match="cannot travel"):
        encode(Message("x", {}, [], [object()]))


def test_errors_keep_class_message_and_op():
    for cls in (errors.InvalidArgumentError, errors.UnavailableError, errors.UnauthenticatedError, errors.CancelledError):
        again = error_from(sent(error_message(cls(None, None, "what\nhappened"))).fields)
        assert type(again) is cls and again.message == "what\nhappened" and again.op_name is None


@pytest.mark.parametrize("fields", [{}, {"code": 0, "message": ""}, {"code": 99, "message": ""}, {"code": 3}, {"code": "3", "message": "x"}])
def test_broken_errors(fields):
    with pytest.raises(MalformedMessage):
        error_from(fields)


def packed(header: object, payload: bytes = b"", length: int | None = None, total: int | None = None, magic: bytes = MAGIC) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    front = 16 + len(text)
    body = text + bytes(-front % 64 if payload else 0) + payload
    return struct.pack("<4sIQ", magic, len(text) if length is None else length, 16 + len(body) if total is None else total) + body


def described(*tensor: object, payload: bytes = b"") -> bytes:
    return packed({"m": "x", "f": {}, "b": [], "t": [list(tensor)]}, payload)


GOOD = {"m": "x", "f": {}, "b": [], "t": []}
BROKEN = {
    "nothing": b"", "short": b"PSK1", "another version": packed(GOOD, magic=b"PSK2"), "http": b"GET / HTTP/1.1\r\nHost: here\r\n\r\n",
    "huge header": packed(GOOD, length=1 << 31), "huge total": packed(GOOD, total=1 << 60), "no json": packed(b"{"), "not utf-8": packed(b"\xff\xfe"),
    "no dict": packed([1]), "no method": packed({"f": {}, "b": [], "t": []}), "deep": packed(b"[" * 200_000),
    "trailing bytes": packed(GOOD, b"more"), "negative blob": packed({**GOOD, "b": [-1]}), "huge blob": packed({**GOOD, "b": [1 << 62]}),
    "huge tensor": described(1, [1 << 40, 1 << 40], 1 << 62), "wrong size": described(1, [2], 4, payload=b"1234"),
    "no type": described(77, [1], 4, payload=b"1234"), "a resource": described(20, [1], 8, payload=b"12345678"),
    "negative shape": described(1, [-1], 4, payload=b"1234"), "rank": described(1, [1] * 300, 4, payload=b"1234"),
    "bool size": described(1, [True], 4, payload=b"1234"), "too many strings": described(7, [100], 8, payload=bytes(8)),
    "strings that wrap around": described(7, [2], 16, payload=struct.pack("<QQ", (1 << 64) - 1, 1)),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_messages_are_refused(name):
    with pytest.raises(MalformedMessage):
        decode(BROKEN[name])


def test_changed_bytes_never_crash():
    good = b"".join(encode(Message("RunStep", {"session": "s", "feeds": ["x:0"]}, [b"abc"], TENSORS[:2] + TENSORS[8:])))
    generator = random.Random(7)
    for _ in range(1500):
        data = bytearray(good)
        for _ in range(generator.randrange(1, 4)):
            data[generator.randrange(len(data))] = generator.randrange(256)
        data = data[:generator.randrange(len(data))] if generator.random() < 0.3 else data
        try:
            decode(bytes(data))
        except MalformedMessage:
            continue
