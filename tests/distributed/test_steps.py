"""The table of a worker's steps and their rendezvous."""
from __future__ import annotations

import time

import pytest

from penstock.distributed import grpc_common, step_run
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

    def fetch(self, task, step, deliver):
        self.asked[task] = (step, deliver)
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


class Receiver:
    """Another task that asks for its tensors of a step."""

    def __init__(self, steps, number):
        self.got, self.ended = [], []
        steps.attach(number, WORKER, lambda key, value: self.got.append((key, value)), self.ended.append)


def test_tensors_are_taken_before_and_after_they_are_sent(steps):
    early = Receiver(steps, 1)  # another task asks before this one has heard of the step
    step = steps.begin(1, 0)
    step.rendezvous.send(HERE, 5)
    assert early.got == [(HERE, 5)] and early.ended == []
    steps.end(1)
    assert early.ended == [None] and len(steps) == 0


def test_what_was_not_asked_for_yet_waits(steps):
    step = steps.begin(1, 0)
    for value in range(3):
        step.rendezvous.send(f"{HERE}{value}", value)
    steps.end(1)
    assert len(steps) == 1, "something is still to be taken"
    late = Receiver(steps, 1)
    assert [value for _, value in late.got] == [0, 1, 2] and late.ended == [None] and len(steps) == 0
    again = Receiver(steps, 1)
    assert again.got == [] and again.ended == [None], "nothing is given twice"


def test_tensors_of_other_tasks_are_fetched(steps, network):
    got, callback = outcomes()
    step = steps.begin(7, 0)
    step.rendezvous.fetch([WORKER])
    step.rendezvous.recv(THERE, callback)
    number, deliver = network.asked[WORKER]
    assert (number, got) == (7, [])
    deliver(THERE, "value", None)
    assert got == [("value", None)]


def test_a_task_that_runs_the_step_with_us_is_not_asked(steps, network):
    got, callback = outcomes()
    sent = []
    deliver = steps.connect(7, WORKER, lambda key, value: sent.append((key, value)))
    step = steps.begin(7, 0)
    step.rendezvous.fetch([WORKER])
    assert not network.asked
    step.rendezvous.recv(THERE, callback)
    deliver(THERE, "value", None)
    step.rendezvous.send(HERE, 5)
    assert got == [("value", None)] and sent == [(HERE, 5)]
    steps.end(7)
    assert len(steps) == 0


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
    receiver = Receiver(steps, 1)
    step = steps.begin(1, 0)
    step.rendezvous.fetch([WORKER])
    step.rendezvous.recv(THERE, receive)
    steps.abort(1, lost)
    assert step.cancelled is lost and network.given_up == [WORKER] and receiver.ended == [lost]
    network.asked[WORKER][1]("", None, AbortedError(None, None, "given up"))
    step.rendezvous.recv(THERE + "2", receive)
    assert received == [(None, lost), (None, lost)], "the reason, not its consequence"
    with pytest.raises(UnavailableError):
        Receiver(steps, 1)
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
    step.rendezvous.fetch([WORKER])
    step.rendezvous.recv(THERE, callback)
    network.asked[WORKER][1]("", None, lost)
    assert got == [(None, lost)]


def test_a_failed_part_tells_its_receivers(steps):
    bad = AbortedError(None, None, "bad")
    receiver = Receiver(steps, 1)
    steps.begin(1, 0)
    steps.end(1, bad)
    assert receiver.ended == [bad] and len(steps) == 0


def test_what_nobody_takes_is_dropped(steps):
    """Also if no other step ever begins here, and no thread waits forever for a step that never began."""
    steps.begin(1, 0).rendezvous.send(HERE, 5)
    steps.end(1)
    receiver = Receiver(steps, 2)
    steps.begin(3, 0)
    now = time.monotonic()
    steps.drop_forgotten(now + 60.0)
    assert len(steps) == 3
    steps.drop_forgotten(now + 180.0)
    assert len(steps) == 1, "the one that runs"
    assert isinstance(receiver.ended[0], AbortedError)


def test_a_lost_task_is_an_error_within_the_time_that_is_promised():
    """Pings that are not answered, then a task that cannot be interrupted when it is told to abort: docs/failures.md says 10 s."""
    options = dict(grpc_common.CLIENT_OPTIONS)
    silent = (options["grpc.keepalive_time_ms"] + options["grpc.keepalive_timeout_ms"]) / 1000
    assert silent + step_run.PATIENCE < 10.0
