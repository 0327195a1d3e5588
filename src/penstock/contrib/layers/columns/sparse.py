"""Columns of ids: hashed, numbered, looked up in a list or a file; ids with weights; crosses."""
from __future__ import annotations

from collections import namedtuple
from typing import Any

from penstock.contrib.layers.columns.base import LayersColumn, LinearInput, check_checkpoint
from penstock.contrib.layers.sparse_features import dense_to_sparse_tensor, sparse_feature_cross
from penstock.estimator.columns.base import CategoricalColumn, FeatureCache, IdsAndWeights, sparse_input
from penstock.estimator.columns.combined import with_known_batch
from penstock.graph import dtypes
from penstock.graph.composite import SparseTensor
from penstock.ops.array.cast import cast
from penstock.ops.math.division import mod
from penstock.ops.sparse.sparse_functions import sparse_concat
from penstock.ops.text.parsing import VarLenFeature
from penstock.ops.text.strings import as_string, string_to_hash_bucket_fast, string_to_hash_bucket_strong
from penstock.platform import logging
from penstock.train.index_tables import index_table_from_file, index_table_from_tensor

SparseIdLookupConfig = namedtuple("_SparseIdLookupConfig", ["vocabulary_file", "keys", "num_oov_buckets", "vocab_size", "default_value"],
                                  defaults=[None, None, 0, None, -1])
SparseIdLookupConfig.__doc__ = "Where the words of a column are found: in a file, or in a list."


class IdColumn(LayersColumn, CategoricalColumn):
    """A column that gives ids. A linear model has weights for them; a network needs an embedding, or counts."""

    combiner: Any
    length: Any

    @property
    def num_buckets(self) -> int:
        """The number of possible ids."""
        return self.length

    def linear_input(self, cache: FeatureCache) -> LinearInput | None:
        """Ids and how their weights are combined."""
        return LinearInput(*self.get_sparse_tensors(cache), self.combiner)


class SparseColumn(IdColumn, namedtuple("SparseColumn", [
        "column_name", "is_integerized", "bucket_size", "lookup_config", "combiner", "dtype"])):
    """A column of the ids of one feature."""

    @property
    def name(self) -> str:
        """The name of its feature."""
        return self.column_name

    @property
    def length(self) -> int:
        """The number of possible ids."""
        if self.bucket_size is not None:
            return self.bucket_size
        return self.lookup_config.vocab_size + self.lookup_config.num_oov_buckets

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """A feature of any length."""
        return {self.column_name: VarLenFeature(self.dtype)}

    def transform_feature(self, cache: FeatureCache) -> SparseTensor:
        """The ids."""
        return self.ids(sparse_input(cache.get(self.column_name)))

    def ids(self, values: SparseTensor) -> SparseTensor:
        """The ids of a sparse feature."""
        raise NotImplementedError(f"{type(self).__name__}.ids")

    def is_compatible(self, other: SparseColumn) -> bool:
        """Whether both may share an embedding: they have the same words, or at least as many ids of the same kind."""
        if self.lookup_config and other.lookup_config:
            return self.lookup_config == other.lookup_config
        alike = self.length == other.length and (self.dtype == other.dtype or (self.dtype.is_integer and other.dtype.is_integer))
        if alike:
            logging.warning("Column %s and %s may not have the same vocabulary.", self.name, other.name)
        return alike


class SparseColumnIntegerized(SparseColumn):
    """What ``sparse_column_with_integerized_feature`` returns."""

    def ids(self, values: SparseTensor) -> SparseTensor:
        """The numbers, modulo the number of ids."""
        return SparseTensor(values.indices, mod(values.values, self.bucket_size, name="mod"), values.dense_shape)


class SparseColumnHashed(SparseColumn):
    """What ``sparse_column_with_hash_bucket`` returns. With several keys, each value has an id per key."""

    hash_keys: list[list[int]] | None = None

    def ids(self, values: SparseTensor) -> SparseTensor:
        """Hashes; numbers are hashed as their decimal text."""
        text = as_string(values.values) if self.dtype.is_integer else values.values
        if not self.hash_keys:
            return SparseTensor(values.indices, string_to_hash_bucket_fast(text, self.bucket_size, name="lookup"), values.dense_shape)
        hashes = [string_to_hash_bucket_strong(text, self.bucket_size, key) for key in self.hash_keys]
        return sparse_concat(axis=1, sp_inputs=[SparseTensor(values.indices, each, values.dense_shape) for each in hashes], name="lookup")


