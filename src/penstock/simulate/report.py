"""What a simulation says to people: rates, times, where it is tight, and what would help most."""
from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from penstock.simulate.costs import Costs
from penstock.simulate.job import Cluster, Result, Simulation, readable
from penstock.simulate.machines import MachineSpec
from penstock.simulate.profile import WORKER, JobProfile

WORTH = 0.03  # gain that is worth telling
_UNEVEN = 1.5  # times the mean: a parameter server that holds more is told


@dataclass(frozen=True)
class WhatIf:
    """A change of the cluster, and what it would bring: 0.5 is half as many steps again."""

    change: str
    gain: float


def describe(profile: JobProfile, cluster: Cluster, result: Result) -> str:
    """The prediction as text."""
    lines = [f"{profile.program}: {cluster.workers} workers, {profile.ps} ps, "
             + ("all on one machine" if cluster.one_machine else f"on {len(cluster.machines)} machines" if cluster.machines
                else f"each on a machine of {cluster.cores:g} cores")]
    if not result.step_times:
        return lines[0] + "\nno step ended: the workers wait for each other for ever"
    lines.append(f"  steps per second   {result.rate:,.1f} in all, {result.rate / cluster.workers:,.2f} per worker")
    lines.append("  time of a step     " + ", ".join(f"p{round(100 * share)} {_time(result.quantile(share))}" for share in (0.1, 0.5, 0.9)))
    if result.dropped:
        lines.append(f"  gradients dropped  {result.dropped:,} (too late for their update)")
    machine, busy = max(result.busy_machines.items(), key=lambda item: item[1])
    lines.append(f"  busiest task       {machine}: {busy:.0%} of its cores")
    if result.busy_links:
        link, share = max(result.busy_links.items(), key=lambda item: item[1])
        lines.append(f"  busiest link       {link}: {share:.0%} of its bandwidth")
    for task, size in memory_of(profile).items():
        lines.append(f"  variables          {readable(task)}: {_size(size)}")
    return "\n".join(lines)


def as_json(profile: JobProfile, cluster: Cluster, result: Result, hints: list[str]) -> str:
    """The prediction for programs."""
    return json.dumps({
        "program": profile.program, "ps": profile.ps, "workers": cluster.workers, "steps_per_second": result.rate,
        "step_seconds": {f"p{round(100 * share)}": result.quantile(share) for share in (0.1, 0.5, 0.9)}, "dropped_gradients": result.dropped,
        "busy_tasks": result.busy_machines, "busy_links": result.busy_links, "bytes_of_variables": memory_of(profile), "hints": hints}, indent=1)


def memory_of(profile: JobProfile) -> dict[str, int]:
    """The bytes of the variables of each task that has some."""
    totals = {task: sum(sizes.values()) for task, sizes in profile.variables.items()}
    return {task: total for task, total in sorted(totals.items()) if total}


def too_large(profile: JobProfile, memory: float, machines: tuple[MachineSpec, ...] = ()) -> str:
    """Why the job does not fit into the memory of its machines; "" if it does. Tasks that no machine is named for have machines with ``memory``."""
    totals = memory_of(profile)
    groups = [(spec.tasks, spec.memory) for spec in machines]
    named = {task for tasks, _ in groups for task in tasks}
    for tasks, limit in [*groups, *(((task,), memory) for task in totals if task not in named)]:
        holding = {_measured(task): totals[_measured(task)] for task in tasks if _measured(task) in totals}
        total = sum(totals[_measured(task)] for task in tasks if _measured(task) in totals)
        if limit and total > limit:
            sizes = {name: size for task in holding for name, size in profile.variables[task].items()}
            name, size = max(sizes.items(), key=lambda item: item[1])
            who = ", ".join(map(readable, tasks))
            return (f"{who} would hold {_size(total)} of variables, its machine has {_size(limit)}; the largest is '{name}' with {_size(size)}: "
                    "partition it (tf.fixed_size_partitioner), or add parameter servers (--ps)")
    return ""


def _measured(task: str) -> str:
    """The task that was measured in the place of this one."""
    return WORKER if task.startswith("/job:worker/") else task


def what_would_help(profile: JobProfile, costs: Costs, cluster: Cluster, result: Result, steps: int) -> Iterator[WhatIf]:
    """Changes of the cluster alone, the best first."""
    changes = [("twice the cores", cluster.with_more(cores=2.0))]
    if not cluster.one_machine:
        changes += [("twice the bandwidth", cluster.with_more(bandwidth=2.0)), ("half the latency", cluster.with_more(latency=0.5))]
    for change, other in changes:
        gain = Simulation(profile, costs, other).run(steps).rate / result.rate - 1.0
        if gain > WORTH:
            yield WhatIf(change, gain)


def uneven(profile: JobProfile) -> str:
    """A parameter server that holds much more than the others, and why; "" if there is none."""
    totals = {task: total for task, total in memory_of(profile).items() if task != WORKER}
    if profile.ps < 2 or not totals:
        return ""
    task, most = max(totals.items(), key=lambda item: item[1])
    share = most / sum(totals.values())
    name, size = max(profile.variables[task].items(), key=lambda item: item[1])
    if share * profile.ps < _UNEVEN or size < most / 4:
        return ""
    return f"{readable(task)} holds {share:.0%} of the bytes: partition '{name}' ({_size(size)})"


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1.0 else f"{seconds * 1e3:.2f} ms"


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:,.0f} {unit}" if unit == "B" else f"{count:,.1f} {unit}"
        count /= 1000
    return f"{count:,.1f} TB"
