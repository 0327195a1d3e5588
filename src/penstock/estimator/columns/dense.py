"""Dense columns of categorical ones: counts of ids, and embeddings."""
from __future__ import annotations

import math
from collections import namedtuple
from typing import Any

from penstock.estimator.columns.base import CategoricalColumn, DenseColumn, FeatureCache
from penstock.estimator.columns.configs import library_column
from penstock.estimator.columns.sequence import Sequence, SequenceCategoricalColumn, sequence_lengths
from penstock.graph import dtypes
from penstock.graph.graph import default_graph
from penstock.graph.scopes import add_to_collection, get_collection, name_scope
from penstock.graph.shape import TensorShape, as_shape
from penstock.ops.array.fill import one_hot
from penstock.ops.array.scatter_nd import scatter_nd
from penstock.ops.math.reduce import reduce_sum
from penstock.ops.sparse.embedding import safe_embedding_lookup_sparse
from penstock.ops.sparse.sparse_functions import sparse_merge, sparse_slice, sparse_tensor_to_dense
from penstock.train.restore_init import init_from_checkpoint
from penstock.variables.initializers import TruncatedNormal
from penstock.variables.partitioned import PartitionedVariable
from penstock.variables.scope import get_variable


class _OfCategorical(DenseColumn):
    """A dense column of a categorical one."""

    categorical_column: Any
    suffix: str
    maker: str
    nodes_of_lengths = 0  # that TensorFlow makes beyond ours for the lengths of sequences

    def _check_sequence(self, wanted: bool) -> None:
        """ValueError for ids of sequences in a layer that knows none, and the reverse."""
        if isinstance(self.categorical_column, SequenceCategoricalColumn) == wanted:
            return
        how = ("must be of type _SequenceCategoricalColumn to use sequence_input_layer. Suggested fix: Use one of "
               "sequence_categorical_column_with_*.") if wanted else (
            "must not be of type _SequenceCategoricalColumn. Suggested fix A: If you wish to use input_layer, use a non-sequence "
            "categorical_column_with_*. Suggested fix B: If you wish to create sequence input, use sequence_input_layer instead of input_layer.")
        raise ValueError(f"In {self.maker}: {self.name}. categorical_column {how} Given (type {type(self.categorical_column)}): "
                         f"{self.categorical_column}")

    def get_sequence_dense_tensor(self, cache: FeatureCache, weight_collections: Any = None, trainable: bool = True) -> Sequence:
        """Its numbers for a batch of sequences: [batch, steps, ...], and their lengths."""
        self._check_sequence(True)
        dense = self._numbers(cache, weight_collections, trainable)
        default_graph().imply(self.nodes_of_lengths)
        return Sequence(dense, self.lengths(cache))

    def lengths(self, cache: FeatureCache) -> Any:
        """How long each sequence of a batch is."""
        column = self.categorical_column
        result = sequence_lengths(column.get_sparse_tensors(cache).id_tensor)
        result.set_shape(column.categorical_column.get_sparse_tensors(cache).id_tensor.shape[:1])  # known before ids were reshaped, if at all
        return result

    def get_dense_tensor(self, cache: FeatureCache, weight_collections: Any = None, trainable: bool = True) -> Any:
        """Its numbers for a batch: [batch, ...]."""
        self._check_sequence(False)
        return self._numbers(cache, weight_collections, trainable)

    def _numbers(self, cache: FeatureCache, weight_collections: Any, trainable: bool) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._numbers")

    @property
    def name(self) -> str:
        """The name of the ids, with a suffix."""
        return f"{self.categorical_column.name}_{self.suffix}"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """That of the ids."""
        return dict(self.categorical_column.parse_example_spec)


def counts(ids: Any, weights: Any, number: int) -> Any:
    """How often each id below ``number`` occurs in an example; with weights, their sums."""
    if weights is not None:
        weighted = sparse_merge(sp_ids=ids, sp_values=weights, vocab_size=int(number))
        weighted = sparse_slice(weighted, [0, 0], weighted.dense_shape)  # without the id -1
        return scatter_nd(weighted.indices, weighted.values, weighted.dense_shape)
    dense = sparse_tensor_to_dense(ids, default_value=-1)
    return reduce_sum(one_hot(dense, number, 1.0, 0.0), axis=[-2])


