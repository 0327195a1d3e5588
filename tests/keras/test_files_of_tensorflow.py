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
    model.load_weights(str(DATA / "weights")).assert_existing_objects_matched()
    with np.load(DATA / "expected.npz") as expected:
        np.testing.assert_allclose(model.predict(x), expected["predictions"], rtol=1e-4, atol=1e-6)


def test_a_saved_model():
    recorder = runpy.run_path(str(DATA / "record_saved_model.py"))
    x, y = recorder["inputs"]()
    with np.load(DATA / "saved_model.npz") as expected:
        model = tf.keras.models.load_model(str(DATA / "saved_model"), custom_objects=recorder["build"](tf)[1])
        np.testing.assert_allclose(model.predict(x), expected["predictions"], rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose([model.train_on_batch(x, y)[0] for _ in range(2)], expected["losses"], rtol=1e-4)


def test_the_state_of_the_optimizer_comes_with_the_weights(tmp_path):
    recorder = runpy.run_path(str(DATA / "record_saved_model.py"))
    (first, _), (second, _), (x, y) = recorder["build"](tf), recorder["build"](tf), recorder["inputs"]()
    first.fit(x, y, epochs=3, verbose=0, shuffle=False)
    first.save_weights(str(tmp_path / "weights"))
    second.load_weights(str(tmp_path / "weights"))  # before the optimizer has made its variables
    np.testing.assert_allclose(*[[model.train_on_batch(x, y)[0] for _ in range(2)] for model in (first, second)], rtol=1e-6)


def test_layers_of_a_user_are_saved_for_serving(tmp_path):
    recorder = runpy.run_path(str(DATA / "record_saved_model.py"))
    model, classes = recorder["build"](tf)
    x, _ = recorder["inputs"]()
    model.save(str(tmp_path / "model"), save_format="tf")
    with tf.Session(graph=tf.Graph()) as session:
        signature = tf.saved_model.load(session, ["serve"], str(tmp_path / "model")).signature_def["serving_default"]
        (fed,), (fetched,) = signature.inputs.values(), signature.outputs.values()
        served = session.run(fetched.name, {fed.name: x})
    again = tf.keras.models.load_model(str(tmp_path / "model"), custom_objects=classes)
    np.testing.assert_allclose(served, model.predict(x), rtol=1e-6)
    np.testing.assert_allclose(again.predict(x), served, rtol=1e-6)


def test_yaml_of_tensorflow():
    pytest.importorskip("yaml")
    layer = "{class_name: Dense, config: {units: 2, batch_input_shape: !!python/tuple [null, 3]}}"
    text = f"{{class_name: Sequential, config: {{name: m, layers: [{layer}]}}}}"
    assert tf.keras.models.model_from_yaml(text).output_shape == (None, 2)
