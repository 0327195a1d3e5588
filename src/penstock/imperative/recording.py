"""What the program has done and not yet looked at: EagerGraph records operations, an EagerTensor stands for a value that is computed on demand.

An EagerOperation knows its producers by operation and index, and its outputs by weak references only. So it can be told which values the program
still holds: only those leave a segment. Once an operation has run, and no tape needs it, it forgets its producers: what lies behind a value does not
stay in memory.
"""
from __future__ import annotations

import itertools
import math
import random
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from tensorboard.compat.proto.attr_value_pb2 import AttrValue

from penstock import errors
from penstock.graph import source
from penstock.graph.dtypes import DType, resource
from penstock.graph.graph import Graph
from penstock.graph.graph import _Later as Later
from penstock.graph.keys import GraphKeys
from penstock.graph.node import Operation, Tensor
from penstock.graph.shape import TensorShape
from penstock.graph.static import known_values
from penstock.imperative.tensor import EagerTensor
from penstock.ops.constant import Const, constant

PENDING_LIMIT = 4096  # operations that are recorded before they run without being asked for
_MOST_NUMBERS, _MOST_SIGNATURES = 1024, 8192  # that are remembered
_NOTHING: frozenset[Any] = frozenset()
UNSET: Any = object()  # the value of an output that has not been computed, or was not needed when its segment ran

Edge = tuple["EagerOperation", int]  # an output of an operation


class EagerOperation(Operation):
    """One call of an op. ``edges`` are its producers; ``results`` its values, once it has run."""

    graph: EagerGraph
    __slots__ = ("_handles", "_references", "asked", "edges", "error", "expected", "key", "own_gradient", "recording", "results", "tapes")

    def __init__(self, graph: EagerGraph, definition: Any, name: str, edges: tuple[Edge, ...], attributes: dict[str, Any],
                 expected: list[tuple[DType, TensorShape]]) -> None:
        self.graph, self.definition, self.name, self.attrs = graph, definition, name, attributes
        self._control_inputs = []
        self._device, self._colocation = "", ()
        self._extra = {}
        self._saved = None
        self._id = graph._next_id()
        self._source = source.user_frames(1)  # a value may be an operation away from the next: what it costs to note its line counts
        self.edges, self.expected = edges, expected
        self.results: list[Any] | None = None
        self.error: Exception | None = None
        self.key: Any = None  # what tells it from other operations of its type: see ``segments.py``
        self.asked: frozenset[Edge] = frozenset()  # the values that its shape follows from
        self.recording: Recording | None = None  # that it waits in
        self.tapes = 0  # that have recorded it
        self.own_gradient: Any = None  # instead of its definition's: see ``custom_gradient.py``
        self._handles: dict[int, Any] | None = None  # what outputs that are handles refer to
        self._references: list[Any] = [None] * len(expected)

    @property
    def _inputs(self) -> tuple[Tensor, ...]:  # type: ignore[override]
        return tuple(producer.output(index) for producer, index in self.edges)

    @property
    def outputs(self) -> list[Tensor]:  # type: ignore[override]
        """Its Tensors."""
        return [self.output(index) for index in range(len(self.expected))]

    def output(self, index: int) -> EagerTensor:
        """The tensor of an output: the one that the program holds, or a new one."""
        reference = self._references[index]
        tensor = None if reference is None else reference()
        if tensor is None:
            tensor = EagerTensor(self, index)
            self._references[index] = weakref.ref(tensor)
        return tensor

    def wanted(self) -> list[int]:
        """The outputs that something outside of the recording needs: the program, or a tape."""
        if self.tapes:
            return list(range(len(self.expected)))
        return [index for index, reference in enumerate(self._references) if reference is not None and reference() is not None]

    def value(self, index: int) -> Any:
        """The value of an output; what was recorded runs first, if it has not."""
        if self.results is None and self.error is None and self.recording is not None:
            self.recording.flush()
        if self.error is not None:
            raise self.error
        assert self.results is not None
        value = self.results[index]
        assert value is not UNSET, f"output {index} of {self.name} was not kept"
        return value

    def result(self, index: int) -> Any:
        """The value of an output, if it has been computed."""
        return None if self.results is None or self.results[index] is UNSET else self.results[index]

    def finish(self, values: list[Any]) -> None:
        """Takes its results; what was not computed is ``UNSET``."""
        self.results, self.recording = values, None
        if not self.tapes:
            self.edges = ()

    def release(self) -> None:
        """One tape less needs it."""
        self.tapes -= 1
        if not self.tapes and self.results is not None:
            self.edges = ()

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type}>"


