"""RNNCell: the step of a recurrent network, ``(inputs, state) -> (output, new state)``."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from penstock.graph import nest
from penstock.graph.convert import to_tensor
from penstock.graph.function import FuncGraph
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.shape import TensorShape, as_shape
from penstock.graph.static import constant_value
from penstock.layers import activations
from penstock.layers.scoped import Layer
from penstock.ops.array.fill import zeros
from penstock.ops.array.pack import concat
from penstock.ops.array.shape_ops import expand_dims, shape
from penstock.ops.math.trigonometry import tanh
from penstock.variables.scope import get_variable_scope, variable_scope

Activation = Callable[[Any], Any]


class RNNCell(Layer):
    """``tf.nn.rnn_cell.RNNCell``: define ``state_size``, ``output_size`` and ``call(inputs, state)``.

    Sizes are ints, shapes without the batch, or structures of them. Variables that ``call`` makes with ``tf.get_variable`` are shared by all steps.
    """

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        """One step."""
        if scope is not None:
            with variable_scope(scope, custom_getter=self._tracking_getter) as entered:
                return super().__call__(inputs, state, scope=entered)
        outer = self.__dict__.get("_outer_scope")
        if outer is None:
            outer = self._outer_scope = variable_scope(get_variable_scope(), custom_getter=self._tracking_getter)
        with outer:
            return super().__call__(inputs, state)

    def _tracking_getter(self, getter: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Gets a variable, and remembers it as one of this cell."""
        variable = getter(*args, **kwargs)
        weights = self._trainable_weights if getattr(variable, "trainable", True) else self._non_trainable_weights
        if all(variable is not other for other in weights):
            weights.append(variable)
        return variable

    # Arguments of the constructor that `get_config` gives; each is kept in an attribute of its name with an underscore before it.
    _described: tuple[str, ...] = ()

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the cell again."""
        return {**super().get_config(), **{name: _plain(getattr(self, f"_{name}")) for name in self._described}}

    @property
    def state_size(self) -> Any:
        """The size of the state."""
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self) -> Any:
        """The size of the output."""
        raise NotImplementedError("Abstract method")

    def build(self, _: Any) -> None:
        """Most cells make their variables here; those that use ``tf.get_variable`` in ``call`` need nothing."""

    def get_initial_state(self, inputs: Any = None, batch_size: Any = None, dtype: Any = None) -> Any:
        """The state before the first step."""
        if inputs is not None:
            inputs = to_tensor(inputs, name="inputs")
            batch_size = shape(inputs)[0] if batch_size is None else batch_size
            dtype = inputs.dtype.base_dtype if dtype is None else dtype
        if batch_size is None or dtype is None:
            raise ValueError(f"batch_size and dtype cannot be None while constructing initial state: batch_size={batch_size}, dtype={dtype}")
        return self.zero_state(batch_size, dtype)

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """A state of zeros."""
        with name_scope(type(self).__name__ + "ZeroState", values=[batch_size] if isinstance(batch_size, Tensor) else []):
            return zero_state_tensors(self.state_size, batch_size, dtype)


class LayerRNNCell(RNNCell):
    """A cell whose variables are made in ``build``."""

    def __call__(self, inputs: Any, state: Any, scope: Any = None, *args: Any, **kwargs: Any) -> Any:
        """One step."""
        return Layer.__call__(self, inputs, state, *args, scope=scope, **kwargs)


def assert_like_rnncell(cell_name: str, cell: Any) -> None:
    """TypeError unless ``cell`` can be called and says its sizes and its zero state."""
    wanted = {"'output_size' property is missing": hasattr(cell, "output_size"), "'state_size' property is missing": hasattr(cell, "state_size"),
              "either 'zero_state' or 'get_initial_state' method is required": hasattr(cell, "zero_state") or hasattr(cell, "get_initial_state"),
              "is not callable": callable(cell)}
    problems = [text for text, fine in wanted.items() if not fine]
    if problems:
        raise TypeError(f"The argument {cell_name!r} ({cell}) is not an RNNCell: {', '.join(problems)}. "
                        f"The parameter {cell_name} is not RNNCell.")  # the wording of TensorFlow 1.4


def _plain(value: Any) -> Any:
    """An argument as a config has it: functions by their names, objects by class and config."""
    return activations.serialize(value) if callable(value) else value


def activation_function(given: Any, default: Activation = tanh) -> Activation:
    """The function that an argument ``activation`` means: a function, the name of one, or None."""
    return activations.get(given) if given else default


# --- shapes of states ------------------------------------------------------------------------------------------------

def concat_sizes(prefix: Any, suffix: Any, static: bool = False) -> Any:
    """The extents ``[prefix..., suffix...]``: as a list (None where unknown) if ``static``, else as an int tensor.

    Each of the two is a tensor, an int, a list, or a TensorShape.
    """
    first, first_static = _extents(prefix, "prefix")
    second, second_static = _extents(suffix, "suffix")
    if static:
        whole = as_shape(first_static).concatenate(as_shape(second_static))
        return whole.as_list() if whole.ndims is not None else None
    if first is None or second is None:
        raise ValueError(f"Provided a prefix or suffix of None: {prefix} and {suffix}")
    return concat([first, second], 0)


def _extents(given: Any, what: str) -> tuple[Any, Any]:
    """(an int vector, or None if it is not known; what is known of it while building)."""
    if not isinstance(given, Tensor):
        known = as_shape([given] if isinstance(given, (int, np.integer)) or given is None else given)
        if not known.is_fully_defined():
            return None, known
        return np.array(known.as_list(), np.int32), known
    if given.shape.ndims not in (0, 1):
        raise ValueError(f"{what} tensor must be either a scalar or vector, but saw tensor: {given}")
    value = constant_value(given)
    vector = expand_dims(given, 0) if given.shape.ndims == 0 else given
    return vector, TensorShape(np.atleast_1d(value).tolist()) if value is not None else _of_length(vector)


def _of_length(vector: Tensor) -> TensorShape:
    """The shape that a vector of unknown extents stands for."""
    rank = vector.shape.as_list()[0]
    return TensorShape(None) if rank is None else TensorShape([None] * rank)


def imply_static_sizes(known_batch: Any) -> None:
    """Counts the constants that TensorFlow makes, and does not use, when it asks for the static shape of zeros."""
    default_graph().imply(1 if known_batch is None else 2)


@contextmanager
def counting_as_kernel(nodes: int) -> Iterator[None]:
    """What is made inside counts as the ``nodes`` of a fused kernel of TensorFlow, besides what a loop captures."""
    graph = default_graph()
    captures = graph.captures if isinstance(graph, FuncGraph) else ()
    made, captured = graph.next_op_seed(), len(captures)
    yield
    graph.imply(nodes + len(captures) - captured - (graph.next_op_seed() - made))


def zero_state_tensors(state_size: Any, batch_size: Any, dtype: Any) -> Any:
    """Zeros for each part of a state."""
    def part(size: Any) -> Tensor:
        made = zeros(concat_sizes(batch_size, size), dtype=dtype)
        made.set_shape(concat_sizes(batch_size, size, static=True))
        default_graph().imply(sum(not isinstance(each, Tensor) for each in (batch_size, size)))  # constants for the static shape
        return made

    return nest.map_structure(part, state_size)
