"""Small functions of Keras's private modules (``keras.utils.generic_utils``, ``tf_utils``) that custom layers and libraries call."""
from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from penstock.graph import nest
from penstock.graph.composite import CompositeTensor
from penstock.graph.node import Tensor
from penstock.graph.shape import TensorShape, as_shape
from penstock.imperative.tensor import EagerTensor


def to_list(x: Any) -> list[Any]:
    """``x`` as a list: itself if it is one, else a list of it."""
    return x if isinstance(x, list) else [x]


def to_snake_case(name: str) -> str:
    """``dense_relu`` for ``DenseRelu``; a name that begins with ``_`` gets ``private`` in front."""
    parts = re.sub("([a-z])([A-Z])", r"\1_\2", re.sub("(.)([A-Z][a-z0-9]+)", r"\1_\2", name)).lower()
    return f"private{parts}" if parts.startswith("_") else parts


def object_list_uid(object_list: Any) -> str:
    """The identities of objects in one text."""
    return ", ".join(str(abs(id(each))) for each in nest.flatten(object_list))


def is_all_none(structure: Any) -> bool:
    """Whether there is nothing but None in a nest."""
    return all(each is None for each in nest.flatten(structure))


def make_batches(size: int, batch_size: int) -> list[tuple[int, int]]:
    """(begin, end) of each batch."""
    return [(begin, min(size, begin + batch_size)) for begin in range(0, size, batch_size)]


def is_tensor_or_variable(x: Any) -> bool:
    """Whether ``x`` is a tensor, or a variable."""
    return isinstance(x, (Tensor, CompositeTensor)) or hasattr(x, "initialized_value")


def is_symbolic_tensor(tensor: Any) -> bool:
    """Whether ``tensor`` is part of a graph, and not a value."""
    return is_tensor_or_variable(tensor) and not isinstance(tensor, EagerTensor)


def _is_shape(value: Any) -> bool:
    return value is None or isinstance(value, TensorShape) or (
        isinstance(value, (list, tuple)) and all(extent is None or isinstance(extent, int) for extent in value))


def convert_shapes(input_shape: Any, to_tuples: bool = True) -> Any:
    """A nest of shapes with each of them as a tuple, or as a TensorShape."""
    if isinstance(input_shape, dict):
        return {key: convert_shapes(value, to_tuples) for key, value in input_shape.items()}
    if not _is_shape(input_shape):
        return type(input_shape)(convert_shapes(each, to_tuples) for each in input_shape)
    shape = as_shape(input_shape)
    return shape if not to_tuples else None if shape.ndims is None else tuple(shape.as_list())


def shape_type_conversion(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator of methods like ``compute_output_shape``: they get tuples, and what they return becomes TensorShapes."""
    @wraps(function)
    def with_tuples(instance: Any, input_shape: Any) -> Any:
        result = function(instance, None if input_shape is None else convert_shapes(input_shape))
        return None if result is None else convert_shapes(result, to_tuples=False)
    return with_tuples


def print_summary(model: Any, line_length: int | None = None, positions: Sequence[float] | None = None,
                  print_fn: Callable[[str], Any] | None = None) -> None:
    """``model.summary``."""
    model.summary(line_length, positions, print_fn)
