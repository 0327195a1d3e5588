"""Whole TensorFlow 1 programs, each in a process of its own.

They are looked for in ``../shared/programs`` beside the repository, or where PENSTOCK_PROGRAMS says.
"""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDER = Path(os.environ.get("PENSTOCK_PROGRAMS") or ROOT.parent / "shared" / "programs")
NUMBERS = ["01", "02", "03", "05", "07", "11", "22", "26"]

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no programs in {FOLDER}; set PENSTOCK_PROGRAMS")


@pytest.mark.parametrize("number", NUMBERS)
def test_program(number, tmp_path):
    found = sorted(FOLDER.glob(f"{number}_*.py"))
    assert len(found) == 1, f"{len(found)} programs with the number {number} in {FOLDER}"
    paths = [str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    result = subprocess.run([sys.executable, "-m", "penstock", "run", str(found[0])], cwd=tmp_path, env=environment,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240, check=False)
    assert result.returncode == 0, f"{found[0].name} ended with {result.returncode}:\n{result.stdout[-3000:]}"
