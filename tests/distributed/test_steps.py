"""The table of a worker's steps and their rendezvous."""
from __future__ import annotations

import pytest

from penstock.distributed.steps import Steps
from penstock.errors import AbortedError, UnavailableError

pytestmark = pytest.mark.graph
PS, WORKER = "/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0"
HERE = f"{PS}/device:CPU:0;{WORKER}/device:CPU:0;x"  # sent by the ps, received by the worker
THERE = f"{WORKER}/device:CPU:0;{PS}/device:CPU:0;y"


class Network:
    """Records what is asked of other tasks; ``answer`` is how they reply."""

    def __init__(self):
        self.asked, self.given_up = {}, []

    def fetch(self, task, step, key, callback):
        self.asked[key] = (task, step, callback)
        return lambda: self.given_up.append(key)


@pytest.fixture
def network():
    return Network()


@pytest.fixture
def steps(network):
    return Steps(PS, network.fetch)


def outcomes():
    got = []
    return got, lambda value, error: got.append((value, error))


def test_a_tensor_is_taken_before_and_after_it_is_sent(steps):
    got, callback = outcomes()
    steps.take(1, HERE, callback)  # another task asks before this one has heard of the step
    step = steps.begin(1, 0)
    assert not got
    step.rendezvous.send(HERE, 5)
    assert got == [(5, None)]
    step.rendezvous.send(HERE + "2", 6)
    steps.end(1)
    assert len(steps) == 1, "something is still to be taken"
    steps.take(1, HERE + "2", callback)
    assert got[1:] == [(6, None)] and len(steps) == 0


def test_tensors_of_other_tasks_are_fetched(steps, network):
    got, callback = outcomes()
    step = steps.begin(7, 0)
    step.rendezvous.recv(THERE, callback)
    task, number, arrived = network.asked[THERE]
    assert (task, number) == (WORKER, 7)
    arrived("value", None)
    assert got == [("value", None)]


def test_a_step_runs_once(steps):
    steps.begin(1, 0)
    with pytest.raises(AbortedError, match="twice"):
        steps.begin(1, 0)
    steps.end(1)
    with pytest.raises(AbortedError, match="has run"):
        steps.begin(1, 0)


def test_an_abort_ends_all_waiting(steps, network):
    lost = UnavailableError(None, None, "lost")
    (taken, take), (received, receive) = outcomes(), outcomes()
    step = steps.begin(1, 0)
    steps.take(1, HERE, take)
    step.rendezvous.recv(THERE, receive)
    steps.abort(1, lost)
    assert step.cancelled is lost and taken == [(None, lost)] and network.given_up == [THERE]
    network.asked[THERE][2](None, AbortedError(None, None, "given up"))
    assert received == [(None, lost)], "the reason, not its consequence"
    with pytest.raises(UnavailableError):
        steps.take(1, HERE, take)
    assert len(steps) == 0


def test_an_abort_before_the_step_begins(steps):
    lost = UnavailableError(None, None, "lost")
    steps.abort(3, lost)
    with pytest.raises(UnavailableError):
        steps.begin(3, 0)


def test_a_failed_part_tells_its_receivers(steps):
    got, callback = outcomes()
    bad = AbortedError(None, None, "bad")
    steps.begin(1, 0)
    steps.take(1, HERE, callback)
    steps.end(1, bad)
    assert got == [(None, bad)] and len(steps) == 0


def test_what_nobody_takes_is_dropped(steps, monkeypatch):
    steps.begin(1, 0).rendezvous.send(HERE, 5)
    steps.end(1)
    monkeypatch.setattr("penstock.distributed.steps._FORGOTTEN_AFTER", -1.0)
    steps.begin(2, 0)
    assert len(steps) == 1
