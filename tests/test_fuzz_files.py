"""Files with something wrong in them (``support/fuzz_files.py``) give a result or a clear error: no crash, no hang, no memory that runs away."""
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).parent / "support" / "fuzz_files.py"


def test_some(tmp_path):
    _check(1, 300, tmp_path)


@pytest.mark.nightly
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", range(10, 20))
def test_many(seed, tmp_path):
    """20,000 of them."""
    _check(seed, 2000, tmp_path)


def _check(seed: int, count: int, folder: Path) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    try:
        result = subprocess.run([sys.executable, str(FUZZ), str(seed), str(count), str(folder)], env=environment, capture_output=True, text=True,
                                timeout=60 + count / 2, check=False)
    except subprocess.TimeoutExpired:
        pytest.fail(f"hangs in what is in {folder / 'current'}")
    assert result.returncode == 0, f"crashed ({result.returncode}) in what is in {folder / 'current'}\n{result.stderr[-2000:]}"
    failures = [json.loads(line) for line in result.stdout.splitlines() if line.startswith('{"kind"')]
    text = "\n".join(f"{each['kind']}: {each['problem']}" for each in failures)
    assert not failures, f"{len(failures)} of {count} files, kept in {folder}:\n{text}"
