"""``tf.Module``: an object that names what it makes, and finds the variables and modules among its attributes."""
from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from penstock.graph import nest
from penstock.graph.graph import default_graph
from penstock.graph.scopes import name_scope
from penstock.layers import restoring
from penstock.variables.variable import Variable

_IDENTIFIER = re.compile(r"^[a-zA-Z_]([a-zA-Z0-9_])*$")


def _snake_case(name: str) -> str:
    return re.sub(r"((?<=[a-z0-9])[A-Z]|(?!^)(?<!_)[A-Z](?=[a-z]))", r"_\1", name).lower()


class Module:
    """``tf.Module``. Attributes that are variables or modules, alone or in lists, tuples and dicts, belong to it."""

    _TF_MODULE_IGNORED_PROPERTIES: frozenset[str] = frozenset()

    def __init__(self, name: str | None = None) -> None:
        name = _snake_case(type(self).__name__) if name is None else name
        if not _IDENTIFIER.match(name):
            raise ValueError(f"{name!r} is not a valid module name. Module names must be valid Python identifiers (e.g. a valid class name).")
        self._name = name
        with name_scope(name) as scope:
            self._scope_name = scope

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if default_graph().imperative and isinstance(value, (Variable, Module, list, dict)):
            restoring.retry()  # a checkpoint may have its value

    @property
    def name(self) -> str:
        """The name that was given, or that of the class."""
        return self._name

    @property
    def name_scope(self) -> name_scope:
        """The scope of its operations: a context, with the name of the scope."""
        return name_scope(self._scope_name)

    @property
    def variables(self) -> tuple[Any, ...]:
        """The variables of this module and of those below it."""
        return tuple(self._flatten(predicate=_is_variable))

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """Those of ``variables`` that are trainable."""
        return tuple(self._flatten(predicate=lambda value: _is_variable(value) and bool(getattr(value, "trainable", False))))

    @property
    def submodules(self) -> tuple[Any, ...]:
        """The modules below this one."""
        return tuple(self._flatten(predicate=lambda value: isinstance(value, Module)))

    def _no_dependency(self, value: Any) -> Any:
        """The value of an attribute that is not to be part of checkpoints; here they hold what variables have, so it is the value itself."""
        return value

    def _flatten(self, recursive: bool = True, predicate: Callable[[Any], bool] | None = None, attribute_traversal_key: Any = None,
                 with_path: bool = False) -> Iterator[Any]:
        """What is found among the attributes, each once; sorted by the names of the attributes."""
        seen: set[int] = {id(self)}
        return _walk(self, recursive, predicate or (lambda value: True), attribute_traversal_key, with_path, (), seen)

    @classmethod
    def with_name_scope(cls, method: Callable[..., Any]) -> Callable[..., Any]:
        """A decorator: the method runs in the scope of its module."""
        @functools.wraps(method)
        def in_scope(self: Module, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return in_scope


def _is_variable(value: Any) -> bool:
    return isinstance(value, Variable)


def _walk(module: Any, recursive: bool, predicate: Callable[[Any], bool], key: Any, with_path: bool, path: tuple[Any, ...],
          seen: set[int]) -> Iterator[Any]:
    below: list[tuple[tuple[Any, ...], Any]] = []
    attributes: Iterable[tuple[str, Any]] = sorted(vars(module).items(), key=lambda item: item[0] if key is None else key(item[0]))
    for name, value in attributes:
        if name in module._TF_MODULE_IGNORED_PROPERTIES:
            continue
        for where, leaf in _leaves(value):
            if id(leaf) in seen:
                continue
            seen.add(id(leaf))
            place = (*path, name, *where)
            if predicate(leaf):
                yield (place, leaf) if with_path else leaf
            if recursive and isinstance(leaf, Module):
                below.append((place, leaf))
    for place, inner in below:
        yield from _walk(inner, recursive, predicate, key, with_path, place, seen)


def _leaves(value: Any) -> list[tuple[tuple[Any, ...], Any]]:
    try:
        return nest.flatten_with_tuple_paths(value)
    except TypeError:  # a mapping whose keys have no order is one attribute
        return [((), value)]
