"""Helpers that TensorFlow's modules offer to the authors of its extensions: decorators that keep a function's identity."""
from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any


def make_decorator(target: Callable[..., Any], decorator_func: Callable[..., Any], decorator_name: str | None = None,
                   decorator_doc: str = "", decorator_argspec: Any = None) -> Callable[..., Any]:
    """``decorator_func``, which looks like ``target`` (name, docstring, signature)."""
    return functools.update_wrapper(decorator_func, target)


def unwrap(maybe_tf_decorator: Callable[..., Any]) -> tuple[list[Callable[..., Any]], Callable[..., Any]]:
    """The decorators around a function, outermost first, and the function itself."""
    decorators = []
    while hasattr(maybe_tf_decorator, "__wrapped__"):
        decorators.append(maybe_tf_decorator)
        maybe_tf_decorator = maybe_tf_decorator.__wrapped__
    return decorators, maybe_tf_decorator


def tf_export(*names: str, **options: Any) -> Callable[[Any], Any]:
    """A decorator that TensorFlow's build reads; it changes nothing when the program runs."""
    return lambda exported: exported


estimator_export = keras_export = tf_export


def should_use_result(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator for functions whose result should not be dropped; TensorFlow's warning about it is not given."""
    return fn


def remove_undocumented(module_name: str, allowed_exception_list: Any = None, doc_string_modules: Any = None) -> None:
    """TensorFlow hides names of a module with it; here the names stay."""


def make_all(module_name: str, doc_string_modules: Any = None) -> list[str]:
    """The public names of a module."""
    return sorted(name for name in vars(sys.modules[module_name]) if not name.startswith("_"))
