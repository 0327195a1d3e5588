"""Machines and the processes on them.

A machine gives its cores to what runs as Linux does. Work that is woken goes to the core that woke it, or to the one where its process ran last, if
one of them is idle; to another idle core only if the machine is not busy, since otherwise none is looked for; else it stands in line where it was
woken. So a core may be idle while work waits for another one: two workers and two parameter servers use three quarters of two cores. A core that
has nothing to do takes work of another one only if its process has not run for half a millisecond. While native code runs on several cores, which
takes longer, everything gets the same share of all cores, and what cannot use its share leaves it to the others.

A process is a Python process: native code of it may run on several cores, but only one thread at a time is in the interpreter. While one
thread of native code works alone, the others hold their cores for a while, then they nap (``native/machine/driver.py``).
"""
from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from penstock.simulate.clock import Clock

Then = Callable[[], Any]
_STAYS = 0.5e-3  # seconds: a process that ran less than that ago is not moved to another core (Linux: sched_migration_cost)
_SEARCH = 1.17 ** 2  # how fast the search for an idle core gets shorter with the use of the machine (Linux: nr_idle_scan)
_WHOLE = 1.0 - 1e-9  # cores: with less, threads of native code wait for each other
_AVERAGED = 46e-3  # seconds over which the use of the machine is averaged for that (Linux: half of it after 32 ms)


class Place:
    """Where a process ran last, and when that was."""

    __slots__ = ("core", "until")

    def __init__(self) -> None:
        self.core, self.until = 0, -math.inf


class _Work:
    """Something that is being computed: seconds of one core that are left, and how many cores it uses in the mean, if it gets all that it can; its
    core, and from when on another one may take it; how many times as long it takes while others have some of the cores that it could
    use, and while others use memory as it does.
    ``speed`` is how much of it is done per second."""

    __slots__ = ("beside", "core", "crowded", "left", "most", "movable", "place", "speed", "then")

    def __init__(self, seconds: float, most: float, then: Then, place: Place, core: int, movable: float, crowded: float,
                 beside: float) -> None:
        self.left, self.most, self.then, self.crowded, self.beside = seconds, most, then, crowded, beside
        self.place, self.core, self.movable = place, core, movable
        self.speed = 1.0


class SimulatedMachine:
    """Some cores. ``busy`` is how many core seconds were used, ``moved`` how many bytes messages had, ``used`` how many went through
    the caches, of messages and of arrays; ``waker`` is the core of the work that has just
    been done, and wakes others."""

    def __init__(self, clock: Clock, cores: float, name: str = "") -> None:
        self.cores, self.name, self.busy = float(cores), name, 0.0
        self.waker, self.moved, self.used = 0, 0.0, 0.0
        self._clock = clock
        self._running: list[_Work] = []
        self._on = [0] * math.ceil(cores)  # how many of them each core has
        self._since = 0.0
        self._used = 0.0  # cores, since then
        self._recent = self._weight = 0.0  # cores in use, and their number, averaged
        self._version = 0
        self._wide = 0  # how many can use more than one core,
        self._users = 0  # and how many use memory
        self.processes = 0

    def run(self, seconds: float, then: Then, width: float = 1.0, serial: float = 0.0, place: Place | None = None, held: float = 0.0,
            crowded: float = 1.0, beside: float = 1.0) -> None:
        """Calls ``then`` when so many seconds of one core have been spent, on up to ``width`` cores, of which a part, ``serial``, uses one only, and
        holds the others for a part of that time, ``held``; ``crowded`` times as many while others have some of these cores, ``beside``
        times as many while others use memory, too."""
        self._advance()
        place = place or Place()
        core = self._choose(place)
        self._on[core] += 1
        most = width
        if width > 1.0:
            shortest = seconds * (serial + (1.0 - serial) / width)  # Amdahl's law
            seconds *= 1.0 + serial * (width - 1.0) * held
            most = seconds / shortest if shortest else width
        self._running.append(_Work(max(seconds, 0.0), most, then, place, core, min(place.until, self.now) + _STAYS, crowded, beside))
        self._wide += most > 1.0
        self._users += beside > 1.0
        self._share()

    @property
    def now(self) -> float:
        """The time."""
        return self._clock.now

    @property
    def is_full(self) -> bool:
        """True if there is as much to do as there are cores."""
        return len(self._running) >= self.cores

    def _choose(self, place: Place) -> int:
        """The core for work of a process that was in this place."""
        on = self._on
        if not on[self.waker]:
            return self.waker
        if not on[place.core]:
            return place.core
        if 0 in on and self._searches():
            return on.index(0)
        if place.until == -math.inf:
            return on.index(min(on))
        return self.waker if on[self.waker] <= max(on[place.core], 1) else place.core

    def _searches(self) -> bool:
        """Whether an idle core is looked for: not where most are in use."""
        use = self._recent / self._weight if self._weight else 0.0
        return len(self._on) * (1.0 - _SEARCH * use ** 2) >= 1.0

    def _advance(self) -> None:
        now = self._clock.now
        elapsed = now - self._since
        if elapsed:
            self._since, used = now, self._used
            kept = math.exp(-elapsed / _AVERAGED)
            self.busy += elapsed * used
            self._recent = kept * self._recent + (1.0 - kept) * used
            self._weight = kept * self._weight + (1.0 - kept) * self.cores
            for work in self._running:
                work.left -= elapsed * work.speed

    def _share(self) -> None:
        """Gives each its cores, and asks to be called when the first of them is done."""
        self._version += 1
        running = self._running
        if not running:
            self._used = 0.0
            return
        if len(running) == 1 and self.cores >= 1.0:  # the most frequent case
            work = running[0]
            self._used = work.speed = min(work.most, self.cores)
            self._clock.after(max(work.left / work.speed, 0.0), self._look, self._version)
            return
        if self._wide:
            first = self._share_unevenly()
        else:
            first, on = self._balance(), self._on
            busy = len(on) - on.count(0)
            self._used = min(float(busy), self.cores)
            most = self._used / busy  # less than one if a part of a core is missing
            for work in running:
                work.speed = most / on[work.core]
                first = min(first, work.left / work.speed)
        self._clock.after(max(first, 0.0), self._look, self._version)

    def _balance(self) -> float:
        """Idle cores take what waits for others, if it may be moved. Returns in how many seconds it is worth to look again."""
        on = self._on
        while 0 in on and len(self._running) > len(on) - on.count(0):
            waiting = [work for work in self._running if on[work.core] > 1]
            work = min(waiting, key=_movable)
            if work.movable > self.now:
                return work.movable - self.now
            on[work.core] -= 1
            work.core = on.index(0)
            on[work.core] += 1
        return math.inf

    def _share_unevenly(self) -> float:
        """What can use only a little leaves the rest to others. Returns when the first is done."""
        free, self._used, first = self.cores, 0.0, math.inf
        others = len(self._running)
        for work in sorted(self._running, key=_most):
            cores = min(work.most, free / others)
            free -= cores
            others -= 1
            self._used += cores
            work.speed = cores / work.crowded if cores < _WHOLE else cores
            if self._users > 1:
                work.speed /= work.beside
            first = min(first, work.left / work.speed)
        return first

    def _look(self, version: int) -> None:
        if version != self._version:
            return  # something began or ended since
        self._advance()
        running = self._running
        done = [work for work in running if work.left <= 1e-12]
        self._running = [work for work in running if work.left > 1e-12] if len(done) < len(running) else []
        for work in done:
            self._wide -= work.most > 1.0
            self._users -= work.beside > 1.0
            self._on[work.core] -= 1
            work.place.core, work.place.until = work.core, self._clock.now
        self._share()
        for work in done:
            self.waker = work.core
            work.then()


