"""Iterators: one-shot, initializable, reinitializable, feedable; their errors, and what happens to steps that wait for them."""
from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import penstock as tf
from support.pipelines import drain
from support.threads import PATIENCE

Dataset = tf.data.Dataset


def test_end_of_sequence_is_an_error_again_and_again():
    x = Dataset.range(1).make_one_shot_iterator().get_next()
    with tf.Session() as sess:
        assert sess.run(x) == 0
        for _ in range(3):
            with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
                sess.run(x)


def test_one_step_takes_one_element():
    x = Dataset.range(9).make_one_shot_iterator().get_next()
    y, z = x * 10, x + 1
    with tf.Session() as sess:
        assert sess.run([x, y, z]) == [0, 0, 1]
        assert sess.run([z, x]) == [2, 1]


def test_a_session_has_its_own_place():
    x = Dataset.range(9).make_one_shot_iterator().get_next()
    with tf.Session() as one, tf.Session() as other:
        assert [one.run(x), one.run(x), other.run(x), one.run(x)] == [0, 1, 0, 2]


def test_initializable_takes_what_is_fed():
    numbers = tf.placeholder(tf.float32, [None])
    iterator = Dataset.from_tensor_slices(numbers).map(lambda x: x * 2.0).make_initializable_iterator()
    x = iterator.get_next()
    with tf.Session() as sess:
        with pytest.raises(tf.errors.FailedPreconditionError, match="not been initialized"):
            sess.run(x)
        for values in ([1.0, 2.0], [], [5.0]):
            sess.run(iterator.initializer, {numbers: values})
            assert drain(sess, x) == [2 * value for value in values]
        sess.run(iterator.initializer, {numbers: [1.0, 2.0]})
        assert sess.run(x) == 2.0
        sess.run(iterator.initializer, {numbers: [7.0]})
        assert drain(sess, x) == [14.0]


def test_shared_name_is_one_iterator():
    one = Dataset.range(5).make_initializable_iterator(shared_name="same")
    other = Dataset.range(5).make_initializable_iterator(shared_name="same")
    with tf.Session() as sess:
        sess.run(one.initializer)
        assert [sess.run(one.get_next()), sess.run(other.get_next()), sess.run(one.get_next())] == [0, 1, 2]


def test_reinitializable():
    train, test = Dataset.range(3), Dataset.range(100, 102)
    iterator = tf.data.Iterator.from_structure(train.output_types, train.output_shapes)
    x, use_train, use_test = iterator.get_next(), iterator.make_initializer(train), iterator.make_initializer(test)
    with tf.Session() as sess:
        for start, wanted in ((use_train, [0, 1, 2]), (use_test, [100, 101]), (use_train, [0, 1, 2])):
            sess.run(start)
            assert drain(sess, x) == wanted


def test_reinitializable_checks_the_structure():
    iterator = tf.data.Iterator.from_structure((tf.int64, tf.float32), ([], [2]))
    for dataset in (Dataset.range(3), Dataset.from_tensors((1, [1.0, 2.0])), Dataset.from_tensors((np.int64(1), [1.0]))):
        with pytest.raises((TypeError, ValueError)):
            iterator.make_initializer(dataset)


def test_feedable():
    handle = tf.placeholder(tf.string, [])
    x = tf.data.Iterator.from_string_handle(handle, tf.int64, []).get_next()
    one, other = Dataset.range(9).make_one_shot_iterator(), Dataset.range(50, 60).make_initializable_iterator()
    with tf.Session() as sess:
        sess.run(other.initializer)
        first, second = sess.run([one.string_handle(), other.string_handle()])
        assert [sess.run(x, {handle: h}) for h in (first, second, first, second)] == [0, 50, 1, 51]
        sess.run(other.initializer)
        assert sess.run(x, {handle: second}) == 50
        with pytest.raises(tf.errors.NotFoundError):
            sess.run(x, {handle: second.rpartition(b"|")[0] + b"|nobody"})
        with pytest.raises(tf.errors.InvalidArgumentError, match="ResourceHandle"):
            sess.run(x, {handle: b"nonsense"})


