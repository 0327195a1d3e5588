"""Categorical columns: ids of words in a vocabulary, hashes, numbers that are ids already."""
from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from penstock.estimator.columns.base import CategoricalColumn, FeatureCache, check_key, sparse_input
from penstock.estimator.columns.configs import library_column
from penstock.graph import dtypes
from penstock.graph.composite import SparseTensor
from penstock.graph.scopes import control_dependencies
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import fill
from penstock.ops.array.select import where
from penstock.ops.array.shape_ops import shape
from penstock.ops.constant import identity
from penstock.ops.flow.checks import assert_greater_equal, assert_less
from penstock.ops.math.compare import greater_equal, less, logical_or
from penstock.ops.text.parsing import VarLenFeature
from penstock.ops.text.strings import as_string, string_to_hash_bucket_fast
from penstock.platform import gfile, logging
from penstock.train.index_tables import index_table_from_file, index_table_from_tensor


class _KeyColumn(CategoricalColumn):
    """A categorical column of one feature, which is its ``key``."""

    key: str
    dtype: Any

    @property
    def name(self) -> str:
        """The key of its feature."""
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """A feature of any length."""
        return {self.key: VarLenFeature(self.dtype)}

    def transform_feature(self, cache: FeatureCache) -> SparseTensor:
        """The ids."""
        return self.ids(sparse_input(cache.get(self.key)))

    def ids(self, values: SparseTensor) -> SparseTensor:
        """The ids of a sparse feature."""
        raise NotImplementedError(f"{type(self).__name__}.ids")

    def _check_kind(self, values: SparseTensor) -> None:
        if self.dtype.is_integer != values.dtype.is_integer:
            raise ValueError(f"Column dtype and SparseTensors dtype must be compatible. key: {self.key}, column dtype: {self.dtype}, tensor dtype: "
                             f"{values.dtype}")
        if values.dtype != dtypes.string and not values.dtype.is_integer:
            raise ValueError(f"SparseTensors dtype must be string or integer. key: {self.key}, dtype: {values.dtype}")


def _as_int64(values: SparseTensor) -> SparseTensor:
    return SparseTensor(values.indices, cast(values.values, dtypes.int64), values.dense_shape)


@library_column
class HashedCategoricalColumn(_KeyColumn, namedtuple("HashedCategoricalColumn", ["key", "hash_bucket_size", "dtype"])):
    """What ``categorical_column_with_hash_bucket`` returns."""

    @property
    def num_buckets(self) -> int:
        """The number of hashes."""
        return self.hash_bucket_size

    def ids(self, values: SparseTensor) -> SparseTensor:
        """Hashes; numbers are hashed as their decimal text."""
        self._check_kind(values)
        text = values.values if self.dtype == dtypes.string else as_string(values.values)
        return SparseTensor(values.indices, string_to_hash_bucket_fast(text, self.hash_bucket_size, name="lookup"), values.dense_shape)


@library_column
class VocabularyListCategoricalColumn(_KeyColumn, namedtuple("VocabularyListCategoricalColumn", [
        "key", "vocabulary_list", "dtype", "default_value", "num_oov_buckets"])):
    """What ``categorical_column_with_vocabulary_list`` returns."""

    @property
    def num_buckets(self) -> int:
        """Words, and buckets for unknown ones."""
        return len(self.vocabulary_list) + self.num_oov_buckets

    def ids(self, values: SparseTensor) -> SparseTensor:
        """The places of words in the list."""
        self._check_kind(values)
        values = _as_int64(values) if values.dtype.is_integer else values
        table = index_table_from_tensor(np.asarray(self.vocabulary_list, self.dtype.as_numpy_dtype), self.num_oov_buckets, self.default_value,
                                        dtype=values.dtype, name=f"{self.key}_lookup")
        return table.lookup(values)


@library_column
class VocabularyFileCategoricalColumn(_KeyColumn, namedtuple("VocabularyFileCategoricalColumn", [
        "key", "vocabulary_file", "vocabulary_size", "num_oov_buckets", "dtype", "default_value"])):
    """What ``categorical_column_with_vocabulary_file`` returns."""

    @property
    def num_buckets(self) -> int:
        """Words, and buckets for unknown ones."""
        return self.vocabulary_size + self.num_oov_buckets

    def ids(self, values: SparseTensor) -> SparseTensor:
        """The lines that words stand in."""
        self._check_kind(values)
        values = _as_int64(values) if values.dtype.is_integer else values
        table = index_table_from_file(self.vocabulary_file, self.num_oov_buckets, self.vocabulary_size, self.default_value,
                                      key_dtype=values.dtype, name=f"{self.key}_lookup")
        return table.lookup(values)


