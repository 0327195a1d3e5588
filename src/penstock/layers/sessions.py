"""The session in which layers read and set the values of their variables: the default one, or one that is made when it is needed."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.graph.graph import default_graph
from penstock.graph.stacks import default_session
from penstock.session.session import Session
from penstock.variables.assign import is_variable_initialized
from penstock.variables.initialization import variables_initializer

_KEY = ("session of layers",)  # a collection that belongs to the graph but is not exported


def current_session() -> Any:
    """The default session, or the one of the default graph, which is made here the first time."""
    session = default_session()
    if session is not None:
        return session
    sessions = default_graph().get_collection_ref(_KEY)
    if not sessions:
        sessions.append(Session(graph=default_graph()))
    return sessions[0]


def initialize_new_variables(session: Any, variables: Sequence[Any]) -> None:
    """Runs the initializers of those variables that have no value yet."""
    flags = session.run([is_variable_initialized(variable) for variable in variables])
    new = [variable for variable, initialized in zip(variables, flags) if not initialized]
    if new:
        session.run(variables_initializer(new))


def values_of(variables: Sequence[Any]) -> list[Any]:
    """The values of variables."""
    if not variables:
        return []
    session = current_session()
    initialize_new_variables(session, variables)
    return session.run(list(variables))


def assign_values(pairs: Sequence[tuple[Any, Any]]) -> None:
    """Gives variables new values."""
    for variable, value in pairs:
        variable.load(value, current_session())
