"""Runs programs with the control-flow nodes of the paper: every node runs once per (frame, iteration) it is in.

The rules. A *dead* input makes a node dead: it does not run, and its outputs are dead. Switch makes one of its outputs dead. Merge runs on its first
input that is not dead. Enter starts a frame, the run of a loop, or gives a running one a further value; a constant Enter gives it to every iteration.
NextIteration hands a value to the next iteration of its frame, unless it is dead. Exit brings a value out to the frame around; if no Exit of a frame
was ever alive when all of the frame has ended, its Exits are dead there.

A dead value crosses between tasks as such: Send hands it over, and the other task's Recv is dead. In a loop a tensor crosses once per iteration,
under a key that names it; who makes a Recv run in every iteration is told in ``distributed/spanning_loops.py``. Kernels that may wait get a thread of
their own; what they give, like what is received, comes back as an *arrival*.
"""
from __future__ import annotations

import queue
import time
from collections import deque
from typing import Any

import numpy as np

from penstock.errors import CancelledError, InvalidArgumentError, KernelError, OpError
from penstock.execute.device_plan import DevicePlan
from penstock.execute.environment import Environment
from penstock.execute.failures import describe, waiting_at
from penstock.execute.kernels import kernel_of, references_of
from penstock.execute.plan import PackedPlan, Wrap, in_step_of_its_own, read_reference
from penstock.execute.probe import Frames, Probed
from penstock.execute.step import GRACE, Step, out_of_time, working_for
from penstock.execute.threads import POOL
from penstock.execute.trace import Recorder
from penstock.ops.transfer import Recv, Send, rendezvous_key
from penstock.program.devices import Kernel
from penstock.program.ir import Node, Program, blocks
from penstock.state.resources import Ref

DEAD: Any = object()
_BACK = "next"
_WITHOUT_CALL = frozenset(["enter", "exit", "merge", _BACK])  # nodes that pass values on without a kernel, which would read a reference


class FramePlan:
    """What is the same in every step: kernels, consumers, and what each node waits for. See ``plan.Plan``."""

    why_numpy = "its step has primitives of control flow (Switch, Merge, Enter, ...)"
    drivable: PackedPlan | None = None
    in_order = False

    def __init__(self, program: Program, environment: Environment) -> None:
        self.program = program
        self.node_lists = [program.nodes]  # all of it runs in one executor
        self.device_plans: list[DevicePlan] = []
        fed = {node: 0 for node in program.args}
        self.kernels: dict[Node, Kernel] = {}
        self.references: dict[Node, tuple[int, ...]] = {}
        self.consumers: dict[Node, list[tuple[Node, int, int]]] = {node: [] for node in program.nodes}  # (consumer, its input, our output)
        self.waiting: dict[Node, list[Node]] = {node: [] for node in program.nodes}  # by a control edge
        for node in program.nodes:
            self.kernels[node], self.references[node] = kernel_of(node, environment), references_of(node, fed)
            for position, (producer, output) in enumerate(node.inputs):
                self.consumers[producer].append((node, position, output))
            for other in node.control:
                self.waiting[other].append(node)
        self.waits = {node for node in program.nodes if blocks(node)}
        self.sources = [node for node in program.nodes if node not in fed and not node.inputs and not node.control]
        self.once = [*self.sources, *(node for node, _ in program.fetches)]

    def run(self, feeds: list[Any], step: Step, record: Recorder | None = None) -> list[Any]:
        """The fetched values; InvalidArgumentError if one of them is dead."""
        values = zip(self._run(feeds, step, record), self.program.fetches)
        return [read_reference(value, node) if isinstance(value, Ref) else value for value, (node, _) in values]

    def call(self, arguments: list[Any], step: Step, record: Recorder | None = None) -> list[Any]:
        """The outputs of a function."""
        return in_step_of_its_own(step, lambda inner: self._run(arguments, inner, record), record)

    def _run(self, feeds: list[Any], step: Step, record: Recorder | None) -> list[Any]:
        with working_for(step):
            return FrameRun(self, step, record).run(feeds)

    def wrap_kernels(self, wrap: Wrap) -> None:
        """Puts other kernels in the place of all kernels."""
        self.kernels = {node: wrap(node, kernel, None) for node, kernel in self.kernels.items()}


