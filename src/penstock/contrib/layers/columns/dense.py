"""Columns of numbers: real values, buckets, counts of ids, embeddings."""
from __future__ import annotations

import itertools
import math
from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any

from penstock.contrib.framework.variables import model_variable
from penstock.contrib.layers.columns.base import (
    DenseLayersColumn,
    NumbersColumn,
    check_checkpoint,
    parts,
    restore_from_checkpoint,
    with_rank,
)
from penstock.contrib.layers.columns.sparse import IdColumn, SparseColumn, WeightedSparseColumn
from penstock.contrib.layers.embeddings import safe_embedding_lookup_sparse, scattered_embedding_lookup_sparse
from penstock.contrib.layers.sparse_features import bucketize
from penstock.estimator.columns.base import CategoricalColumn, DenseColumn, FeatureCache, IdsAndWeights, sparse_input
from penstock.estimator.columns.dense import counts
from penstock.estimator.columns.numeric import bucket_ids
from penstock.graph import dtypes
from penstock.graph.composite import SparseTensor
from penstock.graph.scopes import add_to_collection, get_collection
from penstock.graph.shape import TensorShape, as_shape
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import one_hot
from penstock.ops.array.shape_ops import reshape
from penstock.ops.text.parsing import FixedLenFeature, VarLenFeature
from penstock.platform import logging
from penstock.variables.initializers import TruncatedNormal


class RealValuedColumn(NumbersColumn, DenseColumn, namedtuple("RealValuedColumn", [
        "column_name", "dimension", "default_value", "dtype", "normalizer"])):
    """What ``real_valued_column`` returns."""

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """A feature of fixed length."""
        default = None if self.default_value is None else list(self.default_value)
        return {self.column_name: FixedLenFeature([self.dimension], self.dtype, default)}

    @property
    def variable_shape(self) -> TensorShape:
        """As many numbers as it has."""
        return as_shape([self.dimension])

    def transform_feature(self, cache: FeatureCache) -> Any:
        """The feature as float32, normalized."""
        tensor = cache.get(self.column_name)
        if isinstance(tensor, SparseTensor):
            raise ValueError(f"The feature {self.column_name!r} of a real_valued_column must be a Tensor, not a SparseTensor.")
        return cast(tensor if self.normalizer is None else self.normalizer(tensor), dtypes.float32)

    def dnn_input(self, cache: FeatureCache, weight_collections: Any, trainable: bool, output_rank: int = 2) -> Any:
        """The numbers."""
        return with_rank(cache.get(self), output_rank, self.name)

    def linear_numbers(self, cache: FeatureCache) -> Any:
        """The numbers, a row per example."""
        return with_rank(cache.get(self), 2, self.name)


def real_valued_column(column_name: str, dimension: int = 1, default_value: Any = None, dtype: Any = dtypes.float32,
                       normalizer: Callable[[Any], Any] | None = None) -> RealValuedColumn:
    """``tf.contrib.layers.real_valued_column``: numbers, ``dimension`` of them per example."""
    if not isinstance(dimension, int):
        raise TypeError(f"dimension must be an integer. dimension: {dimension}, column_name: {column_name}")
    if dimension < 1:
        raise ValueError(f"dimension must be greater than 0. dimension: {dimension}, column_name: {column_name}")
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {dtype}, column_name: {column_name}")
    return RealValuedColumn(column_name, dimension, _checked_default(default_value, dimension, dtype, column_name), dtype, normalizer)


def _checked_default(value: Any, dimension: int, dtype: Any, name: str) -> tuple[Any, ...] | None:
    """A number for each of the column's; a single one stands for all."""
    if value is None:
        return None
    numbers = list(value) if isinstance(value, (list, tuple)) else [value] * dimension
    if len(numbers) != dimension:
        raise ValueError(f"The length of default_value must be equal to dimension. default_value: {value}, dimension: {dimension}, "
                         f"column_name: {name}")
    if not all(isinstance(each, int if dtype.is_integer else (int, float)) for each in numbers):
        raise TypeError(f"default_value must be compatible with dtype. default_value: {value}, dtype: {dtype}, column_name: {name}")
    return tuple(numbers if dtype.is_integer else map(float, numbers))


