"""Keras: targets that are tensors, variables as inputs, histograms of gradients; shapes by their older name."""
from __future__ import annotations

import glob

import numpy as np
import pytest

import penstock as tf
from penstock.keras.engine.standardize import check_lengths
from penstock.keras.utils.arrays import slice_arrays
from penstock.platform.inspection import has_arg

keras, backend = tf.keras, tf.keras.backend
pytestmark = pytest.mark.process


def test_target_tensors_by_name():
    model = keras.Sequential([keras.layers.Dense(4, input_shape=(4,), name="dense")])
    x, target = np.ones((10, 4)), backend.variable(np.zeros((10, 4)))
    model.compile("sgd", "mse", target_tensors={"dense": target})
    first = model.train_on_batch(x, None)
    assert model.train_on_batch(x, None, sample_weight=np.ones(10)) < first
    with pytest.raises(ValueError, match="expected no data"):
        model.train_on_batch(x, x)
    with pytest.raises(ValueError, match="no loss to optimize"):
        model.compile("sgd", None)


def test_placeholders_as_targets_are_fed():
    a, b = keras.Input((3,)), keras.Input((3,))
    model = keras.Model([a, b], [keras.layers.Dense(4, name="d")(a), keras.layers.Dropout(0.5, name="r")(b)])
    data = [np.ones((5, 3))] * 2, [np.ones((5, 4)), np.ones((5, 3))]
    model.compile("sgd", "mse", target_tensors={"d": tf.placeholder("float32", (None, 4))})
    assert len(model.train_on_batch(*data)) == 3
    model.compile("sgd", "mse", target_tensors=[backend.placeholder((5, 4)), backend.placeholder((5, 3))])
    assert len(model.train_on_batch(*data)) == 3


def test_a_variable_as_input():
    x = keras.Input(tensor=tf.Variable(np.ones((10, 4)), dtype=tf.float32))
    model = keras.Model(x, keras.layers.Dense(2)(x))
    model.compile("sgd", "mse")
    first = model.train_on_batch(None, np.zeros((10, 2)))
    assert model.train_on_batch(None, np.zeros((10, 2))) < first


def test_histograms_of_gradients(tmp_path):
    model = keras.Sequential([keras.layers.Dense(2, input_shape=(3,), name="layer")])
    model.compile("sgd", "mse")
    data = np.ones((4, 3)), np.ones((4, 2))
    model.fit(*data, validation_data=data, verbose=0, callbacks=[keras.callbacks.TensorBoard(str(tmp_path), histogram_freq=1, write_grads=True)])
    tags = {value.tag for path in glob.glob(str(tmp_path / "*")) for event in tf.train.summary_iterator(path) for value in event.summary.value}
    assert {"layer/kernel_0_grad", "layer/bias_0_grad"} <= tags


def test_shapes_by_their_older_name():
    assert keras.layers.Dense(3)._compute_output_shape((None, 2)).as_list() == [None, 3]
    assert keras.layers.Activation("relu")._compute_output_shape((None, 2)).as_list() == [None, 2]


def test_helpers():
    assert has_arg(lambda x, **rest: x, "x") and not has_arg(lambda x, **rest: x, "y") and has_arg(lambda x, **rest: x, "y", accept_all=True)
    rows = np.arange(6).reshape(3, 2)
    assert slice_arrays(rows, 1).tolist() == [[2, 3], [4, 5]] and slice_arrays(None) == [None]
    assert [None if part is None else part.tolist() for part in slice_arrays([None, rows], stop=1)] == [None, [[0, 1]]]
    assert slice_arrays(rows, [0, 2]).tolist() == [[0, 1], [4, 5]]
    with pytest.raises(ValueError, match="stop argument has to be None"):
        slice_arrays(rows, [0], 2)
    check_lengths([rows], [rows])
    with pytest.raises(ValueError, match="same number of samples as target arrays"):
        check_lengths([rows], [rows[:2]])


def test_tensorboard_saves_what_layers_make_of_data(tmp_path):
    layers = tf.keras.layers
    model = tf.keras.Sequential([layers.Embedding(7, 3, input_length=2), layers.Flatten(), layers.Dropout(0.5), layers.Dense(1, name="out")])
    model.compile("sgd", "mse")
    x = np.arange(24).reshape(12, 2) % 7
    board = tf.keras.callbacks.TensorBoard(str(tmp_path), embeddings_freq=2, embeddings_data=x, embeddings_metadata="names.tsv", batch_size=5)
    model.fit(x, x[:, :1], epochs=3, verbose=0, callbacks=[board])
    reader = tf.train.load_checkpoint(str(tmp_path / "keras_embedding.ckpt-2"))
    np.testing.assert_allclose(reader.get_tensor("embedding_embedding"), tf.keras.backend.get_value(model.layers[0].embeddings)[x].reshape(12, 6))
    assert 'metadata_path: "names.tsv"' in (tmp_path / "projector_config.pbtxt").read_text()
    with pytest.raises(ValueError, match="embeddings_data must be provided"):
        model.fit(x, x[:, :1], verbose=0, callbacks=[tf.keras.callbacks.TensorBoard(str(tmp_path), embeddings_freq=1)])
