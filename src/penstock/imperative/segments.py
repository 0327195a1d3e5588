"""How what was recorded is computed: at once by a kernel, or as a segment, a program that is planned by its structure and then run again and again.

The *structure* of a segment: which ops it has, with which attributes, which of them use whose outputs, the types and shapes of the values that come
in, the variables that it touches, and which values leave it. The first time that a structure is seen, NumPy kernels run its operations one by one:
most structures never come again. The second time it becomes a graph with a plan, as a step of a session does, and from then on a segment of this
structure is one run of that plan.

Values come in as feeds, so that another learning rate is the same structure. Those that shapes follow from (axes, paddings, the arguments of
``reshape``) are constants of the structure.
"""
from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Iterable
from contextlib import suppress
from itertools import compress, count
from operator import itemgetter
from sys import getrefcount
from typing import Any

import numpy as np

import penstock.opencl  # noqa: F401 (registers the device kind)
from penstock.errors import NotFoundError, OpError
from penstock.execute.environment import Environment
from penstock.execute.failures import describe
from penstock.execute.kernels import kernel_of
from penstock.execute.pipeline import Pipeline, PlannedStep
from penstock.execute.recheck import kernel_words
from penstock.execute.step import Step
from penstock.graph import dtypes
from penstock.graph.effects import Order
from penstock.graph.function import FuncGraph
from penstock.graph.graph import Graph
from penstock.graph.node import Tensor
from penstock.graph.shape import TensorShape
from penstock.imperative.operation import UNSET, EagerOperation, Edge, hashable
from penstock.imperative.placing import HOST, device_of, is_compiled_only, names_other_device
from penstock.imperative.recorded_blocks import operations_of
from penstock.imperative.recording import State
from penstock.ops.constant import Const, Placeholder
from penstock.ops.flow.call_function import CallFunction
from penstock.ops.transfer import Arg
from penstock.program.default_config import default_config
from penstock.program.devices import LOCAL_TASK, host_kind, local_devices
from penstock.program.ir import Node, functions_of
from penstock.program.passes import options_of
from penstock.state.resources import Ref

PLANS = 256  # structures whose plans are kept
_SEEN = 4096  # structures that were seen once
_SMALL = 64  # elements of a value that may be a constant of a structure, or is computed at once
_OWN_REFERENCES = 3  # to the output of an operation: of the operation, of a variable, and of ``getrefcount``
_LAST_REFERENCES = 3  # to an operation that is only on the list of a segment: of the list, of a variable, and of ``getrefcount``
_SHAPED = (np.ndarray, np.generic)


