"""Ragged tensors in sessions, structures, gradients and imperative style, and what is refused."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process
ROWS = [[1.0, 2.0], [], [3.0]]


def test_fed_and_fetched_in_structures():
    with tf.Session() as session:
        place = tf.ragged.placeholder(tf.float32, 1)
        value = tf.ragged.constant_value(ROWS, np.float32)
        fetched = session.run({"doubled": place * 2.0, "rows": place.nrows()}, {place: value})
        assert fetched["doubled"].to_list() == [[2.0, 4.0], [], [6.0]]
        assert fetched["rows"] == 3
        with pytest.raises(TypeError, match="RaggedTensorValue"):
            session.run(place * 2.0, {place: ROWS})


def test_gradients_reach_the_values():
    with tf.Session() as session:
        values = tf.constant([1.0, 2.0, 3.0])
        ragged = tf.RaggedTensor.from_row_lengths(values, [2, 0, 1])
        loss = tf.reduce_sum(tf.reduce_sum(ragged * ragged, axis=1) * [1.0, 10.0, 100.0])
        padded = tf.reduce_sum(ragged.to_tensor() * [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        assert session.run(tf.gradients(loss, values)[0]).tolist() == [2.0, 4.0, 600.0]
        assert session.run(tf.convert_to_tensor(tf.gradients(padded, values)[0])).tolist() == [1.0, 2.0, 5.0]


def test_composites_are_structures():
    ragged = tf.ragged.constant([[[1], [2, 3]], []])
    flat = tf.nest.flatten(ragged, expand_composites=True)
    assert len(flat) == 3
    again = tf.nest.pack_sequence_as(ragged, flat, expand_composites=True)
    assert isinstance(again, tf.RaggedTensor)
    assert again.ragged_rank == 2
    assert tf.nest.flatten([ragged]) == [ragged]


@pytest.mark.parametrize("make", [
    lambda: tf.RaggedTensor.from_row_splits([1, 2, 3], [0, 2]), lambda: tf.RaggedTensor.from_row_splits([1, 2, 3], [1, 3]),
    lambda: tf.RaggedTensor.from_row_splits([1, 2, 3], [0, 3, 2, 3]), lambda: tf.RaggedTensor.from_value_rowids([1, 2], [1, 0]),
])
def test_partitions_that_do_not_fit_are_refused(make):
    with pytest.raises(tf.errors.InvalidArgumentError, match="valid RaggedTensor"):
        make()


def test_partitions_that_are_known_late_are_checked_when_they_run():
    splits = tf.placeholder(tf.int64, [None])
    ragged = tf.RaggedTensor.from_row_splits([1, 2, 3], splits)
    with tf.Session() as session:
        assert session.run(ragged, {splits: [0, 1, 3]}).to_list() == [[1], [2, 3]]
        with pytest.raises(tf.errors.InvalidArgumentError, match="valid RaggedTensor"):
            session.run(ragged, {splits: [0, 1, 2]})


def test_operands_with_other_rows_are_refused():
    with pytest.raises(ValueError, match="identical ragged splits"):
        tf.ragged.constant([[1], [2]]) + tf.ragged.constant([[1, 2], []])
    with pytest.raises(ValueError, match="inner ragged dimension"):
        tf.ragged.constant([[1], [2]])[:, 0]
    with pytest.raises(ValueError, match="nesting depth"):
        tf.ragged.constant([[1], 2])
    with pytest.raises(TypeError, match="boolean"):
        bool(tf.ragged.constant([[1], [2]]))


def test_functions_keep_their_names_and_signatures():
    assert tf.reduce_sum is tf.math.reduce_sum
    assert tf.add.__name__ == "add"


def test_imperative_style():
    program = "import penstock as tf\n" \
              "tf.enable_eager_execution()\n" \
              "x = tf.ragged.constant([[1, 2], [], [3]])\n" \
              "assert (x + 1).to_list() == [[2, 3], [], [4]]\n" \
              "assert x[0].numpy().tolist() == [1, 2]\n" \
              "print(repr(x))\n"
    import subprocess
    import sys
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.strip() == "<tf.RaggedTensor [[1, 2], [], [3]]>", done.stderr
