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
    """Records what is asked of other tasks, and how to answer."""

    def __init__(self):
        self.asked, self.given_up = {}, []

    def fetch(self, task, step, keys, deliver):
        self.asked[task] = (step, keys, deliver)
        return lambda: self.given_up.append(task)


@pytest.fixture
def network():
    return Network()


@pytest.fixture
def steps(network):
    return Steps(PS, network.fetch)


def outcomes():
    got = []
    return got, lambda value, error: got.append((value, error))


def test_tensors_are_taken_before_and_after_they_are_sent(steps):
    outbox = steps.outbox(1, WORKER, [HERE, HERE + "2"])  # another task asks before this one has heard of the step
    step = steps.begin(1, 0)
    assert outbox.empty
    step.rendezvous.send(HERE, 5)
    assert outbox.take() == [(HERE, 5)]
    step.rendezvous.send(HERE + "2", 6)
    steps.end(1)
    steps.taken(1)
    assert len(steps) == 1, "something is still to be taken"
    assert steps.outbox(1, WORKER, []).take() == [(HERE + "2", 6)]
    steps.taken(1)
    assert len(steps) == 0


def test_all_that_is_ready_is_taken_at_once(steps):
    step = steps.begin(1, 0)
    for value in range(3):
        step.rendezvous.send(f"{HERE}{value}", value)
    assert [value for _, value in steps.outbox(1, WORKER, [f"{HERE}{value}" for value in range(3)]).take()] == [0, 1, 2]


def test_tensors_of_other_tasks_are_fetched(steps, network):
    got, callback = outcomes()
    step = steps.begin(7, 0)
    step.rendezvous.fetch({WORKER: [THERE]})
    step.rendezvous.recv(THERE, callback)
    number, keys, deliver = network.asked[WORKER]
    assert (number, keys, got) == (7, [THERE], [])
    deliver(THERE, "value", None)
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
    received, receive = outcomes()
    outbox = steps.outbox(1, WORKER, [HERE])
    step = steps.begin(1, 0)
    step.rendezvous.fetch({WORKER: [THERE, THERE + "2"]})
    step.rendezvous.recv(THERE, receive)
    steps.abort(1, lost)
    assert step.cancelled is lost and network.given_up == [WORKER]
    with pytest.raises(UnavailableError):
        outbox.take()
    network.asked[WORKER][2]("", None, AbortedError(None, None, "given up"))
    step.rendezvous.recv(THERE + "2", receive)
    assert received == [(None, lost), (None, lost)], "the reason, not its consequence"
    with pytest.raises(UnavailableError):
        steps.outbox(1, WORKER, [HERE])
    assert len(steps) == 0


def test_an_abort_before_the_step_begins(steps):
    lost = UnavailableError(None, None, "lost")
    steps.abort(3, lost)
    with pytest.raises(UnavailableError):
        steps.begin(3, 0)


def test_a_lost_sender_ends_its_receiver(steps, network):
    got, callback = outcomes()
    lost = UnavailableError(None, None, "lost")
    step = steps.begin(1, 0)
    step.rendezvous.fetch({WORKER: [THERE]})
    step.rendezvous.recv(THERE, callback)
    network.asked[WORKER][2]("", None, lost)
    assert got == [(None, lost)]


def test_a_failed_part_tells_its_receivers(steps):
    bad = AbortedError(None, None, "bad")
    outbox = steps.outbox(1, WORKER, [HERE])
    steps.begin(1, 0)
    steps.end(1, bad)
    with pytest.raises(AbortedError, match="bad"):
        outbox.take()
    assert len(steps) == 0


def test_what_nobody_takes_is_dropped(steps, monkeypatch):
    steps.begin(1, 0).rendezvous.send(HERE, 5)
    steps.end(1)
    monkeypatch.setattr("penstock.distributed.steps._FORGOTTEN_AFTER", -1.0)
    steps.begin(2, 0)
    assert len(steps) == 1
