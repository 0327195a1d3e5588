"""Variable scopes: prefixes and defaults for ``tf.get_variable``, and the sharing of variables by name."""
from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from penstock.graph import dtypes
from penstock.graph.convert import graph_for, to_tensor
from penstock.graph.function import outermost
from penstock.graph.graph import default_graph
from penstock.graph.keys import GraphKeys
from penstock.graph.scopes import name_scope
from penstock.variables import creators
from penstock.variables.modes import VariableAggregation, VariableSynchronization
from penstock.variables.ref_variable import RefVariable
from penstock.variables.resource_variable import ResourceVariable
from penstock.variables.store import AUTO_REUSE, VariableStore, variable_store

_KEY = ("variable scopes",)  # a collection that belongs to the graph but is not exported
_DEFAULTS = ("initializer", "regularizer", "caching_device", "partitioner", "custom_getter", "dtype", "use_resource", "constraint")


class VariableScope:
    """``tf.VariableScope``: a name prefix, a reuse mode, and defaults for the variables made in it."""

    _block: Any = None  # the block that it was opened by, until that is left

    def __init__(self, reuse: Any, name: str = "", initializer: Any = None, regularizer: Any = None, caching_device: Any = None,
                 partitioner: Any = None, custom_getter: Any = None, name_scope: str = "", dtype: Any = dtypes.float32,
                 use_resource: bool | None = None, constraint: Any = None) -> None:
        self._name, self._name_scope = name, name_scope
        self._reuse = AUTO_REUSE if default_graph().imperative else reuse  # there, names do not share variables
        self._initializer, self._regularizer, self._partitioner = initializer, regularizer, partitioner
        self._caching_device, self._custom_getter = caching_device, custom_getter
        self._dtype, self._use_resource, self._constraint = dtype, use_resource, constraint

    @property
    def name(self) -> str:
        """The prefix of the names of variables."""
        return self._name

    @property
    def original_name_scope(self) -> str:
        """The name scope that was opened with it the first time."""
        return self._name_scope

    @property
    def reuse(self) -> Any:
        """False, True or AUTO_REUSE, as it always is in imperative style."""
        return AUTO_REUSE if not self._reuse and default_graph().imperative else self._reuse

    @property
    def initializer(self) -> Any:
        """The default initializer."""
        return self._initializer

    @property
    def regularizer(self) -> Any:
        """The default regularizer."""
        return self._regularizer

    @property
    def caching_device(self) -> Any:
        """The default caching device."""
        return self._caching_device

    @property
    def partitioner(self) -> Any:
        """The default partitioner."""
        return self._partitioner

    @property
    def custom_getter(self) -> Any:
        """The function that stands between ``get_variable`` and the store."""
        return self._custom_getter

    @property
    def dtype(self) -> Any:
        """The default type."""
        return self._dtype

    @property
    def use_resource(self) -> bool | None:
        """Are ResourceVariables made? None leaves it to the global setting."""
        return True if default_graph().imperative else self._use_resource

    @property
    def constraint(self) -> Any:
        """The default constraint."""
        return self._constraint

    def reuse_variables(self) -> None:
        """From now on, ``get_variable`` in this scope finds variables and makes none."""
        self._reuse = True

    def set_initializer(self, initializer: Any) -> None:
        """Sets the default initializer."""
        self._initializer = initializer

    def set_regularizer(self, regularizer: Any) -> None:
        """Sets the default regularizer."""
        self._regularizer = regularizer

    def set_caching_device(self, caching_device: Any) -> None:
        """Sets the default caching device."""
        if default_graph().imperative:
            raise NotImplementedError("Caching devices are not yet supported when eager execution is enabled: leave them out.")
        self._caching_device = caching_device

    def set_partitioner(self, partitioner: Any) -> None:
        """Sets the default partitioner."""
        self._partitioner = partitioner

    def set_custom_getter(self, custom_getter: Any) -> None:
        """Sets the custom getter."""
        self._custom_getter = custom_getter

    def set_dtype(self, dtype: Any) -> None:
        """Sets the default type."""
        self._dtype = dtype

    def set_use_resource(self, use_resource: bool) -> None:
        """Sets the default kind."""
        if default_graph().imperative and not use_resource:
            raise ValueError("When eager execution is enabled, use_resource cannot be set to false: values have no references.")
        self._use_resource = use_resource

    def get_collection(self, name: Any) -> list[Any]:
        """The part of a collection that was made in this scope."""
        return default_graph().get_collection(name, self._name + "/" if self._name else "")

    def trainable_variables(self) -> list[Any]:
        """The trainable variables of this scope."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self) -> list[Any]:
        """The global variables of this scope."""
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list[Any]:
        """The local variables of this scope."""
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def get_variable(self, var_store: VariableStore, name: str, shape: Any = None, dtype: Any = None, initializer: Any = None,
                     regularizer: Any = None, reuse: Any = None, trainable: bool | None = None, collections: Any = None,
                     caching_device: Any = None, partitioner: Any = None, validate_shape: bool = True, use_resource: bool | None = None,
                     custom_getter: Any = None, constraint: Any = None,
                     synchronization: VariableSynchronization = VariableSynchronization.AUTO,
                     aggregation: VariableAggregation = VariableAggregation.NONE) -> Any:
        """The variable of this name in this scope, made with the scope's defaults."""
        full_name = f"{self._name}/{name}" if self._name else name
        if default_graph().imperative:  # a new variable each time; a store of imperative style shares what it keeps
            reuse, use_resource = False, True
        with name_scope(None):  # names of variables come from variable scopes alone
            if dtype is not None and initializer is not None and not callable(initializer):
                initial_dtype = to_tensor(initializer).dtype.base_dtype
                if initial_dtype != dtype:
                    raise ValueError(f"Initializer type '{initial_dtype}' and explicit dtype '{dtypes.as_dtype(dtype)}' don't match.")
            return var_store.get_variable(
                full_name, shape=shape, dtype=self._dtype if dtype is None else dtype,
                initializer=self._initializer if initializer is None else initializer,
                regularizer=self._regularizer if regularizer is None else regularizer,
                reuse=self._reuse if reuse is None else reuse, trainable=trainable, collections=collections,
                caching_device=self._caching_device if caching_device is None else caching_device,
                partitioner=self._partitioner if partitioner is None else partitioner, validate_shape=validate_shape,
                use_resource=self._use_resource if use_resource is None else use_resource,
                custom_getter=self._custom_getter if custom_getter is None else custom_getter,
                constraint=self._constraint if constraint is None else constraint, synchronization=synchronization, aggregation=aggregation)


