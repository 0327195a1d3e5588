"""EagerOperation: one call of an op in imperative style, and what it shares with the same call of earlier turns of a loop.

An EagerOperation knows its producers by operation and index, or by their places in the recording, and its outputs by weak references only. So it
can be told which values the program still holds: only those leave a segment. Once an operation has run, and no tape needs it, it forgets its
producers: what lies behind a value does not stay in memory.
"""
from __future__ import annotations

import weakref
from collections.abc import Sequence
from sys import getrefcount
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.graph.device import merge
from penstock.graph.dtypes import DType
from penstock.graph.node import Operation, Tensor
from penstock.graph.shape import TensorShape
from penstock.graph.source import Source
from penstock.imperative.placing import HOST
from penstock.imperative.tensor import EagerTensor

if TYPE_CHECKING:
    from penstock.imperative.eager_graph import EagerGraph
    from penstock.imperative.recording import Recording, State

UNSET: Any = object()  # the value of an output that has not been computed, or was not needed when its segment ran

Edge = tuple["EagerOperation", int]  # an output of an operation


class Call:
    """What a call of an op is, apart from its inputs: the calls that a loop makes turn by turn at one place share it."""

    __slots__ = ("asked", "attrs", "deep", "definition", "device", "dtype", "expected", "extra", "feeds", "graph", "key", "name", "origin", "shape",
                 "source", "state", "variable")

    def __init__(self, graph: EagerGraph, definition: Any, name: str, attributes: dict[str, Any], expected: list[tuple[DType, TensorShape]],
                 source: Source) -> None:
        self.graph, self.definition, self.name, self.attrs, self.expected, self.source = graph, definition, name, attributes, expected, source
        if expected:
            self.dtype, self.shape = expected[0]  # of its first output
        self.device = ""
        self.extra: dict[str, Any] = {}
        self.key: Any = None  # tells ops with their attributes apart
        self.asked: list[tuple[int, Any]] = []  # values that its shape follows from: (which input, value)
        self.deep: frozenset[Edge] = frozenset()  # such values that are not its inputs
        self.variable: Any = None  # of a handle: a weak reference to its variable, if tapes watch that
        # where it stands among what was recorded before: see ``recording.py``
        self.origin: State | None = None
        self.state: State | None = None
        self.feeds = False  # do values come in here that the operations before it did not use?


def _new_id(op: EagerOperation) -> int:
    op._id = op.graph._next_id()
    return op._id


# What hardly any operation has: it is there when it is asked for, since setting it would cost every operation.
_LATER: dict[str, Any] = {"_id": _new_id, "_control_inputs": lambda op: [], "_colocation": lambda op: (), "_note": lambda op: None,
                          "_saved": lambda op: None, "_original_op": lambda op: None, "_handles": lambda op: None, "_own_gradient": lambda op: None,
                          "error": lambda op: None}


def _of_call(name: str) -> Any:
    """A property whose value the Call has."""
    return property(lambda op: getattr(op.call, name), lambda op, value: setattr(op.call, name, value))


class Places:
    """Where the producers of an operation stand in a recording: most operations of a loop are never asked for them."""

    __slots__ = ()

    def edges(self, operations: Sequence[EagerOperation], fed: Sequence[Edge]) -> Sequence[Edge]:
        """The producers, among the operations of the recording and the values from outside."""
        raise NotImplementedError


