"""Staging areas, in order and under keys."""
from __future__ import annotations

import pytest

import penstock as tf
from penstock.ops.queues.staging_classes import MapStagingArea
from support.threads import SHORT


def test_staging_area():
    area = tf.contrib.staging.StagingArea([tf.float32, tf.int32], [[2], []], capacity=2)
    x = tf.placeholder(tf.int32, [])
    put, get, peek, size, clear = area.put([[1.0, 2.0], x]), area.get(), area.peek(0), area.size(), area.clear()
    assert [tensor.shape.as_list() for tensor in get] == [[2], []]
    with tf.Session() as session:
        for value in (1, 2):
            session.run(put, {x: value})
        with pytest.raises(tf.errors.DeadlineExceededError, match="StagingArea_put"):
            session.run(put, {x: 3}, options=SHORT)
        assert session.run(peek)[1] == 1 and [session.run(get)[1] for _ in range(2)] == [1, 2]
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(get, options=SHORT)
        session.run(put, {x: 4})
        session.run(clear)
        assert session.run(size) == 0


def test_staging_area_with_names_and_a_memory_limit():
    area = tf.contrib.staging.StagingArea([tf.float32], shapes=[[4]], names=["x"], memory_limit=20)
    put, get = area.put({"x": [1.0] * 4}), area.get()
    with tf.Session() as session:
        session.run(put)
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(put, options=SHORT)
        assert session.run(get)["x"].tolist() == [1] * 4
    small = tf.contrib.staging.StagingArea([tf.float32], memory_limit=10)
    with tf.Session() as session, pytest.raises(tf.errors.ResourceExhaustedError, match="'16' bytes"):
        session.run(small.put([[1.0] * 4]))


@pytest.mark.parametrize("ordered", [False, True])
def test_map_staging_area(ordered):
    area = MapStagingArea([tf.float32, tf.int32], [[], []], names=["x", "y"], ordered=ordered)
    sizes, get = [area.size(), area.incomplete_size()], area.get()
    with tf.Session() as session:
        session.run(area.put(3, {"x": 1.0, "y": 2}))
        session.run(area.put(1, {"x": 9.0}))
        assert session.run(sizes) == [1, 1]
        session.run(area.put(1, {"y": 8}))
        assert session.run(sizes) == [2, 0]
        assert session.run(area.peek(3)) == {"x": 1.0, "y": 2}
        assert session.run(get) == ((1, {"x": 9.0, "y": 8}) if ordered else (3, {"x": 1.0, "y": 2}))
        with pytest.raises(tf.errors.InvalidArgumentError, match="already initialized"):
            session.run(area.put(3 if ordered else 1, {"x": 1.0}))
        left = 3 if ordered else 1
        assert list(session.run(area.get(left, ["y"])[1])) == ["y"]
        assert list(session.run(area.get(left, ["x"])[1])) == ["x"]
        assert session.run(sizes) == [0, 0]
