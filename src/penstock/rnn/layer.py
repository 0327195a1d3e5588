"""What a cell is made of: an object with a variable scope of its own, in which its variables are made by the first call and found by later ones."""
from __future__ import annotations

import re
from typing import Any

from penstock.graph import dtypes, nest
from penstock.graph.convert import to_tensor
from penstock.graph.scopes import name_scope
from penstock.variables.modes import VariableAggregation, VariableSynchronization
from penstock.variables.scope import VariableScope, get_variable, variable_scope


def snake_case(name: str) -> str:
    """The name of a class as the name of a scope.

    >>> snake_case("BasicLSTMCell"), snake_case("_Private")
    ('basic_lstm_cell', 'private__private')
    """
    spaced = re.sub("([a-z])([A-Z])", r"\1_\2", re.sub("(.)([A-Z][a-z0-9]+)", r"\1_\2", name)).lower()
    return "private" + spaced if spaced.startswith("_") else spaced


class Layer:
    """The base of cells: ``build`` makes the variables, ``call`` computes; both are called by calling the object.

    The scope is chosen by the first call, below the variable scope that is current then: it is named after the object, or after its class.
    """

    def __init__(self, trainable: bool = True, name: str | None = None, dtype: Any = None, _reuse: Any = None, _scope: Any = None,
                 **kwargs: Any) -> None:
        if kwargs.keys() - {"input_shape", "batch_size", "weights", "activity_regularizer", "autocast", "dynamic"}:
            raise TypeError(f"Keyword argument not understood: {sorted(kwargs)[0]}")
        self.trainable, self.built = trainable, False
        self._name = self._base_name = name or snake_case(type(self).__name__)
        self._dtype = None if dtype is None else dtypes.as_dtype(dtype)
        self._reuse = _reuse
        self._trainable_weights: list[Any] = []
        self._non_trainable_weights: list[Any] = []
        self._scope: VariableScope | None = None
        if _scope is not None:
            with variable_scope(_scope, default_name=self._base_name) as scope:
                self._scope = scope

    # --- to be defined by subclasses ---------------------------------------------------------------------------------

    def build(self, input_shape: Any) -> None:
        """Makes the variables. ``input_shape`` are the shapes of the inputs."""
        self.built = True

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Computes the outputs."""
        raise NotImplementedError(f"{type(self).__name__} does not define `call`.")

    # --- calling -----------------------------------------------------------------------------------------------------

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        scope = kwargs.pop("scope", None)
        inputs = nest.map_structure(lambda item: item if hasattr(item, "dtype") and hasattr(item, "graph") else to_tensor(item), inputs)
        self._set_scope(scope)
        reuse = True if self.built else self._reuse
        with variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False) as current, name_scope(current.original_name_scope):
            if not self.built:
                self._build_for(inputs)
            return self.call(inputs, *args, **kwargs)

    apply = __call__

    def _build_for(self, inputs: Any) -> None:
        flat = nest.flatten(inputs)
        if self._dtype is None and flat:
            self._dtype = flat[0].dtype.base_dtype
        self.build(nest.map_structure(lambda item: item.shape, inputs))
        self.built = True

    def _set_scope(self, scope: Any) -> None:
        if self._scope is not None:
            return
        given = (scope or self._base_name) if self._reuse else scope
        with variable_scope(given, default_name=self._base_name) as captured:
            self._scope = captured

    # --- variables ---------------------------------------------------------------------------------------------------

    def add_variable(self, name: str, shape: Any, dtype: Any = None, initializer: Any = None, regularizer: Any = None,
                     trainable: bool | None = None, constraint: Any = None, use_resource: bool | None = None,
                     synchronization: Any = VariableSynchronization.AUTO, aggregation: Any = VariableAggregation.NONE, partitioner: Any = None,
                     **kwargs: Any) -> Any:
        """A variable in the layer's scope."""
        self._set_scope(None)
        assert self._scope is not None
        with variable_scope(self._scope, reuse=True if self.built else self._reuse, auxiliary_name_scope=False) as current, \
                name_scope(current.original_name_scope):
            variable = get_variable(name, shape=shape, dtype=dtype or self._dtype or dtypes.float32, initializer=initializer, regularizer=regularizer,
                                    trainable=trainable if self.trainable else False, constraint=constraint, partitioner=partitioner,
                                    use_resource=use_resource, synchronization=synchronization, aggregation=aggregation)
        return self._track(variable)

    add_weight = add_variable

    def _track(self, variable: Any) -> Any:
        """Remembers a variable as one of this layer."""
        kept = self._trainable_weights if getattr(variable, "trainable", True) else self._non_trainable_weights
        if all(variable is not other for other in kept):
            kept.append(variable)
        return variable

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables that are trained."""
        return self._trainable_weights if self.trainable else []

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The other variables."""
        return self._non_trainable_weights if self.trainable else self._trainable_weights + self._non_trainable_weights

    @property
    def weights(self) -> list[Any]:
        """All variables."""
        return self.trainable_weights + self.non_trainable_weights

    trainable_variables = property(lambda self: self.trainable_weights)
    non_trainable_variables = property(lambda self: self.non_trainable_weights)
    variables = property(lambda self: self.weights)

    # --- what it is --------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name that was given, or the one of the class."""
        return self._name

    @property
    def dtype(self) -> Any:
        """The type of the variables: the one that was given, or that of the first input."""
        return None if self._dtype is None else self._dtype.name

    @property
    def scope_name(self) -> str:
        """The name of the variable scope."""
        if self._scope is None:
            raise ValueError(f"No name available for layer scope because the layer \"{self._name}\" has not been used yet. The scope name is "
                             "determined the first time the layer instance is called.")
        return self._scope.name
