"""``tf.layers.Layer``: a Layer with a variable scope, in which its variables are made by the first call and found by later ones.

The scope is chosen by the first call, below the variable scope that is current then: it is named after the layer, or after its class. Variables
are those of ``tf.get_variable``: they are shared under ``reuse``, and the scope's custom getters and partitioners see them.
"""
from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from penstock.graph import dtypes
from penstock.graph.graph import default_graph
from penstock.graph.keys import GraphKeys
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.layers import base
from penstock.layers.calls import call_arguments
from penstock.layers.naming import snake_case, unique_object_name
from penstock.variables.initialization import global_variables
from penstock.variables.modes import VariableAggregation, VariableSynchronization, decide_trainable
from penstock.variables.partitioned import PartitionedVariable
from penstock.variables.scope import VariableScope, get_variable, variable_scope
from penstock.variables.variable import Variable

_keras_style = False  # whether new layers manage their variables as Keras does


@contextmanager
def keras_style_scope() -> Iterator[None]:
    """``tf.layers.experimental.keras_style_scope``: layers and cells made inside never share variables by name."""
    global _keras_style
    before, _keras_style = _keras_style, True
    try:
        yield
    finally:
        _keras_style = before


def set_keras_style() -> None:
    """``tf.layers.experimental.set_keras_style``: from now on, layers and cells never share variables by name."""
    global _keras_style
    _keras_style = True


