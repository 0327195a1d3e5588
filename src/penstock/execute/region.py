"""Runs a region: by native code that is made for the shapes at hand, and by its nodes' NumPy kernels where that is hardly worth it.

When native code takes over is settled by counting what NumPy does, not by the clock (``native/table/patience.py``): a program gives the same bits
whenever it runs.
A region that turns out to hold a node which cannot be native is cut around it (``cut_region.py``), one in which few shapes change is split.
"""
from __future__ import annotations

import contextlib
import math
import operator
import time
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np

from penstock.errors import KernelError, invalid_argument
from penstock.execute.changing_shapes import ShapeWatch, many, worth_splitting
from penstock.execute.cut_region import MOST, CutRegion, Interpret, report_of_calls
from penstock.execute.environment import Environment
from penstock.execute.kernels import kernel_of
from penstock.execute.report import KernelReport, PlanReport, watch
from penstock.execute.step import check_step, kernels_in_functions, works_alone
from penstock.graph import dtypes
from penstock.native.calls import Unsupported
from penstock.native.config import config
from penstock.native.emitter import Emitter
from penstock.native.items import Value
from penstock.native.machine.background import background
from penstock.native.machine.stacks import has_small_stack
from penstock.native.regions.eligibility import why_not_native
from penstock.native.specialise.specialisation import Specialisation
from penstock.native.table.head_start import HeadStart
from penstock.native.table.instance import Failure
from penstock.native.table.patience import IN_FUNCTIONS, Patience
from penstock.platform.garbage import uncollected
from penstock.program.failure import InnerFailure
from penstock.program.ir import Node, RegionBody
from penstock.state.resources import Ref
from penstock.state.result_memory import LARGE, RESULTS

_MANY = 1 << 20  # random numbers: NumPy draws them in 0.1 to 0.2 s
_RELIED_ON = operator.attrgetter("__class__", "dtype", "shape", "strides")  # of an array: what native code takes for granted


empty = np.empty  # makes the arrays for outputs


def draws_many(nodes: Iterable[Node]) -> bool:
    """Are so many random numbers drawn, as the graph tells, that even one run is worth native code? (Large tables of embeddings begin so.)"""
    drawing = {node.origin for node in nodes if node.origin is not None and node.origin.definition.draws}
    return sum(op.outputs[0].shape.num_elements() or 0 for op in drawing) >= _MANY


