"""The profile of a program, measured by processes of their own: once with one thread, once with all."""
from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from penstock.platform.cpus import available_cpus
from penstock.simulate.capture import CaptureOrder
from penstock.simulate.profile import JobProfile, with_serial_parts, with_shorter_times


class NotMeasured(Exception):
    """The program ended, or failed, before its step could be measured; what it said went to standard error."""


def measure(order: CaptureOrder, shows_output: bool = False, rounds: int = 1) -> JobProfile:
    """Runs the program of an order as one worker, and tells what its step is made of. NotMeasured if it has none.

    What threads bring is the quotient of two times, of two processes. On a machine whose speed changes, several rounds of both are needed to know it.
    """
    with tempfile.TemporaryDirectory(prefix="penstock-simulate-") as folder:
        alone, threads = _capture(order, Path(folder), 1, shows_output), available_cpus()
        if threads == 1 or not any(block.native for part in alone.step.parts for block in part.blocks):
            return alone
        together = _capture(order, Path(folder), threads, False)
        for _ in range(rounds - 1):
            alone = with_shorter_times(alone, _capture(order, Path(folder), 1, False))
            together = with_shorter_times(together, _capture(order, Path(folder), threads, False))
        return with_serial_parts(alone, together, threads)


def _capture(order: CaptureOrder, folder: Path, threads: int, shows_output: bool) -> JobProfile:
    profile, text = folder / "profile.json", folder / "order.json"
    text.write_text(dataclasses.replace(order, profile=str(profile)).to_json(), encoding="utf-8")
    result = subprocess.run([sys.executable, "-m", "penstock.simulate.capture", str(text)], stdin=subprocess.DEVNULL, check=False,
                            stdout=sys.stderr if shows_output else subprocess.DEVNULL, env={**os.environ, "PENSTOCK_THREADS": str(threads)})
    if result.returncode or not profile.exists():
        raise NotMeasured(f"{order.program[0]} could not be measured (exit code {result.returncode}); what it said stands above")
    return JobProfile.from_json(profile.read_text(encoding="utf-8"))
