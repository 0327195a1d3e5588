"""Kernels are compiled while the calls behind them are still made: of a large region that takes as long as the compiler needs for its first kernels.

When native code takes over is settled by ``patience.py`` alone, once all calls are there. Here it is only foreseen: the calls so far are more work
than NumPy would be given for their kernels. Where that is wrong, a kernel is compiled that has to wait for its turn; no step gives other bits for it.
"""
from __future__ import annotations

import functools

from penstock.native.calls import Code, KernelCall
from penstock.native.machine.background import background
from penstock.native.table.call_table import help_to_compile
from penstock.native.table.patience import SHARE, seconds_by_numpy


class HeadStart:
    """Is told of each call of a region, in their order. ``waits``: the run will wait for native code, whatever it has to do."""

    def __init__(self, waits: bool) -> None:
        self._waits, self._work = waits, 0.0
        self._known: set[Code] = set()  # as many as ``patience.py`` counts
        self._submitted: set[Code] = set()  # or held
        self._held: list[Code] = []  # as long as it does not look as if the run would wait

    def __call__(self, call: KernelCall) -> None:
        self._work += seconds_by_numpy(call)
        if call.code is not None:
            self._known.add(call.code)
        for code in call.codes:
            if code not in self._submitted:
                self._submitted.add(code)
                self._held.append(code)
        if self._held and (self._waits or self._work > SHARE * len(self._known)):
            for code in self._held:
                background.submit(functools.partial(help_to_compile, code))
            self._held.clear()
