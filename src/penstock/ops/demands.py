"""What ops demand of the shapes of their inputs: as ValueErrors while a graph is built, as errors of the step when it runs."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.members import with_parameters
from penstock.graph.node import Tensor
from penstock.graph.shape import TensorShape, unknown_shape
from penstock.ops.common import ShapeFunction


def merged(tensors: Any) -> TensorShape:
    """The one shape that all these tensors have; ValueError if they differ."""
    result = unknown_shape()
    for tensor in tensors:
        result = result.merge_with(tensor.shape)
    return result


def same_shape(*arguments: str) -> ShapeFunction:
    """The output has the shape of these inputs, which must be the same."""
    return with_parameters(lambda *tensors: merged(tensors), arguments)


def check_same_shape(*arrays: Any) -> None:
    """The error of a step if these arrays differ in shape."""
    shapes = [array.shape if type(array) is np.ndarray else np.shape(array) for array in arrays]
    if any(shape != shapes[0] for shape in shapes):
        raise invalid_argument(f"Inputs to operation must have the same size and shape: {', '.join(str(list(shape)) for shape in shapes)}")


def want_rank(rank: int, **tensors: Tensor) -> None:
    """ValueError if one of these tensors has another rank."""
    for name, tensor in tensors.items():
        if tensor.shape.ndims not in (None, rank):
            raise ValueError(f"Shape must be rank {rank} but is rank {tensor.shape.ndims}: {name}")


def check_rank(rank: int, **arrays: Any) -> None:
    """The error of a step if one of these arrays has another rank."""
    for name, array in arrays.items():
        if np.ndim(array) != rank:
            raise invalid_argument(f"{name} must {'be a scalar' if rank == 0 else f'have rank {rank}'}, not shape {list(np.shape(array))}")
