"""Programs of imperative style, as people wrote them in 2018 and 2019: each ends in its ``ok`` line."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

FOLDER = Path(__file__).parent / "programs"


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.py")))
def test_program(name, tmp_path):
    source = str(Path(__file__).parents[2] / "src")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([source, *filter(None, [os.environ.get("PYTHONPATH")])])}
    result = subprocess.run([sys.executable, "-m", "penstock", "run", str(FOLDER / f"{name}.py")], cwd=tmp_path, env=environment,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240, check=False)
    assert result.returncode == 0, result.stdout[-3000:]
    assert result.stdout.splitlines()[-1].startswith(f"ok {name}"), result.stdout[-1000:]