class Layer(base.Layer):
    """``tf.layers.Layer``."""

    _autocast, _infers_type = False, True  # whatever TensorFlow 2 does

    def __init__(self, trainable: bool = True, name: Any = None, dtype: Any = None, **kwargs: Any) -> None:
        scope, self._reuse = kwargs.pop("_scope", None), kwargs.pop("_reuse", None)
        super().__init__(trainable=trainable, name=name, dtype=dtype, **kwargs)
        self._keras_style = _keras_style
        for what, value in (("scope", scope), ("reuse", self._reuse)):
            if self._keras_style and value is not None:
                raise ValueError(f"{what} argument not allowed when keras style layers are enabled, but saw: {value}")
        self._scope: VariableScope | None = None
        self._current_scope: VariableScope | None = None
        if scope:
            with variable_scope(scope) as captured:
                self._scope = captured

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)  # variables are those of `add_weight`, whatever the attributes hold

    def _sublayers(self) -> list[Any]:
        return []

    def _init_set_name(self, name: Any, zero_based: bool = True) -> None:
        """The layer's own name is unique; the scope's name is made so when the scope is opened."""
        own = snake_case(type(self).__name__)
        self._base_name = (name.name if isinstance(name, VariableScope) else name) or own
        self._name = name if name and not isinstance(name, VariableScope) else unique_object_name(own)

    # --- scopes ------------------------------------------------------------------------------------------------------

    def _set_scope(self, scope: Any = None) -> None:
        if self._scope is not None:
            return
        given = (self._base_name if scope is None else scope) if self._reuse else scope
        with variable_scope(given, default_name=self._base_name) as captured:
            self._scope = captured

    @contextmanager
    def _entered_scope(self) -> Iterator[VariableScope]:
        with variable_scope(self._scope, reuse=True if self.built else self._reuse, auxiliary_name_scope=False) as scope:
            self._current_scope = scope
            yield scope

    def _call_scope(self) -> AbstractContextManager[Any]:
        if self._keras_style:
            return super()._call_scope()
        assert self._current_scope is not None
        return name_scope(self._current_scope.original_name_scope)

    @property
    def scope_name(self) -> str:
        """The name of the variable scope."""
        if not self._scope:
            raise ValueError(f'No name available for layer scope because the layer "{self._name}" has not been used yet. The scope name is '
                             "determined the first time the layer instance is called. You must therefore call the layer before querying "
                             "`scope_name`.")
        return self._scope.name

    @property
    def graph(self) -> None:
        """None: layers no longer know a graph."""

    def _compute_output_shape(self, input_shape: Any) -> Any:
        """``compute_output_shape``, by its name before TensorFlow 1.8."""
        return self.compute_output_shape(input_shape)

    # --- calling -----------------------------------------------------------------------------------------------------

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The outputs for ``inputs``. The argument ``scope`` names the variable scope, if the layer has none yet."""
        scope = kwargs.pop("scope", None)
        if self._keras_style:
            if scope is not None:
                raise ValueError(f"scope argument not allowed when keras style layers are enabled, but saw: {scope}")
            return super().__call__(inputs, *args, **kwargs)
        self._set_scope(scope)
        with self._entered_scope() as current:
            if "scope" in call_arguments(self.call).names:
                kwargs["scope"] = current
            outputs = super().__call__(inputs, *args, **kwargs)
        _add_new(GraphKeys.UPDATE_OPS, self.updates)
        return outputs

    # --- variables and losses ----------------------------------------------------------------------------------------

    def add_weight(self, name: str, shape: Any, dtype: Any = None, initializer: Any = None, regularizer: Any = None,  # type: ignore[override]
                   trainable: bool | None = None, constraint: Any = None, use_resource: bool | None = None,
                   synchronization: VariableSynchronization = VariableSynchronization.AUTO,
                   aggregation: VariableAggregation = VariableAggregation.NONE, partitioner: Any = None, **kwargs: Any) -> Any:
        """A variable in the layer's scope, a new one or a shared one."""
        unknown = sorted(kwargs.keys() - {"experimental_autocast"})
        if unknown:
            raise TypeError("Unknown keyword argument:", unknown[0])
        if self._keras_style:
            return super().add_weight(name, shape, dtype, initializer, regularizer, trainable and self.trainable, constraint, partitioner,
                                      use_resource)
        trainable = decide_trainable(trainable, synchronization) and self.trainable
        existing = {id(variable) for variable in global_variables()}
        self._set_scope()
        with self._entered_scope() as scope, self._call_scope():
            variable = super().add_weight(
                name, shape, dtypes.as_dtype(dtype or self._dtype or dtypes.float32), scope.initializer if initializer is None else initializer,
                trainable=trainable, constraint=constraint, partitioner=partitioner, use_resource=use_resource or scope.use_resource,
                synchronization=synchronization, aggregation=aggregation, getter=get_variable)
            if regularizer and not any(id(part) in existing for part in _parts(variable)):
                self._handle_weight_regularization(name, variable, regularizer)
        # A custom getter may have decided otherwise; it may also give a tensor, made of a variable.
        if trainable and not all(getattr(part, "trainable", True) for part in _parts(variable)):
            self._non_trainable_weights.append(self._trainable_weights.pop())
        return variable

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Adds losses, also to the collection of regularization losses."""
        tensors, deferred = len(self._losses), len(self._callable_losses)
        super().add_loss(losses, inputs=inputs)
        made = [each.effect() for each in self._callable_losses[deferred:]]
        new = [*self._losses[tensors:], *(effect for effect in made if effect is not None)]
        _add_new(GraphKeys.REGULARIZATION_LOSSES, [effect.value for effect in new])

    def __deepcopy__(self, memo: dict[int, Any]) -> Layer:
        """A layer with the same tensors and variables, and copies of everything else."""
        result = memo[id(self)] = type(self).__new__(type(self))
        for name, value in self.__dict__.items():
            if name == "_scope":
                value = copy.copy(value)
            elif not _holds_tensors(value):
                value = copy.deepcopy(value, memo)
            object.__setattr__(result, name, value)
        return result


def _holds_tensors(value: Any) -> bool:
    kinds = (Tensor, Variable, PartitionedVariable)
    return isinstance(value, kinds) or (isinstance(value, (list, tuple)) and bool(value) and all(isinstance(item, kinds) for item in value))


def _parts(variable: Any) -> list[Any]:
    return list(variable) if isinstance(variable, PartitionedVariable) else [variable]


def _add_new(collection: str, elements: list[Any]) -> None:
    """Adds those elements to a collection that are not in it."""
    listed = default_graph().get_collection_ref(collection)
    known = {id(element) for element in listed}
    listed += [element for element in elements if id(element) not in known]
