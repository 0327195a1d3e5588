"""What makes a variable when ``tf.Variable(...)`` is called: the default, wrapped by the creators of ``tf.variable_creator_scope`` blocks."""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from penstock.graph.graph import default_graph
from penstock.variables.modes import VariableAggregation, VariableSynchronization

Creator = Callable[..., Any]  # (next_creator, **arguments of tf.Variable) -> variable

_STACK = ("variable creators",)  # a collection whose key is not a string: it belongs to the graph but is not exported


def _not_set(next_creator: Any, **arguments: Any) -> Any:
    raise RuntimeError("variables are made after penstock.variables has been imported")


default_creator: Creator = _not_set  # replaced by penstock.variables.scope, which knows what the current scope asks for


@contextmanager
def variable_creator_scope(variable_creator: Creator) -> Iterator[None]:
    """``tf.variable_creator_scope``: inside, variables are made by ``variable_creator(next_creator, **kwargs)``.

    It may change the arguments, call ``next_creator(**kwargs)`` or return a variable of its own.
    """
    stack = default_graph().get_collection_ref(_STACK)
    stack.append(variable_creator)
    try:
        yield
    finally:
        stack.remove(variable_creator)


def create(initial_value: Any = None, trainable: bool | None = None, collections: Any = None, validate_shape: bool = True,
           caching_device: Any = None, name: str | None = None, variable_def: Any = None, dtype: Any = None, expected_shape: Any = None,
           import_scope: str | None = None, constraint: Any = None, use_resource: bool | None = None,
           synchronization: VariableSynchronization = VariableSynchronization.AUTO,
           aggregation: VariableAggregation = VariableAggregation.NONE, shape: Any = None) -> Any:
    """What ``tf.Variable(...)`` returns; the creator of the innermost block is asked first."""
    arguments = dict(locals())
    getter: Callable[..., Any] = functools.partial(default_creator, None)
    for creator in default_graph().get_collection(_STACK):
        getter = functools.partial(creator, getter)
    return getter(**arguments)
