"""Calls of layers: which arguments ``call`` takes, and the calls that are under way in this thread.

A layer that is called inside another one's ``call`` learns from that one whether it trains.
"""
from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple


class LayerCall(NamedTuple):
    """A call that is under way."""

    layer: Any
    inputs: Any
    training: Any


class _Calls(threading.local):
    def __init__(self) -> None:
        self.stack: list[LayerCall] = []


_calls = _Calls()


def current_call() -> LayerCall | None:
    """The innermost call that is under way; None outside of all layers."""
    return _calls.stack[-1] if _calls.stack else None


def outermost_call() -> LayerCall | None:
    """The call around all calls of layers that are under way."""
    return _calls.stack[0] if _calls.stack else None


@contextmanager
def enter_call(layer: Any, inputs: Any, training: Any) -> Iterator[None]:
    """Inside, ``layer`` is being called."""
    _calls.stack.append(LayerCall(layer, inputs, training))
    try:
        yield
    finally:
        _calls.stack.pop()


class CallArguments(NamedTuple):
    """What a function ``call(inputs, ...)`` takes: the names behind ``inputs``, and whether it takes any keyword."""

    names: tuple[str, ...]
    any_keyword: bool

    def expects(self, name: str) -> bool:
        """Whether an argument of this name can be given."""
        return self.any_keyword or name in self.names

    def by_name(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """{name: value} of arguments that are given by place and by name."""
        return {**dict(zip(self.names, args)), **kwargs}


def call_arguments(call: Callable[..., Any]) -> CallArguments:
    """The arguments of a layer's method ``call``."""
    method = hasattr(call, "__func__")
    return _arguments(call.__func__ if method else call, 2 if method else 1)  # type: ignore[attr-defined]


@lru_cache(maxsize=1024)
def _arguments(function: Callable[..., Any], first: int) -> CallArguments:
    parameters = inspect.signature(function).parameters.values()
    named = [each.name for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
    return CallArguments(tuple(named[first:]), any(each.kind is each.VAR_KEYWORD for each in parameters))