def test_feedable_checks_types():
    handle = tf.placeholder(tf.string, [])
    x = tf.data.Iterator.from_string_handle(handle, tf.float32, []).get_next()
    iterator = Dataset.range(9).make_one_shot_iterator()
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match="int64"):
        sess.run(x, {handle: sess.run(iterator.string_handle())})


def test_one_shot_refuses_state():
    with pytest.raises(ValueError, match="make_initializable_iterator"):
        Dataset.range(tf.placeholder(tf.int64, [])).make_one_shot_iterator()
    variable = tf.Variable(np.int64(1))
    with pytest.raises(ValueError, match="stateful"):
        Dataset.range(3).map(lambda x: x + variable).make_one_shot_iterator()


def test_an_error_belongs_to_its_element():
    numbers = Dataset.from_tensor_slices([1.0, 0.0, 2.0]).map(lambda v: tf.check_numerics(1.0 / v, "division"))
    for dataset in (numbers, numbers.prefetch(2), numbers.repeat(1)):
        x = dataset.make_one_shot_iterator().get_next()
        with tf.Session() as sess:
            assert sess.run(x) == 1.0
            with pytest.raises(tf.errors.InvalidArgumentError, match="division"):
                sess.run(x)
            assert sess.run(x) == 0.5


def test_many_calls_of_get_next_are_warned_of():
    iterator = Dataset.range(3).make_one_shot_iterator()
    with pytest.warns(UserWarning, match="get_next"):
        for _ in range(40):
            iterator.get_next()


def test_threads_share_an_iterator():
    x = Dataset.range(400).make_one_shot_iterator().get_next()
    found: list[int] = []
    with tf.Session() as sess:
        threads = [threading.Thread(target=lambda: found.extend(drain(sess, x))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(found) == list(range(400))


def _slow(value):
    time.sleep(0.8)
    return value


@pytest.mark.parametrize("change", [lambda d: d, lambda d: d.prefetch(1), lambda d: d.map(lambda x: x, num_parallel_calls=2)])
def test_a_step_that_waits_has_a_deadline(change):
    x = change(Dataset.range(3).map(lambda v: tf.py_func(_slow, [v], tf.int64))).make_one_shot_iterator().get_next()
    with tf.Session() as sess, pytest.raises(tf.errors.DeadlineExceededError):
        sess.run(x, options=tf.RunOptions(timeout_in_ms=100))


def test_closing_the_session_ends_a_step_that_waits():
    begun, go_on = threading.Event(), threading.Event()
    x = Dataset.range(3).map(lambda v: tf.py_func(lambda value: (begun.set(), go_on.wait(5), value)[2], [v], tf.int64)).prefetch(1)
    x = x.make_one_shot_iterator().get_next()
    sess, errors = tf.Session(), []

    def run():
        try:
            sess.run(x)
        except tf.errors.OpError as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert begun.wait(PATIENCE)
    sess.close()
    thread.join(3)
    go_on.set()
    assert not thread.is_alive() and isinstance(errors[0], tf.errors.CancelledError)


def test_random_numbers_begin_again_with_each_iterator():
    """As in TensorFlow 1.15: also for datasets that a function makes, but not from one epoch of an iterator to the next."""
    def draw(_):
        return tf.random_uniform((), seed=11)
    drawn = [0.0896, 0.2652, 0.6327, 0.2839, 0.0672, 0.9071]
    for dataset in (Dataset.range(3).map(draw).repeat(2), Dataset.range(3).flat_map(lambda _: Dataset.range(2).map(draw)),
                    Dataset.range(6).map(draw).filter(lambda x: x >= 0.0).prefetch(2)):
        one, other = (dataset.make_initializable_iterator() for _ in range(2))
        x, y = one.get_next(), other.get_next()
        with tf.Session() as session:
            for _ in range(2):
                session.run(one.initializer)
                np.testing.assert_allclose(session.run(x), drawn[0], atol=1e-4)
                session.run(other.initializer)
                np.testing.assert_allclose([session.run(y) for _ in drawn], drawn, atol=1e-4)
                np.testing.assert_allclose([session.run(x) for _ in drawn[1:]], drawn[1:], atol=1e-4)
