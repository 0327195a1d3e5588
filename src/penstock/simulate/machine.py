"""Machines and the processes on them.

A machine shares its cores among what runs, as an operating system does: everything gets the same share, and what cannot use its share leaves it to
the others. A process is a Python process: native code of it may run on several cores, but only one thread at a time is in the interpreter. Threads of
native code hold their cores while one of them works alone: they look for more to do (``native/machine/driver.py``). So what cannot be shared out
takes the time of all of them, also where others wait for a core.
"""
from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from penstock.simulate.clock import Clock

Then = Callable[[], Any]
_SHARED = 10e-3  # seconds of others on each core after which a process finds none of its large arrays in the cache of all cores
_REFILL = 2e-3  # seconds after which work has brought its arrays there again, or would not have found them there in any case


class _Work:
    """Something that is being computed: seconds of one core that are left, how many cores it can use, and which part of it cannot be shared out."""

    __slots__ = ("left", "serial", "speed", "then", "width")

    def __init__(self, seconds: float, width: float, serial: float, then: Then) -> None:
        self.left, self.width, self.serial, self.then = seconds, width, serial, then
        self.speed = 1.0


class SimulatedMachine:
    """Some cores. ``busy`` is how many core seconds were used."""

    def __init__(self, clock: Clock, cores: float, name: str = "") -> None:
        self.cores, self.name, self.busy = float(cores), name, 0.0
        self._clock = clock
        self._running: list[_Work] = []
        self._since = 0.0
        self._used = 0.0  # cores, since then
        self._version = 0
        self._wide = 0  # how many can use more than one core
        self.processes = 0

    def run(self, seconds: float, then: Then, width: float = 1.0, serial: float = 0.0) -> None:
        """Calls ``then`` when so many seconds of one core have been spent, on up to ``width`` cores, of which a part, ``serial``, uses one only."""
        self._advance()
        self._running.append(_Work(max(seconds, 0.0), width, serial, then))
        self._wide += width > 1.0
        self._share()

    @property
    def now(self) -> float:
        """The time."""
        return self._clock.now

    @property
    def is_full(self) -> bool:
        """True if all cores are in use."""
        return len(self._running) >= self.cores

    def _advance(self) -> None:
        elapsed = self._clock.now - self._since
        self._since = self._clock.now
        if elapsed:
            self.busy += elapsed * self._used
            for work in self._running:
                work.left -= elapsed * work.speed

    def _share(self) -> None:
        """Gives each its cores, and asks to be called when the first of them is done."""
        self._version += 1
        running = self._running
        if not running:
            self._used = 0.0
            return
        if self._wide:
            first = self._share_unevenly()
        else:  # the usual case: all can use one core
            speed = min(1.0, self.cores / len(running))
            for work in running:
                work.speed = speed
            self._used = speed * len(running)
            first = min(work.left for work in running) / speed
        self._clock.after(max(first, 0.0), self._look, self._version)

    def _share_unevenly(self) -> float:
        """What can use only a little leaves the rest to others. Returns when the first is done."""
        free, self._used, first = self.cores, 0.0, math.inf
        others = len(self._running)
        for work in sorted(self._running, key=_width):
            cores = min(work.width, free / others)
            free -= cores
            others -= 1
            work.speed = cores / (1.0 + work.serial * (work.width - 1.0))  # Amdahl's law for all of its threads, which get this share of the time
            self._used += cores
            first = min(first, work.left / work.speed)
        return first

    def _look(self, version: int) -> None:
        if version != self._version:
            return  # something began or ended since
        self._advance()
        done = [work for work in self._running if work.left <= 1e-12]
        self._running = [work for work in self._running if work.left > 1e-12]
        self._wide -= sum(work.width > 1.0 for work in done)
        self._share()
        for work in done:
            work.then()


def _width(work: _Work) -> float:
    return work.width


class Crowding(NamedTuple):
    """How many times as long work takes a process that is not alone: what is done in Python while others have all cores, or after it had to wait for
    the interpreter; the use of large arrays after others have had the caches; and native code while others have all cores."""

    python: float = 1.0
    queued: float = 1.0
    cold_bytes: float = 1.0
    native: float = 1.0


ALONE = Crowding()


class _Waiting(NamedTuple):
    """Work that stands in line for the interpreter; ``queued``: it was taken when the work came."""

    seconds: float
    moving: float
    then: Then
    queued: bool


class Process:
    """A task: what it computes in Python stands in one line, native code runs beside it."""

    def __init__(self, machine: SimulatedMachine, name: str, crowding: Crowding = ALONE) -> None:
        self.machine, self.name, self._crowding = machine, name, crowding
        machine.processes += 1
        self._memory = self.most_memory = 0  # bytes of the steps that it runs now, and the most that it had
        self.in_python = 0.0  # seconds in which its interpreter was taken
        self._machine_busy = 0.0  # core seconds of the machine, when this process ran last
        self._line: deque[_Waiting] = deque()
        self._in_python = False

    def take(self, size: int) -> None:
        """Memory, for a part of a step; to be given back, as a negative number, when it ends."""
        self._memory += size
        self.most_memory = max(self.most_memory, self._memory)

    def python(self, seconds: float, then: Then, moving: float = 0.0) -> None:
        """Work in the interpreter; ``moving`` are further seconds, for the bytes of large arrays."""
        self._line.append(_Waiting(seconds, moving, then, self._in_python))
        if not self._in_python:
            self._next()

    def native(self, seconds: float, then: Then, serial: float, is_short: bool = False) -> None:
        """Work outside of it, on all cores of the machine that are free; ``is_short``: on one, if other processes may need them."""
        extra = self._when_cold(seconds)
        if self.machine.is_full:
            seconds *= self._crowding.native
        width = 1.0 if is_short and self.machine.processes > 1 else self.machine.cores
        self.machine.run(seconds + extra, lambda: self._left(then), width, serial)

    def _when_cold(self, seconds: float) -> float:
        """How much longer work on large arrays takes if others have had the cache."""
        is_cold = self.machine.busy - self._machine_busy > _SHARED * self.machine.cores
        return (self._crowding.cold_bytes - 1.0) * min(seconds, _REFILL) if is_cold else 0.0

    def _next(self) -> None:
        self._in_python = bool(self._line)
        if self._line:
            work, begin = self._line.popleft(), self.machine.now
            factor = self._crowding.queued if work.queued else self._crowding.python if self.machine.is_full else 1.0
            self.machine.run(work.seconds * factor + work.moving + self._when_cold(work.moving), lambda: self._ended(begin, work.then))

    def _ended(self, begin: float, then: Then) -> None:
        self.in_python += self.machine.now - begin
        self._machine_busy = self.machine.busy
        self._next()
        then()

    def _left(self, then: Then) -> None:
        self._machine_busy = self.machine.busy
        then()
