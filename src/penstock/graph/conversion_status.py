"""Whether AutoGraph converts the function that is being built: what is advised where Python's control flow meets a tensor without a value."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from penstock.errors import OperatorNotAllowedInGraphError
from penstock.graph.stacks import DefaultStack

_converting = DefaultStack()  # True inside of a function that AutoGraph was asked to convert, False inside of one that it must not convert


def building(function: Callable[..., Any], converting: bool) -> Callable[..., Any]:
    """A function like ``function``; what is built inside of it knows whether AutoGraph converts."""
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with _converting.using(converting):
            return function(*args, **kwargs)

    return wrapper


def not_allowed(task: str) -> OperatorNotAllowedInGraphError:
    """The error of Python control flow over a tensor of a graph; ``task`` is what was tried."""
    converting = _converting.top()
    if converting is None:
        why = "is not allowed in Graph execution. Use Eager execution or decorate this function with @tf.function."
    else:
        state = "AutoGraph did not convert this function" if converting else "AutoGraph is disabled in this function"
        why = f"is not allowed: {state}. Try decorating it directly with @tf.function."
    return OperatorNotAllowedInGraphError(f"{task} {why}")
