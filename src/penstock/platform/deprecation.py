"""TensorFlow's decorators for what is going away: each warns once, through ``tf.logging``."""
from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from penstock.platform import logging

_warned: set[Any] = set()
_silenced = 0


def _warn(key: Any, once: bool, message: str, *args: Any) -> None:
    if _silenced or (once and key in _warned):
        return
    _warned.add(key)
    logging.warning(message, *args)


def warn_of_order(function: str, order: str) -> None:
    """Says once per function that its arguments came in the order of before TensorFlow 1.0."""
    _warn((function, "order"), True, "%s was called with its arguments in the order of before TensorFlow 1.0. It is now %s.", function, order)


def older_spelling(value: Any, old: str, new: str) -> Any:
    """A function under the name that it had before TensorFlow 1.0: its first call warns. What is not a function stays as it is, and warns now."""
    message = "%s is the spelling of before TensorFlow 1.0. Use %s."
    if not inspect.isfunction(value):
        _warn(old, True, message, old, new)
        return value

    @functools.wraps(value)
    def function(*args: Any, **kwargs: Any) -> Any:
        _warn(old, True, message, old, new)
        return value(*args, **kwargs)

    return function


def _when(date: str | None) -> str:
    return "in a future version" if date is None else f"after {date}"


def _check(date: str | None, instructions: str) -> None:
    if date is not None and not re.match(r"20\d\d-[01]\d-[0123]\d", date):
        raise ValueError("Date must be YYYY-MM-DD.")
    if not instructions:
        raise ValueError("Don't deprecate things without conversion instructions!")


def _check_names(names: Iterable[str], signature: inspect.Signature) -> None:
    unknown = [name for name in names if name not in signature.parameters]
    if unknown:
        raise ValueError(f"The following deprecated arguments are not present in the function signature: {unknown}. Found next arguments: "
                         f"{list(signature.parameters)}.")


def deprecated(date: str | None, instructions: str, warn_once: bool = True) -> Callable[[Any], Any]:
    """A decorator for a function that will be removed on ``date``; ``instructions`` say what to use instead."""
    _check(date, instructions)

    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            _warn(func, warn_once, "%s (from %s) is deprecated and will be removed %s. %s", func.__qualname__, func.__module__, _when(date),
                  instructions)
            return func(*args, **kwargs)

        return wrapper

    return decorate


def deprecated_args(date: str | None, instructions: str, *deprecated_arg_names_or_tuples: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """A decorator for arguments that will be removed; a tuple ``(name, value)`` says which value does not count as use."""
    _check(date, instructions)
    if not deprecated_arg_names_or_tuples:
        raise ValueError("Specify which argument is deprecated.")
    once = kwargs.get("warn_once", True)
    harmless: dict[str, Any] = dict(
        entry if isinstance(entry, tuple) else (entry, inspect.Parameter.empty) for entry in deprecated_arg_names_or_tuples)

    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(func)
        _check_names(harmless, signature)

        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            given = signature.bind(*args, **kwargs).arguments
            for name, value in harmless.items():
                if name in given and not _same(given[name], value):
                    _warn((func, name), once, "%s of %s (from %s) is deprecated and will be removed %s. %s", name, func.__qualname__, func.__module__,
                          _when(date), instructions)
            return func(*args, **kwargs)

        return wrapper

    return decorate


def deprecated_arg_values(date: str | None, instructions: str, warn_once: bool = True, **deprecated_kwargs: Any) -> Callable[[Any], Any]:
    """A decorator for values of arguments that will not be taken any more."""
    _check(date, instructions)
    if not deprecated_kwargs:
        raise ValueError("Specify which argument values are deprecated.")

    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(func)

        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            given = signature.bind(*args, **kwargs).arguments
            for name, value in deprecated_kwargs.items():
                if name in given and _same(given[name], value):
                    _warn((func, name), warn_once, "%s=%s of %s (from %s) is deprecated and will be removed %s. %s", name, value, func.__qualname__,
                          func.__module__, _when(date), instructions)
            return func(*args, **kwargs)

        return wrapper

    return decorate


def renamed_args(**new_names: str) -> Callable[[Any], Any]:
    """A decorator for arguments that had another name in older versions: ``renamed_args(old="new")`` takes both, the old one with a warning."""

    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        def renamed(kwargs: dict[str, Any]) -> dict[str, Any]:
            olds = [name for name in kwargs if name in new_names]
            for old in olds:
                if new_names[old] in kwargs:
                    raise ValueError(f"Cannot specify both '{old}' and '{new_names[old]}'")
                kwargs[new_names[old]] = kwargs.pop(old)
            untold = [old for old in olds if (func, old) not in _warned]
            if untold and not _silenced:  # one warning for all of a call
                _warned.update((func, old) for old in untold)
                logging.warning("%s of %s (from %s) %s deprecated. Use %s instead.", ", ".join(untold), func.__qualname__, func.__module__,
                                "is" if len(untold) == 1 else "are", ", ".join(f"`{new_names[old]}`" for old in untold))
            return kwargs

        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return func(*args, **renamed(kwargs))

        wrapper.renamed = renamed  # type: ignore[attr-defined]  # for those who look at the arguments before they call it
        return wrapper

    return decorate


def dropped_args(*names: str) -> Callable[[Any], Any]:
    """A decorator for arguments of before TensorFlow 1.0 that mean nothing any more: they are taken by keyword, with a warning."""

    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            for name in names:
                if kwargs.pop(name, None) is not None:
                    _warn((func, name), True, "%s of %s is an argument of before TensorFlow 1.0 and has no effect. Leave it out.", name,
                          func.__qualname__.removesuffix(".__init__"))
            return func(*args, **kwargs)

        return wrapper

    return decorate


def _same(given: Any, value: Any) -> bool:
    return given is value or (isinstance(value, (bool, int, float, str)) and type(given) is type(value) and given == value)


def deprecated_endpoints(*args: str) -> Callable[[Any], Any]:
    """A decorator that TensorFlow's build reads; it changes nothing when the program runs."""
    return lambda func: func


def deprecated_argument_lookup(new_name: str, new_value: Any, old_name: str, old_value: Any) -> Any:
    """The value of an argument that has an old and a new name."""
    if old_value is None:
        return new_value
    if new_value is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'")
    return old_value


def older_argument(new: str, new_value: Any, old: str, old_value: Any) -> Any:
    """The value of an argument that had another name in older versions; the old name warns once. ValueError if both are given."""
    if old_value is None:
        return new_value
    if new_value is not None:
        raise ValueError(f"Cannot specify both '{old}' and '{new}'")
    _warn((old, new), True, "`%s` is the older name of an argument. Use `%s`.", old, new)
    return old_value


@contextmanager
def silence() -> Iterator[None]:
    """No such warnings inside."""
    global _silenced
    _silenced += 1
    try:
        yield
    finally:
        _silenced -= 1
