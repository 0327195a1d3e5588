"""What TensorFlow 1.4 called otherwise than 1.15, where both forms can work: arguments, handlers, and kinds of errors that programs wait for."""
from __future__ import annotations

import importlib

import numpy as np
import pytest

import penstock as tf
from support.process import python

pytestmark = pytest.mark.process


def inner(path):
    tf.install_as_tensorflow(era=False)
    return importlib.import_module(f"tensorflow.{path}")


def test_a_checkpoint_that_is_not_there_is_an_error_of_both_kinds(tmp_path):
    tf.Variable(1.0)
    for kind in (ValueError, tf.errors.NotFoundError):
        with tf.Session() as session, pytest.raises(kind, match="The passed save_path is not a valid checkpoint"):
            tf.train.Saver().restore(session, str(tmp_path / "none"))


def test_datasets_of_different_structures_do_not_follow_each_other():
    one, two = tf.data.Dataset.from_tensors((1, 2)), tf.data.Dataset.from_tensors((1, 2, 3.0))
    for kind in (TypeError, ValueError):
        with pytest.raises(kind, match="don't have the same number of elements, 2 and 3"):
            one.concatenate(two)


@pytest.mark.parametrize("kind", [TypeError, ValueError])
def test_shuffle_has_to_be_told(kind):
    with pytest.raises(kind, match="shuffle must be explicitly set as boolean"):
        tf.estimator.inputs.numpy_input_fn({"x": np.zeros(2)}, shuffle=None)


def test_handlers_without_inputs_copy_graphs():
    editor = tf.contrib.graph_editor
    with tf.Graph().as_default() as graph:
        tf.multiply(tf.constant(2.0, name="a"), 3.0, name="b")
    transformer, seen = editor.Transformer(), []

    def handler(info, op):
        seen.append(op.name)
        return editor.transform.copy_op_handler(info, op)
    transformer.transform_op_handler = handler
    copy = tf.Graph()
    transformer(graph, copy, "copy")
    assert "b" in seen
    with tf.Session(graph=copy) as session:
        assert session.run("copy/b:0") == 6.0


def test_what_follows_an_export_may_take_its_path_alone():
    utils = tf.contrib.learn.utils
    base = tf.contrib.learn.ExportStrategy("base", lambda estimator, folder, checkpoint_path=None: folder + "/export")
    strategy = utils.saved_model_export_utils.extend_export_strategy(base, lambda path: path + "/changed", "new")
    assert (strategy.name, strategy.export(None, "/folder", "/checkpoint")) == ("new", "/folder/export/changed")


def test_beams_with_lengths_of_their_own():
    ids = np.array([[[1, 2]], [[3, 4]], [[5, 6]]], np.int32)
    parents = np.array([[[0, 0]], [[1, 0]], [[1, 0]]], np.int32)
    with tf.Session() as session:
        old = session.run(tf.contrib.seq2seq.gather_tree(ids, parents, [[3, 2]]))
        new = session.run(tf.contrib.seq2seq.gather_tree(ids, parents, [3], end_token=9))
    assert old[:, 0].tolist() == [[1, 1], [4, 4], [5, -1]]
    assert new[:, 0].tolist() == [[1, 2], [4, 3], [5, 6]]
    with pytest.raises(TypeError, match="max_sequence_lengths"):
        tf.contrib.seq2seq.gather_tree(ids, parents)


LEAST_SQUARES = """
import numpy as np
import penstock as tf
tf.install_as_tensorflow(era=False)
from tensorflow.contrib.factorization.python.ops import gen_factorization_ops as generated
factors, weights = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32), np.array([0.5, 2.0], np.float32)
indices, values = np.array([[0, 0], [0, 1]], np.int64), np.array([1.0, 2.0], np.float32)
with tf.Session() as session:
    old = session.run(generated.wals_compute_partial_lhs_and_rhs(factors, weights, 0.1, [1.0], indices, values, 1, False))
    new = session.run(generated.wals_compute_partial_lhs_and_rhs(factors, weights, 0.1, [1.0], indices, values, [], 1, False))
np.testing.assert_array_equal(old[0], new[0])
np.testing.assert_array_equal(old[1], new[1])
"""


def test_least_squares_without_weights_of_entries():
    python(LEAST_SQUARES)


def test_losses_with_masks_and_weights():
    loss = inner("python.keras.engine.training_utils").weighted_masked_objective(tf.keras.losses.mean_absolute_error)
    truth, guess = np.zeros([2, 2, 1], np.float32), np.array([[[1.0], [2.0]], [[3.0], [4.0]]], np.float32)
    with tf.Session() as session:
        assert session.run(loss(tf.constant(truth), tf.constant(guess), None, tf.constant([[1, 0], [1, 1]]))) == pytest.approx((1 + 3 + 4) / 3)
        assert session.run(loss(tf.constant(truth), tf.constant(guess), tf.constant([1.0, 0.0]))) == pytest.approx(1.5)


def test_close_values():
    close = inner("python.estimator.canned.dnn_testing_utils").assert_close
    with tf.Session() as session:
        session.run(close([1.0, 2.0], [1.00001, 2.0]))
        with pytest.raises(tf.errors.InvalidArgumentError, match="here"):
            session.run(close([1.0], tf.placeholder_with_default([1.1], [1]), message="here"))


PROGRAM = """
import penstock as tf
tf.enable_eager_execution()
tfe = tf.contrib.eager
square = lambda x: x * x
gradient = tfe.gradients_function(square)
assert [g.numpy() for g in gradient(3)] == [6] and [g.numpy() for g in tfe.gradients_function(lambda x: gradient(x)[0])(3)] == [2]
power = tfe.gradients_function(lambda x, axis: tf.reduce_sum(x, axis), params=[0])
assert power(tf.constant([[1.0, 2.0]]), 1)[0].numpy().tolist() == [[1.0, 1.0]]
"""


def test_gradients_of_functions_of_whole_numbers():
    python(PROGRAM)


def test_the_names_of_the_package_are_those_of_a_module():
    assert {"__name__", "__doc__", "__path__", "__version__", "Session", "contrib"} <= set(dir(tf))
