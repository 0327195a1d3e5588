"""Coordinator and LooperThread: stopping together, and the first error."""
from __future__ import annotations

import sys
import threading
import time

import pytest

import penstock as tf

Coordinator, LooperThread = tf.train.Coordinator, tf.train.LooperThread


def test_threads_stop_together():
    coord = Coordinator()
    rounds = []

    def work():
        while not coord.should_stop():
            rounds.append(1)
            time.sleep(0.001)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    coord.request_stop()
    coord.join(threads, stop_grace_period_secs=5)
    assert coord.joined and not any(thread.is_alive() for thread in threads)


def test_join_raises_the_first_error():
    coord = Coordinator()
    coord.request_stop(ValueError("first"))
    coord.request_stop(ValueError("second"))
    with pytest.raises(ValueError, match="first"):
        coord.join([])
    with pytest.raises(ValueError, match="first"):
        coord.raise_requested_exception()
    coord.clear_stop()
    coord.raise_requested_exception()
    assert not coord.should_stop() and not coord.joined


def test_error_info_as_a_tuple():
    coord = Coordinator()
    try:
        raise KeyError("k")
    except KeyError:
        coord.request_stop(sys.exc_info())
    with pytest.raises(KeyError):
        coord.join()


@pytest.mark.parametrize(("types", "clean"), [(None, True), ((), False), ((ZeroDivisionError,), False)])
def test_clean_stops(types, clean):
    coord = Coordinator(types)
    coord.request_stop(tf.errors.OutOfRangeError(None, None, "the end"))
    if clean:
        coord.join()
    else:
        with pytest.raises(tf.errors.OutOfRangeError):
            coord.join()


def test_stop_on_exception():
    coord = Coordinator()
    with coord.stop_on_exception():
        raise ZeroDivisionError("inside")
    assert coord.should_stop() and coord.wait_for_stop(0)
    with pytest.raises(ZeroDivisionError):
        coord.join()


def test_an_error_after_join_is_raised_where_it_is_reported():
    coord = Coordinator()
    coord.join()
    with pytest.raises(ValueError, match="too late"):
        coord.request_stop(ValueError("too late"))


def test_grace_period():
    coord, end = Coordinator(), threading.Event()
    thread = threading.Thread(target=end.wait, name="stubborn")
    thread.start()
    try:
        coord.request_stop()
        start = time.monotonic()
        with pytest.raises(RuntimeError, match="threads still running: stubborn"):
            coord.join([thread], stop_grace_period_secs=0.1)
        assert time.monotonic() - start < 20
        coord.join([thread], stop_grace_period_secs=0.01, ignore_live_threads=True)
    finally:
        end.set()
        thread.join()


def test_join_without_a_stop_waits_for_the_threads():
    coord = Coordinator()
    thread = threading.Thread(target=lambda: time.sleep(0.05))
    thread.start()
    coord.register_thread(thread)
    coord.join()
    assert not thread.is_alive() and not coord.should_stop()


def test_wait_for_stop_times_out():
    assert not Coordinator().wait_for_stop(0.01)


@pytest.mark.parametrize("interval", [None, 0.002])
def test_looper(interval):
    coord, calls = Coordinator(), []

    def target(step, limit):
        calls.append(step)
        if len(calls) == limit:
            coord.request_stop()

    thread = LooperThread.loop(coord, interval, target, args=(1,), kwargs={"limit": 4})
    coord.join(stop_grace_period_secs=5)
    assert not thread.is_alive() and len(calls) == 4


def test_looper_reports_errors():
    coord = Coordinator()
    LooperThread.loop(coord, None, lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        coord.join(stop_grace_period_secs=5)


def test_looper_methods_can_be_overridden():
    coord, seen = Coordinator(), []

    class Mine(LooperThread):
        def start_loop(self):
            seen.append("start")

        def run_loop(self):
            seen.append("run")
            coord.request_stop()

        def stop_loop(self):
            seen.append("stop")

    Mine(coord, None).start()
    coord.join(stop_grace_period_secs=5)
    assert seen == ["start", "run", "stop"]
    with pytest.raises(ValueError, match="must be a Coordinator"):
        LooperThread("coord", 1)
