"""Categorical columns that are made of others: crosses, and ids with weights."""
from __future__ import annotations

from collections import namedtuple
from typing import Any

from penstock.estimator.columns.base import CategoricalColumn, FeatureCache, IdsAndWeights, check_key, sparse_input
from penstock.estimator.columns.categorical import HashedCategoricalColumn
from penstock.estimator.columns.configs import library_column
from penstock.graph import dtypes
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.ops.array.cast import cast
from penstock.ops.array.pack import stack
from penstock.ops.sparse.sparse_cross import sparse_cross_hashed
from penstock.ops.text.parsing import VarLenFeature


@library_column
class CrossedColumn(CategoricalColumn, namedtuple("CrossedColumn", ["keys", "hash_bucket_size", "hash_key"])):
    """What ``crossed_column`` returns."""

    @property
    def name(self) -> str:
        """The names of what is crossed, sorted."""
        return "_X_".join(sorted(key if isinstance(key, str) else key.name for key in self._leaves()))

    @property
    def num_buckets(self) -> int:
        """The number of hashes."""
        return self.hash_bucket_size

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """Those of all that is crossed; a feature that is named is text."""
        spec: dict[str, Any] = {}
        for key in self.keys:
            spec.update({key: VarLenFeature(dtypes.string)} if isinstance(key, str) else key.parse_example_spec)
        return spec

    def transform_feature(self, cache: FeatureCache) -> SparseTensor:
        """The hashes of all combinations."""
        features = []
        for key in self._leaves():
            if isinstance(key, str):
                features.append(cache.get(key))
                continue
            ids = key.get_sparse_tensors(cache)
            if ids.weight_tensor is not None:
                raise ValueError(f"crossed_column does not support weight_tensor, but the given column populates weight_tensor. Given column: "
                                 f"{key.name}")
            features.append(ids.id_tensor)
        return with_known_batch(sparse_cross_hashed(features, num_buckets=self.hash_bucket_size, hash_key=self.hash_key), features)

    def _leaves(self) -> list[Any]:
        """What is crossed, with the parts of crosses in place of these."""
        return [leaf for key in self.keys for leaf in (key._leaves() if isinstance(key, CrossedColumn) else [key])]


def with_known_batch(crosses: SparseTensor, features: list[Any]) -> SparseTensor:
    """The crosses of ``features``: a batch whose size is known keeps it."""
    batch = next((each.shape.extents[0] for each in features if not isinstance(each, SparseTensor) and each.shape.ndims), None)
    if batch is None:
        return crosses
    with default_graph().counting_as(0):  # TensorFlow forgets it
        return SparseTensor(crosses.indices, crosses.values, stack([to_tensor(batch, dtypes.int64), crosses.dense_shape[1]]))


def crossed_column(keys: Any, hash_bucket_size: int, hash_key: int | None = None) -> CrossedColumn:
    """``tf.feature_column.crossed_column``: ids are hashes of combinations of features, which are named or given as columns."""
    if not hash_bucket_size or hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be > 1. hash_bucket_size: {hash_bucket_size}")
    if not keys or len(keys) < 2:
        raise ValueError(f"keys must be a list with length > 1. Given: {keys}")
    for key in keys:
        if not isinstance(key, (str, CategoricalColumn)):
            raise ValueError(f"Unsupported key type. All keys must be either string, or categorical column except HashedCategoricalColumn. Given: "
                             f"{key}")
        if isinstance(key, HashedCategoricalColumn):
            raise ValueError("categorical_column_with_hash_bucket is not supported for crossing. Hashing before crossing will increase probability "
                             f"of collision. Instead, use the feature name as a string. Given: {key}")
    return CrossedColumn(tuple(keys), hash_bucket_size, hash_key)


@library_column
class WeightedCategoricalColumn(CategoricalColumn, namedtuple("WeightedCategoricalColumn", [
        "categorical_column", "weight_feature_key", "dtype"])):
    """What ``weighted_categorical_column`` returns."""

    @property
    def name(self) -> str:
        """The names of ids and weights."""
        return f"{self.categorical_column.name}_weighted_by_{self.weight_feature_key}"

    @property
    def num_buckets(self) -> int:
        """That of the ids."""
        return self.categorical_column.num_buckets

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """That of the ids, and the weights."""
        spec = dict(self.categorical_column.parse_example_spec)
        if self.weight_feature_key in spec:
            raise ValueError(f"Parse config {spec[self.weight_feature_key]} already exists for {self.weight_feature_key}.")
        return {**spec, self.weight_feature_key: VarLenFeature(self.dtype)}

    def transform_feature(self, cache: FeatureCache) -> Any:
        """(ids, weights)."""
        weights = cache.get(self.weight_feature_key)
        if weights is None:
            raise ValueError(f"Missing weights {self.weight_feature_key}.")
        if self.dtype != weights.dtype.base_dtype:
            raise ValueError(f"Bad dtype, expected {self.dtype}, but got {weights.dtype}.")
        if not isinstance(weights, SparseTensor):
            weights = sparse_input(weights, ignore_value=0.0)
        if not weights.dtype.is_floating:
            weights = SparseTensor(weights.indices, cast(weights.values, dtypes.float32), weights.dense_shape)
        return cache.get(self.categorical_column), weights

    def get_sparse_tensors(self, cache: FeatureCache) -> IdsAndWeights:
        """Ids and weights."""
        return IdsAndWeights(*cache.get(self))


def weighted_categorical_column(categorical_column: CategoricalColumn, weight_feature_key: str, dtype: Any = dtypes.float32) -> Any:
    """``tf.feature_column.weighted_categorical_column``: another feature has a weight for each id."""
    check_key(weight_feature_key)
    if dtype is None or not (dtypes.as_dtype(dtype).is_integer or dtypes.as_dtype(dtype).is_floating):
        raise ValueError(f"dtype {dtype} is not convertible to float.")
    return WeightedCategoricalColumn(categorical_column, weight_feature_key, dtypes.as_dtype(dtype))