def _most(work: _Work) -> float:
    return work.most


def _movable(work: _Work) -> float:
    return work.movable


class Crowding(NamedTuple):
    """How many times as long work in Python takes a process that is not alone: while others have all cores, or after it had to wait for the
    interpreter. ``spread``: how much times in Python differ from each other, as the standard deviation of their logarithm."""

    python: float = 1.0
    queued: float = 1.0
    spread: float = 0.0


ALONE = Crowding()


class _Waiting(NamedTuple):
    """Work that stands in line for the interpreter; ``queued``: it was taken when the work came."""

    seconds: float
    moving: float
    then: Then
    queued: bool


class Process:
    """A task: what it computes in Python stands in one line, native code runs beside it."""

    def __init__(self, machine: SimulatedMachine, name: str, crowding: Crowding = ALONE, chance: random.Random | None = None) -> None:
        self.machine, self.name, self._crowding = machine, name, crowding
        self._chance = chance or random.Random(0)
        self._place = Place()
        machine.processes += 1
        self._memory = self.most_memory = 0  # bytes of the steps that it runs now, and the most that it had
        self.in_python = 0.0  # seconds in which its interpreter was taken
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

    def native(self, seconds: float, then: Then, serial: float, is_short: bool = False, extra: float = 0.0, held: float = 0.0,
               crowded: float = 1.0, uncached: float = 0.0) -> None:
        """Work outside of it, on all cores of the machine that are free; ``is_short``: on one, if other processes may need them; ``extra``: further
        seconds, as others have used the cache; ``uncached``: the most that they would be, also while others use memory at the same time; ``crowded``:
        how many times as long its threads take while others have some of the cores."""
        width = 1.0 if is_short and self.machine.processes > 1 else self.machine.cores
        beside = max((seconds + uncached) / (seconds + extra), 1.0)
        self.machine.run(seconds + extra, then, width, serial, self._place, held, crowded if width > 1.0 else 1.0, beside)

    def _next(self) -> None:
        self._in_python = bool(self._line)
        if self._line:
            work, begin = self._line.popleft(), self.machine.now
            saves = work.queued and self._crowding.queued < 1.0
            factor = self._crowding.queued if saves else self._crowding.python if self.machine.is_full else 1.0
            seconds = work.seconds * factor * self._variation() + work.moving
            self.machine.run(seconds, lambda: self._ended(begin, work.then), place=self._place)

    def _variation(self) -> float:
        """How long something takes this time; one in the mean."""
        spread = self._crowding.spread
        return self._chance.lognormvariate(-spread * spread / 2, spread) if spread else 1.0

    def _ended(self, begin: float, then: Then) -> None:
        self.in_python += self.machine.now - begin
        self._next()
        then()
