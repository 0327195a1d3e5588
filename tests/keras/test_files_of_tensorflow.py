"""A model that real TensorFlow 1.15 trained and saved (``data/record_model.py``) is loaded, predicts the same, and trains on the same way."""
from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process
DATA = Path(__file__).parent / "data"
RECORDER = runpy.run_path(str(DATA / "record_model.py"))


def test_a_whole_model():
    pytest.importorskip("h5py")
    x, y = RECORDER["inputs"]()
    with np.load(DATA / "expected.npz") as expected:
        model = tf.keras.models.load_model(str(DATA / "model.h5"))
        np.testing.assert_allclose(model.predict(x), expected["predictions"], rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose([model.train_on_batch(x, y) for _ in range(2)], expected["losses"], rtol=1e-4)


def test_weights_of_a_checkpoint():
    x, _ = RECORDER["inputs"]()
    model = RECORDER["build"](tf)
    model.load_weights(str(DATA / "weights")).assert_consumed()
    with np.load(DATA / "expected.npz") as expected:
        np.testing.assert_allclose(model.predict(x), expected["predictions"], rtol=1e-4, atol=1e-6)
