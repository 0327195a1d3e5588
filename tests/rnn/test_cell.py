"""Cells as objects: their variables, their scopes, what they refuse. Values are compared with TensorFlow's in golden/cases/rnn.py."""
from __future__ import annotations

import pytest

import penstock as tf

cells = tf.nn.rnn_cell


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def test_variables_of_a_cell():
    cell = cells.MultiRNNCell([cells.DropoutWrapper(cells.LSTMCell(2), output_keep_prob=0.5), cells.GRUCell(3)])
    assert not cell.built and cell.variables == []
    cell(tf.zeros([1, 4]), cell.zero_state(1, tf.float32))
    assert cell.built
    assert [v.op.name for v in cell.trainable_variables] == [
        "multi_rnn_cell/cell_0/lstm_cell/kernel", "multi_rnn_cell/cell_0/lstm_cell/bias", "multi_rnn_cell/cell_1/gru_cell/gates/kernel",
        "multi_rnn_cell/cell_1/gru_cell/gates/bias", "multi_rnn_cell/cell_1/gru_cell/candidate/kernel",
        "multi_rnn_cell/cell_1/gru_cell/candidate/bias"]


def test_a_cell_that_is_not_trained():
    cell = cells.GRUCell(3, trainable=False)
    cell(tf.zeros([1, 4]), cell.zero_state(1, tf.float32))
    assert not tf.trainable_variables() and len(cell.non_trainable_variables) == 4 and cell.trainable_weights == []


def test_dtype_follows_the_inputs():
    cell = cells.BasicRNNCell(2)
    output, _ = cell(tf.zeros([1, 4], tf.float64), tf.zeros([1, 2], tf.float64))
    assert output.dtype == tf.float64 and cell.dtype == "float64" and cell.scope_name == "basic_rnn_cell"


def test_scope_is_not_known_before_the_first_call():
    with pytest.raises(ValueError, match="has not been used yet"):
        _ = cells.GRUCell(2).scope_name


def test_unknown_arguments_are_refused():
    with pytest.raises(TypeError, match="not understood:', 'units'"):
        cells.GRUCell(2, units=3)
    with pytest.raises(ValueError, match="Unknown activation"):
        cells.GRUCell(2, activation="wobble")


def test_inputs_of_unknown_size_are_refused():
    with pytest.raises(ValueError, match="to be known"):
        cells.GRUCell(2)(tf.placeholder(tf.float32, [None, None]), tf.zeros([1, 2]))


def test_state_tuple_has_one_dtype():
    assert cells.LSTMStateTuple(tf.zeros([1]), tf.zeros([1])).dtype == tf.float32
    with pytest.raises(TypeError, match="Inconsistent"):
        _ = cells.LSTMStateTuple(tf.zeros([1]), tf.zeros([1], tf.float64)).dtype


def test_zero_state_of_an_unknown_batch():
    state = cells.LSTMCell(3).zero_state(tf.placeholder(tf.int32, []), tf.float32)
    assert [part.shape.as_list() for part in state] == [[None, 3], [None, 3]]


def test_independent_units_see_their_own_past():
    cell = tf.contrib.rnn.IndRNNCell(2, activation=tf.identity)
    output, _ = cell(tf.constant([[1.0, 2.0]]), tf.constant([[10.0, 20.0]]))
    kernel, weights, bias = cell.variables
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        kernel.load([[1.0, 3.0], [0.0, 1.0]], session)
        weights.load([[0.5, 0.25]], session)
        bias.load([100.0, 200.0], session)
        assert session.run(output).tolist() == [[106.0, 210.0]]


def test_device_wrapper_places_the_cell():
    cell = cells.DeviceWrapper(cells.BasicRNNCell(2), "/cpu:1")
    output, _ = cell(tf.zeros([1, 2]), tf.zeros([1, 2]))
    assert output.device.endswith(("/device:CPU:1", "/cpu:1"))


def test_what_is_missing_says_so():
    with pytest.raises(AttributeError, match="has no attribute 'pixels'"):
        _ = tf.contrib.pixels


def test_modules_inside_contrib_lead_to_the_same_names():
    assert tf.contrib.rnn.python.ops.core_rnn_cell.BasicLSTMCell is cells.BasicLSTMCell
    assert tf.contrib.rnn.python.ops.core_rnn_cell._Linear([tf.zeros([2, 3])], 4, True)([tf.zeros([2, 3])]).shape.as_list() == [2, 4]
    assert tf.contrib.legacy_seq2seq.python.ops.seq2seq.rnn_decoder is tf.nn.seq2seq.rnn_decoder


@pytest.mark.parametrize("make", [
    lambda: cells.BasicRNNCell(2), lambda: cells.GRUCell(2, kernel_initializer=tf.keras.initializers.he_normal(3)),
    lambda: cells.BasicLSTMCell(2, forget_bias=0.5), lambda: cells.LSTMCell(2, num_proj=1, activation="sigmoid"),
    lambda: cells.DropoutWrapper(cells.LSTMCell(2), 0.5, seed=3), lambda: cells.ResidualWrapper(cells.GRUCell(2)),
    lambda: cells.DeviceWrapper(cells.GRUCell(2), "/cpu:0")])
def test_config_makes_the_cell_again(make):
    cell = make()
    again = type(cell).from_config(cell.get_config())
    assert again.get_config() == cell.get_config() and again.name == cell.name


def test_config_of_a_cell_is_that_of_tensorflow():
    assert cells.GRUCell(2).get_config() == {
        "name": "gru_cell_1", "trainable": True, "dtype": None, "num_units": 2, "kernel_initializer": None, "bias_initializer": None,
        "activation": "tanh", "reuse": None}
    with pytest.raises(NotImplementedError, match="residual_fn"):
        cells.ResidualWrapper(cells.GRUCell(2), residual_fn=lambda i, o: o).get_config()
