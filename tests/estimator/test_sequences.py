"""Heads for each step of sequences, and networks with annotated layers."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.estimator.heads.sequential import SequentialHeadWrapper

pytestmark = pytest.mark.process
PLACES = [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1]]


def features():
    return {"v": tf.SparseTensor(PLACES, [1.0, 2.0, 3.0, 4.0, 5.0], [2, 3])}


def labels():
    return tf.SparseTensor(PLACES, tf.constant([0, 1, 1, 0, 1], tf.int64), [2, 3])


def estimator(head, folder):
    return tf.contrib.estimator.RNNEstimator(head, [tf.contrib.feature_column.sequence_numeric_column("v")], num_units=[4], cell_type="gru",
                                             return_sequences=True, model_dir=str(folder))


@pytest.mark.parametrize("as_sparse", [True, False])
def test_a_class_for_each_step(tmp_path, as_sparse):
    def input_fn():
        return features(), labels() if as_sparse else tf.sparse_tensor_to_dense(labels())
    model = estimator(SequentialHeadWrapper(tf.estimator.BinaryClassHead()), tmp_path)
    model.train(input_fn, steps=2)
    assert model.evaluate(input_fn, steps=1)["label/mean"] == np.float32(0.6), "five steps count, and not the sixth"
    predictions = list(zip(range(2), model.predict(features)))
    assert [each["probabilities"].shape for _, each in predictions] == [(3, 2)] * 2
    assert [each["sequence_length_mask"].tolist() for _, each in predictions] == [[True] * 3, [True, True, False]]


def test_heads_that_do_not_fit(tmp_path):
    with pytest.raises(ValueError, match="must be a `_SequentialHead` object"):
        estimator(tf.estimator.BinaryClassHead(), tmp_path)
    with pytest.raises(ValueError, match="`MultiHead` is not supported"):
        SequentialHeadWrapper(tf.estimator.MultiHead([tf.estimator.BinaryClassHead(name="a")]))
    with pytest.raises(TypeError, match="Column must a string"):
        SequentialHeadWrapper(tf.estimator.BinaryClassHead(), feature_columns=[3])
    with tf.Graph().as_default(), pytest.raises(ValueError, match=r"`sequence_length_mask` should be included.*Found keys: \['x'\]"):
        SequentialHeadWrapper(tf.estimator.BinaryClassHead()).loss(tf.zeros([2, 3]), tf.zeros([2, 3, 1]), {"x": tf.zeros([2])})


def test_annotated_layers(tmp_path):
    fc = tf.feature_column
    columns = [fc.numeric_column("x"), fc.embedding_column(fc.categorical_column_with_identity("i", 3), 2)]
    model = tf.contrib.estimator.DNNClassifierWithLayerAnnotations([3], columns, str(tmp_path / "model"))
    model.train(lambda: ({"x": tf.constant([[1.0], [2.0]]), "i": tf.constant([[0], [1]], tf.int64)}, tf.constant([0, 1])), steps=1)
    receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(fc.make_parse_example_spec(columns))
    with tf.Session(graph=tf.Graph()) as session:
        export = model.export_saved_model(str(tmp_path / "export"), receiver)
        found = tf.saved_model.loader.load(session, ["serve"], export.decode()).collection_def
    assert [each.decode() for each in found["layer_annotations/unprocessed_features/keys"].bytes_list.value] == ["i", "x"]
    assert len(found["layer_annotatons/processed_features/values"].any_list.value) == 2
