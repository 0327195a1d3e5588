"""The functions of an op's class, and how ops share them.

Versions of an op inherit what they share from a plain class; what differs stands in the class of each as a constant, whose name begins with an
underscore. A shared function takes the constants that it names, behind everything else:

    class _ScatterRows:
        def kernel(ref, indices, updates, _how):
            ...

    @op("ScatterAdd", "ref: Ref(T), indices: Tindices, updates: T -> output_ref: Ref(T)", ...)
    class ScatterAdd(_ScatterRows):
        _how = "Add"

Where versions differ in their arguments as well, ``**arguments`` takes all inputs and attributes by their names.
"""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any


def parameters_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of what a function of a class takes: its parameters, or what its attribute ``parameters`` says."""
    names = getattr(function, "parameters", None)
    if names is None:
        code = function.__code__
        names = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]
    return tuple(names)


def with_parameters(function: Callable[..., Any], names: Sequence[str]) -> Callable[..., Any]:
    """The function, which takes these parameters by position whatever it calls them."""
    function.parameters = tuple(names)  # type: ignore[attr-defined]
    return function


def specialize(function: Callable[..., Any], members: dict[str, Any], arguments: Sequence[str]) -> Callable[..., Any]:
    """A shared function for the op of one class: with the constants of the class, and its inputs and attributes for ``**arguments``."""
    names = parameters_of(function)
    constants = {name: members[name] for name in names if name.startswith("_")}
    plain = [name for name in names if name not in constants]
    if not hasattr(function, "parameters") and function.__code__.co_flags & inspect.CO_VARKEYWORDS:
        plain += [name for name in arguments if name not in plain]
        return with_parameters(lambda *values, **others: function(**dict(zip(plain, values)), **others, **constants), plain)
    return with_parameters(functools.partial(function, **constants), plain) if constants else function
