"""The session in which layers read and set the values of their variables: the default one, or one that is made when it is needed.

Keras initializes variables when a session is first asked for after they were made. So each graph keeps a list of the variables that layers and
optimizers of Keras made, and each session remembers how far into that list it has looked.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from tensorboard.compat.proto.config_pb2 import ConfigProto

from penstock.graph.function import init_scope
from penstock.graph.graph import Graph, default_graph
from penstock.graph.stacks import default_session
from penstock.imperative.symbolic import flush, graph_of_sessions
from penstock.session.session import Session
from penstock.variables.assign import is_variable_initialized
from penstock.variables.initialization import variables_initializer
from penstock.variables.partitioned import PartitionedVariable

# Collections that belong to the graph but are not exported.
_SESSION = ("session of layers",)
_TARGET = ("target of the session of layers",)
_VARIABLES = ("variables of layers",)
_looked_at: WeakKeyDictionary[Any, int] = WeakKeyDictionary()  # {session: how many of the variables of its graph it has looked at}
_given: list[Any] = []  # the session of `set_session`
_manual = [False]


def track_variable(variable: Any) -> None:
    """From now on, ``initialized_session`` sees to it that the variable has a value."""
    parts = list(variable) if isinstance(variable, PartitionedVariable) else [variable]
    for part in parts:
        tracked = part.graph.get_collection_ref(_VARIABLES)
        if not any(part is other for other in tracked):
            tracked.append(part)


def set_session(session: Any) -> None:
    """``tf.keras.backend.set_session``: the session that is used where there is no default one."""
    _given[:] = [] if session is None else [session]


def manual_variable_initialization(value: bool) -> None:
    """``tf.keras.backend.manual_variable_initialization``: whether the user initializes variables."""
    _manual[0] = value


def current_session() -> Any:
    """The default session, the one that was set, or the one of the default graph, which is made here the first time."""
    session = existing_session()
    if session is None:
        graph = graph_of_sessions(default_graph())
        target = (graph.get_collection(_TARGET) or [""])[0]
        session = Session(target, graph=graph, config=ConfigProto(allow_soft_placement=True))  # as TensorFlow's Keras makes it
        graph.get_collection_ref(_SESSION).append(session)
    return session


def existing_session() -> Any:
    """What ``current_session`` gives, if it need not make one; else None."""
    session = default_session()
    if session is not None:
        return session
    graph = graph_of_sessions(default_graph())
    if _given and _given[0].graph is graph:
        return _given[0]
    return next(iter(graph.get_collection_ref(_SESSION)), None)


def any_has_value(variables: Sequence[Any]) -> bool:
    """Whether one of the variables has a value already: nothing is initialized for the question."""
    if any(variable.graph.imperative for variable in variables):
        return True
    session = existing_session()
    if session is None or any(variable.graph is not session.graph for variable in variables):
        return False
    with session.graph.as_default():
        return any(session.run([is_variable_initialized(variable) for variable in variables]))


def use_target(graph: Graph, target: str) -> None:
    """Has the session of a graph run on a server. RuntimeError if there is a session already, which has the values of variables elsewhere."""
    targets = graph.get_collection_ref(_TARGET)
    if targets != [target] and graph.get_collection(_SESSION):
        raise RuntimeError("A model that several workers train must be made under `strategy.scope()` before a value of the graph's other models is "
                           "looked at; `tf.keras.backend.clear_session()` begins a new graph.")
    targets[:] = [target]


def forget_session(graph: Graph) -> None:
    """Closes the session that was made for a graph."""
    _given.clear()
    sessions = graph.get_collection_ref(_SESSION)
    while sessions:
        sessions.pop().close()


def initialized_session() -> Any:
    """``tf.keras.backend.get_session``: the session, in which all variables of layers have values."""
    session = current_session()
    flush(session.graph)
    tracked = [variable for variable in session.graph.get_collection_ref(_VARIABLES) if not variable.graph.imperative]  # those have values
    start = _looked_at.get(session, 0)
    if start < len(tracked) and not _manual[0]:
        _looked_at[session] = len(tracked)
        with session.graph.as_default():
            _initialize(session, tracked[start:])
    return session


def are_all_new(variables: Sequence[Any]) -> bool:
    """Whether these are all that the next ``initialized_session`` of their graph would initialize."""
    session = existing_session()
    tracked = variables[0].graph.get_collection_ref(_VARIABLES)
    waiting = tracked[0 if session is None else _looked_at.get(session, 0):]
    return {id(variable) for variable in waiting} <= {id(variable) for variable in variables}


def _initialize(session: Any, variables: Sequence[Any]) -> None:
    """Runs the initializers of those variables that have no value yet."""
    flags = session.run([is_variable_initialized(variable) for variable in variables])
    new = [variable for variable, initialized in zip(variables, flags) if not initialized]
    if new:
        session.run(variables_initializer(new))


def values_of(variables: Sequence[Any]) -> list[Any]:
    """The values of variables."""
    if variables and all(variable.graph.imperative for variable in variables):
        with init_scope():
            return [variable.numpy() for variable in variables]
    return initialized_session().run(list(variables)) if variables else []


def assign_values(pairs: Sequence[tuple[Any, Any]]) -> None:
    """Gives variables new values from outside."""
    count_assignments(variable for variable, _ in pairs if not variable.graph.imperative)
    load_values(pairs)


def load_values(pairs: Sequence[tuple[Any, Any]]) -> None:
    """Gives variables new values: those of imperative style at once, also where a symbolic model is built of them."""
    direct = [pair for pair in pairs if pair[0].graph.imperative]
    if direct:
        with init_scope():
            for variable, value in direct:
                variable.assign(value)
            flush(default_graph())
    pairs = [pair for pair in pairs if not pair[0].graph.imperative]
    session = initialized_session() if pairs else None
    for variable, value in pairs:
        variable.load(value, session)


def count_assignments(variables: Iterable[Any]) -> None:
    """For the seeds of random ops to come: a variable that is first assigned to from outside has a placeholder, an assignment and a read there."""
    for variable in variables:
        if variable.graph.first_time(("assigned to", variable)):
            variable.graph.imply(3)
