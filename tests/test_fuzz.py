"""Random calls of every op (``support/fuzz.py``): a result or a proper error comes out, never a crash, a hang or a broken promise.

The nightly test is stricter: what is wrong with the inputs is said by shape functions and kernels, never by NumPy.
"""
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).parent / "support" / "fuzz.py"
COUNT = 1500


@pytest.mark.parametrize("seed", [1, 2])
def test_fuzz(seed, tmp_path):
    _check([failure for failure in _failures(seed, tmp_path) if not failure["problem"].startswith("bare")])


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(3, 8))
def test_kernels_say_what_is_wrong(seed, tmp_path):
    _check(_failures(seed, tmp_path))


def _check(failures: list[dict[str, str]]) -> None:
    text = "\n".join(f"{failure['problem']}\n    {failure['call']}" for failure in failures)
    assert not failures, f"{len(failures)} of {COUNT} calls, of {sorted({failure['op'] for failure in failures})}:\n{text}"


def _failures(seed: int, tmp_path: Path) -> list[dict[str, str]]:
    log = tmp_path / "calls.txt"
    environment = {**os.environ, "FUZZ_LOG": str(log), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    try:
        result = subprocess.run([sys.executable, str(FUZZ), str(seed), str(COUNT)], cwd=tmp_path, env=environment, capture_output=True, text=True,
                                timeout=240, check=False)
    except subprocess.TimeoutExpired:
        pytest.fail(f"hangs in: {_last(log)}")
    assert result.returncode == 0, f"crashed ({result.returncode}) in: {_last(log)}\n{result.stderr[-2000:]}"
    return [json.loads(line) for line in result.stdout.splitlines() if line.startswith('{"op"')]


def _last(log: Path) -> str:
    lines = log.read_text().splitlines()
    return lines[-1] if lines else "nothing yet"
