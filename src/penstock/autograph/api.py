"""The public functions of ``tf.autograph``."""
from __future__ import annotations

import ast
import functools
import inspect
import os
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from penstock.autograph import conversion
from penstock.autograph.errors import ConversionError
from penstock.autograph.features import ConversionOptions
from penstock.graph.conversion_status import building
from penstock.platform import logging

_verbosity: int | None = None


def to_graph(entity: Any, recursive: bool = True, arg_values: Any = None, arg_types: Any = None, experimental_optional_features: Any = None) -> Any:
    """``tf.autograph.to_graph``: a function like ``entity`` whose control flow over tensors builds graph control flow.

    A method becomes a function that takes its object first; a class becomes a class with converted methods.
    """
    options = ConversionOptions(recursive, True, optional_features=experimental_optional_features)
    if inspect.isclass(entity):
        return _converted_class(entity, options)
    made = building(conversion.convert(_function_of(entity), options), converting=True)
    log(1, "Converted %s", entity)
    return made


def _converted_class(entity: type, options: ConversionOptions) -> type:
    methods = {name: conversion.convert(value, options) for name, value in vars(entity).items() if isinstance(value, FunctionType)}
    if not methods:
        raise ConversionError(f"cannot convert {entity}: no member methods")
    return type(f"Tf{entity.__name__}", (entity,), methods)


def _function_of(entity: Any) -> FunctionType:
    function = entity.__func__ if isinstance(entity, MethodType) else getattr(entity, "python_function", entity)
    if not isinstance(function, FunctionType):
        raise NotImplementedError(f'cannot convert entity "{entity}": object conversion is not yet supported.')
    return function


def to_code(entity: Any, recursive: bool = True, arg_values: Any = None, arg_types: Any = None, indentation: str = "  ",
            experimental_optional_features: Any = None) -> str:
    """``tf.autograph.to_code``: the converted source of ``entity``."""
    options = ConversionOptions(recursive, True, optional_features=experimental_optional_features)
    if inspect.isclass(entity):
        return "\n".join(to_code(value, recursive) for value in vars(entity).values() if isinstance(value, FunctionType))
    return ast.unparse(ast.fix_missing_locations(conversion.syntax_of(_function_of(entity), options))) + "\n"


def do_not_convert(func: Callable[..., Any] | None = None) -> Any:
    """``tf.autograph.experimental.do_not_convert``: a function that AutoGraph calls as it is."""
    if func is None:
        return do_not_convert
    return conversion.mark_done(building(func, converting=False))


def convert(recursive: bool = False, optional_features: Any = None, user_requested: bool = True) -> Callable[[Any], Any]:
    """``tf.contrib.autograph.convert``: decorates a function that is converted when it is called."""
    def decorate(function: Any) -> Any:
        options = ConversionOptions(recursive, user_requested, optional_features=optional_features)

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            made = conversion.converted_form(function, options)
            return (building(made, converting=True) if user_requested else made)(*args, **kwargs)

        return conversion.mark_done(wrapper)

    return decorate


def converted_call(f: Any, options: ConversionOptions, args: Any, kwargs: Any, caller_fn_scope: Any = None) -> Any:
    """Calls the converted form of ``f``."""
    return conversion.Operators(options).call(f)(*args, **(kwargs or {}))


def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """``tf.autograph.set_verbosity``: how much is logged about conversions; 0, the default, is nothing."""
    global _verbosity, _to_stdout
    _verbosity, _to_stdout = level, alsologtostdout


_to_stdout = False


def log(level: int, message: str, *args: Any) -> None:
    """Logs a message if the verbosity is at least ``level``; the environment's AUTOGRAPH_VERBOSITY counts if none was set."""
    if (int(os.environ.get("AUTOGRAPH_VERBOSITY", "0")) if _verbosity is None else _verbosity) < level:
        return
    logging.info(message, *args)
    if _to_stdout:
        print(message % args)


def trace(*args: Any) -> None:
    """``tf.autograph.trace``: prints its arguments when the graph is built."""
    print(*args)
