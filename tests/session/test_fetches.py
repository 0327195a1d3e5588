"""The forms of fetches and feeds."""
from __future__ import annotations

import collections

import numpy as np
import pytest

import penstock as tf

Point = collections.namedtuple("Point", "x y")


def test_fetch_of_every_nest(session):
    a, b = tf.constant(1.0), tf.constant([2, 3])
    assert session.run(a) == 1.0
    assert isinstance(session.run(a), np.float32)
    assert isinstance(session.run(b), np.ndarray)
    assert session.run([a]) == [1.0]
    assert session.run((a, a)) == (1.0, 1.0)
    assert session.run({"k": a, "l": [a, (a,)]}) == {"k": 1.0, "l": [1.0, (1.0,)]}
    assert session.run(Point(a, [a])) == Point(1.0, [1.0])
    assert session.run([]) == []
    assert session.run({}) == {}
    assert session.run([[], {"x": ()}]) == [[], {"x": ()}]
    ordered = session.run(collections.OrderedDict([("z", a), ("a", a)]))
    assert isinstance(ordered, collections.OrderedDict) and list(ordered) == ["z", "a"]


def test_fetch_of_operations_and_names(session):
    a = tf.constant(1.0, name="a")
    assert session.run(a.op) is None
    assert session.run("a:0") == 1.0
    assert session.run("a") is None
    assert session.run([a.op, a, "a"]) == [None, 1.0, None]


def test_fetch_twice_gives_equal_results(session):
    a = tf.constant([1.0])
    first, second = session.run([a, a])
    assert first.tolist() == second.tolist() == [1.0]


def test_fetch_of_strings(session):
    assert session.run(tf.constant("a")) == b"a"
    assert session.run(tf.constant([["a"], ["b"]])).tolist() == [[b"a"], [b"b"]]


def test_fetch_of_sparse_values(session):
    sparse = tf.SparseTensor([[0, 1]], [5.0], [2, 2])
    value = session.run(sparse)
    assert isinstance(value, tf.SparseTensorValue)
    assert (value.indices.tolist(), value.values.tolist(), value.dense_shape.tolist()) == ([[0, 1]], [5.0], [2, 2])
    nested = session.run({"s": [sparse]})
    assert nested["s"][0].values.tolist() == [5.0]


def test_fetch_of_indexed_slices(session):
    slices = tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([3]))
    value = session.run(slices)
    assert value.values.tolist() == [[1.0]] and value.indices.tolist() == [3] and value.dense_shape is None


@pytest.mark.parametrize("fetch", [None, 3, [None], 1.5, object()])
def test_fetch_of_a_wrong_type(session, fetch):
    tf.constant(0)
    with pytest.raises(TypeError):
        session.run(fetch)


@pytest.mark.parametrize("fetch", ["nothing", "nothing:0", "a:1", "a:x"])
def test_fetch_of_an_unknown_name(session, fetch):
    tf.constant(0, name="a")
    with pytest.raises(ValueError):
        session.run(fetch)


def test_fetch_from_another_graph(session):
    tf.constant(0)
    with tf.Graph().as_default():
        other = tf.constant(0)
    with pytest.raises(ValueError):
        session.run(other)


def test_unfetchable(session):
    a = tf.constant(0)
    tf.get_default_graph().prevent_fetching(a.op)
    with pytest.raises(ValueError):
        session.run(a)


def test_feeds(session):
    x = tf.placeholder(tf.float32, [None], name="x")
    y = tf.identity(x)
    for key in (x, "x:0"):
        assert session.run(y, {key: [1, 2]}).tolist() == [1, 2]
    assert session.run(y, {x: np.array([1, 2], np.int64)}).tolist() == [1, 2]
    assert session.run(y, feed_dict={x: (3.0,)}).tolist() == [3]
    assert session.run(x, {x: [4.0]}).tolist() == [4]


def test_any_tensor_can_be_fed(session):
    a = tf.constant(1.0)
    b = tf.identity(a)
    assert session.run(tf.identity(b), {b: 5.0}) == 5.0
    assert session.run([a, b], {a: 7.0}) == [7.0, 7.0]


def test_what_is_behind_a_feed_does_not_run(session):
    unfed = tf.placeholder(tf.float32, name="unfed")
    middle = tf.identity(unfed)
    assert session.run(tf.identity(middle), {middle: 2.0}) == 2.0


def test_feed_of_sparse_values(session):
    sparse = tf.sparse_placeholder(tf.float32)
    value = session.run(sparse, {sparse: tf.SparseTensorValue([[0, 1]], [5.0], [2, 2])})
    assert value.values.tolist() == [5.0]
    again = session.run(sparse, {sparse: ([[0, 1]], [6.0], [2, 2])})
    assert again.values.tolist() == [6.0]


def test_feed_of_strings(session):
    x = tf.placeholder(tf.string)
    y = tf.identity(x)
    assert session.run(y, {x: ["a", b"b"]}).tolist() == [b"a", b"b"]
    assert session.run(y, {x: "text"}) == b"text"
    assert session.run(y, {x: np.array(["ab", "c"])}).tolist() == [b"ab", b"c"]


@pytest.mark.parametrize("value, error", [
    ([1.0, 2.0, 3.0], ValueError), ("text", ValueError), ([[1.0, 2.0]], ValueError), (None, TypeError), ({}, TypeError),
])
def test_values_that_do_not_fit(session, value, error):
    x = tf.placeholder(tf.float32, [2])
    with pytest.raises((error, TypeError, ValueError)):
        session.run(tf.identity(x), {x: value})


def test_large_integers(session):
    x = tf.placeholder(tf.int32)
    with pytest.raises(TypeError):
        session.run(tf.identity(x), {x: 2 ** 40})


def test_tensors_cannot_be_values_of_feeds(session):
    x = tf.placeholder(tf.float32)
    with pytest.raises(TypeError):
        session.run(tf.identity(x), {x: tf.constant(1.0)})


@pytest.mark.parametrize("key", ["nothing:0", 3, "x"])
def test_keys_that_are_no_tensors(session, key):
    x = tf.placeholder(tf.float32, name="x")
    with pytest.raises(TypeError):
        session.run(tf.identity(x), {key: 1.0})


def test_unfeedable(session):
    a = tf.constant(0)
    tf.get_default_graph().prevent_feeding(a)
    with pytest.raises(ValueError):
        session.run(a, {a: 1})


def test_unfed_placeholder(session):
    x = tf.placeholder(tf.float32, [2], name="x")
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(tf.identity(x))
    assert "You must feed a value for placeholder tensor 'x' with dtype float" in str(caught.value)
    assert caught.value.error_code == tf.errors.INVALID_ARGUMENT
    assert caught.value.op.name == "x"


def test_a_feed_by_a_name_that_is_not_there():
    with tf.Session() as session, pytest.raises(TypeError, match="Cannot interpret feed_dict key as Tensor: The name 'b:0' refers to a Tensor"):
        session.run(tf.constant(1), {"b:0": 5})
