"""FIFOQueue across steps and threads: order, waiting, closing, cancellation."""
from __future__ import annotations

import threading

import numpy as np
import pytest

import penstock as tf
from support.threads import until_kernels_wait


@pytest.fixture
def queue():
    with tf.Graph().as_default():
        yield tf.FIFOQueue(3, [tf.float32, tf.string], [[2], []])


def background(work):
    """Runs a function in a thread; returns (the thread, the list that receives its error or result)."""
    outcome: list = []

    def run():
        try:
            outcome.append(work())
        except tf.errors.OpError as error:
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, outcome


def test_order_and_batches(queue):
    many = queue.enqueue_many([[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], ["a", "b", "c"]])
    one, two = queue.dequeue(), queue.dequeue_many(2)
    with tf.Session(graph=queue.queue_ref.graph) as sess:
        sess.run(many)
        assert sess.run(queue.size()) == 3
        first = sess.run(one)
        assert first[0].tolist() == [1, 2] and first[1] == b"a"
        rest = sess.run(two)
        assert rest[0].tolist() == [[3, 4], [5, 6]] and rest[1].tolist() == [b"b", b"c"]


def test_dequeue_waits_for_an_enqueue(queue):
    enqueue, dequeue = queue.enqueue([[1.0, 2.0], "x"]), queue.dequeue()
    with tf.Session(graph=queue.queue_ref.graph) as sess:
        thread, outcome = background(lambda: sess.run(dequeue))
        until_kernels_wait()
        assert not outcome
        sess.run(enqueue)
        thread.join(10)
        assert outcome[0][1] == b"x"


def test_enqueue_many_goes_on_as_room_appears(queue):
    values = np.arange(16, dtype=np.float32).reshape(8, 2)
    many, one = queue.enqueue_many([values, [str(i) for i in range(8)]]), queue.dequeue()
    with tf.Session(graph=queue.queue_ref.graph) as sess:
        thread, outcome = background(lambda: sess.run(many))
        seen = [int(sess.run(one)[1]) for _ in range(8)]
        thread.join(10)
        assert outcome == [None] and seen == list(range(8))


def test_close_lets_elements_out_and_then_ends(queue):
    enqueue, dequeue, close = queue.enqueue([[1.0, 2.0], "x"]), queue.dequeue(), queue.close()
    many, up_to = queue.dequeue_many(2), queue.dequeue_up_to(2)
    with tf.Session(graph=queue.queue_ref.graph) as sess:
        sess.run(enqueue)
        sess.run(close)
        assert sess.run(queue.is_closed())
        with pytest.raises(tf.errors.CancelledError, match="is closed"):
            sess.run(enqueue)
        with pytest.raises(tf.errors.OutOfRangeError, match=r"requested 2, current size 1"):
            sess.run(many)
        assert sess.run(up_to)[1].tolist() == [b"x"]  # a failed dequeue_many gives back what it took
        with pytest.raises(tf.errors.OutOfRangeError, match=r"requested 1, current size 0"):
            sess.run(dequeue)


def test_close_wakes_those_who_wait(queue):
    dequeue, close = queue.dequeue(), queue.close()
    with tf.Session(graph=queue.queue_ref.graph) as sess:
        waiting = [background(lambda: sess.run(dequeue)) for _ in range(3)]
        until_kernels_wait(3)
        sess.run(close)
        for thread, outcome in waiting:
            thread.join(10)
            assert isinstance(outcome[0], tf.errors.OutOfRangeError)


def test_close_may_cancel_pending_enqueues(queue):
    fill = queue.enqueue_many([np.zeros([5, 2], np.float32), ["x"] * 5])
    close, size = queue.close(cancel_pending_enqueues=True), queue.size()
    with tf.Session(graph=queue.queue_ref.graph) as sess:
        thread, outcome = background(lambda: sess.run(fill))
        until_kernels_wait()
        sess.run(close)
        thread.join(10)
        assert isinstance(outcome[0], tf.errors.CancelledError)
        assert sess.run(size) == 3


def test_deadline_ends_a_wait(queue):
    with tf.Session(graph=queue.queue_ref.graph) as sess, pytest.raises(tf.errors.DeadlineExceededError):
        sess.run(queue.dequeue(), options=tf.RunOptions(timeout_in_ms=50))


def test_failure_elsewhere_ends_a_wait(queue):
    with tf.Session(graph=queue.queue_ref.graph) as sess, pytest.raises(tf.errors.InvalidArgumentError, match="boo"):
        sess.run([queue.dequeue(), tf.Assert(tf.placeholder_with_default(False, []), ["boo"])])


def test_names_make_dictionaries():
    with tf.Graph().as_default(), tf.Session() as sess:
        queue = tf.FIFOQueue(2, [tf.int32, tf.float32], [[], []], names=["a", "b"])
        sess.run(queue.enqueue({"a": 1, "b": 2.0}))
        assert sess.run(queue.dequeue()) == {"a": 1, "b": 2.0}
        with pytest.raises(ValueError, match="dictionary"):
            queue.enqueue([1, 2.0])


def test_wrong_shapes(queue):
    with pytest.raises(ValueError, match="incompatible"):
        queue.enqueue([[1.0, 2.0, 3.0], "x"])
    unknown = tf.placeholder_with_default(np.zeros(3, np.float32), None)
    with tf.Session(graph=queue.queue_ref.graph) as sess, pytest.raises(tf.errors.InvalidArgumentError, match=r"Expected \[2\], got \[3\]"):
        sess.run(queue.enqueue([unknown, "x"]))


def test_shared_queues():
    with tf.Graph().as_default(), tf.Session() as sess:
        first, second = (tf.FIFOQueue(3, tf.float32, [[]], shared_name="shared") for _ in range(2))
        sess.run(first.enqueue(5.0))
        assert sess.run(second.dequeue()) == 5.0
        other = tf.FIFOQueue(4, tf.float32, [[]], shared_name="shared")
        with pytest.raises(tf.errors.InvalidArgumentError, match="has capacity 3 but requested capacity was 4"):
            sess.run(other.size())

@pytest.mark.parametrize("shapes", [((),), [()], ((3,),), (tf.TensorShape([3]),), tf.TensorShape([3]), (3,), [3]], ids=str)
def test_shapes_in_any_form(shapes):
    for queue in (tf.FIFOQueue(3, tf.float32, shapes), tf.PaddingFIFOQueue(3, tf.float32, shapes if isinstance(shapes, (list, tuple)) else [shapes])):
        assert len(queue.shapes) == 1 and queue.shapes[0].ndims in (0, 1)


def test_names_are_a_list():
    assert tf.FIFOQueue(3, [tf.int32, tf.float32], names=("i", "j")).names == ["i", "j"]
    assert tf.FIFOQueue(3, tf.int32).names is None
