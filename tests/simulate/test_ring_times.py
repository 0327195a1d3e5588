"""Rings of many workers, phase by phase, beside the same rings event by event."""
from __future__ import annotations

import pytest

from penstock.simulate.job import Cluster, Simulation
from penstock.simulate.network import NetworkSpeed
from penstock.simulate.predict import predict
from penstock.simulate.ring import all_reduce
from penstock.simulate.ring_times import RingTimes
from penstock.simulate.stragglers import Straggling
from simulate.test_job import FREE, MEGABYTE, USUAL, dense

pytestmark = pytest.mark.graph


@pytest.mark.parametrize("late", [Straggling(), Straggling("pareto", 0.01, 2.0)])
@pytest.mark.parametrize("costs", [FREE, USUAL])
@pytest.mark.parametrize("workers", [2, 3, 8])
def test_phases_take_what_events_take(workers, costs, late):
    profile = all_reduce(dense(2, 4 * MEGABYTE, compute=0.01), workers)
    cluster = Cluster(workers, 4, NetworkSpeed(1e9, 1e-4), straggling=late)
    by_events, by_phases = Simulation(profile, costs, cluster).run(10, 1), RingTimes(profile, costs, cluster).run(10, 1)
    assert by_phases.rate == pytest.approx(by_events.rate, rel=0.03)
    assert by_phases.quantile(0.5) == pytest.approx(by_events.quantile(0.5), rel=0.02 if late == Straggling() else 0.1)  # of few delays that jump
    assert max(by_phases.busy_machines.values()) == pytest.approx(max(by_events.busy_machines.values()), rel=0.05)
    assert max(by_phases.busy_interpreters.values()) == pytest.approx(max(by_events.busy_interpreters.values()), rel=0.05)
    assert max(by_phases.busy_links.values()) == pytest.approx(max(by_events.busy_links.values()), rel=0.05)


def test_a_large_ring_runs_all_of_its_steps_and_is_traced():
    spans = []
    result = predict(all_reduce(dense(2, 20 * MEGABYTE), 200), USUAL, Cluster(200), 10, span=lambda *span: spans.append(span))
    assert len(result.step_times) == 10 * 200
    assert len({task for task, *_ in spans}) == 200 and all(begin < end for _, _, begin, end in spans)
    bytes_alone, waiting = 2 * 40 * MEGABYTE / 1.25e9, 398 * (50e-6 + 4 * USUAL.message)  # each byte twice, over 10 Gbit/s
    assert bytes_alone < result.quantile(0.5) < bytes_alone + waiting


def test_a_large_ring_on_shared_machines_is_run_by_events(monkeypatch):
    monkeypatch.setattr("penstock.simulate.predict._MOST_MESSAGES", 1000)
    result = predict(all_reduce(dense(2), 8), USUAL, Cluster(8, one_machine=True), 100)
    assert len(result.step_times) == 8 * (1000 // (8 * 14)) and set(result.busy_machines) == {"the machine"}
