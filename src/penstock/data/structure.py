"""What an element consists of: a structure (``data/nest.py``) whose leaves are Specs.

A Spec says how one leaf travels through a pipeline as tensors, the *components*: a dense tensor as itself, a sparse one as three variants in one
tensor (so that it can be batched like a dense one), a dataset inside an element as a variant.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.data import nest
from penstock.graph import dtypes as dt
from penstock.graph.composite import SparseTensor, SparseTensorValue
from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import DType, as_dtype
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.shape import TensorShape, as_shape, unknown_shape
from penstock.ops.constant import identity
from penstock.ops.sparse_serialize import DeserializeSparse, serialize_many_sparse, serialize_sparse


@dataclass(frozen=True)
class Dense:
    """A tensor."""

    dtype: DType
    shape: TensorShape
    kind = Tensor

    @property
    def component(self) -> tuple[DType, TensorShape]:
        """Type and shape of what travels."""
        return self.dtype, self.shape

    def encode(self, value: Any) -> Tensor:
        """The component for a value."""
        tensor = to_tensor(value, self.dtype)
        return identity(tensor) if tensor.dtype.is_ref else tensor

    def encode_rows(self, value: Any) -> Tensor:
        """The component whose slices are the components of the rows of a value."""
        return self.encode(value)

    def decode(self, tensor: Tensor) -> Any:
        """The value of a component."""
        tensor.set_shape(self.shape)
        return tensor

    def batched(self, length: int | None) -> Dense:
        """The Spec of a batch."""
        return Dense(self.dtype, TensorShape([length]).concatenate(self.shape))

    def unbatched(self) -> Dense:
        """The Spec of a row."""
        if self.shape.ndims == 0:
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        return Dense(self.dtype, self.shape[1:] if self.shape.ndims is not None else unknown_shape())

    def with_shape(self, shape: TensorShape) -> Dense:
        """The same with another shape."""
        return Dense(self.dtype, shape)


@dataclass(frozen=True)
class Sparse:
    """A SparseTensor."""

    dtype: DType
    shape: TensorShape
    kind = SparseTensor

    @property
    def component(self) -> tuple[DType, TensorShape]:
        """Type and shape of what travels."""
        return dt.variant, unknown_shape()

    def encode(self, value: Any) -> Tensor:
        """The component for a value."""
        return serialize_sparse(_sparse(value), out_type=dt.variant)

    def encode_rows(self, value: Any) -> Tensor:
        """The component whose slices are the components of the rows of a value."""
        return serialize_many_sparse(_sparse(value), out_type=dt.variant)

    def decode(self, tensor: Tensor) -> Any:
        """The value of a component."""
        indices, values, shape = DeserializeSparse(tensor, dtype=self.dtype)
        rank = self.shape.ndims
        indices.set_shape([None, rank])
        shape.set_shape([rank])
        return SparseTensor(indices, values, shape)

    batched, unbatched = Dense.batched, Dense.unbatched  # replaced below: they return what they are called on

    def with_shape(self, shape: TensorShape) -> Sparse:
        """The same with another shape."""
        return Sparse(self.dtype, shape)


def _batched(self: Any, length: int | None) -> Any:
    return self.with_shape(TensorShape([length]).concatenate(self.shape))


def _unbatched(self: Any) -> Any:
    if self.shape.ndims == 0:
        raise ValueError("Unbatching a tensor is only supported for rank >= 1")
    return self.with_shape(self.shape[1:] if self.shape.ndims is not None else unknown_shape())
