"""Checkpoints, MetaGraphs and SavedModels go to real TensorFlow and come back: `make interop`, which sets PENSTOCK_TF_PYTHON."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.process import environment

SCRIPT = str(Path(__file__).with_name("exchange.py"))
TENSORFLOW = os.environ.get("PENSTOCK_TF_PYTHON")

pytestmark = pytest.mark.skipif(not TENSORFLOW, reason="PENSTOCK_TF_PYTHON names no Python with TensorFlow")


def run(system: str, action: str, folder: Path) -> None:
    ours = system == "penstock"
    variables = environment() if ours else {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": ""}
    done = subprocess.run([sys.executable if ours else str(TENSORFLOW), SCRIPT, system, action, str(folder)], env=variables, capture_output=True,
                          text=True, timeout=250)
    assert done.returncode == 0, f"{system} cannot {action}:\n{done.stderr[-3000:]}"


@pytest.mark.parametrize("reader", ["penstock", "tensorflow"])
@pytest.mark.parametrize("writer", ["penstock", "tensorflow"])
def test_exchange(tmp_path, writer, reader):
    run(writer, "write", tmp_path)
    run(reader, "read", tmp_path)
