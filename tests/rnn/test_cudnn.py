"""The networks of cuDNN: what they compute is what the cells compute that TensorFlow gives for their checkpoints, with any of their parameters."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process

LAYERS = {"lstm": "CudnnLSTM", "gru": "CudnnGRU", "tanh": "CudnnRNNTanh", "relu": "CudnnRNNRelu"}
TIME, BATCH, DEPTH, UNITS = 5, 3, 2, 4


def cell(mode):
    """What computes the same as one layer."""
    compatible = tf.contrib.cudnn_rnn
    return {"lstm": lambda: compatible.CudnnCompatibleLSTMCell(UNITS), "gru": lambda: compatible.CudnnCompatibleGRUCell(UNITS),
            "tanh": lambda: tf.nn.rnn_cell.BasicRNNCell(UNITS), "relu": lambda: tf.nn.rnn_cell.BasicRNNCell(UNITS, tf.nn.relu)}[mode]()


def inputs():
    return tf.constant(np.sin(np.arange(TIME * BATCH * DEPTH) * 0.7).reshape(TIME, BATCH, DEPTH), tf.float32)


@pytest.mark.parametrize("direction", ["unidirectional", "bidirectional"])
@pytest.mark.parametrize("mode", LAYERS)
@pytest.mark.parametrize("lengths", [None, [5, 2, 3]])
def test_cells_go_on_from_a_checkpoint(mode, direction, lengths, tmp_path):
    with tf.Graph().as_default(), tf.variable_scope("model"):
        make, uniform = getattr(tf.contrib.cudnn_rnn, LAYERS[mode]), tf.random_uniform_initializer
        layer = make(2, UNITS, direction=direction, kernel_initializer=uniform(-1, 1, seed=3), bias_initializer=uniform(-1, 1, seed=4))
        outputs, state = layer(inputs(), sequence_lengths=lengths)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            wanted, last = session.run([outputs, state[0]])
            path = tf.train.Saver().save(session, str(tmp_path / "model"))
            session.run(layer.kernel.assign(tf.zeros_like(layer.kernel)))
            tf.train.Saver(tf.get_collection(tf.GraphKeys.SAVEABLE_OBJECTS)).restore(session, path)
            np.testing.assert_allclose(session.run(outputs), wanted, atol=1e-5)
    assert wanted.shape == (TIME, BATCH, UNITS * (1 + (direction == "bidirectional"))) and last.shape[0] == layer.num_layers * layer.num_dirs
    with tf.Graph().as_default(), tf.variable_scope("model"), tf.variable_scope(layer.scope_name.rpartition("/")[2]):
        if direction == "unidirectional":
            outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.MultiRNNCell([cell(mode) for _ in range(2)]), inputs(), lengths, dtype=tf.float32,
                                           time_major=True)
        else:
            outputs, *_ = tf.contrib.rnn.stack_bidirectional_dynamic_rnn([cell(mode) for _ in range(2)], [cell(mode) for _ in range(2)], inputs(),
                                                                         sequence_length=lengths, dtype=tf.float32, time_major=True)
        with tf.Session() as session:
            tf.train.Saver().restore(session, path)
            np.testing.assert_allclose(session.run(outputs), wanted, atol=1e-5)


def test_the_state_is_handed_on_and_gradients_exist():
    layer = tf.contrib.cudnn_rnn.CudnnLSTM(2, UNITS, dropout=0.5)
    first, state = layer(inputs()[:2], training=False)
    second, _ = layer(inputs()[2:], initial_state=state, training=False)
    whole, _ = layer(inputs(), training=False)
    batch_major, _ = layer(tf.transpose(inputs(), [1, 0, 2]), time_major=False, training=False)
    gradient = tf.gradients(tf.reduce_sum(tf.square(whole)), layer.trainable_variables)[0]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        parts, all_at_once, other, slope = session.run([tf.concat([first, second], 0), whole, batch_major, gradient])
    np.testing.assert_allclose(parts, all_at_once, atol=1e-6)
    np.testing.assert_allclose(other.transpose(1, 0, 2), all_at_once, atol=1e-6)
    assert slope.shape == layer.kernel.shape and np.abs(slope).max() > 0
    assert [variable.name for variable in tf.trainable_variables()] == ["cudnn_lstm/opaque_kernel:0"]


def test_what_is_missing_says_so():
    with pytest.raises(NotImplementedError, match="linear_input"):
        tf.contrib.cudnn_rnn.CudnnGRU(1, 2, input_mode="skip_input")
    with pytest.raises(ValueError, match="Invalid direction"):
        tf.contrib.cudnn_rnn.CudnnGRU(1, 2, direction="both")
    with pytest.raises(ValueError, match="3 dims"):
        tf.contrib.cudnn_rnn.CudnnGRU(1, 2)(tf.zeros([2, 3]))
