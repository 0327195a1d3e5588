"""Whole TensorFlow 1 programs, each in a process of its own, with the compiler off, on, and eager.

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
RUNS = [*[(number, "off") for number in ("01", "02", "03", "05", "11", "22")],
        *[(number, "background") for number in ("04", "07", "10", "17", "26", "27")],
        *[(number, "eager") for number in ("01", "05", "06", "08", "20", "21", "23", "25", "36")]]

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no programs in {FOLDER}; set PENSTOCK_PROGRAMS")


@pytest.mark.parametrize(("number", "mode"), RUNS)
def test_program(number, mode, tmp_path):
    programs = sorted(FOLDER.glob(f"{number}_*.py"))
    assert len(programs) == 1, f"{len(programs)} programs with the number {number} in {FOLDER}"
    paths = [str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PENSTOCK_COMPILE": mode}
    result = subprocess.run([sys.executable, "-m", "penstock", "run", str(programs[0])], cwd=tmp_path, env=environment,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240, check=False)
    assert result.returncode == 0, f"{programs[0].name} ended with {result.returncode}:\n{result.stdout[-3000:]}"
