"""The scopes of the default graph as functions: ``tf.name_scope``, ``tf.device``, ``tf.control_dependencies``, ..."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from penstock.graph.convert import graph_for
from penstock.graph.graph import Graph, default_graph


class name_scope:
    """``tf.name_scope(name, default_name=None, values=None)``: a prefix for the names of the ops made inside.

    With ``values``, their graph becomes the default graph, so that a function can add ops wherever its inputs live.

    >>> import penstock as tf
    >>> with tf.Graph().as_default(), tf.name_scope("layer") as scope:
    ...     print(scope, tf.constant(1.0, name="w").name)
    layer/ layer/w:0
    """

    def __init__(self, name: str | None, default_name: str | None = None, values: Any = None) -> None:
        if name is None and default_name is None and values is not None:
            raise TypeError("`name` is None and `default_name` is None: a scope with values needs one of them")
        self._name = default_name if name is None else name
        self._values = values

    @property
    def name(self) -> str | None:
        """The name asked for."""
        return self._name

    def __enter__(self) -> str:
        graph = graph_for(self._values) if self._values else default_graph()
        self._default: Any = None
        if graph.imperative:  # it is the default already: this is what many operations of a loop cost
            self._graph, self._outer = graph, graph._name_stack
            return graph.enter_name_scope(self._name)
        self._default = graph.as_default()
        self._default.__enter__()
        self._scope = graph.name_scope(self._name)
        try:
            scope: str = self._scope.__enter__()
            return scope
        except BaseException:
            self._default.__exit__(None, None, None)
            raise

    def __exit__(self, *error: Any) -> bool | None:
        if self._default is None:
            self._graph._name_stack = self._outer
            return None
        try:
            self._scope.__exit__(*error)
        finally:
            self._default.__exit__(*error)
        return None


@contextmanager
def op_scope(values: Any, name: str | None, default_name: str | None = None) -> Iterator[str]:
    """``tf.op_scope``, the old spelling of ``name_scope``."""
    with name_scope(name, default_name, values) as scope:
        yield scope


def device(device_name_or_function: Any) -> AbstractContextManager[None]:
    """``tf.device``: ops made inside run on this device."""
    return default_graph().device(device_name_or_function)


def control_dependencies(control_inputs: Any) -> AbstractContextManager[None]:
    """``tf.control_dependencies``: ops made inside run after these."""
    return default_graph().control_dependencies(control_inputs)


def colocate_with(op: Any, ignore_existing: bool = False) -> AbstractContextManager[None]:
    """``tf.colocate_with``: ops made inside run where ``op`` runs."""
    return default_graph().colocate_with(op, ignore_existing)


def container(container_name: str) -> AbstractContextManager[str]:
    """``tf.container``: variables and queues made inside live in this resource container."""
    return default_graph().container(container_name)


def add_to_collection(name: Any, value: Any) -> None:
    """``tf.add_to_collection``."""
    default_graph().add_to_collection(name, value)


def add_to_collections(names: Any, value: Any) -> None:
    """``tf.add_to_collections``."""
    default_graph().add_to_collections(names, value)


def get_collection(key: Any, scope: str | None = None) -> list[Any]:
    """``tf.get_collection``: a copy of the list."""
    return default_graph().get_collection(key, scope)


def get_collection_ref(key: Any) -> list[Any]:
    """``tf.get_collection_ref``: the list itself."""
    return default_graph().get_collection_ref(key)


def get_default_graph() -> Graph:
    """``tf.get_default_graph``."""
    return default_graph()
