"""Results belong to the caller: no later step changes them, and fed arrays are not shared."""
from __future__ import annotations

import numpy as np

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
