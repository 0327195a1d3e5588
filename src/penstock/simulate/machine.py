"""Machines and the processes on them.

A machine shares its cores among what runs, as an operating system does: everything gets the same share, and what cannot use its share leaves it to
the others. A process is a Python process: native code of it may run on several cores, but only one thread at a time is in the interpreter.
"""
from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Any

from penstock.simulate.clock import Clock

Then = Callable[[], Any]
_CACHED = 0.5e-3  # seconds of others on each core after which a process finds its core's caches cold
_SHARED = 10e-3  # and that of all cores, which holds large arrays


class _Work:
    """Something that is being computed: seconds of one core that are left, how many cores it can use, and which part of it cannot be shared out."""

    __slots__ = ("left", "serial", "speed", "then", "width")

    def __init__(self, seconds: float, width: float, serial: float, then: Then) -> None:
        self.left, self.width, self.serial, self.then = seconds, width, serial, then
        self.speed = 1.0


class Machine:
    """Some cores. ``busy`` is how many core seconds were used."""

    def __init__(self, clock: Clock, cores: float, name: str = "") -> None:
        self.cores, self.name, self.busy = float(cores), name, 0.0
        self._clock = clock
        self._running: list[_Work] = []
        self._since = 0.0
        self._used = 0.0  # cores, since then
        self._version = 0
        self._wide = 0  # how many can use more than one core

    def run(self, seconds: float, then: Then, width: float = 1.0, serial: float = 0.0) -> None:
        """Calls ``then`` when so many seconds of one core have been spent, on up to ``width`` cores, of which a part, ``serial``, uses one only."""
        self._advance()
        self._running.append(_Work(max(seconds, 0.0), width, serial, then))
        self._wide += width > 1.0
        self._share()

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
            work.speed = cores if cores <= 1.0 else 1.0 / (work.serial + (1.0 - work.serial) / cores)
            self._used += work.speed
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


class Process:
    """A task: what it computes in Python stands in one line, native code runs beside it."""

    def __init__(self, machine: Machine, name: str, cold: float = 1.0, cold_bytes: float = 1.0) -> None:
        self.machine, self.name = machine, name
        self._cold, self._cold_bytes = cold, cold_bytes  # times as long it takes after others have had the caches: Python, large arrays
        self._machine_busy = 0.0  # core seconds of the machine, when this process ran last
        self._line: deque[tuple[float, float, Then]] = deque()
        self._in_python = False

    def python(self, seconds: float, then: Then, moving: float = 0.0) -> None:
        """Work in the interpreter; ``moving`` are further seconds, for the bytes of large arrays."""
        self._line.append((seconds, moving, then))
        if not self._in_python:
            self._next()

    def native(self, seconds: float, then: Then, serial: float) -> None:
        """Work outside of it, on all cores of the machine that are free."""
        if self._is_cold(_SHARED):
            seconds *= self._cold_bytes
        self.machine.run(seconds, lambda: self._left(then), self.machine.cores, serial)

    def _is_cold(self, seconds: float) -> bool:
        return self.machine.busy - self._machine_busy > seconds * self.machine.cores

    def _next(self) -> None:
        self._in_python = bool(self._line)
        if self._line:
            seconds, moving, then = self._line.popleft()
            if self._is_cold(_CACHED):
                seconds *= self._cold
            if self._is_cold(_SHARED):
                moving *= self._cold_bytes
            self.machine.run(seconds + moving, lambda: self._ended(then))

    def _ended(self, then: Then) -> None:
        self._machine_busy = self.machine.busy
        self._next()
        then()

    def _left(self, then: Then) -> None:
        self._machine_busy = self.machine.busy
        then()
