"""The rendezvous: its contract, one sentence per test."""
from __future__ import annotations

import threading

from penstock.execute.rendezvous import Rendezvous


def receiver(rendezvous: Rendezvous, key: str) -> list:
    got: list = []
    rendezvous.recv(key, lambda value, error: got.append((value, error)))
    return got


def test_send_before_recv():
    rendezvous = Rendezvous()
    rendezvous.send("k", 5)
    assert receiver(rendezvous, "k") == [(5, None)]


def test_recv_before_send():
    rendezvous = Rendezvous()
    got = receiver(rendezvous, "k")
    assert got == []
    rendezvous.send("k", 5)
    assert got == [(5, None)]


def test_keys_do_not_mix():
    rendezvous = Rendezvous()
    a, b = receiver(rendezvous, "a"), receiver(rendezvous, "b")
    rendezvous.send("b", 1)
    assert (a, b) == ([], [(1, None)])


def test_abort_ends_waiting_and_later_receivers():
    rendezvous, error = Rendezvous(), RuntimeError("lost")
    waiting = receiver(rendezvous, "k")
    rendezvous.abort(error)
    assert waiting == [(None, error)]
    assert receiver(rendezvous, "other") == [(None, error)]


def test_first_error_stays():
    rendezvous, first = Rendezvous(), RuntimeError("first")
    rendezvous.abort(first)
    rendezvous.abort(RuntimeError("second"))
    assert receiver(rendezvous, "k") == [(None, first)]


def test_a_value_may_be_none():
    rendezvous = Rendezvous()
    rendezvous.send("k", None)
    assert receiver(rendezvous, "k") == [(None, None)]


def test_called_back_exactly_once_under_contention():
    rendezvous = Rendezvous()
    counts: list[int] = []
    lock = threading.Lock()

    def count(value, error):
        with lock:
            counts.append(value)

    def send():
        for index in range(500):
            rendezvous.send(f"k{index}", index)

    def receive():
        for index in range(500):
            rendezvous.recv(f"k{index}", count)

    threads = [threading.Thread(target=send), threading.Thread(target=receive)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(counts) == list(range(500))
