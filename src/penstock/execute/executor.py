"""The executor: runs the tables of a plan.

A device works in one thread. Its nodes run there one after the other as their inputs are ready; kernels that may wait (queues, Python functions) get
a thread of their own meanwhile, and a tensor from another device arrives through the rendezvous. The first error cancels the whole step; the step
returns only when every kernel that it started has ended, or has been given ``GRACE`` seconds to notice the cancellation.
"""
from __future__ import annotations

import queue
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

from penstock import errors
from penstock.errors import OpError
from penstock.execute.blockwise import unshared_arrays
from penstock.execute.device_plan import DevicePlan
from penstock.execute.failures import describe, waiting_at
from penstock.execute.step import GRACE, Step, out_of_time, working_for
from penstock.execute.threads import POOL
from penstock.execute.trace import Recorder


def run_in_order(part: DevicePlan, slots: list[Any]) -> None:
    """The whole of a step in which nothing waits, or nothing could go on meanwhile: nodes stand in a runnable order already.

    ``slots`` are a copy of ``part.start``, with the feeds.
    """
    index = 0
    values: Sequence[Any] = ()
    try:
        for index, kernel, take, references, targets, frees, spares in part.rows:  # noqa: B007 (named in the error)
            values = take(slots)
            for slot in frees:
                slots[slot] = None
            if references:
                values = list(values)
                for position in references:
                    values[position] = values[position].read()
            result = kernel(*values, spare=unshared_arrays(values, spares)) if spares else kernel(*values)
            if type(targets) is int:
                slots[targets] = result
            elif targets:
                for place, slot in enumerate(targets):
                    slots[slot] = result[place]
            del result
            values = ()
    except Exception as error:
        raise describe(error, part.nodes[index], list(values))  # noqa: B904 (it sets the cause)


def run_together(runs: list[DeviceRun], step: Step) -> None:
    """Runs each device in a thread of its own, the last one in this thread."""
    done: queue.SimpleQueue[None] = queue.SimpleQueue()

    def work(run: DeviceRun) -> None:
        try:
            run.run()
        finally:
            done.put(None)

    for run in runs[:-1]:
        POOL.submit(lambda run=run: work(run))  # type: ignore[misc]
    try:
        for run in runs[-1:]:
            run.run()
        for _ in runs[:-1]:
            done.get()
    except BaseException as error:  # Ctrl-C: nothing may go on behind the caller's back
        step.cancel(errors.CancelledError(None, None, f"the step was interrupted: {error!r}"))
        raise
    if step.cancelled is not None:
        raise step.cancelled


class DeviceRun:
    """The nodes of one device in one step."""

    def __init__(self, part: DevicePlan, slots: list[Any], step: Step, record: Recorder | None) -> None:
        self.part, self.slots, self.step, self.record = part, slots, step, record
        self.pending, self.uses = list(part.pending), list(part.uses)
        self.ready = deque(index for index, count in enumerate(self.pending) if not count)
        self.events: queue.SimpleQueue[tuple[int, Any, OpError | None]] = queue.SimpleQueue()  # what ended elsewhere
        self.under_way = 0
        self.asked: dict[int, int] = {}  # when what is received was asked for, if that is recorded

    def run(self) -> None:
        """Until all nodes have run, or the step is cancelled."""
        with working_for(self.step):
            unregister = self.step.on_cancel(lambda: self._came(-1, None, None))
            try:
                self._loop()
            finally:
                unregister()
            if self.step.cancelled is not None:
                self._drain()

    def _loop(self) -> None:
        while self.step.cancelled is None and (self.ready or self.under_way):
            while self.ready and self.step.cancelled is None:
                self._start(self.ready.popleft())
            if self.under_way and self.step.cancelled is None:
                self._take(self.step.remaining())
            elif self.step.deadline is not None and self.step.remaining() == 0.0 and (self.ready or self.under_way):
                self._expire()

    def _start(self, index: int) -> None:
        key = self.part.receives[index]
        if key is not None:
            self.under_way += 1
            if self.record:
                self.asked[index] = time.perf_counter_ns()
            self.step.rendezvous.recv(key, lambda value, error: self._came(index, value, error))
        elif self.part.waits[index] and not self._nothing_else(index):
            self.under_way += 1
            POOL.submit(lambda: self._run_elsewhere(index))
        else:
            try:
                result = self._call(index)
            except OpError as error:
                self.step.cancel(error)
            else:
                self._finish(index, result)

    def _nothing_else(self, index: int) -> bool:
        """May a kernel that waits do so in this thread? If nothing can go on meanwhile, and it notices the end of the step by itself."""
        return not self.ready and not self.under_way and self.step.deadline is None and self.part.nodes[index].definition.cancellable

    def _call(self, index: int) -> Any:
        part, node = self.part, self.part.nodes[index]
        values = [self.slots[slot] for slot in part.inputs[index]]
        start = time.perf_counter_ns() if self.record else 0
        try:
            for position in part.references[index]:
                values[position] = values[position].read()
            result = part.kernels[index](*values)
        except Exception as error:
            raise describe(error, node, values)  # noqa: B904 (it sets the cause)
        if self.record:
            results = [result] if type(part.outputs[index]) is int else list(result or ())
            changed = self.record(part.device, node, start, time.perf_counter_ns(), results)
            if changed is not None:
                result = changed[0] if type(part.outputs[index]) is int else changed
        return result

    def _run_elsewhere(self, index: int) -> None:
        with working_for(self.step):
            try:
                result = self._call(index)
            except OpError as error:
                self._came(index, None, error)
            else:
                self._came(index, result, None)

    def _take(self, timeout: float | None) -> None:
        """Waits for something that ended elsewhere."""
        try:
            index, result, error = self.events.get(timeout=timeout)
        except queue.Empty:
            self._expire()
            return
        if index >= 0:
            self._end_node(index, result, error)

    def _came(self, index: int, result: Any, error: Any) -> None:
        """What a node waited for has come, or the error that ends the waiting; -1: the step was cancelled."""
        self.events.put((index, result, error))

    def _end_node(self, index: int, result: Any, error: OpError | None) -> None:
        self.under_way -= 1
        if error is not None:
            self.step.cancel(error)
        else:
            if index in self.asked and self.record:
                self.record(self.part.device, self.part.nodes[index], self.asked[index], time.perf_counter_ns(), [result])
            self._finish(index, result)

    def _expire(self) -> None:
        waiting = [waiting_at(self.part.nodes[i], [self.slots[slot] for slot in self.part.inputs[i]])
                   for i, count in enumerate(self.pending) if count == 0 and self.part.waits[i]]
        self.step.cancel(out_of_time(self.step.timeout_ms, waiting))

    def _finish(self, index: int, result: Any) -> None:
        part, slots = self.part, self.slots
        targets = part.outputs[index]
        if type(targets) is int:
            slots[targets] = result
        elif targets:
            for slot, item in zip(targets, result):
                slots[slot] = item
        self.pending[index] = -1
        for slot in part.inputs[index]:
            self.uses[slot] -= 1
            if not self.uses[slot]:
                slots[slot] = None
        for after in part.successors[index]:
            self.pending[after] -= 1
            if not self.pending[after]:
                self.ready.append(after)

    def _drain(self) -> None:
        """After a cancellation: gives the kernels under way time to end."""
        end = time.monotonic() + GRACE
        while self.under_way and time.monotonic() < end:
            try:
                index, _, _ = self.events.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                return
            self.under_way -= index >= 0