class SparseColumnKeys(SparseColumn):
    """What ``sparse_column_with_keys`` returns."""

    def ids(self, values: SparseTensor) -> SparseTensor:
        """The places of words in the list."""
        table = index_table_from_tensor(self.lookup_config.keys, default_value=self.lookup_config.default_value, dtype=self.dtype, name="lookup")
        return table.lookup(values)


class SparseColumnVocabulary(SparseColumn):
    """What ``sparse_column_with_vocabulary_file`` returns."""

    def ids(self, values: SparseTensor) -> SparseTensor:
        """The lines that words stand in."""
        if self.dtype.is_integer:
            values = SparseTensor(values.indices, as_string(values.values), values.dense_shape)
        lookup = self.lookup_config
        return index_table_from_file(lookup.vocabulary_file, lookup.num_oov_buckets, lookup.vocab_size, lookup.default_value,
                                     name=f"{self.name}_lookup").lookup(values)


def sparse_column_with_integerized_feature(column_name: str, bucket_size: int, combiner: str = "sum", dtype: Any = dtypes.int64) -> SparseColumn:
    """``tf.contrib.layers.sparse_column_with_integerized_feature``: numbers that are ids."""
    if bucket_size is None:
        raise ValueError(f"bucket_size must be set if is_integerized is True. column_name: {column_name}")
    if not dtype.is_integer:
        raise ValueError(f"dtype must be an integer if is_integerized is True. dtype: {dtype}, column_name: {column_name}.")
    return _check(SparseColumnIntegerized(column_name, True, bucket_size, None, combiner, dtype))


def sparse_column_with_hash_bucket(column_name: str, hash_bucket_size: int, combiner: str = "sum", dtype: Any = dtypes.string,
                                   hash_keys: Any = None) -> SparseColumn:
    """``tf.contrib.layers.sparse_column_with_hash_bucket``: ids are hashes."""
    if hash_keys is not None:
        if not isinstance(hash_keys, list) or not hash_keys:
            raise ValueError("hash_keys must be a non-empty list.")
        if not all(isinstance(pair, list) and len(pair) == 2 and all(isinstance(key, int) for key in pair) for pair in hash_keys):
            raise ValueError("Each element of hash_keys must be a pair of integers.")
    column = _check(SparseColumnHashed(column_name, False, hash_bucket_size, None, combiner, dtype))
    column.hash_keys = hash_keys
    return column


def sparse_column_with_keys(column_name: str, keys: Any, default_value: int = -1, combiner: str = "sum", dtype: Any = dtypes.string) -> SparseColumn:
    """``tf.contrib.layers.sparse_column_with_keys``: ids are places in a list."""
    keys = tuple(keys)
    lookup = SparseIdLookupConfig(keys=keys, vocab_size=len(keys), default_value=default_value)
    return _check(SparseColumnKeys(column_name, False, None, lookup, combiner, dtype))


def sparse_column_with_vocabulary_file(column_name: str, vocabulary_file: str, num_oov_buckets: int = 0, vocab_size: int | None = None,
                                       default_value: int = -1, combiner: str = "sum", dtype: Any = dtypes.string) -> SparseColumn:
    """``tf.contrib.layers.sparse_column_with_vocabulary_file``: ids are lines of a file."""
    if vocab_size is None:
        raise ValueError(f"vocab_size should be defined. column_name: {column_name}")
    lookup = SparseIdLookupConfig(vocabulary_file=vocabulary_file, num_oov_buckets=num_oov_buckets, vocab_size=vocab_size,
                                  default_value=default_value)
    return _check(SparseColumnVocabulary(column_name, False, None, lookup, combiner, dtype))


def _check(column: Any) -> Any:
    """The column itself, if its type and the number of its ids make sense."""
    name, dtype, size = column.column_name, column.dtype, column.bucket_size
    if dtype != dtypes.string and not dtype.is_integer:
        raise ValueError(f"dtype must be string or integer. dtype: {dtype}, column_name: {name}")
    if size is None and column.lookup_config is None:
        raise ValueError(f"one of bucket_size or lookup_config must be set. column_name: {name}")
    if size is not None and size < 1:
        raise ValueError(f"bucket_size must be at least 1. bucket_size: {size}, column_name: {name}")
    return column


# --- ids with weights, and crosses -----------------------------------------------------------------------------------

