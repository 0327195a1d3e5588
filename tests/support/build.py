"""Examples as graphs: how a call of the table becomes a node, and how it runs."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from penstock.graph import dtypes
from penstock.graph.graph import Graph, Operation, Tensor
from penstock.graph.opdef import REGISTRY
from penstock.imperative.tensor import EagerTensor
from penstock.ops.constant import constant, placeholder
from support.examples import Example, State, plain

SourceOf = Callable[[np.ndarray], Tensor]


@contextmanager
def session(graph: Graph) -> Iterator[Any]:
    """A session on ``graph``, closed at the end."""
    from penstock.session.session import Session  # here, so that checks without a session run without one
    with Session(graph=graph) as running:
        yield running


class Call:
    """One node made from an example: its inputs, the ops that put its variables into their state, and what to feed."""

    def __init__(self, example: Example, source: SourceOf, change: Callable[[Any, int], Any] | None = None) -> None:
        self.example = example
        self.setup: list[Operation] = []
        self.arguments: list[list[Tensor]] = []  # per argument: one tensor, or several for a list
        self.arrays: list[list[Any]] = []
        self._source, self._states = source, dict[int, Tensor]()
        inputs = [value if change is None else change(value, index) for index, value in enumerate(example.inputs)]
        built = [self._argument(value) for value in inputs]
        definition = REGISTRY[example.op_type]
        self.op: Operation = definition.node(built, dict(example.attrs), "op")
        self.outputs: list[Tensor] = self.op.outputs

    def _argument(self, value: Any) -> Any:
        items = list(value) if isinstance(value, (list, tuple)) else [value]
        self.arrays.append([item if isinstance(item, State) or callable(item) else plain(item) for item in items])
        self.arguments.append([self._tensor(item) for item in self.arrays[-1]])
        return self.arguments[-1] if isinstance(value, (list, tuple)) else self.arguments[-1][0]

    def _tensor(self, value: Any) -> Tensor:
        if isinstance(value, State):
            if id(value) not in self._states:
                self._states[id(value)] = self._variable(value)
            return self._states[id(value)]
        return value() if callable(value) else self._source(value)

    def _variable(self, state: State) -> Tensor:
        shape, dtype = state.value.shape, dtypes.as_dtype(state.value.dtype)
        if state.is_resource:
            made = REGISTRY["VarHandleOp"](shape=shape, dtype=dtype, name="state")
            made._handle_data = made._handle_data or (dtype, operation_of(made).attrs["shape"])
            self.setup.append(REGISTRY["AssignVariableOp"](made, constant(state.value), name="set_state"))
            return made
        made = REGISTRY["VariableV2"](shape=shape, dtype=dtype, name="state")
        self.setup.append(REGISTRY["Assign"](made, constant(state.value), name="set_state").op)
        return made

    def feeds(self) -> dict[Tensor, Any]:
        """The example's own arrays, read-only, for those inputs that are placeholders."""
        found = {}
        for tensors, arrays in zip(self.arguments, self.arrays):
            for tensor, array in zip(tensors, arrays):
                if operation_of(tensor).type == "Placeholder" and isinstance(array, np.ndarray):
                    found[tensor] = read_only(array)
        return found

    def run(self, running: Any, feeds: dict[Tensor, Any] | None = None) -> list[Any]:
        """The values of the outputs, from a fresh state."""
        return run_from_state(running, self.setup, fetchable(self.outputs), self.feeds() if feeds is None else feeds, self.op)


def run_from_state(running: Any, setup: list[Operation], fetches: list[Tensor], feeds: dict[Any, Any], op: Any) -> list[Any]:
    """Initialises, then runs ``fetches`` and ``op``."""
    if setup:
        running.run(setup)
    return running.run([fetches, op], feeds)[0]


def operation_of(tensor: Tensor) -> Operation:
    """The operation of a tensor; one of imperative style does not tell it to programs."""
    found: Operation = tensor._edge[0] if isinstance(tensor, EagerTensor) else tensor.op
    return found


def fetchable(tensors: list[Tensor]) -> list[Tensor]:
    """The tensors that have an array form."""
    return [tensor for tensor in tensors if tensor.dtype.base_dtype.is_numpy_compatible]


def read_only(array: np.ndarray) -> np.ndarray:
    """A copy that cannot be written to: a kernel that tries fails."""
    array = array.copy()
    array.flags.writeable = False
    return array


def as_constant(array: np.ndarray) -> Tensor:
    """The array as a Const whose value cannot be written to."""
    tensor = constant(array)
    operation_of(tensor).attrs["value"].flags.writeable = False
    return tensor


def as_unknown(array: np.ndarray) -> Tensor:
    """A placeholder that says nothing of its shape."""
    return placeholder(dtypes.as_dtype(array.dtype))


def as_partly_known(array: np.ndarray) -> Tensor:
    """A placeholder that knows its rank and every second extent."""
    return placeholder(dtypes.as_dtype(array.dtype), [extent if axis % 2 else None for axis, extent in enumerate(array.shape)])


def as_known(array: np.ndarray) -> Tensor:
    """A placeholder of the array's shape."""
    return placeholder(dtypes.as_dtype(array.dtype), array.shape)