def hashable(value: Any) -> Any:
    """The value of an attribute, or an array, as a part of a key."""
    if isinstance(value, (list, tuple)):
        return tuple([hashable(item) for item in value])
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tobytes() if value.dtype != object else tuple(value.ravel().tolist()))
    return value


def _constant_in(graph: Graph, tensor: EagerTensor) -> Tensor:
    """A value of imperative style as a constant of a graph."""
    return Const.add_node(graph, graph.unique_name(tensor.op.name), (), {"value": tensor._value(), "dtype": tensor.dtype}).outputs[0]


Later.constant = staticmethod(_constant_in)


class Recording:
    """Operations of one thread that have not run yet, in the order of the program."""

    def __init__(self, runner: Any) -> None:
        self.operations: list[EagerOperation] = []
        self._runner, self._lock = runner, threading.RLock()

    def add(self, op: EagerOperation) -> None:
        """Another operation, which waits until it is looked at, or until there are too many."""
        if len(self.operations) >= PENDING_LIMIT:
            self.flush()
        op.recording = self
        self.operations.append(op)

    def flush(self) -> None:
        """Computes everything that was recorded."""
        with self._lock:
            operations, self.operations = self.operations, []
            if operations:
                self._runner.run(operations)


class _ThreadState(threading.local):
    """What a thread has recorded, and the tapes that record what it does, the outermost first."""

    def __init__(self, runner: Any) -> None:
        self.recording = Recording(runner)
        self.tapes: list[Any] = []


class _Probe:
    """What stands in for the tapes where they do not record: it notices which variables are read."""

    def __init__(self) -> None:
        self.variables: dict[Any, None] = {}

    def note(self, op: EagerOperation) -> None:
        """Looks at the inputs of an operation."""
        for producer, _ in op.edges:
            variable = op.graph.trainable.get(producer)
            if variable is not None:
                self.variables[variable()] = None