class Runner:
    """Computes operations: see the head of this module. It has the state that variables and other resources live in."""

    def __init__(self, config: Any = None, sync: bool = False) -> None:
        self._own_config = config
        self._has_all_devices = False
        config = default_config() if config is None else config
        devices = host_kind().devices(config, LOCAL_TASK, 1)
        self.environment = Environment(devices, True, config.log_device_placement, threads=config.intra_op_parallelism_threads,
                                       passes=options_of(config))
        self.pipeline = Pipeline(self.environment)
        self.sync = sync
        self._plans: OrderedDict[Any, _Segment | None] = OrderedDict()  # None: seen once
        self._clock = 0  # counts runs of segments

    def renew_devices(self) -> None:
        """Looks again for the devices of the default ConfigProto; without one of the host, which the program may yet choose, those before stay."""
        if self._own_config is None:
            with suppress(NotFoundError):
                config = default_config()
                self.environment.devices = local_devices(config) if self._has_all_devices else host_kind().devices(config, LOCAL_TASK, 1)

    def find_devices(self) -> None:
        """Looks for devices that are not the host's, whose drivers take a while to load."""
        if not self._has_all_devices:
            self._has_all_devices = True
            self.environment.devices = local_devices(default_config() if self._own_config is None else self._own_config)

    # --- one operation -----------------------------------------------------------------------------------------------

    def device_of(self, op: EagerOperation) -> str:
        """The device of an operation: see ``placing.py``."""
        if not self._has_all_devices and names_other_device(op):
            self.find_devices()
        return device_of(op, _node(op), self.environment)

    def defers(self, op: EagerOperation, at_once: bool = False) -> bool:
        """True if ``op`` is computed later; otherwise, and if ``at_once`` says so, it has been computed by now."""
        if self._tell_from_shapes(op):
            return False
        compiled_only = is_compiled_only(op._device)
        if not self.sync and not at_once and _is_deferrable(op) and (compiled_only or not _is_small(op)):
            return True
        if op.definition.stateful and not op.definition.draws:
            op.graph.flush()  # effects keep their order
        if compiled_only and not any(dtype is dtypes.resource for dtype, _ in op.expected):
            self._run_planned(op)
        else:
            self._run_one(op, [producer.value(index) for producer, index in op.edges])
        return False

    def _tell_from_shapes(self, op: EagerOperation) -> bool:
        """Gives an op its value if shapes alone tell it."""
        definition = op.definition
        if definition.static is None or not op.edges or len(op.expected) != 1 or not definition.shape_only:
            return False
        value = definition.static(*definition.arguments(op._inputs, op.attrs))
        if value is None or (np.asarray(value) == -1).any():
            return False
        op.finish([np.asarray(value, op.expected[0][0].np)])
        return True

    def kernel_words(self, op: EagerOperation) -> str | None:
        """What the kernel of an operation says about inputs that do not fit: TensorFlow's words of imperative style."""
        node = _node(op)
        return kernel_words(node, kernel_of(node, self.environment), [producer.value(index) for producer, index in op.edges])

    def _run_one(self, op: EagerOperation, values: list[Any]) -> None:
        node = _node(op)
        try:
            with Step().working():
                result = kernel_of(node, self.environment)(*values)
        except Exception as error:
            op.error = _with_operation(describe(error, node, values))
            raise op.error from error.__cause__
        if not op.expected:
            results = []
        elif op.definition.has_one_output or (len(op.expected) == 1 and not isinstance(result, tuple)):
            results = [result]
        else:
            results = list(result)
        _finish_one(op, results)

    def _run_planned(self, op: EagerOperation) -> None:
        """Runs an operation by itself, as a segment: on a device for which operations are compiled."""
        outline = _Outline([op], tuple([(0, index) for index in range(len(op.expected))]))
        try:
            segment = self._segment([op], outline)
            assert segment is not None and segment.planned is not None
            results = segment.planned.run([producer.value(index) for producer, index in outline.feeds], Step())[0]
        except OpError as error:
            op.error = _with_operation(error)
            raise
        _finish_one(op, list(results))

    # --- a segment ---------------------------------------------------------------------------------------------------

    def run(self, operations: list[EagerOperation], state: State | None, feeds: dict[Edge, int], is_plain: bool) -> None:
        """Computes what was recorded, in the order of the program. ``state`` is what was recorded, ``feeds`` where values come from, if known;
        ``is_plain``: see ``Recording``."""
        try:
            self._run(operations, state, feeds, is_plain)
        except Exception as error:
            if isinstance(error, OpError):
                _with_operation(error)
            for op in operations:
                if op.results is None:
                    op.error = error
                    op.stop_waiting()
            raise

    def _run(self, operations: list[EagerOperation], state: State | None, feeds: dict[Edge, int], is_plain: bool) -> None:
        fetches = _first_outputs(operations) if is_plain else _fetches(operations)
        segment, numbers = (None, []) if state is None else state.plans.get(fetches, (None, []))
        if segment is not None and segment.planned is not None:
            edges = list(feeds)
            values = [edges[number][0].value(edges[number][1]) for number in numbers]
        else:
            fed = list(feeds)
            for op in operations:
                op.find_edges(operations, fed)
            outline = _Outline(operations, fetches)
            segment = self._segment(operations, outline)
            if segment is None:
                self._run_one_by_one(operations, outline)
                return
            if state is not None:
                state.plans[fetches] = segment, [feeds[edge] for edge in outline.feeds]
            values = [producer.value(index) for producer, index in outline.feeds]
        self._clock += 1
        segment.used = self._clock
        _finish(operations, fetches, segment.planned.run(values, Step())[0])

    def _segment(self, operations: list[EagerOperation], outline: _Outline) -> _Segment | None:
        """The plan of a structure; None if it is new, and NumPy can run it."""
        key = outline.key
        if key not in self._plans:
            self._plans[key] = None
            self._forget_old()
            if not any(is_compiled_only(op._device) for op in operations):
                return None
        segment = self._plans[key]
        if segment is None:
            segment = self._plans[key] = _Segment(self.pipeline, operations, outline)
        self._plans.move_to_end(key)
        return segment

    def _forget_old(self) -> None:
        while len(self._plans) > _SEEN:
            self._drop(next(iter(self._plans)))
        planned = [(segment.used, key) for key, segment in self._plans.items() if segment is not None]
        for _, key in sorted(planned, key=itemgetter(0))[:max(0, len(planned) - PLANS)]:
            self._drop(key)

    def _drop(self, key: Any) -> None:
        segment = self._plans.pop(key)
        if segment is not None:
            segment.planned = None  # states may still know it

    def _run_one_by_one(self, operations: list[EagerOperation], outline: _Outline) -> None:
        needed, last_uses = outline.needed_operations(operations), outline.last_uses(operations)
        for op in operations:
            if op in needed:
                self._run_one(op, [producer.value(index) for producer, index in op.edges])
            else:
                op.finish([UNSET] * len(op.expected))
            for producer in last_uses.pop(op, ()):
                producer.results = _NOT_KEPT

    def delete_with(self, handle: EagerOperation) -> None:
        """Has the resource of a handle deleted when the program has dropped the handle."""
        weakref.finalize(handle, _delete, weakref.ref(self), handle.value(0))

    def restart_generators(self) -> None:
        """Has random ops begin anew, after a change of the seed."""
        self.environment.states.clear()
        for key in [key for key, segment in self._plans.items() if segment is not None and segment.draws]:
            self._drop(key)  # its kernels have generators


