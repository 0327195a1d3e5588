"""Shape functions of ops on matrices and batches of matrices, with TensorFlow's words for what does not fit."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.members import with_parameters
from penstock.graph.node import Tensor
from penstock.graph.shape import TensorShape
from penstock.ops.common import shape_text

Extents = tuple[int | None, ...]


def extents_of(tensor: Tensor, at_least: int = 2) -> Extents | None:
    """The extents of a tensor of rank ``at_least`` or more; None if its rank is unknown."""
    extents = tensor.shape.extents
    if extents is not None and len(extents) < at_least:
        raise ValueError(f"Shape must be at least rank {at_least} but is rank {len(extents)}")
    return extents


def same_extent(a: int | None, b: int | None) -> int | None:
    """What two extents that must be equal are."""
    if a is not None and b is not None and a != b:
        raise ValueError(f"Dimensions must be equal, but are {a} and {b}")
    return b if a is None else a


def square_shape(tensor: Tensor) -> TensorShape:
    """The shape of a batch of square matrices."""
    extents = extents_of(tensor)
    if extents is None:
        return tensor.shape
    side = same_extent(extents[-2], extents[-1])
    return TensorShape._of((*extents[:-2], side, side))


def square_like(argument: str) -> Any:
    """A shape function: the output has the shape of this input, a batch of square matrices."""
    return with_parameters(lambda tensor: square_shape(tensor), [argument])


def check_square(matrix: np.ndarray) -> None:
    """InvalidArgumentError unless these are square matrices."""
    if np.ndim(matrix) < 2:
        raise invalid_argument(f"Input tensor 0 must have rank >= 2, got shape {shape_text(matrix)}")
    if matrix.shape[-1] != matrix.shape[-2]:
        raise invalid_argument(f"Input matrix must be square, got shape {shape_text(matrix)}")
