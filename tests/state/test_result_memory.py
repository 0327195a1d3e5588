"""The memory of large results is used again, and only when nothing else holds them."""
from __future__ import annotations

import weakref

import numpy as np
import pytest

import penstock as tf
from penstock.native.config import config
from penstock.state import result_memory
from penstock.state.result_memory import LARGE, RESULTS, Results

SHAPE = (LARGE // 4,)


def address(array):
    return array.__array_interface__["data"][0]


@pytest.fixture(autouse=True)
def eager(monkeypatch):
    monkeypatch.setattr(config, "mode", "eager")


@pytest.fixture
def doubled(eager):
    """A function that gives twice a large array of one number, by native code."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, SHAPE)
        y = x * 4.0 - x * 2.0
        yield lambda number: session.run(y, {x: np.full(SHAPE, number, np.float32)})


def test_a_result_that_was_dropped_is_the_memory_of_the_next_one(doubled):
    first = doubled(1)
    at = address(first)
    assert (first == 2).all()
    del first
    second = doubled(2)
    assert address(second) == at and (second == 4).all() and second.flags.owndata


@pytest.mark.parametrize("holding", [lambda array: array, lambda array: array[5:], lambda array: [array.reshape(2, -1).T], memoryview, weakref.ref])
def test_what_is_held_stays(doubled, holding):
    held = holding(doubled(1))
    for number in range(2, 6):
        assert (doubled(number) == 2 * number).all()
    if isinstance(held, weakref.ref):
        assert held() is None or (held() == 2).all()
    else:
        assert (np.asarray(held) == 2).all()


def frozen(array):
    array.flags.writeable = False


def reshaped(array):
    array.resize((2, SHAPE[0] // 2), refcheck=False)


@pytest.mark.parametrize("change", [frozen, reshaped])
def test_what_its_owner_changed_is_left_alone(doubled, change):
    change(doubled(1))
    for number in (2, 3):
        found = doubled(number)
        assert found.shape == SHAPE and found.flags.writeable and (found == 2 * number).all()


def test_a_variable_does_not_share_its_memory(eager):
    v = tf.get_variable("v", SHAPE, initializer=tf.zeros_initializer())
    ones = tf.placeholder(tf.float32, SHAPE)
    total = ones * 2.0 + 1.0
    with tf.Session() as session:
        session.run(v.initializer)
        for number in range(3):
            session.run(total, {ones: np.full(SHAPE, 7, np.float32)})
            session.run(v.assign(ones + number), {ones: np.ones(SHAPE, np.float32)})
            session.run(total, {ones: np.full(SHAPE, 9, np.float32)})
            assert (session.run(v) == number + 1).all()


def test_how_much_is_remembered(monkeypatch):
    monkeypatch.setattr(result_memory, "_MOST", 3 * LARGE)
    kept = Results()
    places = []
    for _ in range(5):
        array = np.empty(SHAPE, np.float32)
        places.append(array)
        kept.keep(array)
    at = [address(array) for array in places]
    del array
    places.clear()
    again = [kept.empty(SHAPE, np.dtype(np.float32)) for _ in range(3)]
    assert [address(array) for array in again] == at[2:], "the oldest ones are forgotten"
    assert kept._bytes == 0 and not kept._arrays


def test_nothing_is_kept_when_a_session_is_closed(eager):
    x = tf.placeholder(tf.float32, SHAPE)
    with tf.Session() as session:
        session.run(x * 2.0 + 1.0, {x: np.zeros(SHAPE, np.float32)})
        assert RESULTS._bytes
    assert not RESULTS._bytes and not RESULTS._arrays