@library_column
class IndicatorColumn(_OfCategorical, namedtuple("IndicatorColumn", ["categorical_column"])):
    """What ``indicator_column`` returns."""

    suffix, maker = "indicator", "indicator_column"
    nodes_of_lengths = 19  # it reshapes the ids once more

    @property
    def variable_shape(self) -> TensorShape:
        """A number per id."""
        return as_shape([1, self.categorical_column.num_buckets])

    def transform_feature(self, cache: FeatureCache) -> Any:
        """How often each id occurs; with weights, their sums."""
        ids, weights = self.categorical_column.get_sparse_tensors(cache)
        return counts(ids, weights, self.categorical_column.num_buckets)

    def _numbers(self, cache: FeatureCache, weight_collections: Any, trainable: bool) -> Any:
        return cache.get(self)


def indicator_column(categorical_column: CategoricalColumn) -> IndicatorColumn:
    """``tf.feature_column.indicator_column``: how often each id occurs in an example."""
    return IndicatorColumn(categorical_column)


class EmbeddingBase(_OfCategorical):
    """What both kinds of embeddings share."""

    dimension: int
    combiner: str
    initializer: Any
    ckpt_to_load_from: Any
    tensor_name_in_ckpt: Any
    max_norm: Any
    trainable: bool

    @property
    def variable_shape(self) -> TensorShape:
        """The length of an embedding."""
        return as_shape([self.dimension])

    def transform_feature(self, cache: FeatureCache) -> Any:
        """The ids."""
        return cache.get(self.categorical_column)

    def new_table(self, weight_collections: Any, trainable: bool) -> Any:
        """A table of embeddings, in the scope around."""
        table = get_variable("embedding_weights", (self.categorical_column.num_buckets, self.dimension), dtypes.float32, self.initializer,
                             trainable=self.trainable and trainable, collections=weight_collections)
        if self.ckpt_to_load_from is not None:
            source: Any = list(table) if isinstance(table, PartitionedVariable) else table
            init_from_checkpoint(self.ckpt_to_load_from, {self.tensor_name_in_ckpt: source})
        return table

    def look_up(self, table: Any, cache: FeatureCache) -> Any:
        """The combined embeddings of each example's ids in a table."""
        ids, weights = self.categorical_column.get_sparse_tensors(cache)
        parts = list(table) if isinstance(table, PartitionedVariable) else [table]
        return safe_embedding_lookup_sparse(parts, ids, weights, combiner=self.combiner, name=f"{self.name}_weights", max_norm=self.max_norm)


@library_column
class EmbeddingColumn(EmbeddingBase, namedtuple("EmbeddingColumn", [
        "categorical_column", "dimension", "combiner", "initializer", "ckpt_to_load_from", "tensor_name_in_ckpt", "max_norm", "trainable"])):
    """What ``embedding_column`` returns."""

    suffix, maker = "embedding", "embedding_column"

    def _numbers(self, cache: FeatureCache, weight_collections: Any, trainable: bool) -> Any:
        """The combined embeddings of an example's ids; zeros if it has none."""
        self.categorical_column.get_sparse_tensors(cache)  # before the table, whose seed follows from the nodes before it
        table = cache.tables.get(self)
        return self.look_up(self.new_table(weight_collections, trainable) if table is None else table, cache)


