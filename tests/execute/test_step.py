"""Steps: errors, deadlines, cancellation."""
from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import penstock as tf
from penstock.errors import CancelledError, KernelError
from penstock.graph.opdef import REGISTRY, op
from penstock.ops.common import fixed

WAITING = threading.Event()  # a kernel waits


if "TestWait" not in REGISTRY:
    @op("TestWait", "-> done: bool")
    class Wait:
        """Waits until its step is cancelled."""

        stateful = blocking = True
        shape = fixed()
        gradient = None

        def kernel(ctx):
            ended = threading.Event()
            ctx.step.on_cancel(ended.set)
            WAITING.set()
            if not ended.wait(20):
                return np.True_
            raise KernelError(CancelledError, "the wait was cancelled")

    @op("TestFail", "x: float -> y: float", error="ValueError")
    class Fail:
        """Raises what ``error`` names, as a kernel with a bug would."""

        stateful = True
        shape = fixed()
        gradient = None

        def kernel(x, error):
            raise {"ValueError": ValueError, "IndexError": IndexError, "ZeroDivisionError": ZeroDivisionError, "MemoryError": MemoryError,
                   "AttributeError": AttributeError}[error]("inside")


def wait():
    return REGISTRY["TestWait"]()


def fail(error="ValueError"):
    return REGISTRY["TestFail"](tf.constant(1.0, name="one"), error=error, name="failing")


def test_deadline():
    with tf.Session() as session:
        start = time.monotonic()
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(wait(), options=tf.RunOptions(timeout_in_ms=50))
        assert time.monotonic() - start < 5


def test_deadline_of_the_session():
    with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=50)) as session, pytest.raises(tf.errors.DeadlineExceededError):
        session.run(wait())


def test_a_step_in_time_meets_its_deadline():
    with tf.Session() as session:
        assert session.run(tf.constant(3), options=tf.RunOptions(timeout_in_ms=5000)) == 3


def test_close_cancels_steps_under_way():
    waiting = wait()
    session = tf.Session()
    caught = []

    def work():
        try:
            session.run(waiting)
        except tf.errors.OpError as error:
            caught.append(error)

    WAITING.clear()
    thread = threading.Thread(target=work)
    thread.start()
    assert WAITING.wait(20)
    session.close()
    thread.join(5)
    assert not thread.is_alive()
    assert isinstance(caught[0], tf.errors.CancelledError)


def test_an_error_cancels_what_waits():
    with tf.Session() as session:
        start = time.monotonic()
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run([wait(), fail()])
        assert time.monotonic() - start < 5


def test_two_waits_run_at_the_same_time():
    with tf.Session() as session:
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run([wait() for _ in range(8)], options=tf.RunOptions(timeout_in_ms=100))


@pytest.mark.parametrize("error, cls", [
    ("ValueError", tf.errors.InvalidArgumentError), ("IndexError", tf.errors.InvalidArgumentError), ("MemoryError", tf.errors.ResourceExhaustedError),
    ("ZeroDivisionError", tf.errors.InvalidArgumentError), ("AttributeError", tf.errors.InternalError),
])
def test_errors_of_kernels_become_op_errors(error, cls):
    y = fail(error)
    with tf.Session() as session, pytest.raises(cls) as caught:
        session.run(y)
    text = str(caught.value)
    for part in ("inside", "failing", "TestFail", "one:0", "float32", "test_step.py"):
        assert part in text, part
    assert caught.value.op is y.op


def test_session_works_after_an_error():
    good = tf.constant(1)
    with tf.Session() as session:
        for _ in range(3):
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(fail())
            assert session.run(good) == 1