class BucketizedColumn(DenseLayersColumn, IdColumn, DenseColumn, namedtuple("BucketizedColumn", ["source_column", "boundaries"])):
    """What ``bucketized_column`` returns: one-hot vectors for a network, ids for a linear model."""

    combiner, is_crossable = "sum", True

    @property
    def name(self) -> str:
        """The name of its numbers, with a suffix."""
        return f"{self.source_column.name}_bucketized"

    @property
    def length(self) -> int:
        """The number of buckets of a number."""
        return len(self.boundaries) + 1

    @property
    def num_buckets(self) -> int:
        """Buckets of all numbers of an example."""
        return self.length * self.source_column.dimension

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """That of its numbers."""
        return self.source_column.parse_example_spec

    @property
    def variable_shape(self) -> TensorShape:
        """A one-hot vector per number."""
        return as_shape([self.num_buckets])

    def transform_feature(self, cache: FeatureCache) -> Any:
        """The bucket of each number. A boundary belongs to the bucket above it."""
        return bucketize(cache.get(self.source_column), boundaries=self.boundaries, name="bucketize")

    def dnn_input(self, cache: FeatureCache, weight_collections: Any, trainable: bool, output_rank: int = 2) -> Any:
        """One-hot vectors."""
        if output_rank != 2:
            raise ValueError("BucketizedColumn currently only supports output_rank=2")
        vectors = one_hot(cast(cache.get(self), dtypes.int64), self.length, 1.0, 0.0, name="one_hot")
        return reshape(vectors, [-1, self.num_buckets], name="reshape")

    def get_sparse_tensors(self, cache: FeatureCache) -> IdsAndWeights:
        """A bucket id per number; each of an example's numbers has buckets of its own."""
        return IdsAndWeights(bucket_ids(cache.get(self), self.source_column.dimension, self.length))


def bucketized_column(source_column: RealValuedColumn, boundaries: Any) -> BucketizedColumn:
    """``tf.contrib.layers.bucketized_column``: between which boundaries a number lies."""
    if not isinstance(source_column, RealValuedColumn):
        raise TypeError(f"source_column must be an instance of _RealValuedColumn. source_column: {source_column}")
    if not isinstance(boundaries, (list, tuple)) or not boundaries:
        raise ValueError(f"boundaries must be a non-empty list or tuple. boundaries: {boundaries}")
    if any(low > high for low, high in itertools.pairwise(boundaries)):
        raise ValueError(f"boundaries must be a sorted list. boundaries: {boundaries}")
    return BucketizedColumn(source_column, tuple(dict.fromkeys(boundaries)))


# --- of ids ----------------------------------------------------------------------------------------------------------

class OneHotColumn(DenseLayersColumn, DenseColumn, namedtuple("OneHotColumn", ["sparse_id_column"])):
    """What ``one_hot_column`` returns."""

    length = property(lambda self: self.sparse_id_column.length, doc="The number of ids.")

    @property
    def name(self) -> str:
        """The name of the ids, with a suffix."""
        return f"{self.sparse_id_column.name}_one_hot"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """That of the ids."""
        return self.sparse_id_column.parse_example_spec

    @property
    def variable_shape(self) -> TensorShape:
        """A number per id."""
        return as_shape([self.length])

    def transform_feature(self, cache: FeatureCache) -> Any:
        """What the ids are transformed into."""
        return cache.get(self.sparse_id_column)

    def dnn_input(self, cache: FeatureCache, weight_collections: Any, trainable: bool, output_rank: int = 2) -> Any:
        """How often each id occurs; with weights, their sums."""
        ids, weights = self.sparse_id_column.get_sparse_tensors(cache)
        result = counts(with_rank(ids, output_rank, self.name), weights, self.length)
        result.set_shape([None] * (output_rank - 1) + [self.length])
        return result


def one_hot_column(sparse_id_column: CategoricalColumn) -> OneHotColumn:
    """``tf.contrib.layers.one_hot_column``: how often each id occurs in an example."""
    return OneHotColumn(sparse_id_column)


