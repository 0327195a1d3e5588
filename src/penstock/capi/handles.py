"""What C holds of Python objects: numbers that look like pointers, and are looked up at each call.

Nothing is ever read through a handle, so one that was deleted, or is of another kind, is an error that can be told.
"""
from __future__ import annotations

import ctypes
import itertools
import threading
from typing import Any

from tensorboard.compat.proto.function_pb2 import FunctionDef

from penstock.errors import InvalidArgumentError
from penstock.graph.graph import Graph
from penstock.graph.node import Operation, Tensor

_numbers = itertools.count(0x10000, 16)
_objects: dict[int, Any] = {}
_texts: dict[int, dict[str, Any]] = {}  # what C was given of the texts of an object: they live as long as its handle
_lock = threading.Lock()


class GraphState:
    """TF_Graph: a graph, the handles of its operations, its functions, and how many sessions and callers use it."""

    def __init__(self, graph: Graph | None = None) -> None:
        self.graph = Graph() if graph is None else graph
        self.lock = threading.RLock()  # one thread at a time adds to it
        self.functions: dict[str, FunctionDef] = {}
        self.called: dict[Operation, str] = {}  # operations that stand for the call of a function, and its name
        self.users = 1
        self._handles: dict[Operation, int] = {}
        with _lock:
            _states[self.graph] = self

    def handle(self, op: Operation) -> int:
        """The handle of an operation: always the same."""
        with _lock:
            number = self._handles.get(op)
            if number is None:
                number = self._handles[op] = next(_numbers)
                _objects[number] = op
        return number

    def use(self) -> None:
        """A session uses it from now on."""
        with _lock:
            self.users += 1

    def release(self) -> None:
        """One user fewer; without any, the handles of its operations are gone."""
        with _lock:
            self.users -= 1
            if self.users:
                return
            for number in self._handles.values():
                _objects.pop(number, None)
                _texts.pop(number, None)
            _states.pop(self.graph, None)


_states: dict[Graph, GraphState] = {}


def state_of(graph: Graph) -> GraphState:
    """What belongs to a graph that C knows."""
    state = _states.get(graph)
    if state is None:
        raise InvalidArgumentError(None, None, "the operation belongs to a graph that was deleted")
    return state


def add(item: Any) -> int:
    """A new handle; that of an operation is its graph's."""
    if isinstance(item, Operation):
        return state_of(item.graph).handle(item)
    number = next(_numbers)
    _objects[number] = item
    return number


def get(number: int | None, kind: type, what: str) -> Any:
    """The object behind a handle; InvalidArgumentError, with what it should be, if it is not one."""
    item = _objects.get(number or 0)
    if not isinstance(item, kind):
        problem = "is NULL" if not number else f"{number:#x} is a handle of another kind" if item is not None else \
            f"{number:#x} was not given out by this library, or was deleted"
        raise InvalidArgumentError(None, None, f"{what} {problem}")
    return item


def remove(number: int) -> None:
    """Forgets a handle."""
    _objects.pop(number, None)
    _texts.pop(number, None)


def text(owner: int, value: str) -> int:
    """The address of a text that lives as long as the handle of its owner."""
    texts = _texts.setdefault(owner, {})
    if value not in texts:
        texts[value] = ctypes.create_string_buffer(value.encode())
    return ctypes.addressof(texts[value])


def tensor(number: int | None, index: int, what: str = "TF_Output") -> Tensor:
    """The tensor of a TF_Output."""
    op = get(number, Operation, f"the operation of a {what}")
    if not 0 <= index < len(op.outputs):
        raise InvalidArgumentError(None, None, f"Node '{op.name}' (type: '{op.type}', num of outputs: {len(op.outputs)}) does not have output "
                                               f"{index}")
    return op.outputs[index]


def live() -> int:
    """How many handles there are: for tests of leaks."""
    return len(_objects)