class _ScopeState(threading.local):
    """The current scope of each thread, and how often each scope name was opened."""

    def __init__(self) -> None:
        self.current = VariableScope(False)
        self.opened: dict[str, int] = {}

    def open(self, name: str) -> None:
        self.opened[name] = self.opened.get(name, 0) + 1

    def close_inner(self, name: str) -> None:
        """Forgets the scopes inside: opened again, they start with the same unique names."""
        for key in self.opened:
            if not name or key.startswith(name + "/"):
                self.opened[key] = 0

    def unique(self, prefix: str) -> str:
        name = f"{self.current.name}/{prefix}" if self.current.name else prefix
        if not self.opened.get(name):
            return prefix
        index = 1
        while self.opened.get(f"{name}_{index}"):
            index += 1
        return f"{prefix}_{index}"


def _state() -> _ScopeState:
    kept = default_graph().get_collection_ref(_KEY)
    if not kept:
        kept.append(_ScopeState())
    return kept[0]


def get_variable_scope() -> VariableScope:
    """``tf.get_variable_scope``: the current scope."""
    return _state().current


def _wrapped_getter(custom_getter: Callable[..., Any], outer: Callable[..., Any] | None) -> Callable[..., Any]:
    """A getter of an inner scope, which calls that of the outer one."""
    if outer is None:
        return custom_getter

    def getter(getter: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return custom_getter(functools.partial(outer, getter), *args, **kwargs)
    return getter


class variable_scope:
    """``tf.variable_scope``: a block in which variables get a prefix and defaults, and may be shared.

    >>> import penstock as tf
    >>> with tf.Graph().as_default():
    ...     with tf.variable_scope("layer"):
    ...         w = tf.get_variable("w", [2, 2])
    ...     with tf.variable_scope("layer", reuse=True):
    ...         print(tf.get_variable("w") is w, w.name)
    True layer/w:0
    """

    def __init__(self, name_or_scope: Any, default_name: str | None = None, values: Any = None, initializer: Any = None,
                 regularizer: Any = None, caching_device: Any = None, partitioner: Any = None, custom_getter: Any = None, reuse: Any = None,
                 dtype: Any = None, use_resource: bool | None = None, constraint: Any = None, auxiliary_name_scope: bool = True) -> None:
        if default_name is None and name_or_scope is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        if name_or_scope is not None and not isinstance(name_or_scope, (str, VariableScope)):
            raise TypeError("VariableScope: name_or_scope must be a string or VariableScope.")
        if reuse not in (None, True, False, AUTO_REUSE):
            raise ValueError("The reuse parameter must be True or False or None.")
        if name_or_scope is None and reuse:
            raise ValueError("reuse=True cannot be used without a name_or_scope")
        if not isinstance(auxiliary_name_scope, bool):
            raise TypeError(f"The auxiliary_name_scope must be `True` or `False`, while get {auxiliary_name_scope}")
        self._name_or_scope, self._default_name, self._values = name_or_scope, default_name, values or []
        self._reuse = None if reuse is False else reuse
        self._settings = {"initializer": initializer, "regularizer": regularizer, "caching_device": caching_device, "partitioner": partitioner,
                          "custom_getter": custom_getter, "dtype": dtype, "use_resource": use_resource, "constraint": constraint}
        self._auxiliary_name_scope = auxiliary_name_scope

    def __enter__(self) -> VariableScope:
        with ExitStack() as stack:  # undoes what is half done if something here fails
            stack.enter_context(graph_for(self._values).as_default())
            given = self._name_or_scope
            entered = self._enter_name_scope(stack)
            name = _state().unique(self._default_name) if given is None else given  # type: ignore[arg-type]
            block = _pure_variable_scope(name, self._reuse, entered, **self._settings)
            scope = stack.enter_context(block)
            scope._block = block  # so a block that is entered by hand, and never left, lasts
            self._exit = stack.pop_all()
        return scope

    def _enter_name_scope(self, stack: ExitStack) -> str:
        """Opens the name scope for ops; an existing VariableScope opens one with its last component as its name."""
        given = self._name_or_scope
        wanted = given.name.rpartition("/")[2] if isinstance(given, VariableScope) else self._default_name if given is None else given
        if not self._auxiliary_name_scope or not wanted:
            current = default_graph().get_name_scope()
            return current + "/" if current else ""
        return stack.enter_context(name_scope(wanted))

    def __exit__(self, *error: Any) -> bool | None:
        return self._exit.__exit__(*error)


@contextmanager
def _pure_variable_scope(name_or_scope: Any, reuse: Any = None, old_name_scope: str | None = None,
                         **settings: Any) -> Iterator[VariableScope]:
    """A variable scope without a name scope; ``settings`` are its defaults, those of ``variable_scope``."""
    state = _state()
    outer, opened = state.current, dict(state.opened)
    if isinstance(name_or_scope, VariableScope):
        base, name = name_or_scope, name_or_scope.name
        original = name_or_scope.original_name_scope
    else:
        base, name = outer, f"{outer.name}/{name_or_scope}" if outer.name else name_or_scope
        original = old_name_scope if old_name_scope is not None else name_or_scope
    scope = VariableScope(reuse or base.reuse, name, name_scope=original, **{key: getattr(base, key) for key in _DEFAULTS})
    for key, value in settings.items():
        if value is not None:
            setattr(scope, "_" + key, _wrapped_getter(value, base.custom_getter) if key == "custom_getter" else value)
    state.open(name)
    state.current = scope
    try:
        yield scope
    finally:
        scope._block = None
        state.close_inner(name)
        if isinstance(name_or_scope, VariableScope):
            state.opened = opened
        state.current = outer


def variable_op_scope(values: Any, name_or_scope: Any, default_name: str | None = None, initializer: Any = None, regularizer: Any = None,
                      caching_device: Any = None, partitioner: Any = None, custom_getter: Any = None, reuse: Any = None, dtype: Any = None,
                      use_resource: bool | None = None, constraint: Any = None) -> AbstractContextManager[VariableScope]:
    """``tf.variable_op_scope``, the old spelling of ``variable_scope``."""
    return variable_scope(name_or_scope, default_name, values, initializer, regularizer, caching_device, partitioner, custom_getter, reuse,
                          dtype, use_resource, constraint)


def get_variable(name: str, shape: Any = None, dtype: Any = None, initializer: Any = None, regularizer: Any = None,
                 trainable: bool | None = None, collections: Any = None, caching_device: Any = None, partitioner: Any = None,
                 validate_shape: bool = True, use_resource: bool | None = None, custom_getter: Any = None, constraint: Any = None,
                 synchronization: VariableSynchronization = VariableSynchronization.AUTO,
                 aggregation: VariableAggregation = VariableAggregation.NONE) -> Any:
    """``tf.get_variable``: the variable of this name in the current scope, a new one or a shared one."""
    return get_variable_scope().get_variable(
        variable_store(), name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer, trainable=trainable,
        collections=collections, caching_device=caching_device, partitioner=partitioner, validate_shape=validate_shape,
        use_resource=use_resource, custom_getter=custom_getter, constraint=constraint, synchronization=synchronization,
        aggregation=aggregation)


def get_local_variable(name: str, shape: Any = None, dtype: Any = None, initializer: Any = None, regularizer: Any = None,
                       trainable: bool = False, collections: Any = None, caching_device: Any = None, partitioner: Any = None,
                       validate_shape: bool = True, use_resource: bool | None = None, custom_getter: Any = None, constraint: Any = None,
                       synchronization: VariableSynchronization = VariableSynchronization.AUTO,
                       aggregation: VariableAggregation = VariableAggregation.NONE) -> Any:
    """``tf.get_local_variable``: as ``get_variable``, for a variable that is neither trained nor saved."""
    collections = [*(collections or ()), GraphKeys.LOCAL_VARIABLES]
    return get_variable(name, shape, dtype, initializer, regularizer, False, collections, caching_device, partitioner, validate_shape,
                        use_resource, custom_getter, constraint, synchronization, aggregation)


def no_regularizer(_: Any) -> None:
    """``tf.no_regularizer``: given to a variable, it keeps the scope's regularizer away from it."""
    return None


# --- which kind of variable ------------------------------------------------------------------------------------------

_resources_by_default = False


def enable_resource_variables() -> None:
    """``tf.enable_resource_variables``: from now on variables are ResourceVariables by default."""
    global _resources_by_default
    _resources_by_default = True


def disable_resource_variables() -> None:
    """``tf.disable_resource_variables``: from now on variables are RefVariables by default."""
    global _resources_by_default
    _resources_by_default = False


def resource_variables_enabled() -> bool:
    """``tf.resource_variables_enabled``: which kind is made by default."""
    return _resources_by_default


def _default_creator(next_creator: Any = None, use_resource: bool | None = None, **arguments: Any) -> Any:
    if outermost(default_graph()).imperative:  # values have no references
        return ResourceVariable(**arguments)
    if use_resource is None:
        use_resource = get_variable_scope().use_resource
    if use_resource is None:
        use_resource = _resources_by_default
    return (ResourceVariable if use_resource else RefVariable)(**arguments)


creators.default_creator = _default_creator
