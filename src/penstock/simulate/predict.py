"""Runs a job on a simulated cluster: event by event, or, where a ring has too many of them, phase by phase."""
from __future__ import annotations

from penstock.simulate.costs import Costs
from penstock.simulate.job import Cluster, Result, Simulation, Span
from penstock.simulate.profile import JobProfile
from penstock.simulate.ring_times import RingTimes, is_ring, phases

_MOST_MESSAGES = 200_000  # of a ring, which events can do in seconds


def predict(profile: JobProfile, costs: Costs, cluster: Cluster, steps: int = 100, seed: int = 0, span: Span | None = None) -> Result:
    """What the job does in so many steps of each worker.

    A ring whose workers share machines is always run by events. If it is large, fewer of its steps do: they are much alike.
    """
    per_step = cluster.workers * phases(profile) if is_ring(profile) else 0
    if per_step * steps > _MOST_MESSAGES:
        if not cluster.one_machine and not cluster.machines:
            return RingTimes(profile, costs, cluster, seed, span).run(steps)
        return Simulation(profile, costs, cluster, seed, span).run(max(_MOST_MESSAGES // per_step, 2), 1)
    return Simulation(profile, costs, cluster, seed, span).run(steps)
