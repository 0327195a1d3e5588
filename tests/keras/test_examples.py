"""The programs of ``examples/keras`` learn what they are said to learn."""
from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

import penstock as tf
from penstock.native.config import config

pytestmark = pytest.mark.process
FOLDER = Path(__file__).parents[2] / "examples" / "keras"
LEARNS = {  # {program: whether the number that `main` returns is good enough}
    "mlp": lambda accuracy: accuracy > 0.9,
    "cnn": lambda accuracy: accuracy > 0.9,
    "resnet": lambda accuracy: accuracy > 0.9,
    "lstm_text": lambda accuracy: accuracy > 0.9,
    "bidirectional": lambda accuracy: accuracy > 0.97,
    "seq2seq": lambda share: share > 0.8,
    "vae": lambda progress: progress > 5,
    "gan": lambda distance: distance < 0.6,
    "siamese": lambda share: share > 0.85,
    "captions": lambda share: share > 0.9,
    "custom_layer": lambda error: error < 0.1,
}


@pytest.fixture(autouse=True)
def as_users_run_them(monkeypatch):
    """With native code, where the programs find each other, and with seeds."""
    monkeypatch.setattr(config, "mode", "background")
    monkeypatch.syspath_prepend(str(FOLDER))
    np.random.seed(0)
    tf.set_random_seed(0)


def test_all_are_run():
    assert {path.stem for path in FOLDER.glob("*.py")} == {*LEARNS, "tensorboard_callback", "texts"}


@pytest.mark.parametrize("name", LEARNS)
def test_program(name):
    if name == "custom_layer":
        pytest.importorskip("h5py")
    found = runpy.run_path(str(FOLDER / f"{name}.py"))["main"]()
    assert LEARNS[name](found), found


def test_tensorboard(tmp_path):
    drawn = runpy.run_path(str(FOLDER / "tensorboard_callback.py"))["main"](str(tmp_path))
    assert len(drawn["epoch_loss"]) == len(drawn["epoch_val_acc"]) == 8 and drawn["epoch_loss"][-1] < drawn["epoch_loss"][0]
    assert (tmp_path / "epochs.csv").read_text().startswith("epoch,acc,loss,lr,val_acc,val_loss\n")
    assert (tmp_path / "best.index").exists()
