"""A table of native calls over a planned arena: what a region runs."""
from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Sequence

import numpy as np

from penstock.native.calls import Array, Code, Unsupported
from penstock.native.emitter import Emitter
from penstock.native.machine.background import background
from penstock.native.table.arena import plan_arena
from penstock.native.table.instance import Failure, Instance

_CALL, _BRIEF = 1000, 100_000  # operations and bytes that a call stands for, and those of a run of some 10 us


def help_to_compile(code: Code) -> None:
    """Compiles a kernel for another thread, which meets an error again, and tells."""
    with contextlib.suppress(Unsupported):
        code.compile(wait=False)


def _nothing() -> None:
    """Has nothing to see to."""


class CallTable:
    """Calls, the arrays that a caller brings along, and where in the arena all others are."""

    def __init__(self, emitter: Emitter, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        self.calls, self.loops, self.threads, self.status = emitter.calls, emitter.loops, emitter.threads, emitter.status
        for kind, arrays in (("input", inputs), ("output", outputs)):
            for position, array in enumerate(arrays):
                array.buffer.kind, array.buffer.position = kind, position
        self.inputs, self.outputs = list(inputs), list(outputs)
        self.parallel = any(len(call.parts) > 1 for call in self.calls)
        self.offsets, self.arena_bytes = plan_arena(self.calls, self.status.buffer, emitter.loops)
        work = sum(call.flops + call.traffic for call in self.calls)
        self.brief = not self.parallel and not self.loops and work + _CALL * len(self.calls) <= _BRIEF
        self._idle: list[Instance] = []

    def compile(self) -> None:
        """Compiles what is not compiled; threads in the background help. Raises Unsupported."""
        codes = list(dict.fromkeys(code for call in self.calls for code in call.codes))
        missing = [code for code in codes if not code.load()]
        for code in missing[:-1]:
            background.submit(functools.partial(help_to_compile, code))
        for code in reversed(missing):  # towards those who help, who begin with the first
            code.compile(wait=False)
        for code in missing:
            code.compile()

    def run(self, arrays: Sequence[np.ndarray], between: Callable[[], None] = _nothing) -> Failure | None:
        """Runs all calls over these arrays, inputs first, then outputs: contiguous, of the shapes and types that were said. What failed, or None.

        ``between`` is called some ten times a second while loops go on, and may raise something to end the run.
        """
        try:
            instance = self._idle.pop()
        except IndexError:  # all are running, or there is none yet
            instance = Instance(self)
        failed = instance.run(arrays, between)
        if failed >= 0:
            return Failure(failed, instance)
        self._idle.append(instance)
        return None

    def run_timed(self, arrays: Sequence[np.ndarray], between: Callable[[], None]) -> tuple[Failure | None, list[float]]:
        """``run``, and the seconds of each call; of one in a loop, those of its last iteration."""
        instance = self._idle.pop() if self._idle else Instance(self)
        start = time.perf_counter()
        failed, cycles = instance.run_timed(arrays, between)
        seconds = time.perf_counter() - start
        if failed >= 0:
            return Failure(failed, instance), []
        self._idle.append(instance)
        total = max(sum(cycles), 1)
        return None, [seconds * each / total for each in cycles]
