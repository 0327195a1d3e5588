"""Templates: functions whose variables are made by the first call and shared by all later ones."""
from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Hashable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

from penstock.graph import source
from penstock.graph.graph import default_graph
from penstock.graph.keys import GraphKeys
from penstock.variables.creators import variable_creator_scope
from penstock.variables.scope import VariableScope, variable_scope
from penstock.variables.store import EagerVariableStore, variable_store


class _Capture(threading.local):
    def __init__(self) -> None:
        self.active: list[tuple[Any, str]] = []  # objects that variables are captured for, outer ones first, and the scopes of their variables


_capture = _Capture()
_captured: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()  # {object: what was captured for it, by names}


@contextlib.contextmanager
def capture_dependencies(template: Any) -> Iterator[None]:
    """``tf.contrib.checkpoint.capture_dependencies``: variables that are made inside, in the object's ``variable_scope``, are saved with the object,
    by their names in that scope; those of an object inside of it, with that one."""
    prefix, place = template.variable_scope.name + "/", len(_capture.active)

    def creator(next_creator: Callable[..., Any], **arguments: Any) -> Any:
        variable = next_creator(**arguments)
        inner = _capture.active[place + 1:]
        name = variable.op.name
        if name.startswith(prefix):
            holder = next(((each, scope) for each, scope in inner if name.startswith(scope)), (variable, name + "/"))
            _captured.setdefault(template, {})[holder[1][len(prefix):-1]] = holder[0]
        return variable

    _capture.active.append((template, prefix))
    try:
        with variable_creator_scope(creator):
            yield
    finally:
        _capture.active.pop()


def captured(holder: Any) -> dict[str, Any]:
    """{name: variable, or object that has some} of what was captured for an object."""
    return _captured.get(holder, {}) if isinstance(holder, Hashable) else {}


class Template:
    """What ``tf.make_template`` returns: a callable with a variable scope of its own."""

    def __init__(self, name: str, func: Callable[..., Any], create_scope_now: bool = False, unique_name: str | None = None,
                 custom_getter: Any = None) -> None:
        if not name:
            raise ValueError("name cannot be None.")
        self._func, self._name, self._unique_name, self._custom_getter = func, name, unique_name, custom_getter
        self._made_at = source.describe(source.user_frames())
        self._variables_created = False
        self._variable_scope: VariableScope | None = None
        if create_scope_now:
            with variable_scope(unique_name, name, custom_getter=custom_getter, auxiliary_name_scope=False) as scope:
                self._variable_scope = scope  # the first call has the name scope of the same name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._variable_scope is not None:
            with variable_scope(self._variable_scope, reuse=self._variables_created):
                return self._call(args, kwargs)
        with variable_scope(self._unique_name, self._name, custom_getter=self._custom_getter) as scope:
            self._variable_scope = scope
            return self._call(args, kwargs)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        trained = default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES)
        try:
            with capture_dependencies(self):
                result = self._func(*args, **kwargs)
            new = default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES)[len(trained):]
            if self._variables_created and new:
                raise ValueError("Trainable variable created when calling a template after the first time, perhaps you used tf.Variable when "
                                 f"you meant tf.get_variable: {new}")
        except ValueError as error:
            raise ValueError(f"{error}\n\noriginally defined at:\n  {self._made_at}") from error
        self._variables_created = True
        return result

    def _checkpoint_children(self) -> Iterator[tuple[str, Any]]:
        return iter(())  # what was captured comes besides

    @property
    def name(self) -> str:
        """The name it was given."""
        return self._name

    @property
    def func(self) -> Callable[..., Any]:
        """The function behind it."""
        return self._func

    @property
    def variable_scope(self) -> VariableScope | None:
        """Its variable scope; None before the first call, unless it was asked for at once."""
        return self._variable_scope

    var_scope = variable_scope

    @property
    def variable_scope_name(self) -> str | None:
        """The name of its variable scope."""
        return None if self._variable_scope is None else self._variable_scope.name

    @property
    def global_variables(self) -> list[Any]:
        """The global variables made in it."""
        return [] if self._variable_scope is None else self._variable_scope.global_variables()

    @property
    def local_variables(self) -> list[Any]:
        """The local variables made in it."""
        return [] if self._variable_scope is None else self._variable_scope.local_variables()

    @property
    def trainable_variables(self) -> list[Any]:
        """The trainable variables made in it."""
        return [] if self._variable_scope is None else self._variable_scope.trainable_variables()

    @property
    def variables(self) -> list[Any]:
        """The global and local variables made in it."""
        return self.global_variables + self.local_variables

    @property
    def non_trainable_variables(self) -> list[Any]:
        """The variables made in it that are not trained."""
        return [variable for variable in self.variables if variable not in self.trainable_variables]

    weights, trainable_weights, non_trainable_weights = variables, trainable_variables, non_trainable_variables


class EagerTemplate(Template):
    """A template of imperative style. Its variables are kept by itself, or by the template or ``EagerVariableStore`` that it is first called in."""

    _store: EagerVariableStore | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._store is None:
            around = variable_store()
            self._store = EagerVariableStore(around if around.keeps_values else None)
        with self._store.as_default():
            return super().__call__(*args, **kwargs)

    def _own(self) -> list[Any]:
        """The variables in its scope, in the order of their names."""
        if self._store is None:
            return []
        return [variable for variable in self._store.variables() if variable.name.startswith(f"{self.variable_scope_name}/")]

    @property
    def global_variables(self) -> list[Any]:
        """The variables made in it: imperative style does not tell global from local ones."""
        return self._own()

    @property
    def local_variables(self) -> list[Any]:
        """None: see ``global_variables``."""
        return []

    @property
    def trainable_variables(self) -> list[Any]:
        """The trainable variables made in it."""
        return [variable for variable in self._own() if variable.trainable]

    trainable_weights = trainable_variables


def make_template(name_: str, func_: Callable[..., Any], create_scope_now_: bool = False, unique_name_: str | None = None,
                  custom_getter_: Any = None, **kwargs: Any) -> Template:
    """``tf.make_template``: ``func_``, made to share the variables that it gets with ``tf.get_variable`` between its calls.

    >>> import penstock as tf
    >>> with tf.Graph().as_default():
    ...     scale = make_template("scale", lambda x: x * tf.get_variable("k", []))
    ...     first, second = scale(1.0), scale(2.0)
    ...     print([v.name for v in tf.global_variables()])
    ['scale/k:0']
    """
    if unique_name_ is not None and default_graph().imperative:
        raise ValueError("unique_name_ cannot be used when eager exeuction is enabled.")
    kind = EagerTemplate if default_graph().imperative else Template
    return kind(name_, functools.partial(func_, **kwargs) if kwargs else func_, create_scope_now_, unique_name_, custom_getter_)