class EmbeddingColumn(DenseLayersColumn, DenseColumn, namedtuple("EmbeddingColumn", [
        "sparse_id_column", "dimension", "combiner", "initializer", "ckpt_to_load_from", "tensor_name_in_ckpt", "shared_embedding_name",
        "shared_vocab_size", "max_norm", "trainable"])):
    """What ``embedding_column`` returns. A table that is shared is in a collection of the graph."""

    keyless = ("initializer",)

    @property
    def name(self) -> str:
        """The name of the ids, with a suffix."""
        return f"{self.sparse_id_column.name}_{'embedding' if self.shared_embedding_name is None else 'shared_embedding'}"

    @property
    def length(self) -> int:
        """The number of ids."""
        return self.sparse_id_column.length if self.shared_vocab_size is None else self.shared_vocab_size

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """That of the ids."""
        return self.sparse_id_column.parse_example_spec

    @property
    def variable_shape(self) -> TensorShape:
        """The length of an embedding."""
        return as_shape([self.dimension])

    def transform_feature(self, cache: FeatureCache) -> Any:
        """What the ids are transformed into."""
        return cache.get(self.sparse_id_column)

    def dnn_input(self, cache: FeatureCache, weight_collections: Any, trainable: bool, output_rank: int = 2) -> Any:
        """The combined embeddings of an example's ids; zeros if it has none."""
        ids, weights = self.sparse_id_column.get_sparse_tensors(cache)
        ids, weights = with_rank(ids, output_rank, self.name), None if weights is None else with_rank(weights, output_rank, self.name)
        table = parts(self._table(weight_collections, trainable))
        restore_from_checkpoint(self, table)
        return safe_embedding_lookup_sparse(table, ids, sparse_weights=weights, combiner=self.combiner, name=f"{self.name}weights",
                                            max_norm=self.max_norm)

    def linear_input(self, cache: FeatureCache) -> Any:
        """ValueError: linear models take the ids themselves."""
        raise ValueError(f"Column {self} is not supported in linear models. Please use sparse_column.")

    def _table(self, weight_collections: Any, trainable: bool) -> Any:
        name = self.shared_embedding_name
        if name is None:
            return self._new_table("weights", weight_collections, trainable)
        collection = f"SHARED_EMBEDDING_COLLECTION_{name.upper()}"
        if not get_collection(collection):
            add_to_collection(collection, self._new_table(name, weight_collections, trainable))
        table, *others = get_collection(collection)
        if others:
            raise ValueError(f"Collection {collection} can only contain one (partitioned) variable.")
        if table.shape.as_list() != [self.length, self.dimension]:
            raise ValueError(f"The embedding variable with name {name} already exists, but its shape does not match required embedding shape here. "
                             "Please make sure to use different shared_embedding_name for different shared embeddings.")
        return table

    def _new_table(self, name: str, weight_collections: Any, trainable: bool) -> Any:
        return model_variable(name, shape=[self.length, self.dimension], dtype=dtypes.float32, initializer=self.initializer,
                              trainable=trainable and self.trainable, collections=weight_collections)


def embedding_column(sparse_id_column: Any, dimension: int, combiner: str = "mean", initializer: Any = None, ckpt_to_load_from: Any = None,
                     tensor_name_in_ckpt: Any = None, max_norm: Any = None, trainable: bool = True) -> EmbeddingColumn:
    """``tf.contrib.layers.embedding_column``: a vector that is learned for each id."""
    if initializer is not None and not callable(initializer):
        raise ValueError(f"initializer must be callable if specified. Embedding of column_name: {sparse_id_column.name}")
    check_checkpoint(ckpt_to_load_from, tensor_name_in_ckpt)
    if initializer is None:
        logging.warning('The default stddev value of initializer was changed from "1/sqrt(vocab_size)" to "1/sqrt(dimension)" in core '
                        "implementation (tf.feature_column.embedding_column).")
        initializer = TruncatedNormal(mean=0.0, stddev=1 / math.sqrt(sparse_id_column.length))
    return EmbeddingColumn(sparse_id_column, dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt, None, None, max_norm,
                           trainable)