class EagerGraph(Graph):
    """The default graph of a program in imperative style. It keeps no operation longer than the program needs it."""

    imperative = True

    def __init__(self, runner: Any) -> None:
        super().__init__()
        self.runner = runner
        self.thread = _ThreadState(runner)
        self._inferred: dict[Any, list[tuple[DType, TensorShape]]] = {}  # types and shapes of results, by op, attributes and inputs
        self._numbers: dict[Any, EagerTensor] = {}
        self._kinds: dict[Any, int] = {}  # ops with their attributes, numbered: quick to compare
        self._numbering = itertools.count()
        self.walks: Any = None  # what tapes have done before: see ``backward.py``
        self.trainable: weakref.WeakKeyDictionary[EagerOperation, Any] = weakref.WeakKeyDictionary()  # handles of variables that tapes watch

    # --- recording ---------------------------------------------------------------------------------------------------

    def record(self, definition: Any, name: str, inputs: tuple[Tensor, ...], attributes: dict[str, Any]) -> EagerOperation:
        """One call of an op, whose inputs are tensors of this graph and whose attributes are complete."""
        thread = self.thread
        if definition is Const:
            return self._constant(name, attributes)
        described = (definition, *[id(value) if type(value) is DType else hashable(value) for value in attributes.values()])  # types are singletons
        key = self._kinds.get(described)
        if key is None:
            if len(self._kinds) >= _MOST_SIGNATURES:
                self._kinds.clear()  # their numbers do not come again
            key = self._kinds[described] = next(self._numbering)
        signature = (key, *[(id(tensor._dtype), tensor._shape.extents, tensor._handle_data) for tensor in inputs])
        expected, asked = self._inferred.get(signature), _NOTHING
        if expected is None:
            expected, asked = self._infer(definition, name, inputs, attributes)
            if not asked and all(shape.is_fully_defined() for _, shape in expected):
                self._remember(signature, expected)
        op = EagerOperation(self, definition, name, tuple([(tensor.op, tensor.value_index) for tensor in inputs]), attributes,  # type: ignore[misc]
                            list(expected))
        op.key, op.asked = key, asked
        if attributes.get("shared_name") == "" and any(dtype is resource for dtype, _ in expected):
            op.name = f"{name}_{op._id}"  # resources are kept by name
        if self._state.devices:
            self._apply_devices(op)
        if self._gradient_overrides and definition.type in self._gradient_overrides:
            op._extra["_gradient_op_type"] = AttrValue(s=self._gradient_overrides[definition.type].encode())
        for tape in thread.tapes:
            tape.note(op)
        if self.runner.defers(op, inputs):
            thread.recording.add(op)
        elif not inputs and expected and expected[0][0] is resource:
            self.runner.delete_with(op)
        return op

    def _constant(self, name: str, attributes: dict[str, Any]) -> EagerOperation:
        """A constant has its value. It is no part of a key: a program that feeds its data as constants would have all of it remembered."""
        shape = Const.infer_shapes(name, (), attributes, 1)
        op = EagerOperation(self, Const, name, (), attributes, [(attributes["dtype"], shape[0])])
        if self._state.devices:
            self._apply_devices(op)
        op.finish([attributes["value"]])
        for tape in self.thread.tapes:
            tape.note(op)
        return op

    def number(self, value: Any, dtype: DType | None) -> EagerTensor | None:
        """The tensor of a Python number, if there is one already and its type is known; programs use few of them again and again."""
        if dtype is None or type(value) not in (int, float, bool):
            return None
        key = (type(value), value, dtype, math.copysign(1.0, value))
        tensor = self._numbers.get(key)
        if tensor is None and len(self._numbers) < _MOST_NUMBERS:
            try:
                tensor = self._numbers[key] = constant(value, dtype)
            except (TypeError, ValueError):  # the call says what is wrong
                return None
        return tensor

    def _remember(self, signature: Any, expected: list[Any]) -> None:
        if len(self._inferred) >= _MOST_SIGNATURES:
            self._inferred.clear()
        self._inferred[signature] = expected

    def _infer(self, definition: Any, name: str, inputs: tuple[Tensor, ...], attributes: dict[str, Any]) -> tuple[list[Any], frozenset[Edge]]:
        """Types and shapes of the outputs, and the values that told them; InvalidArgumentError if the inputs do not fit."""
        dtypes = definition.output_dtypes(attributes)
        for last in (False, True):
            with known_values() as asked:
                try:
                    shapes = definition.infer_shapes(name, inputs, attributes, len(dtypes))
                except ValueError as error:
                    raise errors.InvalidArgumentError(None, None, str(error)) from None
            if last or all(shape.is_fully_defined() for shape in shapes) or not self.thread.recording.operations:
                break
            self.flush()  # a shape may depend on values that are computed now
        return list(zip(dtypes, shapes)), frozenset(asked)  # type: ignore[arg-type]

    def flush(self) -> None:
        """Computes everything that this thread has recorded."""
        self.thread.recording.flush()

    @contextmanager
    def unrecorded(self) -> Iterator[dict[Any, None]]:
        """Inside, tapes record nothing; gives the trainable variables that were read meanwhile, as keys."""
        probe, thread = _Probe(), self.thread
        outer, thread.tapes = thread.tapes, [probe]
        try:
            yield probe.variables
        finally:
            thread.tapes = outer

    def keep_variable(self, variable: Any) -> None:
        """Has tapes watch a variable that is trainable."""
        if variable.trainable:
            self.trainable[variable.handle.op] = weakref.ref(variable)

    def capture(self, tensor: Tensor) -> Tensor:
        """The tensor itself; ValueError for one of a graph, which has no value here."""
        if tensor.op.graph is not self:
            raise ValueError(f"{tensor} belongs to a graph and has no value while eager execution is enabled.")
        return tensor

    @property
    def seed(self) -> int | None:
        """The seed of random ops that have none of their own."""
        return self._seed

    @seed.setter
    def seed(self, seed: int | None) -> None:
        self._seed = seed
        self._seeds = random.Random(seed)
        self.runner.restart_generators()

    def next_op_seed(self) -> int:
        """A seed for the next random op without one, drawn as TensorFlow draws it."""
        return self._seeds.randint(0, 2**31 - 1)

    # --- what a graph has, and imperative style does not --------------------------------------------------------------

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """The name under the current scope. Names need not be unique: nothing is looked up by them."""
        return f"{self._name_stack}/{name}" if self._name_stack else name

    def _name_for(self, name: str) -> str:
        return name[:-1] if name and name[-1] == "/" else self.unique_name(name)

    def add_to_collection(self, name: Any, value: Any) -> None:
        """Does nothing but for the global step: collections belong to graphs, and would keep every value."""
        if not isinstance(name, str) or name == GraphKeys.GLOBAL_STEP:
            super().add_to_collection(name, value)

    @contextmanager
    def control_dependencies(self, control_inputs: Any) -> Iterator[None]:
        """Does nothing: operations run in the order of the program."""
        yield

    @contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """Does nothing: there is no placement before values are there."""
        yield

    def get_operations(self) -> list[Operation]:
        """None: operations are not kept."""
        return []
