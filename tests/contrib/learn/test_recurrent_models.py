"""Models of sequences of ``tf.contrib.learn``: names and numbers that TensorFlow 1.15 gives with these seeds."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf

learn, rnn = tf.contrib.learn, tf.contrib.rnn


def data():
    draw = np.random.RandomState(0)
    return draw.randn(2, 3, 4).astype(np.float32), np.eye(4)[draw.randint(0, 4, (2, 3))].astype(np.float32)


@pytest.fixture
def seeded():
    graph = tf.Graph()
    graph.seed = 42
    with graph.as_default():
        yield


def initialized(*fetches):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches)


def test_decoders_train_and_sample(seeded):
    x, y = map(tf.constant, data())
    encoder_inputs, decoder_inputs, targets = learn.ops.seq2seq_inputs(x, y, 3, 3)
    outputs, states, sampled, sampled_states = learn.ops.rnn_seq2seq(encoder_inputs, decoder_inputs, rnn.GRUCell(4), rnn.GRUCell(4))
    predictions, loss = learn.ops.sequence_classifier(outputs, targets, sampled)
    assert [len(each) for each in (outputs, states, sampled, sampled_states)] == [4, 5, 4, 5]
    assert sampled[0] is outputs[0] and sampled_states[1] is states[0]
    assert (outputs[-1].name, sampled[-1].name) == ("rnn_seq2seq/dnn_decoder/training/gru_cell/add_3:0",
                                                    "rnn_seq2seq/dnn_decoder/training/gru_cell/add_6:0")
    assert (predictions.name, loss.name) == ("sequence_classifier/stack:0", "sequence_classifier/sequence_loss:0")
    assert [each.op.name for each in tf.global_variables()] == [
        f"rnn_seq2seq/{place}/gru_cell/{gate}/{part}"
        for place in ("rnn", "dnn_decoder") for gate in ("gates", "candidate") for part in ("kernel", "bias")]
    found, rows = initialized(loss, predictions)
    np.testing.assert_allclose(found, 8.989083, rtol=1e-6)
    np.testing.assert_allclose(rows[0, 1], [0.26148012, 0.21201253, 0.33012843, 0.19637896], rtol=1e-5)


def test_sentinel_that_is_given():
    x, y = map(tf.constant, data())
    end = tf.ones([2, 4])
    _, inputs, targets = learn.ops.seq2seq_inputs(x, y, 3, 3, sentinel=end)
    assert inputs[0] is end and targets[-1] is end and inputs[1:] == targets[:-1]




def test_models(seeded):
    """One after the other in one graph, as recorded."""
    x, y = map(tf.constant, data())
    learn.ops.sequence_classifier(*_decoded(x, y))
    sums = []
    for cell_type, bidirectional, attention in (("rnn", False, None), ("gru", True, None), ("lstm", True, 2), ("lstm", False, None)):
        with tf.variable_scope(f"{cell_type}{bidirectional}"):
            model = learn.models.get_rnn_model(4, cell_type, 2, lambda x: tf.unstack(x, axis=1), bidirectional,
                                               lambda encoding, _: (encoding, tf.reduce_sum(encoding)), None, None, attention,
                                               3 if attention else None, 5 if attention else None)
            sums.append(model(x, y)[1])
    np.testing.assert_allclose(initialized(*sums), [1.8026403, 1.2414374, 1.1129733, -0.6615572], rtol=2e-6)


def _decoded(x, y):
    encoder_inputs, decoder_inputs, targets = learn.ops.seq2seq_inputs(x, y, 3, 3)
    outputs, _, sampled, _ = learn.ops.rnn_seq2seq(encoder_inputs, decoder_inputs, rnn.GRUCell(4), rnn.GRUCell(4))
    return outputs, targets, sampled


def test_lengths_turn_each_row_around_by_itself():
    """With lengths TensorFlow 1.15 fails, by a function that it had removed; here backward outputs are those of the rows cut to their lengths."""
    values, _ = data()
    lengths = [3, 2]

    def backward(x, sequence_length):
        with tf.Graph().as_default(), tf.variable_scope("model", initializer=tf.random_uniform_initializer(-1.0, 1.0, seed=1)):
            cells = [rnn.BasicRNNCell(2) for _ in range(2)]
            outputs, state = learn.models.bidirectional_rnn(*cells, tf.unstack(tf.constant(x), axis=1), dtype=tf.float32,
                                                            sequence_length=sequence_length)
            return initialized(*outputs, state)

    *outputs, state = backward(values, lengths)
    for row, length in enumerate(lengths):
        *alone, last = backward(values[row:row + 1, :length], None)
        for step in range(length):
            np.testing.assert_allclose(outputs[step][row], alone[step][0], rtol=1e-5)
        np.testing.assert_allclose(state[row], last[0], rtol=1e-5)


def test_what_is_not_a_model():
    cell = rnn.GRUCell(2)
    with pytest.raises(TypeError, match="cell_bw must be an instance of RNNCell"):
        learn.models.bidirectional_rnn(cell, object(), [tf.zeros([1, 2])])
    with pytest.raises(ValueError, match="inputs must not be empty"):
        learn.models.bidirectional_rnn(cell, rnn.GRUCell(2), [])
    model = learn.models.get_rnn_model(4, "tree", 1, lambda x: [x], False, lambda *_: None, None, None, None, None, None)
    with pytest.raises(ValueError, match="cell_type tree is not supported"):
        model(tf.zeros([1, 2]), None)
