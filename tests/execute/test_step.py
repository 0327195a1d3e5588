"""Steps: errors, deadlines, cancellation."""
from __future__ import annotations

import _thread
import signal
import threading
import time

import numpy as np
import pytest

import penstock as tf
from penstock.errors import CancelledError, KernelError
from penstock.execute import region
from penstock.graph.opdef import REGISTRY, op
from penstock.native.config import config
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


@pytest.fixture(params=["off", "eager"])
def endless(request, monkeypatch):
    """The last value of a loop that goes on as long as what is fed to it says, by NumPy or natively; a session that has run it."""
    monkeypatch.setattr(config, "mode", request.param)
    turns = tf.placeholder(tf.int64, [])
    last, total = tf.while_loop(lambda i, total: i < turns, lambda i, total: (i + 1, total + i % 7), [tf.constant(0, tf.int64)] * 2)

    def run(session, times, **arguments):
        return session.run([last, total], {turns: times}, **arguments)
    with tf.Session() as session:
        for _ in range(3):
            assert run(session, 10) == [10, 24]
        yield session, run


def test_an_endless_loop_ends_at_its_deadline(endless):
    session, run = endless
    for _ in range(2):
        start = time.monotonic()
        with pytest.raises(tf.errors.DeadlineExceededError, match="did not end within 200 ms"):
            run(session, 2 ** 62, options=tf.RunOptions(timeout_in_ms=200))
        assert time.monotonic() - start < 10
    assert run(session, 10) == [10, 24]


def test_an_endless_loop_ends_with_its_session(endless):
    session, run = endless
    threading.Timer(0.2, session.close).start()
    with pytest.raises(tf.errors.CancelledError, match="Session has been closed"):
        run(session, 2 ** 62)


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals go to the main thread")
def test_an_endless_loop_ends_at_ctrl_c(endless):
    session, run = endless
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have its jobs ignore it
    try:
        threading.Timer(0.2, _thread.interrupt_main).start()
        with pytest.raises(KeyboardInterrupt):
            run(session, 2 ** 62)
    finally:
        signal.signal(signal.SIGINT, before)
    assert run(session, 10) == [10, 24]


def test_a_long_native_loop_comes_back_now_and_then_and_goes_on_where_it_was(monkeypatch):
    monkeypatch.setattr(config, "mode", "eager")
    pauses = []
    monkeypatch.setattr(region, "check_step", lambda: pauses.append(1))
    zero = tf.constant(0, tf.int64)
    inner = lambda total: tf.while_loop(lambda i, _: i < 7_000_000, lambda i, total: (i + 1, total + i % 7), [zero, total])[1]
    outer = tf.while_loop(lambda n, _: n < 3, lambda n, total: (n + 1, inner(total)), [0, zero])
    with tf.Session() as session:
        for _ in range(2):
            assert list(session.run(outer)) == [3, 3 * 21_000_000]
    assert pauses


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
