"""What a simulation says to people: rates, times, where it is tight, and what would help most."""
from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from penstock.simulate.costs import Costs
from penstock.simulate.job import Cluster, Result, readable
from penstock.simulate.machines import MachineSpec
from penstock.simulate.predict import predict
from penstock.simulate.profile import LEFT, WORKER, JobProfile, TaskPart
from penstock.simulate.splitting import split

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
        why = (f"in {result.ran_out:g} seconds of the cluster's time: the network, the machines or stragglers are too slow" if result.ran_out
               else "the workers wait for each other forever")
        return f"{lines[0]}\ntoo few steps ended to tell their time: {why}"
    lines.append(f"  steps per second   {result.rate:,.1f} in all, {result.rate / cluster.workers:,.2f} per worker")
    lines.append("  time of a step     " + ", ".join(f"p{round(100 * share)} {_time(result.quantile(share))}" for share in (0.1, 0.5, 0.9)))
    if result.dropped:
        lines.append(f"  gradients dropped  {result.dropped:,} (too late for their update)")
    lines.append(f"  busiest task       {_busiest(result)}")
    if result.busy_links:
        link, share = max(result.busy_links.items(), key=lambda item: item[1])
        lines.append(f"  busiest link       {link}: {share:.0%} of its bandwidth")
    for task, variables in memory_of(profile).items():
        for who, steps in _memory_of_steps(task, result):
            lines.append(f"  memory             {who}: {_size(variables)} of variables" + (f", {_size(steps)} of steps" if steps else ""))
    return "\n".join(lines)


def describe_costs(costs: Costs) -> str:
    """What messages cost, in time of one core."""
    names = ("a step of a session", "another task's part, for the worker", "a part, for the task that runs it", "a message with tensors, at each end",
             "a tensor, to send and to receive", "a byte, to send and to receive")
    columns = [("What messages cost, in time of one core", names)]
    for name, each in (("on one machine", costs), ("between machines", costs.network)):
        if each is not None:
            columns.append((name, (_time(each.step), _time(each.order), _time(each.part), _time(each.message),
                                   f"{_time(each.send)} + {_time(each.receive)}",
                                   f"{each.send_byte * 1e9:.2f} + {each.receive_byte * 1e9:.2f} ns")))
    rows = zip(*((head, *cells) for head, cells in columns))
    return "\n".join(f"{first:40} " + "".join(f"{cell:>22}" for cell in cells) for first, *cells in rows)


def _busiest(result: Result) -> str:
    """The task whose interpreter, of which it has one, or whose cores leave the least time."""
    task, in_python = max(result.busy_interpreters.items(), key=lambda item: item[1])
    machine, cores = max(result.busy_machines.items(), key=lambda item: item[1])
    if cores >= in_python:
        return f"{machine}: {cores:.0%} of its cores"
    own = f", {result.busy_machines[task]:.0%} of its cores" if task in result.busy_machines else ""
    return f"{task}: {in_python:.0%} of the time of its interpreter{own}"


def as_json(profile: JobProfile, cluster: Cluster, result: Result, hints: list[str]) -> str:
    """The prediction for programs."""
    return json.dumps({
        "program": profile.program, "ps": profile.ps, "workers": cluster.workers, "steps_per_second": result.rate,
        "step_seconds": {f"p{round(100 * share)}": result.quantile(share) for share in (0.1, 0.5, 0.9)}, "dropped_gradients": result.dropped,
        "busy_tasks": result.busy_machines, "busy_interpreters": result.busy_interpreters, "busy_links": result.busy_links,
        "bytes_of_variables": {task: size for task, size in memory_of(profile).items() if size},
        "bytes_of_steps": result.step_memory, "hints": hints}, indent=1)


def memory_of(profile: JobProfile) -> dict[str, int]:
    """The bytes of the variables of each task that has some, or that takes memory for steps."""
    totals = {task: sum(sizes.values()) for task, sizes in profile.variables.items()}
    steps = {part.task: part.memory for part in profile.step.parts if part.task != LEFT}
    return {task: totals.get(task, 0) for task in sorted({*totals, *steps}) if totals.get(task) or steps.get(task)}


def _memory_of_steps(task: str, result: Result) -> Iterator[tuple[str, int]]:
    """Who takes how much for steps: a task; of all workers the one that takes the most."""
    if task != WORKER:
        yield readable(task), result.step_memory.get(task, 0)
        return
    workers = [size for name, size in result.step_memory.items() if name.startswith("/job:worker/")]
    yield "each worker", max(workers, default=0)


