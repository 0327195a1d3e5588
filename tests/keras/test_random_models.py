"""Random functional models (``data/record_random_models.py``): the same configuration and the same predictions as under real TensorFlow 1.15, and the
same again after a round trip through a configuration and through an HDF5 file."""
from __future__ import annotations

import gzip
import json
import runpy
from pathlib import Path

import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process
DATA = Path(__file__).parent / "data"
RECORDER = runpy.run_path(str(DATA / "record_random_models.py"))
with gzip.open(DATA / "random_models.json.gz") as file:
    RECORDED = json.load(file)
build, outputs = RECORDER["build"], RECORDER["outputs"]


@pytest.mark.parametrize("seed", range(len(RECORDED)))
def test_model(seed):
    model, inputs = build(tf, seed)
    expected, found = RECORDED[seed], outputs(model, inputs)
    assert json.loads(model.to_json()) == expected["config"]
    assert len(found) == expected["count"]
    np.testing.assert_allclose(found[:30], np.array(expected["predictions"], float), rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(np.mean(np.abs(found)), expected["mean"], rtol=2e-4)


@pytest.mark.parametrize("seed", range(0, len(RECORDED), 3))
def test_round_trips(seed, tmp_path):
    pytest.importorskip("h5py")
    model, inputs = build(tf, seed)
    expected, config = outputs(model, inputs), model.to_json()
    again = tf.keras.models.model_from_json(config)
    assert again.to_json() == config
    again.set_weights(model.get_weights())
    np.testing.assert_array_equal(outputs(again, inputs), expected)
    path = str(tmp_path / "model.h5")
    model.save(path)
    loaded = tf.keras.models.load_model(path)
    assert loaded.to_json() == config
    np.testing.assert_array_equal(outputs(loaded, inputs), expected)
    again.set_weights([np.zeros_like(weight) for weight in again.get_weights()])
    again.load_weights(path, by_name=True)
    np.testing.assert_array_equal(outputs(again, inputs), expected)
