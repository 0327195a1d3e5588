"""Lists of operations and tensors, made of whatever a user gives: a graph, a list, a single one."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.contrib import prelude as tf
from penstock.graph.graph import Graph
from penstock.graph.node import Operation, Tensor

_PREFIX = "geph"  # of the names of placeholders that editors make


def joined(*lists: Iterable[Any]) -> list[Any]:
    """All elements, each once."""
    return list(dict.fromkeys(element for each in lists for element in each))


def as_list(given: Any) -> list[Any]:
    """A list of what was given; a single tensor or operation is one element."""
    return [given] if isinstance(given, Tensor) or not isinstance(given, Iterable) else list(given)


def _check(elements: list[Any], kinds: Any) -> None:
    """All of these kinds, and of one graph."""
    graph = None
    for element in elements:
        if not isinstance(element, kinds):
            names = ", ".join(str(kind) for kind in (kinds if isinstance(kinds, tuple) else (kinds,)))
            raise TypeError(f"Expected a type in ({names}), got: {type(element)}")
        if graph is not None and element.graph is not graph:
            raise ValueError(f"Operation {element} does not belong to given graph")
        graph = element.graph


def make_list_of_op(ops: Any, check_graph: bool = True, allow_graph: bool = True, ignore_ts: bool = False) -> list[Operation]:
    """``make_list_of_op``: the operations of a graph or a list."""
    if isinstance(ops, Graph):
        if not allow_graph:
            raise TypeError("allow_graph is False: cannot convert a tf.Graph.")
        return ops.get_operations()
    elements = as_list(ops)
    if check_graph:
        _check(elements, (Operation, Tensor) if ignore_ts else Operation)
    return [element for element in elements if isinstance(element, Operation)]


def make_list_of_t(ts: Any, check_graph: bool = True, allow_graph: bool = True, ignore_ops: bool = False) -> list[Tensor]:
    """``make_list_of_t``: the tensors of a graph or a list."""
    if isinstance(ts, Graph):
        if not allow_graph:
            raise TypeError("allow_graph is False: cannot convert a tf.Graph.")
        return get_tensors(ts)
    elements = as_list(ts)
    if check_graph:
        _check(elements, (Operation, Tensor) if ignore_ops else Tensor)
    return [element for element in elements if isinstance(element, Tensor)]


def get_tensors(graph: Graph) -> list[Tensor]:
    """``get_tensors``: all tensors of a graph."""
    if not isinstance(graph, Graph):
        raise TypeError(f"Expected a graph, got: {type(graph)}")
    return [tensor for op in graph.get_operations() for tensor in op.outputs]


def get_generating_ops(ts: Any) -> list[Operation]:
    """``get_generating_ops``: the operations that compute tensors."""
    return [tensor.op for tensor in make_list_of_t(ts, allow_graph=False)]


def get_consuming_ops(ts: Any) -> list[Operation]:
    """``get_consuming_ops``: the operations that use tensors."""
    return joined(*(tensor.consumers() for tensor in make_list_of_t(ts, allow_graph=False)))


class ControlOutputs:
    """``ControlOutputs``: the operations that wait for each operation of a graph."""

    def __init__(self, graph: Graph) -> None:
        if not isinstance(graph, Graph):
            raise TypeError(f"Expected a tf.Graph, got: {type(graph)}")
        self._graph = graph
        self.update()

    def update(self) -> ControlOutputs:
        """Looks at the graph again."""
        self._outputs: dict[Operation, list[Operation]] = {}
        for op in self._graph.get_operations():
            for other in joined(op.control_inputs):
                self._outputs.setdefault(other, []).append(op)
        return self

    def get_all(self) -> dict[Operation, list[Operation]]:
        """All of them."""
        return self._outputs

    def get(self, op: Operation) -> Any:
        """Those of one operation."""
        return self._outputs.get(op, ())

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self._graph


# --- placeholders ----------------------------------------------------------------------------------------------------


def placeholder_name(t: Tensor | None = None, scope: str | None = None, prefix: str = _PREFIX) -> str:
    """``placeholder_name``: the name of a placeholder that stands for a tensor."""
    if scope and scope[-1] != "/":
        scope += "/"
    if t is None:
        return f"{scope or ''}{prefix}"
    if not isinstance(t, Tensor):
        raise TypeError(f"Expected a tf.Tenfor, got: {type(t)}")
    folder, slash, base = t.op.name.rpartition("/")
    return (folder + slash if scope is None else scope) + (base if base.startswith(f"{prefix}__") else f"{prefix}__{base}_{t.value_index}")


def make_placeholder_from_tensor(t: Tensor, scope: str | None = None, prefix: str = _PREFIX) -> Tensor:
    """``make_placeholder_from_tensor``: one of the type and shape of a tensor."""
    return tf.placeholder(dtype=t.dtype.base_dtype, shape=t.shape, name=placeholder_name(t, scope=scope, prefix=prefix))


def make_placeholder_from_dtype_and_shape(dtype: Any, shape: Any = None, scope: str | None = None, prefix: str = _PREFIX) -> Tensor:
    """``make_placeholder_from_dtype_and_shape``: one of a type and shape."""
    return tf.placeholder(dtype=dtype, shape=shape, name=placeholder_name(scope=scope, prefix=prefix))
