"""Names inside TensorFlow that public programs and libraries import. The values are those of TensorFlow 1.15."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.api.inside import element_of_default_graph, session_is_ready
from penstock.data import element_nest
from penstock.layers.metrics.counts import streaming_confusion_matrix
from support.process import python


def test_programs_find_them():
    python("""
        import penstock
        penstock.install_as_tensorflow()
        import tensorflow as tf
        from tensorflow.python import control_flow_ops, math_ops, state_ops
        from tensorflow.python import keras
        from tensorflow.python.data import Dataset
        from tensorflow.python.data.util.nest import map_structure_up_to
        from tensorflow.python.framework import test_util
        from tensorflow.python.ops.metrics_impl import _streaming_confusion_matrix
        from tensorflow.python.training.basic_session_run_hooks import _as_graph_element
        from tensorflow.python.training.session_manager import _ready

        assert (math_ops.__name__, control_flow_ops.group, math_ops.cast) == ("tensorflow.python.ops.math_ops", tf.group, tf.cast)
        assert state_ops.assign is tf.assign and Dataset is tf.data.Dataset and keras.__version__ == "2.2.4-tf"
        assert tf.python.constant is tf.constant and not hasattr(tf.python, "no_such_name")

        @test_util.run_all_in_graph_and_eager_modes
        class Nothing(tf.test.TestCase):
            @test_util.disable_xla("there is no XLA")
            def test_nothing(self):
                pass""")


def test_confusion_matrices_are_summed():
    labels, predictions = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None])
    matrix, update = streaming_confusion_matrix(labels, predictions, 3)
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        sess.run(update, {labels: [0, 1, 2], predictions: [0, 2, 2]})
        sess.run(update, {labels: [1], predictions: [1]})
        np.testing.assert_array_equal(sess.run(matrix), [[1, 0, 0], [0, 1, 1], [0, 0, 1]])


def test_whether_a_session_is_ready():
    variable = tf.Variable(1.0)
    check = tf.report_uninitialized_variables()
    with tf.Session() as sess:
        assert session_is_ready(check, sess, "not yet") == (False, "Variables not initialized: Variable")
        assert session_is_ready(None, sess, "no check") == (True, None)
        sess.run(variable.initializer)
        assert session_is_ready(check, sess, "now") == (True, None)


def test_elements_of_the_default_graph():
    one = tf.constant(1, name="one")
    assert element_of_default_graph("one:0") is one and element_of_default_graph(one) is one
    with tf.Graph().as_default(), pytest.raises(ValueError, match="equal to current graph"):
        element_of_default_graph(one)


@pytest.mark.parametrize("shallow, deep, error", [
    ((1, 2), [1, 2], TypeError), ((1, 2), {"a": 1, "b": 2}, TypeError), ({"a": 1}, {"b": 1}, ValueError), ((1,), (1, 2), ValueError),
    ((1, (2,)), (1, 2), TypeError)])
def test_structures_that_do_not_fit(shallow, deep, error):
    with pytest.raises(error, match="structure"):
        element_nest.assert_shallow_structure(shallow, deep)


def test_structures_up_to_a_depth():
    assert element_nest.map_structure_up_to((1, 2), lambda a, b: (a, b), ((1, 2), 3), ("x", "y")) == (((1, 2), "x"), (3, "y"))
    element_nest.assert_shallow_structure(1, (2, 3))
    element_nest.assert_shallow_structure({"a": (1, 2)}, {"a": ((1, 1), 2)})
