"""Columns of numbers: as they are, and in buckets."""
from __future__ import annotations

import itertools
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.estimator.columns.base import CategoricalColumn, DenseColumn, FeatureCache, IdsAndWeights, check_key
from penstock.estimator.columns.configs import library_column
from penstock.graph import dtypes
from penstock.graph.composite import SparseTensor
from penstock.graph.shape import TensorShape, as_shape
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import one_hot
from penstock.ops.array.pack import stack
from penstock.ops.array.permute import tile, transpose
from penstock.ops.array.sequences import range as range_op
from penstock.ops.array.shape_ops import expand_dims, reshape, shape
from penstock.ops.math.counting import Bucketize
from penstock.ops.text.parsing import FixedLenFeature


@library_column
class NumericColumn(DenseColumn, namedtuple("NumericColumn", ["key", "shape", "default_value", "dtype", "normalizer_fn"])):
    """What ``numeric_column`` returns."""

    @property
    def name(self) -> str:
        """The key of its feature."""
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """A feature of fixed length."""
        return {self.key: FixedLenFeature(self.shape, self.dtype, self.default_value)}

    @property
    def variable_shape(self) -> TensorShape:
        """The given shape."""
        return as_shape(self.shape)

    def transform_feature(self, cache: FeatureCache) -> Any:
        """The feature as float32, normalized."""
        tensor = cache.get(self.key)
        if isinstance(tensor, SparseTensor):
            raise ValueError(f"The corresponding Tensor of numerical column must be a Tensor. SparseTensor is not supported. key: {self.key}")
        return cast(tensor if self.normalizer_fn is None else self.normalizer_fn(tensor), dtypes.float32)

    def get_dense_tensor(self, cache: FeatureCache, weight_collections: Any = None, trainable: bool = True) -> Any:
        """The feature."""
        return cache.get(self)


def numeric_column(key: str, shape: Any = (1,), default_value: Any = None, dtype: Any = dtypes.float32,
                   normalizer_fn: Callable[[Any], Any] | None = None) -> NumericColumn:
    """``tf.feature_column.numeric_column``: real numbers, ``shape`` of them per example."""
    check_key(key)
    extents, dtype = checked_number_column(shape, dtype, normalizer_fn, key)
    return NumericColumn(key, extents, _checked_default(default_value, extents, dtype, key), dtype, normalizer_fn)


def checked_number_column(shape: Any, dtype: Any, normalizer_fn: Any, key: str) -> tuple[tuple[int, ...], dtypes.DType]:
    """(shape, type) of a column of numbers."""
    extents, dtype = _checked_shape(shape, key), dtypes.as_dtype(dtype)
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {dtype}, key: {key}")
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn}")
    return extents, dtype


def _checked_shape(shape: Any, key: str) -> tuple[int, ...]:
    extents = tuple(shape) if isinstance(shape, (list, tuple, TensorShape)) else (shape,)
    for extent in extents:
        if not isinstance(extent, (int, np.integer)):
            raise TypeError(f"shape dimensions must be integer. shape: {shape}, key: {key}")
        if extent < 1:
            raise ValueError(f"shape dimensions must be greater than 0. shape: {shape}, key: {key}")
    return tuple(int(extent) for extent in extents)


def _checked_default(value: Any, extents: tuple[int, ...], dtype: Any, key: str) -> Any:
    """The default as nested tuples of the column's shape; a single number stands for all."""
    if value is None:
        return None
    array = np.asarray(value)
    if array.dtype.kind not in ("iub" if dtype.is_integer else "iubf"):
        raise TypeError(f"default_value must be compatible with dtype. default_value: {value}, dtype: {dtype}, key: {key}")
    if array.ndim and array.shape != extents:
        raise ValueError(f"The shape of default_value must be equal to given shape. default_value: {value}, shape: {extents}, key: {key}")
    return _tuples(np.broadcast_to(array, extents).astype(dtype.as_numpy_dtype).tolist())


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


@library_column
class BucketizedColumn(DenseColumn, CategoricalColumn, namedtuple("BucketizedColumn", ["source_column", "boundaries"])):
    """What ``bucketized_column`` returns."""

    @property
    def name(self) -> str:
        """The name of its numbers, with a suffix."""
        return f"{self.source_column.name}_bucketized"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """That of its numbers."""
        return dict(self.source_column.parse_example_spec)

    @property
    def variable_shape(self) -> TensorShape:
        """A one-hot vector per number."""
        return as_shape((*self.source_column.shape, len(self.boundaries) + 1))

    @property
    def num_buckets(self) -> int:
        """Buckets of all numbers of an example."""
        return (len(self.boundaries) + 1) * self.source_column.shape[0]

    def transform_feature(self, cache: FeatureCache) -> Any:
        """The bucket of each number. A boundary belongs to the bucket above it."""
        return Bucketize(cache.get(self.source_column), boundaries=list(self.boundaries))

    def get_dense_tensor(self, cache: FeatureCache, weight_collections: Any = None, trainable: bool = True) -> Any:
        """One-hot vectors."""
        return one_hot(cast(cache.get(self), dtypes.int64), len(self.boundaries) + 1, 1.0, 0.0)

    def get_sparse_tensors(self, cache: FeatureCache) -> IdsAndWeights:
        """A bucket id per number; each of an example's numbers has buckets of its own."""
        return IdsAndWeights(bucket_ids(cache.get(self), self.source_column.shape[0], len(self.boundaries) + 1))


def bucket_ids(buckets: Any, count: int, number: int) -> SparseTensor:
    """The ids of buckets: of ``count`` numbers per example, each has ids for ``number`` buckets of its own."""
    batch = shape(buckets)[0]
    rows = reshape(tile(expand_dims(range_op(0, batch), 1), [1, count]), (-1,))
    places = tile(range_op(0, count), [batch])
    ids = reshape(buckets, (-1,)) + number * places
    indices = cast(transpose(stack((rows, places))), dtypes.int64)
    return SparseTensor(indices, ids, cast(stack([batch, count]), dtypes.int64))


def bucketized_column(source_column: NumericColumn, boundaries: Any) -> BucketizedColumn:
    """``tf.feature_column.bucketized_column``: between which boundaries a number lies."""
    if not isinstance(source_column, NumericColumn):
        raise ValueError(f"source_column must be a column generated with numeric_column(). Given: {source_column}")
    if len(source_column.shape) > 1:
        raise ValueError(f"source_column must be one-dimensional column. Given: {source_column}")
    if not boundaries:
        raise ValueError("boundaries must not be empty.")
    if not isinstance(boundaries, (list, tuple)) or any(low >= high for low, high in itertools.pairwise(boundaries)):
        raise ValueError("boundaries must be a sorted list.")
    return BucketizedColumn(source_column, tuple(boundaries))