class RegionRun(CutRegion["_Ready"]):
    """A region of one plan."""

    runner = "NumPy"

    def __init__(self, body: RegionBody, environment: Environment, interpret: Interpret) -> None:
        super().__init__(body, environment, interpret)
        self._last: _Ready | None = None  # shapes seldom change
        self._seen: dict[Any, int] = {}  # runs, by signature, before there was code for it
        self._unready = 0, 0.0  # runs, and their seconds, before native code took over
        self._earlier = False  # has the step run before there were regions?
        self._looped: int | None = None  # how many kernels loops ran when NumPy last ran it; None: not yet
        self._longer = 1  # times the usual patience
        self._mismatch = ""  # what came in that native code cannot take
        self._begins = False  # does it give variables their first values, which are many?
        self._shapes: ShapeWatch | None = None  # while it is found out which nodes have other shapes in every run

    def run(self, *inputs: Any) -> list[Any]:
        """The outputs."""
        if self.fallbacks or self._apart or has_small_stack():
            return self._by_nodes(inputs)
        ready = self._last
        outputs = None if ready is None else ready.run(inputs, self._environment)
        if outputs is None:
            ready = self._find(inputs)
            if ready is not None:
                self._last = ready
                outputs = ready.run(inputs, self._environment)
        if outputs is not None:
            return outputs
        if self._begins:
            return self._beginning(inputs)
        start, before = time.perf_counter(), kernels_in_functions()
        outputs = self._by_nodes(inputs)
        self._looped = kernels_in_functions() - before
        self._look_at_shapes()
        if watch.on and not self.fallbacks:
            self._unready = self._unready[0] + 1, self._unready[1] + time.perf_counter() - start
        return outputs

    def ran_before(self, kernels: int | None) -> None:
        """The step has run once without regions; its loops and functions ran so many kernels (None: they were not counted)."""
        self._earlier, self._looped = True, kernels

    def is_in_function(self) -> None:
        """It is a part of a function, which may be called often in a step."""
        self._longer = IN_FUNCTIONS

    def _find(self, inputs: Sequence[Any]) -> _Ready | None:
        """Native code for such inputs, if it is its turn."""
        values, borrowed = list(inputs), []
        try:
            try:
                for position in self._refs:
                    values[position] = inputs[position].borrow()
                    borrowed.append(inputs[position])
                signature = tuple(map(_RELIED_ON, values))
            except KernelError:  # the node that wants it says so
                self._mismatch, self._begins = "a variable had no value yet", draws_many(self.body.nodes)
                return None
            except AttributeError as error:
                self._mismatch = f"one of its inputs is neither an array nor a variable ({error})"
                return None
            ready = self._ready.get(signature)
            return ready if ready is not None and ready.compiled else self._prepare(signature, values)
        finally:
            values.clear()
            for ref in borrowed:
                ref.give_back()

    def describe(self) -> PlanReport:
        """What its native code did while it was watched, for all shapes; and which nodes have none."""
        compiled = [ready for ready in self._ready.values() if ready.compiled]
        fallbacks = self._fallback_rows([each.node for each in self._alone()])
        report = self._report([*(ready.describe() for ready in compiled), *self._reports_of_regions()], fallbacks)
        report.switches[:0] = [f"{self.body.nodes[-1].name}: {ready.switched}" for ready in self._ready.values() if ready.switched]
        if self._unready[0]:
            report.kernels.append(self._by_numpy(report.runs))
        return report

    def _by_numpy(self, native_runs: int) -> KernelReport:
        """The runs before native code took over, as one kernel."""
        runs, seconds = self._unready
        why = self._mismatch or "so little work that native code can wait"
        nodes, total = self.body.nodes, runs + native_runs
        told = f"{len(nodes)} nodes up to {nodes[-1].name} ({why}: NumPy took {seconds:.2g} s for {runs} of {total} runs)"
        return KernelReport("NumPy", (told,), seconds / total)

    def _fallback_rows(self, alone: list[Node]) -> list[tuple[str, str, str]]:
        """Names, op types and reasons of the nodes that NumPy ran; ``alone`` are those that were left over when the region was cut."""
        types = {node.name: node.definition.type for node in self.body.nodes}
        rows = [(name, types.get(name, ""), reason) for name, reason in self.fallbacks.items()]
        rows += [(node.name, node.definition.type, node.note or why_not_native(node) or "it stands alone beside such a node")
                  for node in alone if node.inputs and node.name not in self.fallbacks]
        return rows

    # --- making native code --------------------------------------------------------------------------------------------------------------

    def _prepare(self, signature: Any, values: Sequence[Any]) -> _Ready | None:
        """Native code for these arrays, if it is its turn; otherwise sees to it that there will be some."""
        mode = config.mode
        if mode == "background" and not works_alone():
            mode = "eager" if self.body.shapes_known else "off"
        with self._lock, uncollected():
            if mode == "off" or self.fallbacks or self._apart:
                return None
            ready = self._ready.get(signature)
            if ready is None:
                if mode == "background" and not self._comes_often(signature):
                    return None
                ready = self._specialise(signature, [np.asarray(value) for value in values])
            if ready is None or (mode == "background" and not ready.due(self._looped)):
                return None
        with uncollected():
            return self._attempt(ready.compile)

    def _comes_often(self, signature: Any) -> bool:
        """Is code for these shapes worth the effort? The more shapes there are, the more often one has to come."""
        if len(self._seen) > 4 * MOST:
            return False
        seen = self._seen[signature] = self._seen.get(signature, 0) + 1
        return seen == len(self._seen)

    def _specialise(self, signature: Any, arrays: list[np.ndarray]) -> _Ready | None:
        shapes = [(array.shape, dtypes.as_dtype(array.dtype)) for array in arrays]
        body = self.body
        threads, epilogues = self._environment.threads, self._environment.passes.remapping
        emitter = Emitter(threads, epilogues)
        emitter.watch = HeadStart(config.mode == "eager")
        made = self._attempt(lambda: Specialisation(body.nodes, body.args, body.outputs, shapes, emitter))
        if made is None:
            return None
        ready = self._keep(signature, _Ready(made, signature, self._refs, self._longer))
        if self._earlier and len(self._ready) == 1:  # the run before had these shapes, as far as is known
            ready.patience.count(self._looped)
        return ready

    # --- shapes that change --------------------------------------------------------------------------------------------------------------

    def _look_at_shapes(self) -> None:
        """After a run by NumPy: splits the region if some nodes have other shapes in every run, and the rest would be native without them."""
        with self._lock:
            if self.fallbacks or self._apart or self._interpretation is None:
                return
            if self._shapes is None:
                if many(self._seen.values()):
                    self._shapes = self._interpretation.watch_shapes()
            elif self._shapes.ran():
                changing = self._shapes.changing()
                if worth_splitting(changing, self.body.nodes):
                    self._split(changing)

    def _split(self, names: Collection[str]) -> None:
        super()._split(names)
        self._ready.clear()  # it will not be used again, and has memory
        self._last = self._shapes = None

    # --- NumPy ---------------------------------------------------------------------------------------------------------------------------

    def _beginning(self, inputs: Sequence[Any]) -> list[Any]:
        """A run in which only those nodes are NumPy's that give variables their first values."""
        self._begins = False
        names = {node.name for node in self.body.nodes if node.definition.updates and node.definition.allows_uninitialized}
        return self._interpret(self.body, self._environment, names, ()).run(inputs)


