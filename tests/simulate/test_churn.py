"""500 workers that join, leave and fail at random: no step is lost, no wait is endless, nothing grows with the number of steps."""
from __future__ import annotations

import pytest

from penstock.distributed.step_run import PATIENCE
from penstock.distributed.steps import _REMEMBERED
from penstock.distributed.tenants import LEASE
from penstock.simulate.churn import Churn, Habits


def check_invariants(cluster: Churn, compute: float) -> None:
    counts = cluster.counts
    assert counts.begun == counts.done + counts.failed + counts.given_up, "every step ends, once"
    assert counts.longest < compute + PATIENCE + 1.0, "a step that fails does so when a task is lost, or when patience is over"
    for server in cluster.servers.values():
        assert len(server.steps) == 0, "what steps left is dropped"
        assert len(server.steps._ended) <= _REMEMBERED
        alive = {worker.session for worker in cluster.workers.values()}
        assert server.sessions <= alive, "sessions of workers that are gone are forgotten"
        assert len(server.tenants) <= len(alive) and len(server.connections) <= len(alive)
    assert len(cluster.clock._events) <= len(cluster.tasks) + 2 * len(cluster.workers) + 10


@pytest.mark.graph
def test_workers_that_come_and_go():
    habits = Habits(worker_life=600.0, ps_life=1200.0, compute=120.0)
    cluster = Churn(2, 500, habits, seed=1)
    counts = cluster.run(1800.0, rest=LEASE + 300.0)
    assert counts.deaths["worker"] > 500 and counts.deaths["ps"] > 0 and counts.failed > 0 and counts.given_up > 0
    assert counts.done > 3000
    check_invariants(cluster, habits.compute)


@pytest.mark.graph
def test_the_work_of_a_step_is_linear_in_the_tasks_that_it_touches():
    """Frames per step: an order, a tensor each way and a reply for each parameter server, however many workers there are."""
    steady = Habits(worker_life=1e9, ps_life=1e9)
    for ps, workers in ((1, 5), (2, 5), (8, 5), (8, 40)):
        counts = Churn(ps, workers, steady).run(20.0)
        registering = 2 * ps * workers
        assert (counts.frames - registering) / counts.begun == pytest.approx(4 * ps, rel=0.1)


@pytest.mark.nightly
def test_hours():
    habits = Habits(worker_life=1800.0, ps_life=3600.0, compute=30.0)
    cluster = Churn(4, 500, habits, seed=2)
    counts = cluster.run(3 * 3600.0, rest=LEASE + 300.0)
    assert counts.deaths["worker"] > 1000 and counts.done > 100_000
    check_invariants(cluster, habits.compute)