def _finish_one(op: EagerOperation, results: list[Any]) -> None:
    """Gives an operation its results, and the shapes that these tell."""
    for index, (dtype, shape) in enumerate(op.expected):
        if not shape.is_fully_defined() and isinstance(results[index], _SHAPED):
            op.expected[index] = (dtype, TensorShape(results[index].shape))
    op.finish(results)


def _delete(runner: weakref.ref[Runner], resource: Any) -> None:
    alive = runner()
    if alive is not None:
        alive.environment.resources.drop(resource)
        alive.environment.private.drop(resource)
    if hasattr(resource, "release"):
        resource.release()


def _is_deferrable(op: EagerOperation) -> bool:
    """True for what native code may take: no effects but those on variables, no functions, no handles of other resources."""
    definition = op.definition
    if not op.edges or definition.blocking:
        return False
    for dtype, shape in op.expected:
        if dtype is dtypes.resource or dtype is dtypes.variant or not shape.is_fully_defined():
            return False
    on_variables = False
    for producer, index in op.edges:
        dtype = producer.expected[index][0]
        if dtype is dtypes.resource or dtype is dtypes.variant:
            if producer.results is None or not isinstance(producer.results[index], Ref):
                return False
            on_variables = True
    if definition is CallFunction:
        return op.attrs["f"].inlined
    return (not definition.stateful or on_variables) and not functions_of(op)


def _is_small(op: EagerOperation) -> bool:
    """True for integers that are known: shapes and positions, mostly, that Python computes faster than it plans them."""
    if op.definition.stateful or op.noted or any((not dtype.is_integer and dtype is not dtypes.bool_) or _size(shape) > _SMALL
                                                 for dtype, shape in op.expected):
        return False
    return all(producer.results is not None and _size(producer.expected[index][1]) <= _SMALL for producer, index in op.edges)


def _size(shape: TensorShape) -> int:
    return shape.num_elements() or 0


def _with_operation(error: OpError) -> OpError:
    """The error, which says at the end of its first line which operation it was, as TensorFlow's do in imperative style."""
    first, *rest = error.message.split("\n")
    if error.op is not None and "[Op:" not in first:
        error._message = "\n".join([f"{first} [Op:{error.op.type}]", *rest])
        error.args = (error._message,)
    return error


def _node(op: EagerOperation) -> Node:
    """The operation as a node of a program."""
    inputs = [(Node(Arg, producer.name, {"T": producer.expected[index][0].base_dtype, "index": index}, origin=producer), 0)
              for producer, index in op.edges]
    return Node(op.definition, _name(op), op.attrs, inputs, device=op._device or HOST, origin=op)