class EagerOperation(Operation):
    """One call of an op. ``edges`` are its producers; ``results`` its values, once it has run."""

    __slots__ = ("_edges", "_handles", "_own_gradient", "_references", "call", "error", "noted", "place", "recording", "results", "tensor")
    graph, definition, name, attrs = _of_call("graph"), _of_call("definition"), _of_call("name"), _of_call("attrs")
    _source, _device, _extra = _of_call("source"), _of_call("device"), _of_call("extra")
    expected, key = _of_call("expected"), _of_call("key")
    __init__ = object.__init__  # its maker sets what it has: ``of``, and ``call_as_guessed``, where a further call would count
    call: Call
    _edges: Any  # its producers, or what knows their places: see ``Places``
    recording: Recording | None  # what it waits in
    place: int  # and where
    results: Any
    noted: tuple[Any, ...]  # the tokens of the tapes that need it
    tensor: EagerTensor | None  # its first output, as long as it waits: who else holds that is told by counting references
    _references: list[Any] | None  # its outputs, weakly
    error: Exception | None
    _handles: dict[int, Any] | None

    @classmethod
    def of(cls, call: Call, edges: Sequence[Edge], recording: Recording | None = None, place: int = -1) -> EagerOperation:
        """An operation that has not run."""
        op = cls()
        op.call, op._edges, op.recording, op.place = call, edges, recording, place
        op.results, op.noted, op.tensor, op._references = None, (), None, None
        return op

    def __getattr__(self, name: str) -> Any:
        try:
            return _LATER[name](self)
        except KeyError:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'") from None

    @property
    def edges(self) -> Sequence[Edge]:
        """Its producers."""
        if isinstance(self._edges, Places) and self.recording is not None:
            self.find_edges(self.recording.operations, self.recording.fed)
        edges: Sequence[Edge] = self._edges
        return edges

    def find_edges(self, operations: Sequence[EagerOperation], fed: Sequence[Edge]) -> None:
        """Has its producers, among what was recorded with it and the values from outside."""
        if isinstance(self._edges, Places):
            self._edges = self._edges.edges(operations, fed)

    @property
    def device(self) -> str:
        """The device that it runs on."""
        return merge(HOST, self._device)

    @property
    def own_gradient(self) -> Any:
        """The function that differentiates this one operation, instead of its definition's: see ``custom_gradient.py``."""
        return self._own_gradient

    @own_gradient.setter
    def own_gradient(self, function: Any) -> None:
        self._own_gradient = function
        if self.recording is not None:
            self.recording.lose()  # it is not like the calls of earlier turns

    @property
    def _inputs(self) -> tuple[Tensor, ...]:  # type: ignore[override]
        return tuple([producer.output(index) for producer, index in self.edges])

    @property
    def outputs(self) -> list[Tensor]:  # type: ignore[override]
        """Its Tensors."""
        return [self.output(index) for index in range(len(self.call.expected))]

    def output(self, index: int) -> EagerTensor:
        """The tensor of an output: the one that the program holds, or a new one."""
        tensor: EagerTensor | None
        if index == 0 and self.recording is not None:
            tensor = self.tensor
            if tensor is None:
                tensor = self.tensor = self._new_output(0)
            return tensor
        references = self._references
        if references is None:
            references = self._references = [None] * len(self.call.expected)
            if self.recording is not None:
                self.recording.is_plain = False
        reference = references[index]
        tensor = None if reference is None else reference()
        if tensor is None:
            tensor = self._new_output(index)
            references[index] = weakref.ref(tensor)
        return tensor

    def _new_output(self, index: int) -> EagerTensor:
        tensor = EagerTensor()
        tensor._producer, tensor._index = self, index
        tensor._dtype, tensor._shape = self.call.expected[index]
        return tensor

    def stop_waiting(self) -> None:
        """It is not recorded any more: it holds its first output weakly, as the others."""
        self.recording = None
        tensor, self.tensor = self.tensor, None
        if tensor is not None and getrefcount(tensor) > 2:
            if self._references is None:
                self._references = [None] * len(self.call.expected)
            self._references[0] = weakref.ref(tensor)

    def value(self, index: int) -> Any:
        """The value of an output; what was recorded runs first, if it has not."""
        if self.results is None:
            if self.error is None and self.recording is not None:
                self.recording.flush()
            if self.error is not None:
                raise self.error
        value = self.results[index]
        assert value is not UNSET, f"output {index} of {self.name} was not kept"
        return value

    def result(self, index: int) -> Any:
        """The value of an output, if it has been computed."""
        return None if self.results is None or self.results[index] is UNSET else self.results[index]

    def finish(self, values: Any) -> None:
        """Takes its results; what was not computed is ``UNSET``."""
        self.results = values
        self.stop_waiting()
        if not self.noted:
            self._edges = ()

    def release(self, token: Any) -> None:
        """One tape less needs it."""
        self.noted = () if len(self.noted) == 1 else tuple([other for other in self.noted if other is not token])
        if not self.noted and self.results is not None:
            self._edges = ()

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type}>"


def hashable(value: Any) -> Any:
    """The value of an attribute, or an array, as a part of a key."""
    if isinstance(value, (list, tuple)):
        return tuple([hashable(item) for item in value])
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tobytes() if value.dtype != object else tuple(value.ravel().tolist()))
    return value.extents if type(value) is TensorShape else value  # shapes with unknown extents do not equal each other


def value_key(edge: Edge) -> Any:
    """The value of an output as a part of a key."""
    return hashable(np.asarray(edge[0].value(edge[1])))
