"""Columns of sequences: a value, or several, for each step of an example. Features are sparse: [batch, steps] or [batch, steps, values]."""
from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable
from typing import Any, NamedTuple

from penstock.estimator.columns.base import CategoricalColumn, DenseColumn, FeatureCache, IdsAndWeights, check_key
from penstock.estimator.columns.categorical import (
    categorical_column_with_hash_bucket,
    categorical_column_with_identity,
    categorical_column_with_vocabulary_file,
    categorical_column_with_vocabulary_list,
)
from penstock.estimator.columns.configs import library_column
from penstock.estimator.columns.numeric import checked_number_column
from penstock.graph import dtypes
from penstock.graph.composite import SparseTensor
from penstock.graph.scopes import name_scope
from penstock.graph.shape import TensorShape, as_shape
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import ones_like, zeros
from penstock.ops.array.pack import concat
from penstock.ops.array.shape_ops import reshape, shape
from penstock.ops.math.reduce import reduce_prod
from penstock.ops.math.rounding import ceil
from penstock.ops.math.segment import segment_max
from penstock.ops.sparse.sparse_functions import sparse_reshape, sparse_tensor_to_dense
from penstock.ops.text.parsing import VarLenFeature


class Sequence(NamedTuple):
    """What a column gives for a batch of sequences: [batch, steps, ...], and how long each is."""

    dense_tensor: Any
    sequence_length: Any


def sequence_lengths(sparse: SparseTensor, values_per_step: int = 1) -> Any:
    """The number of steps of each example: its last index decides; rows without values have none."""
    with name_scope(None, "sequence_length") as scope:
        examples, places = sparse.indices[:, 0], sparse.indices[:, 1]
        ends = segment_max(places + ones_like(places), segment_ids=examples)
        lengths = cast(ceil(ends / values_per_step), dtypes.int64)
        missing = shape(sparse)[:1] - shape(lengths)[:1]
        return concat([lengths, zeros(missing, dtype=lengths.dtype)], axis=0, name=scope)


def _by_steps(sparse: SparseTensor) -> SparseTensor:
    """[batch, steps, values of a step]."""
    extents = shape(sparse)
    return sparse_reshape(sparse, [extents[0], extents[1], reduce_prod(extents[2:])])


@library_column
class SequenceCategoricalColumn(CategoricalColumn, namedtuple("SequenceCategoricalColumn", ["categorical_column"])):
    """What the ``sequence_categorical_column_with_*`` functions return: a categorical column, whose ids belong to steps."""

    @property
    def name(self) -> str:
        """That of its ids."""
        return self.categorical_column.name

    @property
    def num_buckets(self) -> int:
        """That of its ids."""
        return self.categorical_column.num_buckets

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """That of its ids."""
        return dict(self.categorical_column.parse_example_spec)

    def transform_feature(self, cache: FeatureCache) -> Any:
        """That of its ids."""
        return self.categorical_column.transform_feature(cache)

    def get_sparse_tensors(self, cache: FeatureCache) -> IdsAndWeights:
        """Ids as [batch, steps, ids of a step]: those of different steps are not combined."""
        def by_steps() -> IdsAndWeights:
            ids, weights = self.categorical_column.get_sparse_tensors(cache)
            return IdsAndWeights(_by_steps(ids), None if weights is None else _by_steps(weights))
        return cache.once((self, "by steps"), by_steps)


@library_column
class SequenceNumericColumn(DenseColumn, namedtuple("SequenceNumericColumn", ["key", "shape", "default_value", "dtype", "normalizer_fn"])):
    """What ``sequence_numeric_column`` returns."""

    @property
    def name(self) -> str:
        """The key of its feature."""
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """A feature of any length."""
        return {self.key: VarLenFeature(self.dtype)}

    @property
    def variable_shape(self) -> TensorShape:
        """The given shape."""
        return as_shape(self.shape)

    def transform_feature(self, cache: FeatureCache) -> Any:
        """The feature, normalized."""
        sparse = cache.get(self.key)
        if not isinstance(sparse, SparseTensor):
            raise ValueError(f"The corresponding Tensor of a sequence numeric column must be a SparseTensor. key: {self.key}, given: {sparse}")
        return sparse if self.normalizer_fn is None else self.normalizer_fn(sparse)

    def get_dense_tensor(self, cache: FeatureCache, weight_collections: Any = None, trainable: bool = True) -> Any:
        """Refused: a sequence needs a layer that knows of steps."""
        raise ValueError(f"sequence_numeric_column {self.key!r} is not supported by input_layer: use sequence_input_layer.")

    def get_sequence_dense_tensor(self, cache: FeatureCache, weight_collections: Any = None, trainable: bool = True) -> Sequence:
        """[batch, steps, ...]; values that are missing have the default."""
        sparse = cache.get(self)
        dense = sparse_tensor_to_dense(sparse, default_value=self.default_value)
        dense = cast(reshape(dense, concat([shape(dense)[:1], [-1], self.shape], axis=0)), dtypes.float32)
        flat = sparse.dense_shape.shape.extents == (2,)
        return Sequence(dense, sequence_lengths(sparse, math.prod(self.shape) if flat else 1))


def sequence_numeric_column(key: str, shape: Any = (1,), default_value: float = 0.0, dtype: Any = dtypes.float32,
                            normalizer_fn: Callable[[Any], Any] | None = None) -> SequenceNumericColumn:
    """``tf.feature_column.sequence_numeric_column``: real numbers, ``shape`` of them per step."""
    check_key(key)
    extents, dtype = checked_number_column(shape, dtype, normalizer_fn, key)
    return SequenceNumericColumn(key, extents, default_value, dtype, normalizer_fn)


def sequence_categorical_column_with_identity(key: str, num_buckets: int, default_value: int | None = None) -> SequenceCategoricalColumn:
    """``tf.feature_column.sequence_categorical_column_with_identity``: numbers that are ids."""
    return SequenceCategoricalColumn(categorical_column_with_identity(key, num_buckets, default_value))


def sequence_categorical_column_with_hash_bucket(key: str, hash_bucket_size: int, dtype: Any = dtypes.string) -> SequenceCategoricalColumn:
    """``tf.feature_column.sequence_categorical_column_with_hash_bucket``: ids are hashes."""
    return SequenceCategoricalColumn(categorical_column_with_hash_bucket(key, hash_bucket_size, dtype))


def sequence_categorical_column_with_vocabulary_file(key: str, vocabulary_file: str, vocabulary_size: int | None = None, num_oov_buckets: int = 0,
                                                     default_value: int | None = None, dtype: Any = dtypes.string) -> SequenceCategoricalColumn:
    """``tf.feature_column.sequence_categorical_column_with_vocabulary_file``: ids are lines of a file."""
    return SequenceCategoricalColumn(categorical_column_with_vocabulary_file(key, vocabulary_file, vocabulary_size, num_oov_buckets, default_value,
                                                                             dtype))


def sequence_categorical_column_with_vocabulary_list(key: str, vocabulary_list: Any, dtype: Any = None, default_value: int = -1,
                                                     num_oov_buckets: int = 0) -> SequenceCategoricalColumn:
    """``tf.feature_column.sequence_categorical_column_with_vocabulary_list``: ids are places in a list."""
    return SequenceCategoricalColumn(categorical_column_with_vocabulary_list(key, vocabulary_list, dtype, default_value, num_oov_buckets))