def _name(op: EagerOperation) -> str:
    """The name of an operation as a node. Calls with the same seeds share a generator."""
    return f"{op.type}{hashable(list(op.attrs.values()))}" if "seed2" in op.attrs else op.name


def _fetches(operations: list[EagerOperation]) -> tuple[tuple[int, int], ...]:
    """The values that leave a segment, as (number of an operation, index of its output)."""
    fetches: list[tuple[int, int]] = []
    taped: list[tuple[int, int]] = []
    for number, op in enumerate(operations):
        if op.noted:
            recording = op.recording
            taped += [(producer.place, index) for producer, index in op.edges if producer.recording is recording]  # gradient functions look at them
            fetches += [(number, index) for index in range(len(op.call.expected))]
            continue
        tensor = op.tensor
        if tensor is not None and getrefcount(tensor) > _OWN_REFERENCES:
            fetches.append((number, 0))
        if (references := op._references) is not None:
            for index, reference in enumerate(references):
                if reference is not None and reference() is not None:
                    fetches.append((number, index))
    return tuple(sorted({*fetches, *taped}) if taped else fetches)


def _first_outputs(operations: list[EagerOperation]) -> tuple[tuple[int, int], ...]:
    """``_fetches`` of operations of which nothing but the first outputs can be needed. All of it is C: nothing is asked of each operation by name."""
    tensors = [op.tensor for op in operations]
    held = compress(count(), map(_OWN_REFERENCES.__lt__, map(getrefcount, tensors)))  # a reference of the list is in the place of a variable's
    return tuple([(number, 0) for number in held if tensors[number] is not None])


def _finish(operations: list[EagerOperation], fetches: Iterable[tuple[int, int]], values: Iterable[Any]) -> None:
    """Gives operations their results; what was not asked for is ``UNSET``. Most operations are held by nothing else, and go with the list."""
    for (number, index), value in zip(fetches, values):
        op = operations[number]
        if op.results is None:
            op.finish([UNSET] * len(op.call.expected))
        op.results[index] = value
    for op in operations:
        op.tensor = None  # which holds the operation
        if getrefcount(op) > _LAST_REFERENCES and op.results is None:
            op.finish(_NOT_KEPT)


class _NotKept:
    """The results of an operation of which nothing was needed."""

    def __getitem__(self, index: int) -> Any:
        return UNSET


_NOT_KEPT = _NotKept()


class _Outline:
    """The structure of a segment: its key, and where values come in. ``fetches`` are the values that leave it."""

    def __init__(self, operations: list[EagerOperation], fetches: tuple[tuple[int, int], ...]) -> None:
        constants: set[Edge] = set()
        for op in operations:
            constants |= op.call.deep
            constants.update(op.edges[position] for position, _ in op.call.asked)
        self.feeds: dict[Edge, int] = {}
        self.constants: dict[Edge, Any] = {}
        self.fetches = fetches
        position: dict[EagerOperation, int] = {}
        parts: list[Any] = []
        for number, op in enumerate(operations):
            inputs = [self._input(edge, position, constants, op) for edge in op.edges]
            parts.append((op.key, op._device, *[(id(code), line) for code, line in op._source], tuple(inputs)))  # errors are to name the right line
            position[op] = number
        fed = tuple([(producer.expected[index][0], producer.expected[index][1].extents) for producer, index in self.feeds])
        self.key = (tuple(parts), fetches, fed)

    def _input(self, edge: Edge, position: dict[EagerOperation, int], constants: set[Edge], op: EagerOperation) -> Any:
        producer, index = edge
        place = position.get(producer)
        if place is not None:
            return place, index
        value = producer.value(index)
        if isinstance(value, Ref):
            return "variable", producer._id
        known = self.constants.get(edge)
        if known is None and edge in constants and isinstance(value, _SHAPED) and value.size <= _SMALL:
            known = self.constants[edge] = hashable(np.asarray(value))
        return self.feeds.setdefault(edge, len(self.feeds)) if known is None else known

    def needed_operations(self, operations: list[EagerOperation]) -> set[EagerOperation]:
        """The operations that something depends on: a value that leaves the segment, or the state of a variable."""
        needed = {operations[number] for number, _ in self.fetches}
        for op in reversed(operations):
            if op in needed or op.definition.stateful:
                needed.add(op)
                needed.update(producer for producer, _ in op.edges)
        return needed

    def last_uses(self, operations: list[EagerOperation]) -> dict[EagerOperation, list[EagerOperation]]:
        """Per operation, those whose values nothing needs once it has run."""
        kept = {operations[number] for number, _ in self.fetches}
        last: dict[EagerOperation, EagerOperation] = {}
        inside = set(operations)
        for op in operations:
            last.update((producer, op) for producer, _ in op.edges if producer in inside and producer not in kept)
        uses: dict[EagerOperation, list[EagerOperation]] = {}
        for producer, op in last.items():
            uses.setdefault(op, []).append(producer)
        return uses


