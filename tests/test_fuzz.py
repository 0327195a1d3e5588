"""Random calls of every op (``support/fuzz.py``): a result or a proper error comes out, never a crash, a hang or a bare NumPy error."""
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
    log = tmp_path / "calls.txt"
    environment = {**os.environ, "FUZZ_LOG": str(log), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    try:
        result = subprocess.run([sys.executable, str(FUZZ), str(seed), str(COUNT)], cwd=tmp_path, env=environment, capture_output=True, text=True,
                                timeout=240, check=False)
    except subprocess.TimeoutExpired:
        pytest.fail(f"hangs in: {_last(log)}")
    assert result.returncode == 0, f"crashed ({result.returncode}) in: {_last(log)}\n{result.stderr[-2000:]}"
    failures = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    text = "\n".join(f"{failure['problem']}\n    {failure['call']}" for failure in failures)
    assert not failures, f"{len(failures)} of {COUNT} calls, of {sorted({failure['op'] for failure in failures})}:\n{text}"


def _last(log: Path) -> str:
    lines = log.read_text().splitlines()
    return lines[-1] if lines else "nothing yet"