@library_column
class SharedEmbeddingColumn(EmbeddingBase, namedtuple("SharedEmbeddingColumn", [
        "categorical_column", "dimension", "combiner", "initializer", "shared_embedding_collection_name", "ckpt_to_load_from",
        "tensor_name_in_ckpt", "max_norm", "trainable"])):
    """One of those that ``shared_embedding_columns`` returns. The table is in a collection of the graph."""

    suffix, maker = "shared_embedding", "shared_embedding_columns"

    @property
    def var_scope_name(self) -> str:
        """The name of the shared table."""
        return self.shared_embedding_collection_name

    def _numbers(self, cache: FeatureCache, weight_collections: Any, trainable: bool) -> Any:
        """The combined embeddings of an example's ids."""
        with name_scope(None, default_name=self.name):
            self.categorical_column.get_sparse_tensors(cache)
            tables = get_collection(self.shared_embedding_collection_name)
            if len(tables) > 1:
                raise ValueError(f"Collection {tables} can only contain one variable. Suggested fix A: Choose a unique name for this collection. "
                                 "Suggested fix B: Do not add any variables to this collection; Penstock adds the table itself.")
            if not tables:
                add_to_collection(self.shared_embedding_collection_name, self.new_table(weight_collections, trainable))
            table = get_collection(self.shared_embedding_collection_name)[0]
            wanted = [self.categorical_column.num_buckets, self.dimension]
            if table.shape.as_list() != wanted:
                raise ValueError(f"Shared embedding collection {self.shared_embedding_collection_name} contains variable {table.name} of unexpected "
                                 f"shape {table.shape}. Expected shape is {wanted}.")
            return self.look_up(table, cache)


def embedding_column(categorical_column: CategoricalColumn, dimension: int, combiner: str = "mean", initializer: Any = None,
                     ckpt_to_load_from: Any = None, tensor_name_in_ckpt: Any = None, max_norm: Any = None, trainable: bool = True) -> EmbeddingColumn:
    """``tf.feature_column.embedding_column``: a vector that is learned for each id."""
    initializer = _checked_embedding(dimension, initializer, ckpt_to_load_from, tensor_name_in_ckpt, [categorical_column.name])
    return EmbeddingColumn(categorical_column, dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt, max_norm, trainable)


def shared_embedding_columns(categorical_columns: Any, dimension: int, combiner: str = "mean", initializer: Any = None,
                             shared_embedding_collection_name: str | None = None, ckpt_to_load_from: Any = None, tensor_name_in_ckpt: Any = None,
                             max_norm: Any = None, trainable: bool = True) -> list[SharedEmbeddingColumn]:
    """``tf.feature_column.shared_embedding_columns``: several columns of the same ids, with one table."""
    initializer = _checked_embedding(dimension, initializer, ckpt_to_load_from, tensor_name_in_ckpt, [column.name for column in categorical_columns])
    ordered = sorted(categorical_columns, key=lambda column: column.name)
    buckets, first = ordered[0].num_buckets, _ids_of(ordered[0])
    if not isinstance(ordered[0], CategoricalColumn):
        raise ValueError(f"All categorical_columns must be subclasses of _CategoricalColumn. Given: {ordered[0]}, of type: {type(ordered[0])}")
    for column in ordered[1:]:
        if not isinstance(_ids_of(column), type(first)):
            raise ValueError(f"To use shared_embedding_column, all categorical_columns must have the same type, or be weighted_categorical_column of "
                             f"the same type. Given column: {ordered[0]} of type: {type(first)} does not match given column: {column} of type: "
                             f"{type(_ids_of(column))}")
        if _ids_of(column).num_buckets != buckets:
            raise ValueError(f"To use shared_embedding_column, all categorical_columns must have the same number of buckets. Given column: {first} "
                             f"with buckets: {buckets} does  not match column: {column} with buckets: {column.num_buckets}")
    name = shared_embedding_collection_name or "_".join(column.name for column in ordered) + "_shared_embedding"
    return [SharedEmbeddingColumn(column, dimension, combiner, initializer, name, ckpt_to_load_from, tensor_name_in_ckpt, max_norm, trainable)
            for column in categorical_columns]


def _ids_of(column: Any) -> Any:
    """The column itself, or that which is weighted."""
    return getattr(column, "categorical_column", column)


def _checked_embedding(dimension: Any, initializer: Any, checkpoint: Any, tensor_name: Any, names: list[str]) -> Any:
    """The initializer of an embedding table."""
    if dimension is None or dimension < 1:
        raise ValueError(f"Invalid dimension {dimension}.")
    if (checkpoint is None) != (tensor_name is None):
        raise ValueError("Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them.")
    if initializer is not None and not callable(initializer):
        raise ValueError(f"initializer must be callable if specified. Embedding of column_name{'s' if len(names) > 1 else ''}: {', '.join(names)}")
    return TruncatedNormal(mean=0.0, stddev=1 / math.sqrt(dimension)) if initializer is None else initializer
