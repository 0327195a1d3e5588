"""What a native step is made of: arrays in buffers, and calls of compiled functions over them.

A function gets its operands and some numbers (``machine/abi.py``). A call may have several *parts*, each with numbers of its own, that run at the
same time on several threads; the next call begins when all of them have ended.
"""
from __future__ import annotations

import functools
import math
import os
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.native.config import config
from penstock.native.machine import target
from penstock.native.unsupported import Unsupported

if TYPE_CHECKING:
    from penstock.native.destinations import Destination

__all__ = ["Array", "Buffer", "Code", "KernelCall", "Unsupported"]


@dataclass(eq=False, slots=True)
class Buffer:
    """Memory: of the step's arena, or that the caller brings along (an input, an output), or a constant's."""

    kind: str  # "arena", "input", "output", "constant", "list"
    nbytes: int
    value: np.ndarray | None = None  # of a constant
    position: int = -1  # which input, which output


@dataclass(eq=False, slots=True)
class Array:
    """A view of a buffer: what NumPy's array is, without the memory. ``known`` is its value, if that is known while code is made."""

    buffer: Buffer
    dtype: np.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # in bytes
    offset: int = 0  # in bytes
    known: np.ndarray | None = None

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def rank(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """Of its elements."""
        return self.size * self.dtype.itemsize

    @property
    def contiguous(self) -> bool:
        """True if the elements lie one after the other, in C order."""
        expected = self.dtype.itemsize
        for extent, stride in zip(reversed(self.shape), reversed(self.strides)):
            if extent != 1 and stride != expected:
                return self.size == 0
            expected *= extent
        return True


def row_major(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """The strides of a contiguous array."""
    strides, step = [], itemsize
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


class Code:
    """A compiled function, or the promise of one: ``key`` names its structure, ``build()`` gives the LLVM IR of a module that defines ``symbol``.

    Equal keys, equal code: the key must tell everything that ``build`` depends on, but for this package's own sources. If it cannot (it depends on
    code of the user's), ``complete`` is false. ``linked`` is told of the function's address, before any thread can run it. ``Code.of`` shares one
    object per key in this process.
    """

    _known: dict[tuple[target.Machine | None, str], Code] = {}

    def __init__(self, key: str, build: Callable[[], str], symbol: str = "kernel", complete: bool = True,
                 linked: Callable[[int], None] | None = None) -> None:
        self.key, self._build, self.symbol, self._complete, self._linked = key, build, symbol, complete, linked
        self._library: target.LinkedCode | None = None
        self._lock = threading.Lock()  # held by the thread that compiles it

    @classmethod
    def of(cls, key: str, build: Callable[[], str], symbol: str = "kernel", complete: bool = True,
           linked: Callable[[int], None] | None = None) -> Code:
        """The code of this key, for the machine that code is made for."""
        place = target.foreign(), key
        code = cls._known.get(place)
        return code if code is not None else cls._known.setdefault(place, cls(key, build, symbol, complete, linked))

    def text(self) -> str:
        """The LLVM IR of its module."""
        return self._build()

    def load(self) -> bool:
        """True if it is compiled, or could be linked from the cache on disk."""
        if self._library is None and self._complete and not config.dump and self._lock.acquire(blocking=False):
            try:
                code = target.stored_code_for(self.key) if self._library is None else None
                if code is not None:
                    self._library = self._link(code)
            finally:
                self._lock.release()
        return self._library is not None

    def compile(self, wait: bool = True) -> None:
        """Compiles and links it, by way of the cache on disk; without ``wait``, unless another thread does so. Raises Unsupported."""
        if self._library is None and self._lock.acquire(blocking=wait):
            try:
                if self._library is None:
                    self._library = self._compile()
            finally:
                self._lock.release()

    def _compile(self) -> target.LinkedCode:
        if config.dump:
            print(target.dump(self.key, self._build(), config.dump), file=sys.stderr)
        code = target.object_code_for(self.key, self._build) if self._complete else target.object_code(self._build())
        return self._link(code)

    def _link(self, code: bytes) -> target.LinkedCode:
        library = target.LinkedCode(code, self.symbol)
        if self._linked is not None:
            self._linked(library.address)
        return library

    @functools.cached_property
    def address(self) -> int:
        """Of the function; compiles it if need be."""
        self.compile()
        assert self._library is not None
        return self._library.address


def _free_all() -> None:
    """In a forked process: a thread that compiled something stays with the parent."""
    for code in Code._known.values():
        code._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_all)


@dataclass(eq=False, slots=True)
class KernelCall:
    """One kernel over some arrays. ``writes`` counts how many operands, at the end of the list, are written (an updated one is among them)."""

    code: Code | None  # None: a jump to ``target``, unless the operand, a bool, is true
    operands: list[Array]
    parts: list[bytes]
    label: str
    writes: int = 1
    flops: int = 0
    nodes: list[Any] = field(default_factory=list)  # those it computes, for reports and errors
    target: int = -1
    destination: Destination | None = None  # if its result can be written elsewhere
    operands_of_parts: list[list[Array]] | None = None  # if parts have operands of their own: ``operands`` are then those of all
    over: list[tuple[Array, Array]] = field(default_factory=list)  # (output, input): the output may take the input's place, if that dies here
    uses: tuple[Code, ...] = ()  # what the kernel calls, by addresses that its words lead to

    @property
    def codes(self) -> tuple[Code, ...]:
        """All that has to be compiled for it."""
        return () if self.code is None else (self.code, *self.uses)

    @property
    def traffic(self) -> int:
        """Bytes of its operands: what it has to read and write at least."""
        return sum(array.nbytes for array in self.operands)
