"""Decisions that are taken while building if they can be, and by ``tf.cond`` otherwise; the learning phase of Keras."""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from penstock.graph.function import FuncGraph
from penstock.graph.graph import Graph, default_graph
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.static import constant_value
from penstock.imperative.symbolic import SymbolicGraph
from penstock.ops.constant import placeholder_with_default
from penstock.ops.flow.control_flow import cond

_KEY = ("learning phase",)  # a collection that belongs to the graph but is not exported
_OF_VALUES = ("learning phase of values",)  # imperative style shares the collections of its symbolic graph, but not a placeholder


def static_truth(pred: Any) -> bool | None:
    """What ``pred``, a bool, 0, 1 or a tensor, is known to be while building; None if it is not known."""
    if isinstance(pred, bool) or (isinstance(pred, int) and pred in (0, 1)):
        return bool(pred)
    if hasattr(pred, "initialized_value"):  # a variable
        return None
    if isinstance(pred, Tensor):
        value = constant_value(pred)
        return None if value is None else bool(value)
    raise TypeError(f"`pred` must be a Tensor, or a Python bool, or 1 or 0. Found instead: {type(pred)}")


def smart_cond(pred: Any, true_fn: Callable[[], Any] | None = None, false_fn: Callable[[], Any] | None = None, name: str | None = None) -> Any:
    """The result of one of the functions: chosen now if ``pred`` is known, else when the graph runs."""
    if not callable(true_fn) or not callable(false_fn):
        raise TypeError("`true_fn` and `false_fn` must be callable.")
    known = static_truth(pred)
    if known is None:
        return cond(pred, true_fn=true_fn, false_fn=false_fn, name=name)
    return true_fn() if known else false_fn()


def learning_phase() -> Any:
    """``tf.keras.backend.learning_phase``: what ``set_learning_phase`` said for this graph, or a placeholder that is False unless it is fed.

    In imperative style, and in its functions, 0 if nothing was said.
    """
    graph, phases = _graph_of_phase(), phase_state()
    if graph.imperative:
        return phases[0] if phases else 0
    if not phases:
        with graph.as_default(), name_scope(""):
            phases.append(placeholder_with_default(False, shape=(), name="keras_learning_phase"))
    return phases[0]


def phase_state() -> list[Any]:
    """The phase of the default graph, in a list that may be changed; empty while nothing has asked for it."""
    graph = _graph_of_phase()
    return graph.get_collection_ref(_OF_VALUES if graph.imperative else _KEY)


def _graph_of_phase() -> Graph:
    """The graph around the functions of loops, branches and traces, which share their phase."""
    graph = default_graph()
    while isinstance(graph, FuncGraph) and not isinstance(graph, SymbolicGraph):
        graph = graph.outer
    return graph


@contextlib.contextmanager
def learning_phase_of_values(value: int) -> Iterator[None]:
    """The learning phase of imperative style is 0 or 1 inside."""
    phases = phase_state()
    before = list(phases)
    phases[:] = [value]
    try:
        yield
    finally:
        phases[:] = before


def is_learning_phase(value: Any) -> bool:
    """Whether ``value`` is the placeholder that ``learning_phase`` gives."""
    return isinstance(value, Tensor) and any(value is phase for phase in phase_state())


def set_learning_phase(value: Any) -> None:
    """``tf.keras.backend.set_learning_phase``: 0 is inference, 1 is training."""
    if value not in (0, 1):
        raise ValueError("Expected learning phase to be 0 or 1.")
    phase_state()[:] = [value]
    if default_graph().imperative:  # symbolic models, too
        default_graph().get_collection_ref(_KEY)[:] = [value]
