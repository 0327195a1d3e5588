"""The profile of a program, measured by a process of its own."""
from __future__ import annotations

import dataclasses
import subprocess
import sys
import tempfile
from pathlib import Path

from penstock.simulate.capture import NO_CHIEF, CaptureOrder
from penstock.simulate.profile import JobProfile


class NotMeasured(Exception):
    """The program ended, or failed, before its step could be measured; what it said went to standard error."""


def measure(order: CaptureOrder, shows_output: bool = False, graph: str = "") -> JobProfile:
    """Runs the program of an order as one worker, and tells what its step is made of. NotMeasured if it has none. ``graph``: the file of the GraphDef
    that the program, which is ours then, runs."""
    with tempfile.TemporaryDirectory(prefix="penstock-simulate-") as folder:
        return _capture(order, Path(folder), shows_output, graph)


def _capture(order: CaptureOrder, folder: Path, shows_output: bool, graph: str) -> JobProfile:
    profile, text = folder / "profile.json", folder / "order.json"
    text.write_text(dataclasses.replace(order, profile=str(profile)).to_json(), encoding="utf-8")
    result = subprocess.run([sys.executable, "-m", "penstock.simulate.capture", str(text)], stdin=subprocess.DEVNULL, check=False,
                            stdout=sys.stderr if shows_output else subprocess.DEVNULL)
    if result.returncode or not profile.exists():
        hint = " (an estimator needs a chief: --chief)" if result.returncode == NO_CHIEF else ""
        raise NotMeasured(f"{graph or order.program[0]} could not be measured (exit code {result.returncode}); what it said stands above{hint}")
    return JobProfile.from_json(profile.read_text(encoding="utf-8"))
