"""``tensor[...]`` against NumPy, for any key that both understand, and what is known of values while the graph is built."""
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as tf
from penstock.graph.static import constant_value, constant_value_as_shape

SHAPE = (3, 4, 2)
ARRAY = np.arange(24.0).reshape(SHAPE)

bounds = st.none() | st.integers(-6, 6)
ranges = st.builds(slice, bounds, bounds, st.none() | st.integers(1, 3) | st.integers(-3, -1))


@st.composite
def keys(draw):
    """A tuple of at most three entries for axes, with some newaxis and at most one Ellipsis in between."""
    entries = []
    for extent in SHAPE[:draw(st.integers(0, 3))]:
        entries.append(draw(ranges | st.integers(-extent, extent - 1)))
    for _ in range(draw(st.integers(0, 2))):
        entries.insert(draw(st.integers(0, len(entries))), None)
    return tuple(entries)


@given(keys(), st.booleans())
@settings(max_examples=150, deadline=None)
def test_same_as_numpy(key, known):
    wanted = ARRAY[key]
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(ARRAY) if known else tf.placeholder_with_default(ARRAY, [None, 4, None])
        taken = x[key]
        gradient = tf.gradients(taken, x)[0]
        value, slope = session.run([taken, gradient])
    np.testing.assert_array_equal(value, wanted)
    assert taken.shape.is_compatible_with(wanted.shape)
    assert not known or taken.shape.as_list() == list(wanted.shape)
    expected = np.zeros(SHAPE)
    expected[key] = 1
    np.testing.assert_array_equal(slope, expected)


@given(st.data())
@settings(max_examples=50, deadline=None)
def test_ellipsis_anywhere(data):
    front = data.draw(st.lists(ranges, max_size=2))
    back = data.draw(st.lists(ranges, max_size=3 - len(front)))
    key = (*front, ..., *back)
    with tf.Graph().as_default(), tf.Session() as session:
        taken = tf.constant(ARRAY)[key]
        np.testing.assert_array_equal(session.run(taken), ARRAY[key])
    assert taken.shape.as_list() == list(ARRAY[key].shape)


def test_parts_of_a_partly_known_shape():
    x = tf.placeholder(tf.float32, [None, 4, 5])
    sizes = tf.shape(x)
    assert constant_value(sizes) is None
    assert constant_value(sizes[1] * sizes[2]) == 20
    assert constant_value_as_shape(tf.concat([sizes[:1], [7], sizes[2:]], 0)).as_list() == [None, 7, 5]
    assert constant_value_as_shape(tf.stack([sizes[2], sizes[0]])).as_list() == [5, None]
    assert tf.reshape(x, [sizes[0], sizes[1] * sizes[2]]).shape.as_list() == [None, 20]
    assert tf.zeros([sizes[0], 3]).shape.as_list() == [None, 3]


def test_an_unknown_index_is_not_the_last_one():
    x = tf.placeholder(tf.float32, [None])
    picked = tf.constant([3, 4, 5])[tf.shape(x)[0]]
    assert constant_value(picked, partial=True) is None
    assert constant_value(tf.gather([3, 4, 5], tf.shape(x)[0]), partial=True) is None


def test_values_used_twice_are_computed_once():
    x = tf.placeholder(tf.float32, [None, 4])
    sizes = tf.shape(x)
    for _ in range(15):  # without a memory, the work would double with each step
        sizes = tf.concat([sizes[:1], sizes[1:]], 0)
    assert constant_value_as_shape(sizes).as_list() == [None, 4]


def test_what_may_be_fed_is_not_known():
    assert constant_value(tf.placeholder_with_default([1, 2], [2])) is None


@pytest.mark.parametrize("key", [1.5, "a", np.array([1, 2]), [[0]]], ids=repr)
def test_what_is_no_index(key):
    with pytest.raises(TypeError, match="Only integers, slices"):
        tf.constant([1, 2, 3])[key]
