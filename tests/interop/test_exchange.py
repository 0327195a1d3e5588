"""Checkpoints, MetaGraphs, SavedModels and Keras models go to real TensorFlow and come back: `make interop`, which sets PENSTOCK_TF_PYTHON.

The multi-backend Keras 2.2.5 takes part if that Python has it. PENSTOCK_KERAS_PATH may name a folder with it: `pip install --target FOLDER --no-deps
keras==2.2.5 keras-applications==1.0.8 keras-preprocessing==1.1.2 pyyaml six`. It then takes part on Penstock, too.
"""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.process import environment

FOLDER = Path(__file__).parent
TENSORFLOW = os.environ.get("PENSTOCK_TF_PYTHON")
KERAS = os.environ.get("PENSTOCK_KERAS_PATH", "")

pytestmark = pytest.mark.skipif(not TENSORFLOW, reason="PENSTOCK_TF_PYTHON names no Python with TensorFlow")


def run(system: str, action: str, folder: Path, script: str = "exchange.py") -> None:
    """Has one side of an exchange write or read. ``keras/penstock`` is Keras on Penstock."""
    front, _, back = system.rpartition("/")
    ours, extra = back == "penstock", KERAS if front else ""
    variables = environment() if ours else {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": ""}
    variables["PYTHONPATH"] = os.pathsep.join(filter(None, [variables["PYTHONPATH"], extra]))
    python = [sys.executable, *(["-m", "penstock", "run"] if front else [])] if ours else [str(TENSORFLOW)]
    command = [*python, str(FOLDER / script), front or back, action, str(folder)]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, f"{system} cannot {action}:\n{done.stderr[-3000:]}"


@pytest.mark.parametrize("reader", ["penstock", "tensorflow"])
@pytest.mark.parametrize("writer", ["penstock", "tensorflow"])
def test_exchange(tmp_path, writer, reader):
    run(writer, "write", tmp_path)
    run(reader, "read", tmp_path)


@pytest.fixture(scope="module")
def has_contrib() -> bool:
    """Whether that TensorFlow is one of the first line."""
    program = "import tensorflow as tf; assert tf.__version__.startswith('1.')"
    done = subprocess.run([str(TENSORFLOW), "-c", program], capture_output=True, timeout=120)
    return done.returncode == 0


@pytest.mark.parametrize("script", ["exchange_models.py", "exchange_estimators.py"])
@pytest.mark.parametrize(("writer", "reader"), [("penstock", "tensorflow"), ("tensorflow", "penstock")])
def test_exchange_of_models(tmp_path, writer, reader, has_contrib, script):
    if not has_contrib:
        pytest.skip("TensorFlow 2 has neither slim nor tf.contrib, and other optimizers in its estimators")
    run(writer, "write", tmp_path, script)
    run(reader, "read", tmp_path, script)


@pytest.fixture(scope="module")
def has_keras() -> bool:
    """Whether the Python with TensorFlow has the multi-backend Keras."""
    variables = {**os.environ, "PYTHONPATH": KERAS}
    return subprocess.run([str(TENSORFLOW), "-c", "import keras.engine.saving"], env=variables, capture_output=True, timeout=120).returncode == 0


@pytest.mark.parametrize(("writer", "reader"), [
    ("penstock", "tensorflow"), ("tensorflow", "penstock"), ("keras/tensorflow", "penstock"), ("penstock", "keras/tensorflow"),
    ("keras/penstock", "keras/tensorflow"), ("keras/tensorflow", "keras/penstock"), ("keras/penstock", "penstock")])
def test_exchange_of_keras_models(tmp_path, writer, reader, has_contrib, has_keras):
    pytest.importorskip("h5py")
    if not has_contrib:
        pytest.skip("TensorFlow 2 has another Keras")
    if "keras/penstock" in (writer, reader) and not KERAS:
        pytest.skip("PENSTOCK_KERAS_PATH names no folder with Keras 2.2.5")
    if "/" in writer + reader and not has_keras:
        pytest.skip("there is no Keras 2.2.5")
    run(writer, "write", tmp_path, "exchange_keras.py")
    run(reader, "read", tmp_path, "exchange_keras.py")
