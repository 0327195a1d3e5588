"""Queues: waiting, closing, cancellation; and that nothing is lost or doubled when many threads use one at once."""
from __future__ import annotations

import random
import signal
import threading
import time
from collections import Counter

import numpy as np
import pytest

import penstock as tf
from penstock.errors import CancelledError, KernelError, OpError
from penstock.execute.step import Step
from penstock.graph import dtypes as dt
from penstock.graph.shape import TensorShape
from penstock.state.queue_kinds import PriorityQueue, ShuffleQueue
from penstock.state.queues import Queue
from support.threads import LONG, SHORT, in_thread, until_kernels_wait


def test_names_make_dictionaries():
    queue = tf.FIFOQueue(10, [tf.int32, tf.float32], shapes=[[], []], names=["i", "f"])
    with tf.Session() as session:
        session.run(queue.enqueue({"i": 1, "f": 0.5}))
        assert session.run(queue.dequeue()) == {"i": 1, "f": 0.5}
    with pytest.raises(ValueError, match="dictionary"):
        queue.enqueue([1, 0.5])


def test_from_list():
    queues = [tf.FIFOQueue(10, tf.int32, shapes=[[]], name=f"q{i}") for i in range(2)]
    which = tf.placeholder(tf.int32, [])
    chosen = tf.QueueBase.from_list(which, queues)
    with tf.Session() as session:
        session.run([queues[0].enqueue(10), queues[1].enqueue(20)])
        assert [session.run(chosen.dequeue(), {which: i}) for i in (1, 0)] == [20, 10]


def test_shared_names():
    one, two, other = (tf.FIFOQueue(capacity, tf.int32, shapes=[[]], shared_name="common") for capacity in (5, 5, 6))
    with tf.Session() as session:
        session.run(one.enqueue(3))
        assert session.run(two.dequeue(), options=LONG) == 3
        with pytest.raises(tf.errors.InvalidArgumentError, match="Shared queue 'common' has capacity 5 but requested capacity was 6"):
            session.run(other.size())


# --- closing ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("make", [tf.FIFOQueue, lambda *args, **kwargs: tf.RandomShuffleQueue(args[0], 0, *args[1:], **kwargs)])
def test_closed_queue(make):
    queue = make(10, tf.int32, shapes=[[]], name="q")
    with tf.Session() as session:
        session.run(queue.enqueue_many([[1, 2]]))
        session.run(queue.close())
        assert session.run(queue.is_closed())
        with pytest.raises(tf.errors.CancelledError, match=r"'_\d+_q' is closed\."):
            session.run(queue.enqueue(3))
        with pytest.raises(tf.errors.OutOfRangeError, match=r"'_\d+_q' is closed and has insufficient elements \(requested 3, current size 2\)"):
            session.run(queue.dequeue_many(3))
        assert sorted(session.run(queue.dequeue_up_to(3))) == [1, 2]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(queue.dequeue_up_to(3))
        with pytest.raises(tf.errors.CancelledError, match="already closed"):
            session.run(queue.close())
        session.run(queue.close(cancel_pending_enqueues=True))


def test_close_lets_waiting_enqueues_finish():
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    x = tf.placeholder(tf.int32, [])
    put, take, close = queue.enqueue(x), queue.dequeue(), queue.close()
    with tf.Session() as session:
        session.run(put, {x: 1})
        thread, results = in_thread(lambda: session.run(put, {x: 2}, options=LONG))
        until_kernels_wait()
        session.run(close)
        assert [session.run(take, options=LONG) for _ in range(2)] == [1, 2]
        thread.join(30)
        assert results == [None]


def test_close_can_cancel_waiting_enqueues():
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    put, close = queue.enqueue(1), queue.close(cancel_pending_enqueues=True)
    with tf.Session() as session:
        session.run(put)
        thread, results = in_thread(lambda: session.run(put, options=LONG))
        until_kernels_wait()
        session.run(close)
        thread.join(30)
    assert isinstance(results[0], tf.errors.CancelledError) and "Enqueue operation was cancelled" in str(results[0])


# --- a blocked step ends ---------------------------------------------------------------------------------------------

def test_timeout_names_the_queue():
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]], name="inputs")
    with tf.Session() as session:
        start = time.monotonic()
        with pytest.raises(tf.errors.DeadlineExceededError, match=r"'take' at FIFOQueue '_\d+_inputs'"):
            session.run(queue.dequeue(name="take"), options=SHORT)
        assert time.monotonic() - start < 20


def test_closing_the_session_ends_a_blocked_step():
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    session = tf.Session()
    take = queue.dequeue()
    thread, results = in_thread(lambda: session.run(take))
    until_kernels_wait()
    start = time.monotonic()
    session.close()
    thread.join(30)
    assert time.monotonic() - start < 20
    assert isinstance(results[0], tf.errors.CancelledError)