class WeightedSparseColumn(IdColumn, namedtuple("WeightedSparseColumn", ["sparse_id_column", "weight_column_name", "dtype"])):
    """What ``weighted_sparse_column`` returns."""

    combiner = property(lambda self: self.sparse_id_column.combiner, doc="That of the ids.")
    length = property(lambda self: self.sparse_id_column.length, doc="That of the ids.")
    lookup_config = property(lambda self: self.sparse_id_column.lookup_config, doc="That of the ids.")

    @property
    def name(self) -> str:
        """The names of ids and weights."""
        return f"{self.sparse_id_column.name}_weighted_by_{self.weight_column_name}"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """That of the ids, and the weights."""
        return {**self.sparse_id_column.parse_example_spec, self.weight_column_name: VarLenFeature(self.dtype)}

    def transform_feature(self, cache: FeatureCache) -> tuple[SparseTensor, SparseTensor]:
        """(ids, weights)."""
        weights = cache.get(self.weight_column_name)
        if not isinstance(weights, SparseTensor):
            weights = dense_to_sparse_tensor(weights)
        if not self.dtype.is_floating:
            weights = SparseTensor(weights.indices, cast(weights.values, dtypes.float32), weights.dense_shape)
        return cache.get(self.sparse_id_column), weights

    def get_sparse_tensors(self, cache: FeatureCache) -> IdsAndWeights:
        """Ids and weights."""
        return IdsAndWeights(*cache.get(self))


def weighted_sparse_column(sparse_id_column: Any, weight_column_name: str, dtype: Any = dtypes.float32) -> WeightedSparseColumn:
    """``tf.contrib.layers.weighted_sparse_column``: another feature has a weight for each id."""
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype is not convertible to float. Given {dtype}, weight_column_name: {weight_column_name}")
    return WeightedSparseColumn(sparse_id_column, weight_column_name, dtype)


class CrossedColumn(IdColumn, namedtuple("CrossedColumn", [
        "columns", "hash_bucket_size", "hash_key", "combiner", "ckpt_to_load_from", "tensor_name_in_ckpt"])):
    """What ``crossed_column`` returns."""

    length = property(lambda self: self.hash_bucket_size, doc="The number of hashes.")

    @property
    def name(self) -> str:
        """The names of what is crossed, sorted."""
        return "_X_".join(sorted(column.name for column in self.columns))

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """Those of all that is crossed."""
        return {key: value for column in self.columns for key, value in column.parse_example_spec.items()}

    def transform_feature(self, cache: FeatureCache) -> SparseTensor:
        """The hashes of all combinations: of the values themselves, and of the numbers of buckets."""
        features = [cache.get(leaf.name) if isinstance(leaf, SparseColumn) else leaf.get_sparse_tensors(cache).id_tensor for leaf in self._leaves()]
        crosses = sparse_feature_cross(features, hashed_output=True, num_buckets=self.hash_bucket_size, hash_key=self.hash_key, name="cross")
        return with_known_batch(crosses, features)

    def _leaves(self) -> list[Any]:
        """What is crossed, with the parts of crosses in place of these."""
        return [leaf for column in self.columns for leaf in (column._leaves() if isinstance(column, CrossedColumn) else [column])]


def crossed_column(columns: Any, hash_bucket_size: int, combiner: str = "sum", ckpt_to_load_from: Any = None, tensor_name_in_ckpt: Any = None,
                   hash_key: int | None = None) -> CrossedColumn:
    """``tf.contrib.layers.crossed_column``: ids are hashes of combinations of columns."""
    for column in columns:
        if not getattr(column, "is_crossable", isinstance(column, (SparseColumn, CrossedColumn))):
            raise TypeError("columns must be a set of _SparseColumn, _CrossedColumn, or _BucketizedColumn instances. "
                            f"(column {column} is a {type(column).__name__})")
    if len(columns) < 2:
        raise ValueError(f"columns must contain at least 2 elements. columns: {columns}")
    if hash_bucket_size < 2:
        raise ValueError(f"hash_bucket_size must be at least 2. hash_bucket_size: {hash_bucket_size}")
    check_checkpoint(ckpt_to_load_from, tensor_name_in_ckpt)
    ordered = tuple(sorted(columns, key=lambda column: column.name))
    return CrossedColumn(ordered, hash_bucket_size, hash_key, combiner, ckpt_to_load_from, tensor_name_in_ckpt)
