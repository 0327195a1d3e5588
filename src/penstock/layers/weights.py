"""The variables of a layer: how they are made, which of them are trained, and their values."""
from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

from penstock.graph import dtypes
from penstock.graph.dtypes import DType
from penstock.graph.scopes import name_scope
from penstock.graph.shape import as_shape
from penstock.layers import constraints, initializers, regularizers, settings
from penstock.layers.sessions import assign_values, track_variable, values_of
from penstock.variables import creators
from penstock.variables.modes import VariableAggregation, VariableSynchronization, decide_trainable
from penstock.variables.partitioned import PartitionedVariable

_KEYWORDS = frozenset(["getter", "collections", "experimental_autocast"])


def make_variable(name: str, shape: Any = None, dtype: Any = dtypes.float32, initializer: Any = None, trainable: bool | None = None,
                  constraint: Any = None, use_resource: bool | None = None, partitioner: Any = None, **rest: Any) -> Any:
    """A new variable in the current name scope, as Keras makes them; it is never shared."""
    value, kind = initializer, None
    if initializer is not None and callable(initializer):
        initialize: Any = initializer() if inspect.isclass(initializer) else initializer
        value, kind = functools.partial(initialize, as_shape(shape).as_list(), dtype=dtype), dtypes.as_dtype(dtype).base_dtype
    return creators.create(initial_value=value, name=name, trainable=trainable, dtype=kind, constraint=constraint,
                           use_resource=True if use_resource is None else use_resource, **rest)


class Weights:
    """The part of a layer that owns its variables. A subclass says which layers stand in it (``_sublayers``)."""

    trainable: bool
    built: bool
    name: str
    _dtype: DType | None
    add_loss: Callable[..., None]
    _sublayers: Callable[[], Sequence[Any]]

    def __init__(self) -> None:
        self._trainable_weights: list[Any] = []
        self._non_trainable_weights: list[Any] = []

    def add_weight(self, name: str | None = None, shape: Any = None, dtype: Any = None, initializer: Any = None, regularizer: Any = None,
                   trainable: bool | None = None, constraint: Any = None, partitioner: Any = None, use_resource: bool | None = None,
                   synchronization: VariableSynchronization = VariableSynchronization.AUTO,
                   aggregation: VariableAggregation = VariableAggregation.NONE, **kwargs: Any) -> Any:
        """A new variable of this layer."""
        unknown = sorted(kwargs.keys() - _KEYWORDS)
        if unknown:
            raise TypeError("Unknown keyword argument:", unknown[0])
        dtype = dtypes.as_dtype(dtype or self._dtype or settings.floatx())
        if self._dtype is None:
            self._dtype = dtype.base_dtype
        trainable = decide_trainable(trainable, synchronization)
        variable = kwargs.get("getter", make_variable)(
            name, shape=() if shape is None else shape, dtype=dtype, initializer=self._initializer_or_default(initializer, name, dtype),
            trainable=trainable, constraint=constraints.get(constraint), partitioner=partitioner, use_resource=use_resource,
            collections=kwargs.get("collections"), synchronization=synchronization, aggregation=aggregation)
        regularizer = regularizers.get(regularizer)
        if regularizer is not None:
            self._handle_weight_regularization(variable.name.partition(":")[0], variable, regularizer)
        track_variable(variable)
        (self._trainable_weights if trainable else self._non_trainable_weights).append(variable)
        return variable

    def add_variable(self, *args: Any, **kwargs: Any) -> Any:
        """``add_weight``, under its older name."""
        return self.add_weight(*args, **kwargs)

    def _initializer_or_default(self, initializer: Any, name: str | None, dtype: DType) -> Any:
        initializer = initializers.get(initializer)
        if initializer is not None:
            return initializer
        if dtype.is_floating:
            return initializers.get("glorot_uniform")
        if dtype.is_integer or dtype.is_bool:
            return initializers.get("zeros")
        raise ValueError(f"An initializer for variable {name} of type {dtype.base_dtype} is required for layer {self.name}")

    def _handle_weight_regularization(self, name: str, variable: Any, regularizer: Callable[[Any], Any]) -> None:
        """Adds the loss of a new variable, or of each part of one."""
        def loss_of(part: Any) -> Any:
            with name_scope(name + "/Regularizer"):
                return regularizer(part)

        for part in variable if isinstance(variable, PartitionedVariable) else [variable]:
            self.add_loss(functools.partial(loss_of, part))

    # --- lists -------------------------------------------------------------------------------------------------------

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables that are trained."""
        if not self.trainable:
            return []
        return self._trainable_weights + [weight for layer in self._sublayers() for weight in layer.trainable_weights]

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The other variables."""
        if self.trainable:
            return self._non_trainable_weights + [weight for layer in self._sublayers() for weight in layer.non_trainable_weights]
        return self._trainable_weights + self._non_trainable_weights + [weight for layer in self._sublayers() for weight in layer.weights]

    @property
    def weights(self) -> list[Any]:
        """All variables."""
        return self.trainable_weights + self.non_trainable_weights

    trainable_variables = property(lambda self: self.trainable_weights, doc="The variables that are trained.")
    non_trainable_variables = property(lambda self: self.non_trainable_weights, doc="The other variables.")
    variables = property(lambda self: self.weights, doc="All variables.")

    # --- values ------------------------------------------------------------------------------------------------------

    def count_params(self) -> int:
        """How many numbers the variables hold."""
        if not self.built:
            raise ValueError(f"You tried to call `count_params` on {self.name}, but the layer isn't built. You can build it manually via: "
                             f"`{self.name}.build(batch_input_shape)`.")
        return sum(math.prod(int(extent) for extent in weight.shape.as_list()) for weight in self.weights)

    def get_weights(self) -> list[Any]:
        """The values of all variables."""
        return values_of(self.weights)

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Replaces the values of all variables."""
        variables = self.weights
        if len(variables) != len(weights):
            raise ValueError(f'You called `set_weights(weights)` on layer "{self.name}" with a  weight list of length {len(weights)}, but the layer '
                             f"was expecting {len(variables)} weights. Provided weights: {str(weights)[:50]}...")
        for variable, value in zip(variables, weights):
            if not variable.shape.is_compatible_with(value.shape):
                raise ValueError(f"Layer weight shape {variable.shape} not compatible with provided weight shape {value.shape}")
        assign_values(list(zip(variables, weights)))
