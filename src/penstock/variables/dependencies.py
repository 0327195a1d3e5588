"""Initial values that depend on other variables: computed from those variables' initial values where they have no value yet.

``tf.Variable(other * 2.0)`` must not depend on the order in which an init op initializes the two. So the part of the graph between ``other`` and the
initial value is copied, with ``other.initialized_value()`` in place of ``other``.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.graph.graph import default_graph
from penstock.graph.keys import GraphKeys
from penstock.graph.node import Operation, Tensor

if TYPE_CHECKING:
    from penstock.variables.variable import Variable

_SECOND_GUARD = 12  # nodes of it


def guard_initial_value(scope: str, initial_value: Tensor) -> Tensor:
    """``initial_value``, or a copy of it that does not need any variable to be initialized. ``scope`` is that of the new variable."""
    if not _reaches_variable(initial_value):
        if any(_is_storage(item.op) for item in initial_value.op.inputs):  # an initialized value, which TensorFlow guards once more
            default_graph().imply(_SECOND_GUARD)
        return initial_value
    return _Copier(scope).tensor(initial_value)


def _is_storage(op: Operation) -> bool:
    """True for the op that holds the state of a RefVariable."""
    return not op.inputs and bool(op.outputs) and op.outputs[0].dtype.is_ref


def _needs_no_guard(op: Operation) -> bool:
    """Ops that may see a variable without a value, or write to it, need no guard."""
    return op.definition.allows_uninitialized


def _reaches_variable(tensor: Tensor) -> bool:
    seen: set[Operation] = set()
    waiting = [tensor.op]
    while waiting:
        op = waiting.pop()
        if op in seen or _needs_no_guard(op):
            continue
        if _is_storage(op):
            return True
        seen.add(op)
        waiting.extend(item.op for item in op.inputs)
    return False


class _Copier:
    """Copies ops, each once, named after the originals and the new variable."""

    def __init__(self, scope: str) -> None:
        self._scope = scope
        self._done: dict[Operation, Operation] = {}

    def tensor(self, tensor: Tensor) -> Tensor:
        """The tensor to use instead."""
        op = self._op(tensor.op)
        return op.outputs[tensor.value_index if len(op.outputs) > tensor.value_index else 0]

    def _op(self, op: Operation) -> Operation:
        if op not in self._done:
            self._done[op] = op if _needs_no_guard(op) else self._initialized_value_op(op) if _is_storage(op) else self._copy(op)
        return self._done[op]

    def _initialized_value_op(self, storage: Operation) -> Operation:
        variable = _variable_of(storage)
        return storage if variable is None else variable.initialized_value().op

    def _copy(self, op: Operation) -> Operation:
        inputs = tuple(self.tensor(item) for item in op.inputs)
        if all(new is old for new, old in zip(inputs, op.inputs)):
            return op
        graph = op.graph
        name = graph._name_for(f"{op.name}_{self._scope}")  # a name that ends in "/" is taken as it is
        if name in graph._by_name:
            name = graph._name_for(f"{op.name}_{self._scope[:-1]}")
        copy = op.definition.add_node(graph, name, inputs, dict(op.attrs))
        copy._colocation = op._colocation
        return copy


def _variable_of(storage: Operation) -> Variable | None:
    graph = default_graph()
    for key in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES):
        for variable in graph.get_collection(key):
            if getattr(variable, "op", None) is storage:
                return variable
    return None
