"""What trees see of columns: a list of features, each with the bucket of every example.

A bucketized column is one feature. An indicator column is a feature with two buckets per id. A column of float numbers is a feature per number;
quantiles give its buckets. Features are numbered in the order of the columns' names.
"""
from __future__ import annotations

from typing import Any

from penstock.estimator.columns.base import CategoricalColumn, DenseColumn, FeatureCache
from penstock.estimator.columns.dense import IndicatorColumn
from penstock.estimator.columns.numeric import BucketizedColumn
from penstock.graph import dtypes
from penstock.ops.array.cast import cast
from penstock.ops.array.pack import unstack
from penstock.ops.array.shape_ops import squeeze
from penstock.ops.trees.quantiles import BoostedTreesBucketize

_INDICATOR_BUCKETS = 2


def is_float(column: Any) -> bool:
    """True for a column whose numbers have no buckets yet."""
    if isinstance(column, (CategoricalColumn, IndicatorColumn)):
        return False
    if isinstance(column, DenseColumn) and hasattr(column, "dtype"):
        return bool(column.dtype.is_floating)
    raise ValueError(f"Encountered unexpected column {column}")


def width(column: Any) -> int:
    """The number of features of a column."""
    if isinstance(column, BucketizedColumn):
        return 1
    if isinstance(column, IndicatorColumn):
        return int(column.categorical_column.num_buckets)
    if isinstance(column, CategoricalColumn):
        raise ValueError(f"CategoricalColumn must be wrapped by IndicatorColumn, got: {column}")
    if isinstance(column, DenseColumn):
        return (column.variable_shape.as_list() or [1])[0] or 1
    raise ValueError(f"Got unexpected feature column type: {column}")


def feature_names(columns: list[Any]) -> list[str]:
    """The column of each feature, by its name."""
    return [name for column in columns
            for name in [column.categorical_column.name if isinstance(column, IndicatorColumn) else column.name] * width(column)]


def features_of(features: dict[str, Any], columns: list[Any], boundaries: list[Any] | None = None) -> list[Any]:
    """The features: buckets as int32 vectors. Those of float columns are numbers, unless the ``boundaries`` of each are given."""
    cache, remaining, result = FeatureCache(features), list(boundaries or ()), list[Any]()
    for column in columns:
        number = width(column)
        tensor = cache.get(column)
        if isinstance(column, BucketizedColumn):
            result.append(squeeze(tensor, axis=[1]))
            if len(result[-1].shape) > 1:
                raise ValueError("For now, only supports features equivalent to rank 1 but column "
                                 f"`{column.source_column.name}` got: {tensor.shape}")
        elif isinstance(column, IndicatorColumn):
            if len(tensor.shape) > 2:
                raise ValueError(f"Rank of indicator column must be no more than 2, but column `{column.categorical_column.name}` "
                                 f"got: {tensor.shape}")
            result += unstack(cast(tensor, dtypes.int32), axis=1)
        else:
            if column.variable_shape.ndims > 1:
                raise ValueError(f"For now, we only support Dense column with rank of 1, but column `{column.name}` got: {column.variable_shape}")
            numbers = unstack(tensor, axis=1)
            own, remaining = remaining[:number], remaining[number:]
            result += BoostedTreesBucketize(numbers, own) if own else numbers
    return result


def by_number_of_buckets(columns: list[Any], num_quantiles: int) -> dict[int, list[int]]:
    """{number of buckets: features}. All bucketized columns get as many as the largest of them needs."""
    groups: dict[int, list[int]] = {}
    bucketized, largest, start = list[int](), 2, 0
    for column in columns:
        ids = list(range(start, start + width(column)))
        start += len(ids)
        if isinstance(column, BucketizedColumn):
            bucketized += ids
            largest = max(largest, len(column.boundaries) + 1)
        else:
            groups.setdefault(_INDICATOR_BUCKETS if isinstance(column, IndicatorColumn) else num_quantiles, []).extend(ids)
    if bucketized:
        groups.setdefault(largest, []).extend(bucketized)
    return groups
