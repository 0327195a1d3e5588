"""Results belong to the caller: no later step changes them, and fed arrays are not shared."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf


def test_results_belong_to_the_caller(session):
    a = tf.constant([1.0, 2.0])
    b = tf.identity(a)
    first = session.run([a, b])
    for value in first:
        value[:] = 9
    assert [value.tolist() for value in session.run([a, b])] == [[1, 2], [1, 2]]


def test_fed_array_is_not_shared(session):
    x = tf.placeholder(tf.float32, [2])
    array = np.zeros(2, np.float32)
    result = session.run(tf.identity(x), {x: array})
    result[0] = 5
    assert array.tolist() == [0, 0]


def test_results_do_not_change_with_the_variable(session):
    v = tf.Variable([1.0, 2.0])
    session.run(v.initializer)
    before = session.run(v)
    session.run(v.assign_add([1.0, 1.0]))
    assert before.tolist() == [1, 2]
    assert session.run(v).tolist() == [2, 3]
    before[:] = 0
    assert session.run(v).tolist() == [2, 3]


def test_strings_of_numpy_come_out_as_bytes():
    """Not as np.bytes_, which NumPy prints with its name."""
    with tf.Session() as session:
        fetched = session.run(tf.constant(np.array([b"a", b"bb"])))
    assert [type(each) for each in fetched] == [bytes, bytes]


@pytest.mark.parametrize("build", [
    lambda: tf.map_fn(tf.image.encode_png, tf.zeros([3, 2, 2, 1], tf.uint8), dtype=tf.string),
    lambda: tf.TensorArray(tf.string, 2).write(0, tf.as_string(1)).write(1, "b").stack(),
    lambda: tf.dynamic_stitch([0, [1, 2]], [tf.as_string(1), ["b", "c"]]),
    lambda: tf.scatter_nd([[1], [0], [1]], ["a", tf.as_string(1), "c"], [3]),
    lambda: tf.data.Dataset.from_tensor_slices(["a", "b"]).padded_batch(2, []).repeat().make_one_shot_iterator().get_next(),
])
def test_scalars_become_elements(build):
    """Strings that are put together: not arrays that hold one each."""
    with tf.Session() as session:
        result = build()
        for _ in range(2):
            assert {type(each) for each in session.run(result)} == {bytes}