def shared_embedding_columns(sparse_id_columns: Any, dimension: int, combiner: str = "mean", shared_embedding_name: str | None = None,
                             initializer: Any = None, ckpt_to_load_from: Any = None, tensor_name_in_ckpt: Any = None, max_norm: Any = None,
                             trainable: bool = True) -> Sequence[EmbeddingColumn]:
    """``tf.contrib.layers.shared_embedding_columns``: several columns of the same ids, with one table. A single column comes in a list."""
    if not isinstance(sparse_id_columns, Sequence) or isinstance(sparse_id_columns, str):
        raise TypeError(f"sparse_id_columns must be a non-string sequence (ex: list or tuple) instead of type {type(sparse_id_columns)}.")
    if not sparse_id_columns:
        raise ValueError("The input sparse_id_columns should have at least one element.")
    for column in sparse_id_columns:
        if not isinstance(column, (SparseColumn, WeightedSparseColumn)):
            raise TypeError(f"Elements of sparse_id_columns must be _SparseColumn or _WeightedSparseColumn, but {column} is not.")
    first, *others = sparse_id_columns
    embeddings = [embedding_column(column, dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt, max_norm, trainable)
                  for column in sparse_id_columns]
    if not others:
        return [embeddings[0]._replace(shared_embedding_name=shared_embedding_name)]
    for column in others:
        if not _ids_of(first).is_compatible(_ids_of(column)):
            raise ValueError(f"The input sparse id columns are not compatible: those of {first.name} and {column.name} differ.")
    name = shared_embedding_name or _shared_name(sparse_id_columns)
    return tuple(each._replace(shared_embedding_name=name, shared_vocab_size=first.length) for each in embeddings)


def _ids_of(column: Any) -> SparseColumn:
    """The column itself, or that which is weighted."""
    return getattr(column, "sparse_id_column", column)


def _shared_name(columns: Sequence[Any]) -> str:
    """The names of three columns at most; those with weights come last."""
    names = [column.name for column in sorted(columns, key=lambda column: (isinstance(column, WeightedSparseColumn), column.name))]
    others = f"_plus_{len(names) - 3}_others" if len(names) > 3 else ""
    return "_".join(names[:3]) + others + "_shared_embedding"


class ScatteredEmbeddingColumn(DenseLayersColumn, DenseColumn, namedtuple("ScatteredEmbeddingColumn", [
        "column_name", "size", "dimension", "hash_key", "combiner", "initializer"])):
    """What ``scattered_embedding_column`` returns."""

    keyless = ("initializer",)

    @property
    def name(self) -> str:
        """The name of its feature, with a suffix."""
        return f"{self.column_name}_scattered_embedding"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """Text of any length."""
        return {self.column_name: VarLenFeature(dtypes.string)}

    @property
    def variable_shape(self) -> TensorShape:
        """The length of an embedding."""
        return as_shape([self.dimension])

    def transform_feature(self, cache: FeatureCache) -> SparseTensor:
        """The feature itself."""
        return sparse_input(cache.get(self.column_name))

    def dnn_input(self, cache: FeatureCache, weight_collections: Any, trainable: bool, output_rank: int = 2) -> Any:
        """The combined embeddings of an example's values."""
        table = model_variable("weights", shape=[self.size], dtype=dtypes.float32, initializer=self.initializer, trainable=trainable,
                               collections=weight_collections)
        return scattered_embedding_lookup_sparse(table, with_rank(cache.get(self), output_rank, self.name), self.dimension, hash_key=self.hash_key,
                                                 combiner=self.combiner, name="lookup")


def scattered_embedding_column(column_name: str, size: int, dimension: int, hash_key: int, combiner: str = "mean",
                               initializer: Any = None) -> ScatteredEmbeddingColumn:
    """``tf.contrib.layers.scattered_embedding_column``: embeddings of any values, made of ``size`` numbers in all, which hashes choose."""
    if dimension < 1 or size < 1:
        raise ValueError(f"Dimension and size must be greater than 0. dimension: {dimension}, size: {size}, column_name: {column_name}")
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ValueError(f"Combiner must be one of 'mean', 'sqrtn' or 'sum'. combiner: {combiner}, column_name: {column_name}")
    if initializer is not None and not callable(initializer):
        raise ValueError(f"initializer must be callable if specified. column_name: {column_name}")
    return ScatteredEmbeddingColumn(column_name, size, dimension, hash_key, combiner, initializer or TruncatedNormal(mean=0.0, stddev=0.1))
