"""All-reduce over a ring of many workers, all of them at once: arrays of times with an entry per worker, in the place of events.

With 200 workers a step of the ring has 398 phases, in each of which every worker sends a chunk and receives one: 80,000 messages per step, too many
for a queue of events. But all workers do the same, each on a machine of its own, and a phase depends on the one before it and on the neighbour only.
So the times of a phase follow from those of the phase before. What messages, orders, links and cores cost is as in ``job.py``; in which order an
interpreter takes what comes at the same moment is not. ``tests/simulate/test_ring_times.py`` compares the two.
"""
from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from penstock.distributed.cluster_spec import task_name
from penstock.simulate.costs import Costs
from penstock.simulate.job import ORDER_BYTES, Cluster, Result, Span, readable
from penstock.simulate.profile import LEFT, WORKER, JobProfile, WorkBlock

Times = np.ndarray  # seconds, one per worker


@dataclass
class _Link:
    """When the last message has passed, at each worker's end of the network."""

    out: Times
    into: Times


def is_ring(profile: JobProfile) -> bool:
    """True for what ``ring.all_reduce`` has made."""
    return {part.task for part in profile.step.parts} == {WORKER, LEFT}


def phases(profile: JobProfile) -> int:
    """Messages that a worker receives in a step of a ring."""
    left = profile.step.part(LEFT)
    return 0 if left is None else len(left.blocks)


class RingTimes:
    """A job of workers that stand in a ring, each on a machine of its own. ``span`` is told of steps."""

    def __init__(self, profile: JobProfile, costs: Costs, cluster: Cluster, seed: int = 0, span: Span | None = None) -> None:
        own, left = profile.step.part(WORKER), profile.step.part(LEFT)
        assert own is not None and left is not None
        self._before, self._after, self._chunk = own.blocks[0], own.blocks[-1], float(left.blocks[0].sends[0].bytes)
        self._memory = own.memory + left.memory
        self._adding = [block.python for block in own.blocks[2:-1:2]]  # after each phase
        self._costs, self._cluster, self._random, self._span = costs.between(False), cluster, random.Random(seed), span
        self._slower = self._costs.slower(2 * len(self._adding) * self._chunk)  # what a worker sends and receives in a step
        self._free = np.zeros(cluster.workers)  # when interpreters are
        self._link = _Link(np.zeros(cluster.workers), np.zeros(cluster.workers))

    def run(self, steps: int = 100, warm: int = 5) -> Result:
        """So many steps of every worker, after those that do not count."""
        begin, result = np.zeros(self._cluster.workers), Result()
        for number in range(warm + steps):
            end = self._step(begin + self._delays())
            if self._span is not None:
                for index, (first, last) in enumerate(zip(begin, end)):
                    self._span(task_name("worker", index), f"step {number}", float(first), float(last))
            if number == warm:
                started = float(begin.max())
            if number >= warm:
                result.step_times.extend((end - begin).tolist())
            begin = end
        result.seconds = float(end.max()) - started
        self._fill_in(result, steps)
        return result

    def _delays(self) -> Times:
        return np.array([self._cluster.straggling.delay(self._random) for _ in range(self._cluster.workers)])

    def _step(self, begin: Times) -> Times:
        """When each worker's step is over."""
        costs = self._costs
        ordered = self._python(begin, costs.step + costs.order / 2)
        done = self._compute(ordered, self._before)
        self._python(np.roll(self._send(ordered, ORDER_BYTES, to=-1), -1), costs.part / 2)  # to run what is its right neighbour's
        moving = self._chunk * self._slower * np.array([costs.send_byte, costs.receive_byte])
        for adding in self._adding:
            sent = self._python(done, costs.message + costs.send + moving[0])
            arrived = np.roll(self._send(sent, self._chunk + ORDER_BYTES, to=1), 1)
            done = self._python(arrived, costs.message + costs.receive + moving[1] + adding)
        told = self._send(self._python(sent, costs.part / 2), ORDER_BYTES, to=1)  # to the worker for whom the left one has sent
        heard = self._python(np.roll(told, 1), costs.order / 2)
        return np.maximum(self._compute(done, self._after), heard)

    def _python(self, wanted: Times, seconds: float) -> Times:
        """When work in the interpreters is done that could begin then."""
        self._free = np.maximum(wanted, self._free) + seconds
        return self._free

    def _compute(self, wanted: Times, block: WorkBlock) -> Times:
        """The same for a block, whose native code leaves the interpreter free."""
        return (self._python(wanted, block.python + self._slower * block.moving) if block.python or block.moving else wanted) + self._native(block)

    def _native(self, block: WorkBlock) -> float:
        cores = self._cluster.cores
        return block.native * (block.serial + (1.0 - block.serial) / cores if cores > 1.0 else 1.0 / cores)

    def _send(self, wanted: Times, size: float, to: int) -> Times:
        """When messages to the neighbour, which stand in line at both ends, have arrived: by sender."""
        network, link = self._cluster.network, self._link
        start = np.maximum(wanted, link.out)
        link.out = start + size / network.bandwidth
        link.into = np.maximum(np.maximum(link.into, np.roll(start, to) + network.latency) + size / network.bandwidth,
                               np.roll(link.out, to) + network.latency)
        return np.roll(link.into, -to)

    def _fill_in(self, result: Result, steps: int) -> None:
        costs, rounds = self._costs, len(self._adding)
        messages = rounds * (2 * costs.message + costs.send + costs.receive + self._slower * self._chunk * (costs.send_byte + costs.receive_byte))
        in_python = costs.step + costs.order + costs.part + messages + sum(self._adding)
        in_python += sum(block.python + self._slower * block.moving for block in (self._before, self._after))
        work = in_python + self._before.native + self._after.native
        result.step_memory = {task_name("worker", index): self._memory for index in range(self._cluster.workers)}
        sent = rounds * (self._chunk + ORDER_BYTES) + 2 * ORDER_BYTES
        for index in range(self._cluster.workers):
            name = readable(task_name("worker", index))
            result.busy_interpreters[name] = in_python * steps / result.seconds
            result.busy_machines[name] = work * steps / result.seconds / self._cluster.cores
            for direction in ("out", "in"):
                result.busy_links[f"{name} {direction}"] = sent * steps / result.seconds / self._cluster.network.bandwidth
