"""Shared memory between two processes of one host: segments that one side writes messages into and the other one reads them from, in place.

A segment is an anonymous file (memfd), handed to the other process through the Unix socket that connects the two: it has
no name that could be guessed or left behind, and is gone with the two processes. The writer takes a free segment, copies
a message into it and sends its number; the reader's arrays are views of the segment. When the last of them is gone the
reader says so (FREE), and the segment is used again: in a training loop no memory is allocated and no page is touched
for the first time.
"""
from __future__ import annotations

import mmap
import os
import weakref
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.distributed.messages import MalformedMessage

AVAILABLE = hasattr(os, "memfd_create")
SHARED_MIN = 64 << 10  # bytes from which shared memory is worth it
_SMALLEST = 1 << 20
_MAX_SEGMENTS = 64  # per direction: a file descriptor each; beyond that messages go through the socket
_KEPT = 512 << 20  # bytes of free segments that are kept for later


@dataclass(slots=True, eq=False)
class Segment:
    """A piece of memory that this process writes."""

    number: int
    size: int
    descriptor: int  # -1 once the other side has it
    array: np.ndarray
    told: bool = False


class Written:
    """The segments that this process writes for one other. Not for several threads at once: its owner has a lock."""

    def __init__(self) -> None:
        self._all: dict[int, Segment] = {}
        self._free: list[Segment] = []
        self._next = 0

    def take(self, size: int) -> Segment | None:
        """A free segment of at least this size; None if there is no room for one."""
        fitting = [segment for segment in self._free if size <= segment.size <= max(4 * size, _SMALLEST)]
        if fitting:
            segment = min(fitting, key=lambda item: item.size)
            self._free.remove(segment)
            return segment
        if len(self._all) >= _MAX_SEGMENTS or not AVAILABLE:
            return None
        return self._new(max(_SMALLEST, 1 << (size - 1).bit_length() if size < 64 << 20 else -(-size // (16 << 20)) * (16 << 20)))

    def _new(self, size: int) -> Segment | None:
        try:
            descriptor = os.memfd_create("penstock", os.MFD_CLOEXEC)
        except OSError:  # no memory, or no file more: then the message goes through the socket
            return None
        try:
            os.ftruncate(descriptor, size)
            array = np.frombuffer(mmap.mmap(descriptor, size), np.uint8)
        except (OSError, ValueError):
            os.close(descriptor)
            return None
        self._next += 1
        segment = self._all[self._next] = Segment(self._next, size, descriptor, array)
        return segment

    def freed(self, number: int) -> Segment | None:
        """The other side needs a segment no more; returns it if it is given up rather than kept."""
        segment = self._all.get(number)
        if segment is None or segment in self._free:
            raise MalformedMessage(f"segment {number} is not in use")
        if segment.size + sum(item.size for item in self._free) > _KEPT:
            del self._all[number]
            return segment
        self._free.append(segment)
        return None

    def close(self) -> None:
        """Forgets all of them; what the other side still reads stays with it."""
        for segment in self._all.values():
            if segment.descriptor >= 0:
                os.close(segment.descriptor)
        self._all, self._free = {}, []


class Read:
    """The segments that another process writes for this one."""

    def __init__(self) -> None:
        self._maps: dict[int, mmap.mmap] = {}
        self.freed: deque[int] = deque()  # segments whose arrays are gone, to be told; filled by finalizers, which take no locks

    def add(self, number: int, descriptor: int) -> None:
        """The other side has made a segment."""
        try:
            size = os.fstat(descriptor).st_size
            if number in self._maps or not size or len(self._maps) >= _MAX_SEGMENTS:
                raise MalformedMessage(f"segment {number} of {size} bytes is not expected")
            self._maps[number] = mmap.mmap(descriptor, size)
        except (OSError, ValueError) as error:
            raise MalformedMessage(f"segment {number} cannot be mapped: {error}") from None
        finally:
            os.close(descriptor)

    def view(self, number: int, size: int) -> np.ndarray:
        """The first bytes of a segment; when the array and all views of it are gone, the segment is free."""
        mapped = self._maps.get(number)
        if mapped is None or size > len(mapped):
            raise MalformedMessage(f"there is no segment {number} of {size} bytes")
        array = np.frombuffer(mapped, np.uint8, size)
        weakref.finalize(array, self.freed.append, number).atexit = False
        return array

    def drop(self, number: int) -> None:
        """The other side has given a segment up."""
        self._maps.pop(number, None)


def fill(array: np.ndarray, buffers: Sequence[Any]) -> None:
    """Copies buffers one after the other into an array."""
    position = 0
    for buffer in buffers:
        size = len(buffer)
        array[position:position + size] = np.frombuffer(buffer, np.uint8) if size else 0
        position += size
