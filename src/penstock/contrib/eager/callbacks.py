"""Functions that are called after each operation of imperative style, among them those that look for infinities and NaNs."""
from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from penstock.graph.dtypes import DType
from penstock.graph.graph import default_graph
from penstock.imperative.context import ensure_eager_graph
from penstock.imperative.eager_graph import EagerGraph
from penstock.platform import logging

Callback = Callable[..., Any]  # (op_type, inputs, attrs, outputs, op_name)


class ExecutionCallback(enum.Enum):
    """What happens when an infinity or a NaN is found."""

    IGNORE = "ignore"
    PRINT = "print"
    RAISE = "raise"
    WARN = "warn"


class InfOrNanError(Exception):
    """An output of an operation has infinities or NaNs."""

    def __init__(self, op_type: str, op_name: str | None, output_index: int, num_outputs: int, value: Any) -> None:
        self.op_type, self.op_name, self.output_index, self.num_outputs, self.value = op_type, op_name, output_index, num_outputs, value
        self.total_count = int(np.size(value))
        self.inf_count, self.nan_count = int(np.isinf(value).sum()), int(np.isnan(value).sum())
        counts = [f"{count} {what}(s)" for count, what in ((self.inf_count, "inf"), (self.nan_count, "nan")) if count]
        super().__init__(f"Output {output_index + 1} of {num_outputs} of TFE operation {op_type} (name: {op_name}) contains {' and '.join(counts)} "
                         f"out of a total of {self.total_count} element(s). Tensor value: {value}")


def _graph() -> EagerGraph:
    """The graph of imperative style that counts here."""
    graph = default_graph()
    return graph if isinstance(graph, EagerGraph) else ensure_eager_graph()


def inf_nan_callback(op_type: str, inputs: Any, attrs: Any, outputs: Any, op_name: str | None, check_inf: bool = True, check_nan: bool = True,
                     action: ExecutionCallback = ExecutionCallback.RAISE) -> None:
    """Looks for infinities and NaNs in the outputs of an operation: a function for ``add_execution_callback``."""
    action = ExecutionCallback(action)
    for index, output in enumerate(outputs):
        if not output.dtype.is_floating and not output.dtype.is_complex:
            continue
        value = output.numpy()
        if not ((check_inf and np.isinf(value).any()) or (check_nan and np.isnan(value).any())):
            continue
        error = InfOrNanError(op_type, op_name, index, len(outputs), value)
        if action is ExecutionCallback.RAISE:
            raise error
        if action is ExecutionCallback.WARN:
            logging.warning("%s", error)
        elif action is ExecutionCallback.PRINT:
            print(f"Warning: {error}")


def inf_callback(op_type: str, inputs: Any, attrs: Any, outputs: Any, op_name: str | None,
                 action: ExecutionCallback = ExecutionCallback.RAISE) -> None:
    """``inf_nan_callback`` for infinities only."""
    inf_nan_callback(op_type, inputs, attrs, outputs, op_name, check_inf=True, check_nan=False, action=action)


def nan_callback(op_type: str, inputs: Any, attrs: Any, outputs: Any, op_name: str | None,
                 action: ExecutionCallback = ExecutionCallback.RAISE) -> None:
    """``inf_nan_callback`` for NaNs only."""
    inf_nan_callback(op_type, inputs, attrs, outputs, op_name, check_inf=False, check_nan=True, action=action)


def add_execution_callback(callback: Callback) -> None:
    """Has ``callback(op_type, inputs, attrs, outputs, op_name)`` called after each operation, which then runs at its call.

    ``attrs`` are names and values in turns.
    """
    if not callable(callback):
        raise TypeError(f"an execution callback must be a function, not {callback!r}")
    graph = _graph()
    graph.set_callbacks([*graph.callbacks, functools.partial(_call, callback)])


def _call(callback: Callback, op_type: str, inputs: Any, attributes: dict[str, Any], outputs: Any, op_name: str | None) -> None:
    """Calls a callback with attributes as TensorFlow gives them; what it computes itself is not told to callbacks."""
    graph = _graph()
    callbacks, graph.callbacks = graph.callbacks, []
    try:
        flat = [item for name, value in attributes.items() for item in (name, value.as_datatype_enum if isinstance(value, DType) else value)]
        callback(op_type, inputs, tuple(flat), outputs, op_name)
    finally:
        graph.callbacks = callbacks


def clear_execution_callbacks() -> None:
    """No function is called any more; what ``seterr`` has set is over, too."""
    global _action
    _action = ExecutionCallback.IGNORE
    _graph().set_callbacks([])


_action = ExecutionCallback.IGNORE


def seterr(inf_or_nan: Any = None) -> dict[str, ExecutionCallback]:
    """Says what happens when an operation gives an infinity or a NaN; returns what was said before. None changes nothing."""
    global _action
    before = _action
    if inf_or_nan is not None:
        action = ExecutionCallback(inf_or_nan)
        graph = _graph()
        others = [each for each in graph.callbacks if not (isinstance(each.args[0], functools.partial) and each.args[0].func is inf_nan_callback)]
        graph.set_callbacks(others)
        if action is not ExecutionCallback.IGNORE:
            add_execution_callback(functools.partial(inf_nan_callback, action=action))
        _action = action
    return {"inf_or_nan": before}


@contextmanager
def errstate(inf_or_nan: Any = None) -> Iterator[None]:
    """``seterr`` for a ``with`` block."""
    before = seterr(inf_or_nan)
    try:
        yield
    finally:
        if inf_or_nan is not None:
            seterr(**before)
