"""Runs a region of nodes of an OpenCL device: a table of kernels for the shapes at hand. What has no kernel, the host runs in between."""
from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.errors import KernelError, invalid_argument
from penstock.execute.cut_region import CutRegion, Interpret, report_of_calls
from penstock.execute.report import PlanReport, watch
from penstock.graph import dtypes
from penstock.native.config import config
from penstock.native.specialise.specialisation import Specialisation
from penstock.opencl.emitter import DeviceEmitter
from penstock.opencl.memory import DeviceArray, upload
from penstock.opencl.table import DeviceTable
from penstock.program.failure import InnerFailure
from penstock.program.ir import RegionBody

if TYPE_CHECKING:
    from penstock.opencl.queue import DeviceQueue

_VALUES = "values of running steps"


class DeviceRegion(CutRegion["_Ready"]):
    """A region of one plan; ``on_host``: the positions of outputs that are host values."""

    runner, raised = "the host", (KernelError,)  # out of memory

    def __init__(self, body: RegionBody, environment: Any, interpret: Interpret, queue: DeviceQueue, on_host: Collection[int] = ()) -> None:
        super().__init__(body, environment, interpret)
        self._queue, self._on_host = queue, on_host

    def run(self, *inputs: Any) -> list[Any]:
        """The outputs."""
        if not self.fallbacks:
            outputs = self._by_kernels(inputs)
            if outputs is not None:
                return outputs
        return self._by_nodes(inputs)

    def ran_before(self, kernels: int | None) -> None:
        """Makes no difference."""

    def is_in_function(self) -> None:
        """Makes no difference."""

    def _by_kernels(self, inputs: Sequence[Any]) -> list[Any] | None:
        """The outputs; None if the nodes have to run one by one: a variable has no value yet, or some node has no kernel."""
        values, borrowed, locked = list(inputs), list[Any](), list[Any]()
        try:
            for position in self._refs:
                values[position] = inputs[position].borrow()
                borrowed.append(inputs[position])
            values = [value if isinstance(value, DeviceArray) else upload(self._queue, value, _VALUES) for value in values]
            signature = tuple((value.shape, value.dtype) for value in values)
            ready = self._find(signature)
            if ready is None:
                return None
            variables = {inputs[position] for position in ready.updated}
            if len(variables) != len(ready.updated) or any(inputs[k] in variables for k in self._refs if k not in ready.updated):
                return None  # a variable that is written comes in twice
            values = [None if inputs[position] in variables else value for position, value in enumerate(values)] if variables else values
            for ref in sorted(variables, key=id):  # always in the same order: no two regions wait for each other
                ref.give_back()
                borrowed.remove(ref)
                ref.lock.acquire()
                locked.append(ref)
            generators = {}
            for position in ready.updated:
                values[position] = value = inputs[position].mutable()
                if (value.shape, value.dtype) != signature[position]:  # another thread has given it another shape
                    return None
                if not isinstance(value, DeviceArray):  # a random generator, which lives on the host
                    values[position], generators[position] = upload(self._queue, value, _VALUES), value
                del value
            outputs = ready.run(values, inputs, generators)
        except (AttributeError, TypeError, KernelError) as error:
            if isinstance(error, KernelError) and "uninitialized" not in error.message:
                raise
            if not isinstance(error, KernelError) and config.strict:
                raise
            return None  # no variable, or one without a value: the node that wants it says so
        finally:
            values.clear()  # before the locks go: the next write must find that nothing else holds the memory
            for ref in locked:
                ref.lock.release()
            for ref in borrowed:
                ref.give_back()
        return self._refuse(inputs) if outputs is None else outputs

    def _refuse(self, inputs: Sequence[Any]) -> list[Any]:
        """A kernel has found fault with its inputs: the nodes' own kernels say what it is."""
        self._interpret(self.body, self._environment, {node.name: "" for node in self.body.nodes}, ()).run(inputs)
        raise InnerFailure(self.body.nodes[-1], [], invalid_argument("an OpenCL kernel refused its inputs"), [])

    def _find(self, signature: Any) -> _Ready | None:
        with self._lock:
            ready = self._ready.get(signature)
            if ready is None:
                ready = self._specialise(signature)
                if ready is None:
                    return None
                self._keep(signature, ready)
            return ready

    def _specialise(self, signature: Any) -> _Ready | None:
        body, epilogues = self.body, self._environment.passes.remapping
        shapes = [(shape, dtypes.as_dtype(dtype)) for shape, dtype in signature]

        def make() -> _Ready:
            emitter = DeviceEmitter(self._queue.traits, epilogues)
            table = functools.partial(DeviceTable, self._queue, f"the step of {body.nodes[-1].name}")
            made = Specialisation(body.nodes, body.args, body.outputs, shapes, emitter, table)
            made.table.compile()
            return _Ready(made, self._queue, self._on_host)

        return self._attempt(make)

    def describe(self) -> PlanReport:
        """What its kernels did while they were watched, for all shapes; and what the host ran."""
        types = {node.name: node.definition.type for node in self.body.nodes}
        fallbacks = [(name, types.get(name, ""), f"the host runs it for the device, with copies: {why}") for name, why in self.fallbacks.items()]
        return self._report([*(ready.describe() for ready in self._ready.values()), *self._reports_of_regions()], fallbacks)


class _Ready:
    """The kernels for one signature."""

    def __init__(self, made: Specialisation, queue: DeviceQueue, on_host: Collection[int]) -> None:
        self._table: DeviceTable = made.table
        self._fresh, self._results, self.updated, self._queue, self._on_host = made.fresh, made.results, made.updated, queue, on_host
        self.runs, self._seconds = 0, [0.0] * len(self._table.calls)
        self._known: dict[int, DeviceArray] = {}  # results that are the same in every run, by their identity

    def run(self, values: list[Any], inputs: Sequence[Any], generators: dict[int, np.ndarray]) -> list[Any] | None:
        """The outputs; None if a kernel found fault with the inputs."""
        outputs = [DeviceArray(self._queue, shape, dtype, _VALUES) for shape, dtype in self._fresh]
        if watch.on:
            self.runs += 1
        if not self._table.run([*values, *outputs], generators, self._seconds if watch.on else None):
            return None
        return [self._on_its_side(position, *each, outputs, inputs) for position, each in enumerate(self._results)]

    def _on_its_side(self, position: int, kind: str, what: Any, outputs: list[DeviceArray], inputs: Sequence[Any]) -> Any:
        """An output where its users look for it: on the host, or on the device."""
        if position not in self._on_host:
            return self._result(kind, what, outputs, inputs)
        if kind == "known":
            return np.asarray(what)
        value = self._result(kind, what, outputs, inputs)
        return value.numpy() if isinstance(value, DeviceArray) else value

    def _result(self, kind: str, what: Any, outputs: list[DeviceArray], inputs: Sequence[Any]) -> Any:
        if kind == "either":  # the host has to know which of the two
            condition, *cases = (self._result(how, part, outputs, inputs) for how, part in what)
            return cases[0 if bool(condition.numpy()) else 1]
        if kind == "output":
            return outputs[what]
        if kind == "input":
            return inputs[what]
        if id(what) not in self._known:
            self._known[id(what)] = upload(self._queue, np.asarray(what), "constants")
        return self._known[id(what)]

    def describe(self) -> PlanReport:
        """What its kernels cost on average."""
        return report_of_calls(self._table, self._seconds, self.runs)
