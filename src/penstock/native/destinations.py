"""Where calls write to. A kernel that can write rows at any distance says so beside its words, with a ``Destination``: then a call that was made for
an array of its own can be told to write to a part of another array instead (``specialise/joining.py`` does)."""
from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from penstock.native.calls import Array, KernelCall


class FixedDestination(Exception):
    """The call cannot write anywhere else."""


@dataclass(frozen=True)
class Pitch:
    """Rows of ``old`` bytes that followed each other begin at distances of ``new`` bytes."""

    old: int
    new: int
    rows: int

    @classmethod
    def between(cls, array: Array, home: Array) -> Pitch:
        """From a contiguous array to another one of its shape, of which only the first axes lie further apart."""
        size = array.dtype.itemsize
        for extent, step in zip(reversed(array.shape), reversed(home.strides)):
            if extent != 1 and step != size:
                return cls(size, step, array.nbytes // size)
            size *= extent
        return cls(size, size, 1)

    def at(self, offset: int) -> int:
        """Where the byte at an offset is now."""
        return offset // self.old * self.new + offset % self.old

    def step(self, step: int) -> int:
        """A distance between rows. Raises FixedDestination if it is one inside of a row."""
        if self.rows == 1:
            return step
        if step % self.old:
            raise FixedDestination
        return step // self.old * self.new

    def check(self, stop: int) -> None:
        """Raises FixedDestination unless a row ends before this byte."""
        if self.rows > 1 and stop > self.old:
            raise FixedDestination


class Destination(Protocol):
    """How the last operand of a call, its only result, can be another array."""

    def moved_parts(self, call: KernelCall, pitch: Pitch, home: Array) -> list[bytes]:
        """The call's parts for ``home`` instead of its last operand. Raises FixedDestination."""


@dataclass(frozen=True)
class RowDestination:
    """Of a kernel that is told how far apart rows are: which of its words say so, by their places."""

    width: int  # elements from the beginning of a row, or from ``start``, to its end
    steps: tuple[int, ...]  # distances between rows
    start: int | None = None  # where the first row begins, in bytes
    in_elements: bool = False  # are the steps elements, not bytes?

    @classmethod
    def among(cls, words: Sequence[str], width: str, steps: Sequence[str], start: str | None = None, in_elements: bool = False) -> RowDestination:
        """By the words' names."""
        return cls(words.index(width), tuple(map(words.index, steps)), None if start is None else words.index(start), in_elements)

    def moved_parts(self, call: KernelCall, pitch: Pitch, home: Array) -> list[bytes]:
        """As ``Destination``."""
        return [self._move_part(part, pitch, home.dtype.itemsize) for part in call.parts]

    def _move_part(self, part: bytes, pitch: Pitch, itemsize: int) -> bytes:
        words = list(struct.unpack(f"{len(part) // 8}q", part))
        unit = itemsize if self.in_elements else 1
        first = 0 if self.start is None else words[self.start]
        pitch.check(first % pitch.old + words[self.width] * itemsize)
        for place in self.steps:
            words[place] = pitch.step(words[place] * unit) // unit
        if self.start is not None:
            words[self.start] = pitch.at(first)
        return struct.pack(f"{len(words)}q", *words)
