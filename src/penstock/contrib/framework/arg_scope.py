"""Default arguments for functions, by scope: ``with arg_scope([conv2d], stride=2): conv2d(x, 3, 3)``.

A scope is a dict {key of a function: its default arguments}; scopes form a stack. Inner scopes start with what the outer ones say, unless a whole
scope, which ``arg_scope`` returned earlier, is entered again: then it alone holds. Arguments of the call win over those of scopes.
"""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Scope = dict[str, dict[str, Any]]

_stack: list[Scope] = [{}]
_optional_arguments: dict[str, tuple[str, ...]] = {}  # of the functions that take part, by their keys


def current_arg_scope() -> Scope:
    """The scope that calls see."""
    return _stack[-1]


def arg_scope_func_key(op: Callable[..., Any]) -> str:
    """By which name a scope knows a function."""
    return getattr(op, "_key_op", str(op))


@contextmanager
def arg_scope(list_ops_or_scope: Any, **kwargs: Any) -> Iterator[Scope]:
    """Inside, the functions of a list have ``kwargs`` as defaults; or all functions have those of a scope that was made before."""
    if isinstance(list_ops_or_scope, dict):
        if kwargs:
            raise ValueError("When attempting to re-use a scope by suppling a dictionary, kwargs must be empty.")
        entered = dict(list_ops_or_scope)
    elif isinstance(list_ops_or_scope, (list, tuple)):
        entered = dict(current_arg_scope())
        for op in list_ops_or_scope:
            if not has_arg_scope(op):
                raise ValueError("%s is not decorated with @add_arg_scope", (getattr(op, "__module__", None), getattr(op, "__name__", op)))
            key = arg_scope_func_key(op)
            entered[key] = {**entered.get(key, {}), **kwargs}
    else:
        raise TypeError("list_ops_or_scope must either be a list/tuple or reused scope (i.e. dict)")
    _stack.append(entered)
    try:
        yield entered
    finally:
        _stack.pop()


def add_arg_scope(func: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator: the function takes part in scopes."""
    key = arg_scope_func_key(func)

    @functools.wraps(func)
    def with_defaults(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **{**current_arg_scope().get(key, {}), **kwargs})

    parameters = inspect.signature(func).parameters.values()
    _optional_arguments[key] = tuple(each.name for each in parameters if each.default is not each.empty)
    with_defaults._key_op = key  # type: ignore[attr-defined]
    return with_defaults


def has_arg_scope(func: Callable[..., Any]) -> bool:
    """Whether scopes can give the function defaults."""
    return arg_scope_func_key(func) in _optional_arguments


def arg_scoped_arguments(func: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the arguments that a scope can give."""
    assert has_arg_scope(func), f"{func} is not decorated with @add_arg_scope"
    return _optional_arguments[arg_scope_func_key(func)]
