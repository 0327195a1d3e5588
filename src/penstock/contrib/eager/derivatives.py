"""Derivatives of Python functions, as functions: ``tfe.gradients_function`` and its kin."""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from penstock.graph import nest
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.imperative.tape import GradientTape
from penstock.ops.constant import identity


def value_and_gradients_function(f: Callable[..., Any], params: Sequence[Any] | None = None) -> Callable[..., Any]:
    """A function that returns (f(*args), the gradients of f by its arguments). ``params`` chooses arguments, by position or name."""
    differentiable = make_vjp(f, params, persistent=False)

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        dy = kwargs.pop("dy", None)
        if kwargs:
            raise ValueError("Functions to be differentiated cannot receive keyword arguments.")
        result, vjp = differentiable(*args)
        return result, vjp(dy)

    return decorated


def make_vjp(f: Callable[..., Any], params: Sequence[Any] | None = None, persistent: bool = True) -> Callable[..., Any]:
    """A function that returns f(*args) and a function from the gradient of that (None: ones) to those of the arguments, which can be called more
    than once if ``persistent``."""
    chosen = _positions(f, params)

    @functools.wraps(f)
    def decorated(*args: Any) -> Any:
        if args and all(type(arg) is int for arg in args):  # integers have no gradients; as up to TensorFlow 1.4, f(3) is taken for f(3.0)
            args = tuple(float(arg) for arg in args)
        tensors = _distinct([to_tensor(arg) if chosen is None or index in chosen else arg for index, arg in enumerate(args)])
        sources = tensors if chosen is None else [tensors[index] for index in chosen]
        with GradientTape(persistent=persistent) as tape:
            tape.watch(sources)
            result = f(*tensors)
            if result is None:
                raise ValueError(f"Cannot differentiate a function that returns None; did you forget to return a value from {f.__name__}?")

        def vjp(dy: Any = None) -> Any:
            return tape.gradient(result, sources, None if dy is None else nest.map_structure(to_tensor, dy))

        return result, vjp

    return decorated


def _distinct(arguments: list[Any]) -> list[Any]:
    """The arguments, each with tensors of its own: one that is given twice has two gradients."""
    ids = [id(argument) for argument in arguments if isinstance(argument, Tensor)]
    return [identity(argument) if ids.count(id(argument)) > 1 else argument for argument in arguments]


def gradients_function(f: Callable[..., Any], params: Sequence[Any] | None = None) -> Callable[..., Any]:
    """A function that returns the gradients of f by its arguments."""
    both = value_and_gradients_function(f, params)

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        return both(*args, **kwargs)[1]

    return decorated


def implicit_value_and_gradients(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function that returns (f(*args), [(gradient, variable), ...]) for the trainable variables that f reads."""
    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with GradientTape() as tape:
            result = f(*args, **kwargs)
            if result is None:
                raise ValueError(f"Cannot differentiate a function that returns None; did you forget to return a value from {f.__name__}?")
        variables = list(tape.watched_variables())
        if not variables:
            raise ValueError("No trainable variables were accessed while the function was being computed.")
        return result, list(zip(tape.gradient(result, variables), variables))

    return decorated


def implicit_gradients(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function that returns [(gradient, variable), ...] for the trainable variables that f reads."""
    both = implicit_value_and_gradients(f)

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        return both(*args, **kwargs)[1]

    return decorated


def _positions(f: Callable[..., Any], params: Sequence[Any] | None) -> list[int] | None:
    if params is None:
        return None
    names = list(inspect.signature(f).parameters)
    if all(isinstance(item, int) for item in params):
        return list(params)
    if not all(isinstance(item, str) for item in params):
        raise ValueError("params must be all strings or all integers; got a mix.")
    unknown = [item for item in params if item not in names]
    if unknown:
        raise ValueError(f"params contains names that are not arguments of the function: {unknown}")
    return [names.index(item) for item in params]