def too_large(profile: JobProfile, memory: float, machines: tuple[MachineSpec, ...] = ()) -> str:
    """Why the job does not fit into the memory of its machines; "" if it does. Tasks that no machine is named for have machines with ``memory``.

    A parameter server is counted with one step at a time, which is the least that it needs.
    """
    totals = memory_of(profile)
    groups = [(spec.tasks, spec.memory) for spec in machines]
    named = {task for tasks, _ in groups for task in tasks}
    for tasks, limit in [*groups, *(((task,), memory) for task in totals if task not in named)]:
        measured = [_measured_task(task) for task in tasks if _measured_task(task) in totals]
        steps = {part.task: part for part in profile.step.parts if part.task in measured}
        total = sum(totals[task] + (steps[task].memory if task in steps else 0) for task in measured)
        if limit and total > limit:
            return f"{', '.join(map(readable, tasks))} would {_what_is_too_large(profile, measured, list(steps.values()), limit, total)}"
    return ""


def _what_is_too_large(profile: JobProfile, measured: list[str], steps: list[TaskPart], limit: float, total: int) -> str:
    """The largest variable, or the largest operation of a step, whichever takes more."""
    sizes = {name: size for task in set(measured) for name, size in profile.variables.get(task, {}).items()}
    name, size = max(sizes.items(), key=lambda item: item[1], default=("", 0))
    part = max(steps, key=lambda each: each.largest_memory, default=TaskPart(""))
    held = sum(sum(profile.variables.get(task, {}).values()) for task in measured)
    needed = f" and need {_size(total - held)} for a step" if total > held else ""
    if size >= part.largest_memory:
        return (f"hold {_size(held)} of variables{needed}, its machine has {_size(limit)}; the largest is '{name}' with {_size(size)}: "
                "partition it (tf.fixed_size_partitioner), or add parameter servers (--ps)")
    return (f"hold {_size(held)} of variables{needed}, its machine has {_size(limit)}; operation '{part.largest}' "
            f"takes the most, {_size(part.largest_memory)}: make batches smaller, or put parts of the model onto other tasks")


def _measured_task(task: str) -> str:
    """The task that was measured in the place of this one."""
    return WORKER if task.startswith("/job:worker/") else task


def what_would_help(profile: JobProfile, costs: Costs, cluster: Cluster, result: Result, steps: int) -> Iterator[WhatIf]:
    """Changes of the cluster alone, the best first."""
    changes = [("twice the cores", cluster.with_more(cores=2.0))]
    if not cluster.one_machine:
        changes += [("twice the bandwidth", cluster.with_more(bandwidth=2.0)), ("half the latency", cluster.with_more(latency=0.5))]
    for change, other in changes:
        gain = predict(profile, costs, other, steps).rate / result.rate - 1.0
        if gain > WORTH:
            yield WhatIf(change, gain)


def with_less_on_the_busiest(profile: JobProfile, result: Result) -> tuple[str, JobProfile] | None:
    """The job, if the parameter server that leaves the least time shared its work with another one, and what that means. None if it cannot."""
    servers = [part.task for part in profile.step.parts if part.task != WORKER]
    if not servers:
        return None
    busy = {task: max(result.busy_interpreters.get(readable(task), 0.0), result.busy_machines.get(readable(task), 0.0)) for task in servers}
    task = max(servers, key=lambda each: busy[each])
    shared = split(profile, task)
    if shared is None:
        return None
    if shared.variable:
        return f"'{shared.variable}' ({_size(shared.bytes)}) in two partitions, one on a task beside {readable(task)}", shared.profile
    return f"half of {readable(task)}'s variables on a further task", shared.profile


def uneven(profile: JobProfile) -> str:
    """A parameter server that holds much more than the others, and why; "" if there is none."""
    totals = {task: total for task, total in memory_of(profile).items() if task != WORKER}
    if profile.ps < 2 or not totals:
        return ""
    task, most = max(totals.items(), key=lambda item: item[1])
    share = most / sum(totals.values())
    name, size = max(profile.variables[task].items(), key=lambda item: item[1])
    if share * profile.ps < _UNEVEN:
        return ""
    if size < most / 4:
        return (f"{readable(task)} holds {share:.0%} of the bytes: place variables by their size "
                "(ps_strategy=tf.contrib.training.GreedyLoadBalancingStrategy(...) of tf.train.replica_device_setter)")
    return f"{readable(task)} holds {share:.0%} of the bytes: partition '{name}' ({_size(size)})"


def unshared(profile: JobProfile, cluster: Cluster) -> str:
    """That each worker has variables of its own, which no other sees; "" if it is not so."""
    alone = all(part.task == WORKER for part in profile.step.parts)
    return "the workers share no variable, each trains a model of its own: add --ps, or --mode allreduce" if alone and cluster.workers > 1 else ""


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1.0 else f"{seconds * 1e3:.2f} ms"


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:,.0f} {unit}" if unit == "B" else f"{count:,.1f} {unit}"
        count /= 1000
    return f"{count:,.1f} TB"