class _Segment:
    """A graph of the operations of a structure, and the plan that runs it."""

    def __init__(self, pipeline: Pipeline, operations: list[EagerOperation], outline: _Outline) -> None:
        self.used = 0  # when it ran last
        self._graph = Graph()
        self.draws = any(op.definition.draws for op in operations)
        self._default_device = HOST if len(pipeline.environment.devices) > 1 else ""
        self._tensors: dict[Edge, Tensor] = {}
        feeds = [self._feed(edge) for edge in outline.feeds]
        for edge in outline.constants:
            self._tensors[edge] = Const.add_node(self._graph, self._graph.unique_name(edge[0].name), (),
                                                 {"value": np.asarray(edge[0].value(edge[1])), "dtype": edge[0].expected[edge[1]][0]}).outputs[0]
        order = Order()
        for op in operations:
            if op.definition is CallFunction:
                self._inline(op, order)
            else:
                self._add(op, order)
        fetches = [self._tensors[operations[number], index] for number, index in outline.fetches]
        targets = [op for op in self._graph.get_operations() if op.definition.stateful and op._inputs]
        program = pipeline.place(pipeline.prune(fetches, targets, feeds), pipeline.environment.devices, preferred=HOST)
        self.planned: PlannedStep | None = PlannedStep(pipeline, program, ran=True)

    def _feed(self, edge: Edge) -> Tensor:
        dtype, shape = edge[0].expected[edge[1]]
        node = Placeholder.add_node(self._graph, self._graph.unique_name(edge[0].name), (), {"dtype": dtype, "shape": shape})
        tensor: Tensor = node.outputs[0]
        self._tensors[edge] = tensor
        return tensor

    def _add(self, op: EagerOperation, order: Order) -> None:
        inputs = tuple(self._tensors[edge] if edge in self._tensors else self._handle(edge) for edge in op.edges)
        node = op.definition.add_node(self._graph, self._graph.unique_name(_name(op)), inputs, op.attrs)
        node._source, node._device = op._source, op._device
        order.place(node)
        for index, tensor in enumerate(node.outputs):
            self._tensors[op, index] = tensor

    def _inline(self, call: EagerOperation, order: Order) -> None:
        """Adds the operations of a block."""
        block: FuncGraph = call.attrs["f"]
        inner = {tensor: self._tensors[edge] if edge in self._tensors else self._handle(edge) for tensor, edge in zip(block.inputs, call.edges)}
        for op in operations_of(block):
            node = op.definition.add_node(self._graph, self._graph.unique_name(op.name), tuple(inner[tensor] for tensor in op._inputs), op.attrs)
            node._source, node._device = op._source or call._source, op._device or call._device
            order.place(node)
            inner.update(zip(op.outputs, node.outputs))
        for index, tensor in enumerate(block.outputs):
            self._tensors[call, index] = inner[tensor]

    def _handle(self, edge: Edge) -> Tensor:
        """The handle of a variable, by the name of its resource."""
        producer, index = edge
        handle: Tensor = producer.definition.add_node(self._graph, self._graph.unique_name(producer.name), (), producer.attrs).outputs[index]
        handle.op._device, handle._handle_data = producer._device or self._default_device, producer.output(index)._handle_data
        self._tensors[edge] = handle
        return handle
