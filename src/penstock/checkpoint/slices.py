"""TensorSlice: which part of a tensor something is; the text and the keys that checkpoints write for it.

A key of a part is made so that keys sort as (name, first axis, second axis, ...) do: TensorFlow's "ordered code".
"""
from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from penstock.checkpoint.protos import TensorSliceProto
from penstock.errors import InvalidArgumentError, OpError

WHOLE = -1  # as a length: all of the axis


class TensorSlice(NamedTuple):
    """Per axis, where the part begins and how long it is; a length of WHOLE is the whole axis."""

    starts: tuple[int, ...]
    lengths: tuple[int, ...]

    def shape(self, full: Sequence[int]) -> tuple[int, ...]:
        """The shape of the part, for a tensor of shape ``full``."""
        return tuple(extent if length == WHOLE else length for length, extent in zip(self.lengths, full))

    def covers(self, full: Sequence[int]) -> bool:
        """True if the part is all of a tensor of shape ``full``."""
        return self.shape(full) == tuple(full)

    def fits(self, full: Sequence[int]) -> bool:
        """True if the part is inside a tensor of shape ``full``."""
        return len(self.starts) == len(full) and all(length == WHOLE or (min(start, length) >= 0 and start + length <= extent)
                                                     for start, length, extent in zip(self.starts, self.lengths, full))

    def place(self) -> tuple[slice, ...]:
        """What to write in brackets behind an array to get this part."""
        return tuple(slice(None) if length == WHOLE else slice(start, start + length) for start, length in zip(self.starts, self.lengths))

    def intersection(self, other: TensorSlice) -> TensorSlice | None:
        """What is in both; None if nothing is."""
        starts, lengths = [], []
        for start, length, other_start, other_length in zip(self.starts, self.lengths, other.starts, other.lengths):
            if WHOLE in (length, other_length):
                start, length = (other_start, other_length) if length == WHOLE else (start, length)
            else:
                end = min(start + length, other_start + other_length)
                start = max(start, other_start)
                length = end - start
                if length <= 0:
                    return None
            starts.append(start)
            lengths.append(length)
        return TensorSlice(tuple(starts), tuple(lengths))

    def within(self, outer: TensorSlice) -> TensorSlice:
        """This part, counted from the beginning of ``outer``, which holds it."""
        starts = tuple(start if outer_length == WHOLE else start - outer_start
                       for start, outer_start, outer_length in zip(self.starts, outer.starts, outer.lengths))
        lengths = tuple(WHOLE if length == outer_length else length for length, outer_length in zip(self.lengths, outer.lengths))
        return TensorSlice(starts, lengths)

    def to_proto(self) -> Any:
        """The TensorSliceProto; a whole axis is an empty extent."""
        proto = TensorSliceProto()
        for start, length in zip(self.starts, self.lengths):
            extent = proto.extent.add()
            if length != WHOLE:
                extent.start, extent.length = start, length
        return proto


def whole_slice(rank: int) -> TensorSlice:
    """All of a tensor."""
    return TensorSlice((0,) * rank, (WHOLE,) * rank)


def from_proto(proto: Any) -> TensorSlice:
    """The slice of a TensorSliceProto."""
    extents = [(extent.start, extent.length) if extent.HasField("length") else (0, WHOLE) for extent in proto.extent]
    return TensorSlice(tuple(start for start, _ in extents), tuple(length for _, length in extents))


def parse_shape_and_slice(spec: str) -> tuple[tuple[int, ...], TensorSlice]:
    """The shape of the whole and the place of the part, as the ops of checkpoints are given them.

    >>> parse_shape_and_slice("4 2 2,2:-")
    ((4, 2), TensorSlice(starts=(2, 0), lengths=(2, -1)))
    """
    *extents, places = spec.split(" ")
    try:
        shape = tuple(int(extent) for extent in extents)
        pairs = [(0, WHOLE) if place == "-" else tuple(int(number) for number in place.split(",")) for place in places.split(":")]
        starts, lengths = zip(*pairs)
    except ValueError:
        raise _bad_spec(spec, "it must be like '4 2 0,2:-'") from None
    part = TensorSlice(starts, lengths)
    if len(shape) != len(pairs):
        raise _bad_spec(spec, f"{len(shape)} extents for {len(pairs)} places")
    for extent, start, length in zip(shape, starts, lengths):
        if length != WHOLE and (start < 0 or length <= 0 or start + length > extent):
            raise _bad_spec(spec, f"{start},{length} is not inside an axis of {extent}")
    return shape, part


def _bad_spec(spec: str, why: str) -> OpError:
    return InvalidArgumentError(None, None, f"Shape and slice of a tensor in a checkpoint, {spec!r}: {why}")


# --- keys ------------------------------------------------------------------------------------------------------------

PREFIX = b"\0"  # with which the key of every part begins, and no name of a tensor


def slice_key(name: str, part: TensorSlice) -> bytes:
    """The key of a part of the tensor ``name``.

    >>> slice_key("w", TensorSlice((2, 0), (2, -1)))
    b'\\x00w\\x00\\x01\\x01\\x02\\x82\\x82\\x80\\x7f'
    """
    out = bytearray(_number(0) + _string(name.encode()) + _number(len(part.starts)))
    for start, length in zip(part.starts, part.lengths):
        out += _signed_number(start) + _signed_number(length)
    return bytes(out)


def _number(value: int) -> bytes:
    """The bytes of a natural number, the highest first, behind their count."""
    digits = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return bytes([len(digits)]) + digits


def _string(text: bytes) -> bytes:
    """Text with an end that sorts before everything that could follow."""
    return re.sub(b"\0|\xff", lambda match: b"\0\xff" if match[0] == b"\0" else b"\xff\0", text) + b"\0\1"


def _signed_number(value: int) -> bytes:
    """As many one-bits as the number has bytes, a zero, then the number; all bits inverted if it is negative."""
    magnitude = ~value if value < 0 else value
    size = magnitude.bit_length() // 7 + 1
    bits = 8 * size
    header = (1 << bits) - (1 << bits - size)
    return ((header ^ value) & (1 << bits) - 1).to_bytes(size, "big")
