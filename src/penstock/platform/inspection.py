"""What TensorFlow's ``tf_inspect`` and ``function_utils`` add to the standard library's ``inspect``."""
from __future__ import annotations

import functools
import inspect
from collections import namedtuple
from collections.abc import Callable
from typing import Any

ArgSpec = namedtuple("ArgSpec", ["args", "varargs", "keywords", "defaults"])


def getargspec(func: Callable[..., Any]) -> ArgSpec:
    """The arguments of a function, in the form that Python had up to 3.10. Keyword-only arguments have no place in it: ValueError."""
    spec = inspect.getfullargspec(func)
    if spec.kwonlyargs:
        raise ValueError(f"{func!r} has keyword-only arguments; use getfullargspec")
    return ArgSpec(spec.args, spec.varargs, spec.varkw, spec.defaults)


def getfullargspec(obj: Callable[..., Any]) -> inspect.FullArgSpec:
    """``inspect.getfullargspec``, without annotations: TensorFlow's functions have none, and programs compare these specifications."""
    return inspect.getfullargspec(obj)._replace(annotations={})


def fn_args(fn: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the arguments that a call of ``fn`` can give, without those that are bound already."""
    if isinstance(fn, functools.partial):
        free = [name for name in fn_args(fn.func)[len(fn.args):] if name not in fn.keywords]
        return tuple(free)
    if not inspect.isroutine(fn) and not inspect.isclass(fn) and callable(fn):
        fn = fn.__call__  # type: ignore[operator]
    names = inspect.getfullargspec(fn).args
    return tuple(names[1:] if inspect.ismethod(fn) or inspect.isclass(fn) else names)


def has_kwargs(fn: Callable[..., Any]) -> bool:
    """Whether ``fn`` takes any keyword."""
    inner = fn.func if isinstance(fn, functools.partial) else fn
    return inspect.getfullargspec(inner).varkw is not None


def has_arg(fn: Callable[..., Any], name: str, accept_all: bool = False) -> bool:
    """Whether a call of ``fn`` can give the argument ``name``; ``accept_all``: also as one of ``**kwargs``."""
    spec = inspect.getfullargspec(fn)
    return name in spec.args or name in spec.kwonlyargs or (accept_all and spec.varkw is not None)


def takes_positions(function: Callable[..., Any], count: int) -> bool:
    """Whether a function can be called with so many arguments by position."""
    try:
        inspect.signature(function).bind(*[None] * count)
    except TypeError:
        return False
    return True