class _Frame:
    """The run of a loop: started in one iteration of the frame around it."""

    def __init__(self, name: str, parent: _Frame | None, parent_iteration: int) -> None:
        self.name, self.parent, self.parent_iteration = name, parent, parent_iteration
        self.path: str = f"{parent.path}/{name}@{parent_iteration}" if parent is not None else ""
        self.iterations = [_Iteration()]
        self.constants: list[tuple[Node, Any]] = []
        self.children: dict[tuple[str, int], _Frame] = {}
        self.active = 0  # nodes under way here, and frames inside that have not ended
        self.entered = 0  # Enter nodes that have brought their value
        self.dead_exits: set[Node] = set()
        self.live_exits: set[Node] = set()



class _Iteration:
    """What has arrived at the nodes of one iteration."""

    def __init__(self) -> None:
        self.inputs: dict[Node, list[Any]] = {}
        self.data: dict[Node, int] = {}  # inputs that have not arrived yet
        self.control: dict[Node, int] = {}  # nodes to wait for that have not run yet
        self.dead: set[Node] = set()
        self.done: set[Node] = set()


class FrameRun:
    """One step of a program with control-flow nodes."""

    def __init__(self, plan: FramePlan, step: Step, record: Recorder | None = None) -> None:
        self.plan, self.step, self.record = plan, step, record
        self._probed = record if isinstance(record, Probed) else None
        self.under_way: dict[tuple[_Frame, int, Node], list[Any]] = {}  # nodes that wait, and their inputs
        self.arrived: queue.SimpleQueue[tuple[tuple[_Frame, int, Node] | None, Any, OpError | None]] = queue.SimpleQueue()
        self.root = _Frame("", None, 0)
        self.ready: deque[tuple[_Frame, int, Node]] = deque()
        self.results: dict[tuple[Node, int], Any] = {}
        self.fetched = set(plan.program.fetches)
        self.enters: dict[str, int] = {}
        for node in plan.program.nodes:
            if node.definition.control_flow == "enter":
                name = node.attrs["frame_name"]
                self.enters[name] = self.enters.get(name, 0) + 1

    def run(self, feeds: list[Any]) -> list[Any]:
        """The fetched values; InvalidArgumentError if one of them is dead."""
        unregister = self.step.on_cancel(lambda: self.arrived.put((None, None, None)))
        try:
            self._loop(feeds)
        except BaseException as error:  # kernels that wait in other threads must not outlive the step
            self.step.cancel(error if isinstance(error, OpError) else CancelledError(None, None, f"the step was interrupted: {error!r}"))
            self._drain()
            raise
        finally:
            unregister()
        for index, (node, output) in enumerate(self.plan.program.fetches):
            if (node, output) not in self.results:
                raise InvalidArgumentError(None, node.origin, (
                    f"Retval[{index}] does not have value: '{node.name}:{output}' is dead, it lies behind a branch that was not taken or in a loop"))
        return [self.results[edge] for edge in self.plan.program.fetches]

    def _loop(self, feeds: list[Any]) -> None:
        for node, value in zip(self.plan.program.args, feeds):
            self._deliver(self.root, 0, node, [value])
        for node in self.plan.sources:
            self._schedule(self.root, 0, node)
        while self.ready or self.under_way:
            if self.step.cancelled is not None:
                raise self.step.cancelled
            if self.step.remaining() == 0.0:
                self._expire()
            if not self.ready:
                self._receive()
                continue
            frame, iteration, node = self.ready.popleft()
            self._fire(frame, iteration, node)
            self._end_activity(frame)

    def _end_activity(self, frame: _Frame) -> None:
        frame.active -= 1
        self._end_if_done(frame)

    def _schedule(self, frame: _Frame, iteration: int, node: Node) -> None:
        frame.active += 1
        self.ready.append((frame, iteration, node))

    # --- running a node ----------------------------------------------------------------------------------------------

    def _fire(self, frame: _Frame, number: int, node: Node) -> None:
        state = frame.iterations[number]
        kind = node.definition.control_flow
        inputs = state.inputs.pop(node, [])
        dead = node in state.dead and kind != "trigger"
        if kind in _WITHOUT_CALL and self._probed is not None and not dead:
            inputs = self._values_after_probe(frame, number, node, inputs)
        if kind == "enter":
            self._enter(frame, number, node, DEAD if dead else inputs[0])
        elif kind == "exit":
            self._exit(frame, node, DEAD if dead else inputs[0])
        elif kind == _BACK:
            if not dead:
                self._next(frame, number + 1, node, inputs[0])
        elif kind == "merge":
            self._deliver(frame, number, node, [DEAD, DEAD] if dead else inputs)
        elif dead:
            if node.definition is Send:
                self.step.rendezvous.send(_key(frame, number, node), DEAD)
            self._deliver(frame, number, node, [DEAD] * len(node.output_dtypes))
        elif node.definition is Recv:
            place = self._waits_at(frame, number, node, [])
            self.step.rendezvous.recv(_key(frame, number, node), lambda value, error: self.arrived.put((place, [value], error)))  # type: ignore[arg-type]
        elif node.definition is Send:
            value = _value_of(inputs[0], node) if self.plan.references[node] else inputs[0]
            self.step.rendezvous.send(_key(frame, number, node), value)
            self._deliver(frame, number, node, [])
        elif node in self.plan.waits:
            place = self._waits_at(frame, number, node, inputs)
            POOL.submit(lambda: self._call_elsewhere(place, list(inputs)))
        else:
            self._deliver(frame, number, node, self._call(frame, number, node, inputs))

    def _waits_at(self, frame: _Frame, number: int, node: Node, inputs: list[Any]) -> tuple[_Frame, int, Node]:
        frame.active += 1
        self.under_way[frame, number, node] = inputs
        return frame, number, node

    def _call_elsewhere(self, place: tuple[_Frame, int, Node], inputs: list[Any]) -> None:
        with working_for(self.step):
            try:
                self.arrived.put((place, self._call(*place, inputs), None))
            except OpError as error:
                self.arrived.put((place, None, error))

    def _call(self, frame: _Frame, number: int, node: Node, inputs: list[Any]) -> list[Any]:
        try:
            for position in self.plan.references[node]:
                inputs[position] = inputs[position].read()
            start = time.perf_counter_ns()
            result = self.plan.kernels[node](*inputs)
        except Exception as error:
            raise describe(error, node, inputs)  # noqa: B904 (it sets the cause)
        if node.definition.control_flow == "switch":
            data, taken = result
            outputs = [DEAD, data] if taken else [data, DEAD]
        else:
            outputs = [result] if len(node.output_dtypes) == 1 else list(result or ())
        if self._probed is not None:
            outputs = self._values_after_probe(frame, number, node, outputs)
        elif self.record is not None and node.definition.control_flow != "switch":
            self.record(node.device, node, start, time.perf_counter_ns(), outputs)
        return outputs

    def _values_after_probe(self, frame: _Frame, number: int, node: Node, outputs: list[Any]) -> list[Any]:
        """Tells a probe of a node, and in which iterations of which loops it ran; returns what to go on with."""
        assert self._probed is not None
        return self._probed.within(_iterations(frame, number))(node.device, node, 0, 0, outputs) or outputs

    def _receive(self) -> None:
        """Waits for a value from another task or thread, for as long as the step has time."""
        try:
            place, values, error = self.arrived.get(timeout=self.step.remaining())
        except queue.Empty:
            return  # the loop sees that the time is over
        if place is None:
            return  # the cancellation's wake-up call
        del self.under_way[place]
        if error is not None:
            raise error
        self._deliver(*place, values)
        self._end_activity(place[0])

    def _expire(self) -> None:
        waiting = [waiting_at(node, inputs) for (_, _, node), inputs in self.under_way.items()]
        raise out_of_time(self.step.timeout_ms, waiting)

    def _drain(self) -> None:
        """After a failure: gives the kernels under way time to end."""
        end = time.monotonic() + GRACE
        while self.under_way and time.monotonic() < end:
            try:
                place, _, _ = self.arrived.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                return
            if place is not None:
                del self.under_way[place]

    # --- what arrives where ------------------------------------------------------------------------------------------

    def _deliver(self, frame: _Frame, number: int, node: Node, outputs: list[Any]) -> None:
        """Hands outputs to the consumers in this iteration; a node without live outputs is dead for those who wait for it."""
        for index, value in enumerate(outputs):
            if frame is self.root and (node, index) in self.fetched and value is not DEAD:
                self.results[node, index] = value
        for consumer, position, output in self.plan.consumers[node]:
            self._arrive(frame, number, consumer, position, outputs[output])
        dead = bool(outputs) and all(value is DEAD for value in outputs)
        for consumer in self.plan.waiting[node]:
            self._arrive(frame, number, consumer, -1, DEAD if dead else None)

    def _arrive(self, frame: _Frame, number: int, node: Node, position: int, value: Any) -> None:
        """A value for input ``position`` of a node, or for -1 the news that a node it waits for has run."""
        state = frame.iterations[number]
        if node in state.done:
            return
        if value is not DEAD and position in self.plan.references[node] and node.definition.control_flow in _WITHOUT_CALL:
            value = _value_of(value, node)
        if node not in state.data:
            state.data[node], state.control[node] = self._input_count(node, number), len(node.control)
            state.inputs[node] = [None] * len(node.inputs)
        if position < 0:
            state.control[node] -= 1
            if value is DEAD:
                state.dead.add(node)
        elif node.definition.control_flow == "merge":
            self._arrive_at_merge(state, node, position, value)
        else:
            state.data[node] -= 1
            state.inputs[node][position] = value
            if value is DEAD:
                state.dead.add(node)
        if not state.data[node] and not state.control[node]:
            state.done.add(node)
            self._schedule(frame, number, node)

    def _arrive_at_merge(self, state: _Iteration, node: Node, position: int, value: Any) -> None:
        if value is not DEAD:
            state.inputs[node] = [value, np.int32(position)]
            state.data[node] = 0  # the first live input is enough
        elif state.data[node]:
            state.data[node] -= 1
            if not state.data[node]:
                state.dead.add(node)

    def _input_count(self, node: Node, number: int) -> int:
        """How many inputs a node gets: the Merge of a loop gets other ones in the first iteration than later."""
        count = len(node.inputs)
        if node.definition.control_flow != "merge":
            return count
        back = sum(producer.definition.control_flow == _BACK for producer, _ in node.inputs)
        return count - back if number == 0 else back or count

    # --- frames ------------------------------------------------------------------------------------------------------

    def _enter(self, frame: _Frame, number: int, node: Node, value: Any) -> None:
        key = (node.attrs["frame_name"], number)
        child = frame.children.get(key)
        if child is None:
            child = frame.children[key] = _Frame(key[0], frame, number)
            frame.active += 1
        child.entered += 1
        if node.attrs["is_constant"]:
            child.constants.append((node, value))
            for iteration in range(len(child.iterations)):
                self._deliver(child, iteration, node, [value])
        else:
            self._deliver(child, 0, node, [value])
        self._end_if_done(child)

    def _next(self, frame: _Frame, number: int, node: Node, value: Any) -> None:
        if len(frame.iterations) <= number:
            frame.iterations.append(_Iteration())
            for enter, constant in frame.constants:
                self._deliver(frame, number, enter, [constant])
        self._deliver(frame, number, node, [value])

    def _exit(self, frame: _Frame, node: Node, value: Any) -> None:
        if frame.parent is None:
            raise InvalidArgumentError(None, node.origin, f"The node '{node.name}' (type {node.definition.type}) leaves a loop that it is not in.")
        if value is DEAD:
            frame.dead_exits.add(node)
            return
        frame.live_exits.add(node)
        self._deliver(frame.parent, frame.parent_iteration, node, [value])

    def _end_if_done(self, frame: _Frame) -> None:
        """A frame has ended when all its Enters have come and nothing in it is under way."""
        parent = frame.parent
        if parent is None or frame.active or frame.entered < self.enters.get(frame.name, 0):
            return
        if parent.children.pop((frame.name, frame.parent_iteration), None) is None:
            return
        for node in frame.dead_exits - frame.live_exits:
            self._deliver(parent, frame.parent_iteration, node, [DEAD])
        parent.active -= 1
        self._end_if_done(parent)


def _key(frame: _Frame, number: int, node: Node) -> str:
    """The key under which a Send and a Recv meet in one iteration."""
    key = rendezvous_key(node.attrs)
    return f"{key};{frame.path};{number}" if frame.parent is not None else key


def _iterations(frame: _Frame, number: int) -> Frames:
    """The loops that a node runs in, from the outside to the inside, and their iterations."""
    return () if frame.parent is None else (*_iterations(frame.parent, frame.parent_iteration), (frame.name, number))


def _value_of(reference: Any, node: Node) -> Any:
    """The value of a variable for a node that is not called; the error of the node if it has none."""
    try:
        return reference.read()
    except KernelError as error:
        raise describe(error, node, [reference])  # noqa: B904 (it sets the cause)
