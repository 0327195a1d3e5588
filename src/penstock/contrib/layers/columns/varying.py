"""Columns of numbers of which examples have more or fewer."""
from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

from penstock.contrib.layers.columns.base import NumbersColumn, with_rank
from penstock.estimator.columns.base import DenseColumn, FeatureCache
from penstock.graph import dtypes
from penstock.graph.composite import SparseTensor
from penstock.ops.array.cast import cast
from penstock.ops.text.parsing import FixedLenSequenceFeature, VarLenFeature


class RealValuedVarLenColumn(NumbersColumn, DenseColumn, namedtuple("RealValuedVarLenColumn", [
        "column_name", "default_value", "dtype", "normalizer", "is_sparse"])):
    """What ``real_valued_var_len_column`` returns."""

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """A sparse feature, or one that is padded with the default."""
        if self.is_sparse:
            return {self.column_name: VarLenFeature(self.dtype)}
        return {self.column_name: FixedLenSequenceFeature([], self.dtype, allow_missing=True, default_value=self.default_value)}

    def transform_feature(self, cache: FeatureCache) -> Any:
        """The numbers as float32, normalized."""
        tensor = cache.get(self.column_name)
        normalize = self.normalizer or (lambda values: values)
        if isinstance(tensor, SparseTensor):
            return SparseTensor(tensor.indices, cast(normalize(tensor.values), dtypes.float32), tensor.dense_shape)
        return cast(normalize(tensor), dtypes.float32)

    def _numbers(self, cache: FeatureCache, rank: int) -> Any:
        if self.is_sparse:
            raise ValueError(f"Set is_sparse to False if you want a dense Tensor for column_name: {self.name}")
        return with_rank(cache.get(self), rank, self.name)

    def dnn_input(self, cache: FeatureCache, weight_collections: Any, trainable: bool, output_rank: int = 2) -> Any:
        """The numbers."""
        return self._numbers(cache, output_rank)

    def linear_numbers(self, cache: FeatureCache) -> Any:
        """The numbers, a row per example."""
        return self._numbers(cache, 2)


def real_valued_var_len_column(column_name: str, default_value: Any = None, dtype: Any = dtypes.float32,
                               normalizer: Callable[[Any], Any] | None = None, is_sparse: bool = False) -> RealValuedVarLenColumn:
    """Numbers, any number of them per example: as a sparse tensor, or padded with ``default_value``."""
    if not (dtype.is_integer or dtype.is_floating):
        raise TypeError(f"dtype must be convertible to float. dtype: {dtype}, column_name: {column_name}")
    if default_value is None and not is_sparse:
        raise ValueError(f"default_value must be provided when is_sparse=False to parse a padded Tensor. column_name: {column_name}")
    if isinstance(default_value, list):
        raise ValueError(f"Only scalar default value. default_value: {default_value}, column_name: {column_name}")
    if default_value is not None:
        default_value = int(default_value) if dtype.is_integer else float(default_value)
    return RealValuedVarLenColumn(column_name, default_value, dtype, normalizer, is_sparse)