@pytest.fixture
def interruptible():
    """Ctrl-C raises KeyboardInterrupt, also where the tests run in the background and the shell has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_interrupt_ends_a_blocked_step(interruptible):
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    take, put = queue.dequeue(), queue.enqueue(7)
    with tf.Session() as session:
        interrupt = lambda: signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)  # as Ctrl-C does
        interrupting, _ = in_thread(lambda: (until_kernels_wait(), interrupt()))
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            session.run(take)
        assert time.monotonic() - start < 20
        interrupting.join()
        session.run(put)
        assert session.run(take, options=LONG) == 7  # the interrupted step takes nothing any more


def test_a_blocked_step_inside_a_conditional_ends():
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    go = tf.placeholder(tf.bool, [])
    value = tf.cond(go, queue.dequeue, lambda: tf.constant(0))
    with tf.Session() as session:
        assert session.run(value, {go: False}) == 0
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(value, {go: True}, options=SHORT)


# --- the state itself, under load ------------------------------------------------------------------------------------

def _queues():
    types, shapes = [dt.int64], [TensorShape(())]
    numbers = random.Random(0)
    return [Queue("fifo", types, shapes, 7), ShuffleQueue("shuffle", types, shapes, 7, 2, lambda: numbers.getrandbits(32)),
            PriorityQueue("priority", [], [], 7)]


def _cancel_later(step, rng):
    """Cancels some steps after a moment."""
    if rng.random() < 0.3:
        timer = threading.Timer(rng.random() * 0.004, lambda: step.cancel(CancelledError(None, None, "by the test")))
        timer.start()
        return timer
    return None


def _produce(queue, worker, put):
    rng = random.Random(worker)
    for number in range(60):
        many = rng.random() < 0.3
        values = [np.int64(worker * 10000 + number * 10 + i) for i in range(rng.randint(1, 5) if many else 1)]
        step = Step()
        timer = _cancel_later(step, rng)
        rest = list(values)
        try:
            for value in values:  # one by one, so that it is known what a cancelled step has put in
                queue.enqueue(step, (value,))
                rest.pop(0)
        except OpError:
            put.extend(set(values) - set(rest))
        else:
            put.extend(values)
        if timer is not None:
            timer.join()


def _consume(queue, worker, taken):
    rng = random.Random(-worker)
    while True:
        step = Step()
        timer = _cancel_later(step, rng)
        try:
            way = rng.random()
            if way < 0.5:
                taken.append(int(queue.dequeue(step)[0]))
            elif way < 0.8:
                taken.extend(queue.dequeue_many(step, rng.randint(2, 4))[0].tolist())
            else:
                taken.extend(queue.dequeue_up_to(step, rng.randint(2, 4))[0].tolist())
        except CancelledError:
            pass  # by the timer: whatever it had taken went back
        except KernelError:
            if not len(queue):
                return  # closed and empty
        finally:
            if timer is not None:
                timer.join()


@pytest.mark.parametrize("queue", _queues(), ids=lambda queue: queue.kind)
def test_nothing_is_lost_or_doubled(queue):
    put, taken = [[] for _ in range(16)], [[] for _ in range(16)]
    producers = [threading.Thread(target=_produce, args=(queue, i + 1, put[i])) for i in range(16)]
    consumers = [threading.Thread(target=_consume, args=(queue, i + 1, taken[i])) for i in range(16)]
    for thread in producers + consumers:
        thread.start()
    for thread in producers:
        thread.join(20)
        assert not thread.is_alive(), "an enqueue is stuck"
    queue.close()
    for thread in consumers:
        thread.join(20)
        assert not thread.is_alive(), "a dequeue is stuck"
    assert Counter(int(value) for values in put for value in values) == Counter(value for values in taken for value in values)


def test_a_cancelled_dequeue_puts_back_what_it_took():
    queue = Queue("q", [dt.int32], [TensorShape(())], -1)
    step = Step()
    for value in (1, 2, 3):
        queue.enqueue(step, (np.int32(value),))
    thread, results = in_thread(lambda: queue.dequeue_many(step, 5))
    until_kernels_wait()
    step.cancel(CancelledError(None, None, "enough"))
    thread.join(30)
    assert isinstance(results[0], CancelledError)
    assert [int(queue.dequeue(Step())[0]) for _ in range(3)] == [1, 2, 3]


def test_what_ends_a_wait_in_the_same_step_runs_before_it():
    accumulator = tf.ConditionalAccumulator(tf.float32, [])
    mean = accumulator.take_grad(1) * 2.0
    given = accumulator.apply_grad(3.0)  # stands behind take_grad in the graph, and must not wait for it
    with tf.Session() as session:
        assert session.run([mean, given])[0] == 6.0


def test_a_lone_wait_needs_no_other_thread_and_ends_with_the_session():
    queue = tf.FIFOQueue(1, [tf.float32], [[]], name="empty")
    doubled = queue.dequeue() * 2.0
    with tf.Session() as session:
        session.run(queue.enqueue([1.0]))
        assert session.run(doubled) == 2.0
        closing, _ = in_thread(lambda: (until_kernels_wait(), session.close()))
        with pytest.raises(tf.errors.CancelledError):
            session.run(doubled)
        closing.join()