@library_column
class IdentityCategoricalColumn(_KeyColumn, namedtuple("IdentityCategoricalColumn", ["key", "number_buckets", "default_value"])):
    """What ``categorical_column_with_identity`` returns."""

    dtype = dtypes.int64

    @property
    def num_buckets(self) -> int:
        """The number of ids."""
        return self.number_buckets

    def ids(self, values: SparseTensor) -> SparseTensor:
        """The numbers themselves; those out of range are an error, or the default."""
        if not values.dtype.is_integer:
            raise ValueError(f"Invalid input, not integer. key: {self.key} dtype: {values.dtype}")
        numbers = cast(values.values, dtypes.int64, name="values")
        number, zero = cast(self.number_buckets, dtypes.int64, name="num_buckets"), cast(0, dtypes.int64, name="zero")
        if self.default_value is None:
            message = f"a number of the feature {self.key!r} is out of range: ids of its column are 0 to {self.number_buckets - 1}"
            checks = [assert_less(numbers, number, data=(numbers, number), name="assert_less_than_num_buckets", message=message),
                      assert_greater_equal(numbers, zero, data=(numbers,), name="assert_greater_or_equal_0", message=message)]
            with control_dependencies(checks):
                numbers = identity(numbers)
        else:
            default = fill(shape(numbers), cast(self.default_value, dtypes.int64), name="default_values")
            numbers = where(logical_or(less(numbers, zero), greater_equal(numbers, number), name="out_of_range"), default, numbers)
        return SparseTensor(values.indices, numbers, values.dense_shape)


def categorical_column_with_hash_bucket(key: str, hash_bucket_size: int, dtype: Any = dtypes.string) -> HashedCategoricalColumn:
    """``tf.feature_column.categorical_column_with_hash_bucket``: ids are hashes."""
    if hash_bucket_size is None:
        raise ValueError(f"hash_bucket_size must be set. key: {key}")
    if hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be at least 1. hash_bucket_size: {hash_bucket_size}, key: {key}")
    check_key(key)
    return HashedCategoricalColumn(key, hash_bucket_size, _checked_dtype(dtype, key))


def categorical_column_with_vocabulary_list(key: str, vocabulary_list: Any, dtype: Any = None, default_value: int = -1,
                                            num_oov_buckets: int = 0) -> VocabularyListCategoricalColumn:
    """``tf.feature_column.categorical_column_with_vocabulary_list``: ids are places in a list."""
    if vocabulary_list is None or len(vocabulary_list) < 1:
        raise ValueError(f"vocabulary_list {vocabulary_list} must be non-empty, column_name: {key}")
    if len(set(vocabulary_list)) != len(vocabulary_list):
        raise ValueError(f"Duplicate keys in vocabulary_list {vocabulary_list}, column_name: {key}")
    kind = dtypes.as_dtype(np.array(vocabulary_list).dtype)
    dtype = kind if dtype is None else dtypes.as_dtype(dtype)
    if kind != dtypes.string and not kind.is_integer:
        raise ValueError(f"vocabulary dtype must be string or integer. dtype: {kind}, column_name: {key}")
    if dtype.is_integer != kind.is_integer:
        raise ValueError(f"dtype {dtype} and vocabulary dtype {kind} do not match, column_name: {key}")
    _check_unknown(key, default_value, num_oov_buckets, -1)
    check_key(key)
    return VocabularyListCategoricalColumn(key, tuple(vocabulary_list), _checked_dtype(dtype, key), default_value, num_oov_buckets)


def categorical_column_with_vocabulary_file(key: str, vocabulary_file: str, vocabulary_size: int | None = None, num_oov_buckets: int = 0,
                                            default_value: int | None = None, dtype: Any = dtypes.string) -> VocabularyFileCategoricalColumn:
    """``tf.feature_column.categorical_column_with_vocabulary_file``: ids are lines of a file."""
    if not vocabulary_file:
        raise ValueError(f"Missing vocabulary_file in {key}.")
    if vocabulary_size is None:
        if not gfile.Exists(vocabulary_file):
            raise ValueError(f"vocabulary_file in {key} does not exist: {vocabulary_file}")
        with gfile.GFile(vocabulary_file, "rb") as lines:
            vocabulary_size = sum(1 for _ in lines)
        logging.info("vocabulary_size = %d in %s is inferred from the number of elements in the vocabulary_file %s.", vocabulary_size, key,
                     vocabulary_file)
    if vocabulary_size < 1:
        raise ValueError(f"Invalid vocabulary_size in {key}.")
    _check_unknown(key, default_value, num_oov_buckets, None)
    check_key(key)
    return VocabularyFileCategoricalColumn(key, vocabulary_file, vocabulary_size, num_oov_buckets or 0, _checked_dtype(dtype, key),
                                           -1 if default_value is None else default_value)


def categorical_column_with_identity(key: str, num_buckets: int, default_value: int | None = None) -> IdentityCategoricalColumn:
    """``tf.feature_column.categorical_column_with_identity``: numbers that are ids."""
    if num_buckets < 1:
        raise ValueError(f"num_buckets {num_buckets} < 1, column_name {key}")
    if default_value is not None and not 0 <= default_value < num_buckets:
        raise ValueError(f"default_value {default_value} not in range [0, {num_buckets}), column_name {key}")
    check_key(key)
    return IdentityCategoricalColumn(key, num_buckets, default_value)


def _checked_dtype(dtype: Any, key: str) -> Any:
    dtype = dtypes.as_dtype(dtype)
    if dtype != dtypes.string and not dtype.is_integer:
        raise ValueError(f"dtype must be string or integer. dtype: {dtype}, column_name: {key}")
    return dtype


def _check_unknown(key: str, default_value: Any, num_oov_buckets: int, usual: Any) -> None:
    """Unknown words get a default or buckets, not both."""
    if num_oov_buckets and default_value != usual:
        raise ValueError(f"Can't specify both num_oov_buckets and default_value in {key}.")
    if num_oov_buckets and num_oov_buckets < 0:
        raise ValueError(f"Invalid num_oov_buckets {num_oov_buckets} in {key}.")
