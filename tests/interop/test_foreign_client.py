"""A real TensorFlow client trains on a Penstock server: `make interop`, which sets PENSTOCK_TF_PYTHON."""
from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from penstock.distributed.server import Server

SCRIPT = str(Path(__file__).with_name("foreign_client.py"))
TENSORFLOW = os.environ.get("PENSTOCK_TF_PYTHON")

pytestmark = pytest.mark.skipif(not TENSORFLOW, reason="PENSTOCK_TF_PYTHON names no Python with TensorFlow")


@pytest.mark.parametrize("behaviour", ["v1", "v2"])
def test_a_tensorflow_client(behaviour, monkeypatch):
    monkeypatch.delenv("PENSTOCK_CLUSTER_SECRET", raising=False)
    server = Server.create_local_server()
    try:
        done = subprocess.run([str(TENSORFLOW), SCRIPT, server.target, behaviour], capture_output=True, text=True, timeout=250,
                              env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": ""})
        assert done.returncode == 0 and done.stdout.strip().endswith("ok"), done.stderr[-3000:]
    finally:
        server.stop()
