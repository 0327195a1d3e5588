"""Datasets of Python generators."""
from __future__ import annotations

import time

import pytest

import penstock as tf
from support.pipelines import listed

Dataset, experimental = tf.data.Dataset, tf.data.experimental


def test_a_generator_starts_anew_in_each_epoch():
    starts = []

    def numbers():
        starts.append(True)
        yield from (1, 2)

    assert listed(Dataset.from_generator(numbers, tf.int32, []).repeat(3)) == [1, 2] * 3
    assert len(starts) == 3


def test_a_generator_is_closed_when_it_is_given_up():
    open_now = [0]

    def numbers():
        open_now[0] += 1
        try:
            yield from range(100)
        finally:
            open_now[0] -= 1

    iterator = Dataset.from_generator(numbers, tf.int64, []).make_initializable_iterator()
    x = iterator.get_next()
    with tf.Session() as sess:
        for _ in range(3):
            sess.run(iterator.initializer)
            assert sess.run(x) == 0
        end = time.monotonic() + 5
        while open_now[0] > 1 and time.monotonic() < end:
            time.sleep(0.01)
        assert open_now[0] == 1


def test_an_error_in_a_generator():
    def broken():
        yield 1
        raise RuntimeError("the disk is gone")

    x = Dataset.from_generator(broken, tf.int32, []).make_one_shot_iterator().get_next()
    with tf.Session() as sess:
        assert sess.run(x) == 1
        with pytest.raises(tf.errors.UnknownError, match="the disk is gone"):
            sess.run(x)


def test_bad_generators():
    with pytest.raises(TypeError, match="callable"):
        Dataset.from_generator([1, 2], tf.int32)
    for values, shape, message in (([[1, 2]], [], "shape"), (["x"], [], "converted"), ([(1, 2)], [2, 2], "shape")):
        x = Dataset.from_generator(lambda values=values: iter(values), tf.int32, shape).make_one_shot_iterator().get_next()
        with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match=message):
            sess.run(x)