class _Ready:
    """Native code for one signature, which takes over when NumPy has done its share."""

    def __init__(self, made: Specialisation, signature: Any, refs: Sequence[int], longer: int) -> None:
        self._made, self._table = made, made.table
        self._fresh, self._results, self._updated = made.fresh, made.results, made.updated
        self._plain = made.results == [("output", position) for position in range(len(made.fresh))]  # are the outputs just what is written?
        self._large = any(math.prod(shape) * dtype.itemsize >= LARGE for shape, dtype in made.fresh)
        self._borrowed = [position for position in refs if position not in made.updated]
        self.signature, self.compiled = signature, False
        self.patience = Patience(made.table)
        self.patience.share *= longer
        self._started = False  # the compiler, in the background
        self.switched = ""  # when and why native code took over
        self.runs, self.seconds = 0, [0.0] * len(made.table.calls)  # while it is watched
        expected = [value.array for value in made.inputs]
        self._fix = [position for position, ((kind, _, _, strides), array) in enumerate(zip(signature, expected))
                     if kind is not np.ndarray or array is None or strides != array.strides]
        self._simple = self._plain and not (refs or self._fix or self._large)

    def due(self, looped: int | None) -> bool:
        """True if native code is to do the next run; otherwise counts it. Half-way the compiler starts in the background."""
        patience = self.patience
        if not patience.allows(looped):
            self.switched = self.switched or patience.why_not(looped)
            return True
        patience.count(looped)
        if not self._started and patience.spent > patience.share / 2:
            self._started = True
            background.submit(self._try_compiling)
        return False

    def compile(self) -> _Ready:
        """Itself, when all is compiled; raises what the compiler raises."""
        self._table.compile()
        self.compiled = True
        return self

    def _try_compiling(self) -> None:
        with contextlib.suppress(Unsupported):  # the run that needs the code meets it again, and tells
            self._table.compile()

    def run(self, inputs: Sequence[Any], environment: Environment) -> list[Any] | None:
        """The outputs; None if the inputs have another signature, or a variable that is written comes in twice.

        Meanwhile it holds the locks of the variables that it writes; the others are borrowed.
        """
        if self._simple and not watch.on:
            return self._run_simple(inputs, environment)
        values, borrowed, locked = list(inputs), list[Any](), list[Any]()
        try:
            if not self._take(inputs, values, borrowed, locked):
                return None
            for position in self._fix:
                values[position] = np.ascontiguousarray(values[position]).reshape(np.shape(values[position]))
            return self._call(values, inputs, environment)
        finally:
            values.clear()  # before the locks go: the next write must find that nothing else holds the buffers
            for ref in locked:
                ref.lock.release()
            for ref in borrowed:
                ref.give_back()

    def _run_simple(self, inputs: Sequence[Any], environment: Environment) -> list[Any] | None:
        """``run`` without variables, and with arrays as they are: in small steps each call of Python counts."""
        try:
            if tuple(map(_RELIED_ON, inputs)) != self.signature:
                return None
        except AttributeError:  # no array
            return None
        outputs = [empty(shape, dtype) for shape, dtype in self._fresh]
        failure = self._table.run([*inputs, *outputs], check_step)
        if failure is not None:
            self._fail(failure, inputs, environment)
        return outputs

    def _take(self, inputs: Sequence[Any], values: list[Any], borrowed: list[Any], locked: list[Any]) -> bool:
        """Puts the variables' arrays among the values; False if they, or the others, are not what the code is for."""
        try:
            refs = {inputs[position] for position in self._updated}
            if len(refs) != len(self._updated):
                return False
            for position in self._borrowed:
                ref = inputs[position]
                if ref in refs:  # it is held on to: the update makes a copy
                    values[position] = ref.read()
                    continue
                values[position] = ref.borrow()
                borrowed.append(ref)
            for ref in sorted(refs, key=id):  # always in the same order: no two regions wait for each other
                ref.lock.acquire()
                locked.append(ref)
            for position in self._updated:
                values[position] = inputs[position].mutable()
            return tuple(map(_RELIED_ON, values)) == self.signature
        except (AttributeError, TypeError, KernelError):  # no array, no variable, or one without a value
            return False

    def _call(self, values: list[Any], inputs: Sequence[Any], environment: Environment) -> list[Any]:
        outputs = [empty(shape, dtype) for shape, dtype in self._fresh] if not self._large else [RESULTS.empty(*each) for each in self._fresh]
        values += outputs
        failure = self._run_timed(values) if watch.on else self._table.run(values, check_step)
        if failure is not None:
            self._fail(failure, inputs, environment)
        if self._plain:
            return outputs
        return [self._result(each, outputs, inputs) for each in self._results]

    def _result(self, place: tuple[str, Any], outputs: list[Any], inputs: Sequence[Any]) -> Any:
        """An output, as the specialisation tells where it is."""
        kind, what = place
        if kind == "either":
            condition, *cases = what
            return self._result(cases[0 if self._result(condition, outputs, inputs) else 1], outputs, inputs)
        return outputs[what] if kind == "output" else what if kind == "known" else inputs[what]

    def _run_timed(self, values: list[Any]) -> Failure | None:
        failure, seconds = self._table.run_timed(values, check_step)
        if seconds:
            self.runs += 1
            self.seconds = [before + now for before, now in zip(self.seconds, seconds)]
        return failure

    def describe(self) -> PlanReport:
        """What its calls cost on average."""
        return report_of_calls(self._table, self.seconds, self.runs)

    def _fail(self, failure: Failure, inputs: Sequence[Any], environment: Environment) -> None:
        """Has the node's own kernel say what is wrong with its inputs; if several nodes are one kernel, the first that finds something wrong."""
        given = dict(zip(self._made.inputs, inputs))

        def argument(value: Value) -> Any:
            if isinstance(given.get(value), Ref):
                return given[value]
            if value.store is not None:
                return value.store.state(failure.value)
            return value.known if value.array is None else failure.value(value.array)

        first, *others = failure.call.nodes
        if failure.out_of_memory:
            raise InnerFailure(first.node, [], MemoryError("a list cannot grow"), failure.loops)
        side_by_side = failure.call.operands_of_parts is not None  # then any of them may be the one
        for item in (first, *[other for other in others if side_by_side or other.node.definition.compose is not None]):
            arguments = [argument(value) for value in item.inputs]
            if any(each is None for each in arguments):  # only the kernel itself has seen them
                continue
            try:
                kernel_of(item.node, environment)(*arguments)
            except Exception as error:
                raise InnerFailure(item.node, arguments, error, failure.loops) from error
        unknown = invalid_argument("native code refused its inputs")
        raise InnerFailure(first.node, [], unknown, failure.loops)
