"""HDF5 files between ``tf.keras`` and the multi-backend Keras 2.2.5, which ``data/record_keras_model.py`` recorded."""
from __future__ import annotations

import json
import runpy
from pathlib import Path

import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process
h5py = pytest.importorskip("h5py")
DATA = Path(__file__).parents[1] / "data"
RECORDER = runpy.run_path(str(DATA / "record_keras_model.py"))


def text(value):
    """JSON of an attribute."""
    return json.loads(value.decode() if isinstance(value, bytes) else str(value))


@pytest.mark.parametrize("name", RECORDER["OPTIMIZERS"])
def test_a_model_of_keras_goes_on(name):
    """With the state of its optimizer; some do not save the number of steps, some save slots that they do not use."""
    x, y = RECORDER["inputs"]()
    model = tf.keras.models.load_model(str(DATA / f"keras_{name}.h5"))
    with np.load(DATA / "keras_expected.npz") as expected:
        np.testing.assert_allclose(model.predict(x), expected[name], rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(model.test_on_batch(x, y), expected[f"{name} loss"], rtol=1e-4)
    with h5py.File(DATA / f"keras_{name}.h5", "r") as file:
        group = file["optimizer_weights"]
        saved = [np.asarray(group[each]) for each in group.attrs["weight_names"]]
    state = model.optimizer.get_weights()
    assert int(state[0]) == (0 if name == "rmsprop" else 3)
    slots = saved if name == "rmsprop" else saved[1:]
    for ours, theirs in zip(state[1:], slots):
        np.testing.assert_array_equal(ours, theirs)
    assert any(np.any(each) for each in state[1:])
    model.train_on_batch(x, y)


@pytest.mark.parametrize("name", RECORDER["OPTIMIZERS"])
def test_files_have_the_words_of_both(name, tmp_path):
    kind, options = RECORDER["OPTIMIZERS"][name]
    model = RECORDER["build"](tf.keras)
    model.compile(getattr(tf.keras.optimizers, kind)(**options), "mse")
    path = str(tmp_path / "model.h5")
    model.save(path)
    with h5py.File(path, "r") as ours, h5py.File(DATA / f"keras_{name}.h5", "r") as theirs:
        ours_, theirs_ = text(ours.attrs["model_config"]), text(theirs.attrs["model_config"])
        for layer, other in zip(ours_["config"]["layers"], theirs_["config"]["layers"]):
            assert set(layer["config"]) <= {*other["config"], "dtype", "batch_input_shape"}, layer["class_name"]
        assert ours_["config"]["layers"][1]["config"]["axis"] == 2, "the number of an axis: Keras cannot take a list"
        assert ours_["config"]["layers"][3]["config"]["kernel_initializer"] == {"class_name": "glorot_normal", "config": {"seed": None}}
        optimizers = [text(file.attrs["training_config"])["optimizer_config"] for file in (ours, theirs)]
        assert optimizers[0]["class_name"] == optimizers[1]["class_name"] and set(optimizers[0]["config"]) <= set(optimizers[1]["config"])
    loaded = tf.keras.models.load_model(path)
    assert loaded.to_json() == model.to_json()
    before, after = ({key: float(value) if isinstance(value, np.floating) else value for key, value in each.optimizer.get_config().items()}
                     for each in (model, loaded))
    assert after == before


def test_what_keras_has_no_words_for_is_left_as_it_is(tmp_path):
    layers = tf.keras.layers
    model = tf.keras.Sequential([layers.Masking(input_shape=(3, 2)), layers.LSTM(2, return_sequences=True), layers.LayerNormalization(),
                                 layers.LocallyConnected1D(2, 2, implementation=2), layers.Flatten(),
                                 layers.Dense(2, kernel_initializer=tf.keras.initializers.glorot_uniform(seed=3, dtype=tf.float16))])
    model.compile(tf.keras.optimizers.RMSprop(tf.keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.9), momentum=0.5, name="mine"), "mse")
    path = str(tmp_path / "model.h5")
    model.save(path)
    loaded = tf.keras.models.load_model(path)
    assert loaded.to_json() == model.to_json()
    assert loaded.optimizer.get_config() == model.optimizer.get_config()
