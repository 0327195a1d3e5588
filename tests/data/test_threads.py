"""Threads that work ahead: how far they go, and that none is left behind."""
from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import penstock as tf
from penstock.execute.step import Step
from penstock.ops.data.dataset_ahead import _Line
from support.pipelines import data_threads, drain, no_threads_left
from support.threads import PATIENCE

Dataset = tf.data.Dataset

PIPELINES = {
    "prefetch": lambda d: d.prefetch(3),
    "parallel map": lambda d: d.map(lambda x: x + 0, num_parallel_calls=3),
    "both, nested": lambda d: d.map(lambda x: x + 0, num_parallel_calls=2).prefetch(2).prefetch(2),
    "interleave": lambda d: d.interleave(lambda x: Dataset.from_tensors(x).repeat(3).prefetch(1), 3, num_parallel_calls=2),
    "parallel_interleave": lambda d: d.apply(tf.data.experimental.parallel_interleave(
        lambda x: Dataset.from_tensors(x).repeat(3).map(lambda y: y + 0), 3)),
    "map_and_batch": lambda d: d.apply(tf.data.experimental.map_and_batch(lambda x: x, 4)),
}


@pytest.fixture(params=list(PIPELINES))
def pipeline(request):
    assert no_threads_left(), "threads of an earlier test"
    with tf.Graph().as_default():
        yield PIPELINES[request.param]
    assert no_threads_left()


def test_end_of_data(pipeline):
    x = pipeline(Dataset.range(20)).make_one_shot_iterator().get_next()
    with tf.Session() as sess:
        drain(sess, x)
        assert no_threads_left()


def test_close(pipeline):
    x = pipeline(Dataset.range(10**6)).make_one_shot_iterator().get_next()
    sess = tf.Session()
    sess.run(x)
    assert data_threads() > 0
    sess.close()
    assert no_threads_left()


def test_restart(pipeline):
    iterator = pipeline(Dataset.range(10**6)).make_initializable_iterator()
    x = iterator.get_next()
    with tf.Session() as sess:
        sess.run(iterator.initializer)
        sess.run(x)
        of_one_run = data_threads()
        for _ in range(4):
            sess.run(iterator.initializer)
            sess.run(x)
            assert no_threads_left(but=of_one_run + 3)  # some may not have begun in the first run


def test_session_is_forgotten(pipeline):
    def use():
        sess = tf.Session()
        sess.run(pipeline(Dataset.range(10**6)).make_one_shot_iterator().get_next())

    use()
    assert no_threads_left(collecting=True)


def test_error(pipeline):
    bad = Dataset.range(10).map(lambda x: tf.check_numerics(1.0 / tf.to_float(x - 2), "bad"))
    x = bad.prefetch(2).make_one_shot_iterator().get_next()
    sess = tf.Session()
    assert [float(sess.run(x)) for _ in range(2)] == [-0.5, -1.0]
    with pytest.raises(tf.errors.InvalidArgumentError):
        sess.run(x)
    sess.close()
    assert no_threads_left()


def test_prefetch_is_bounded():
    made = []
    with tf.Graph().as_default(), tf.Session() as sess:
        x = Dataset.range(100).map(lambda v: tf.py_func(lambda value: (made.append(value), value)[1], [v], tf.int64)).prefetch(3)
        x = x.make_one_shot_iterator().get_next()
        sess.run(x)
        time.sleep(0.3)
        assert len(made) <= 1 + 3 + 1
    assert no_threads_left()


def test_parallel_map_is_parallel_bounded_and_in_order():
    lock, running, most = threading.Lock(), [0], [0]

    def work(value):
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.001 * (value % 3) + 0.01)
        with lock:
            running[0] -= 1
        return value

    with tf.Graph().as_default(), tf.Session() as sess:
        x = Dataset.range(40).map(lambda v: tf.py_func(work, [v], tf.int64), num_parallel_calls=4).make_one_shot_iterator().get_next()
        assert drain(sess, x) == list(range(40))
    assert 2 <= most[0] <= 4
    assert no_threads_left()


def test_an_exit_in_a_thread_is_an_error_of_the_step():
    def leave(value):
        raise SystemExit("enough")

    for change in (lambda d: d.prefetch(1), lambda d: d):
        with tf.Graph().as_default(), tf.Session() as sess:
            x = change(Dataset.range(3).map(lambda v: tf.py_func(leave, [v], tf.int64), num_parallel_calls=2)).make_one_shot_iterator().get_next()
            with pytest.raises(tf.errors.UnknownError, match="SystemExit: enough"):
                sess.run(x)
    assert no_threads_left()


def test_reset_ends_a_step_that_waits():
    begun, go_on, errors = threading.Event(), threading.Event(), []
    with tf.Graph().as_default(), tf.Session() as sess:
        x = Dataset.range(3).map(lambda v: tf.py_func(lambda value: (begun.set(), go_on.wait(2 * PATIENCE), value)[2], [v], tf.int64)).prefetch(1)
        x = x.make_one_shot_iterator().get_next()

        def run():
            try:
                sess.run(x)
            except tf.errors.OpError as error:
                errors.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        assert begun.wait(PATIENCE)
        tf.Session.reset("")
        thread.join(PATIENCE)
        go_on.set()
        assert not thread.is_alive() and isinstance(errors[0], tf.errors.CancelledError)
    assert no_threads_left()


def test_prefetch_overlaps():
    """The next elements are made before they are asked for."""
    made = [threading.Event() for _ in range(3)]
    with tf.Graph().as_default(), tf.Session() as sess:
        x = Dataset.range(3).map(lambda v: tf.py_func(lambda value: (made[value].set(), value)[1], [v], tf.int64))
        x = x.prefetch(2).make_one_shot_iterator().get_next()
        sess.run(x)
        assert made[1].wait(PATIENCE) and made[2].wait(PATIENCE)
    assert no_threads_left()


def test_random_numbers_in_parallel_maps_are_all_different():
    with tf.Graph().as_default(), tf.Session() as sess:
        x = Dataset.range(50).map(lambda _: tf.random_uniform([]), num_parallel_calls=4).batch(50).make_one_shot_iterator().get_next()
        assert len(np.unique(sess.run(x))) == 50
    assert no_threads_left()


def test_a_batch_does_not_wait_until_the_line_is_full():
    """If it did, a thread that finds no room would wait for those that still work, each time that the line is full."""
    line, taken = _Line(8, Step()), []
    places = [line.reserve() for _ in range(8)]
    consumer = threading.Thread(target=lambda: taken.append(line.take(Step(timeout_ms=int(1000 * PATIENCE)), 32)))
    consumer.start()
    while line._wanted == 1:  # until it waits
        time.sleep(0.001)
    for number, place in enumerate(places[:4]):
        line.fill(place, (number,))
    consumer.join(PATIENCE)
    assert taken == [(0,)]
    line.stop()
