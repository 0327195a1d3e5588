"""``tf.parse_example`` and its kin: features by name."""
from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from penstock.graph import dtypes as dt
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.shape import TensorShape, as_shape
from penstock.ops.array.shape_ops import reshape
from penstock.ops.sparse.sparse_functions import sparse_merge
from penstock.ops.text.parse_example import ParseExample, ParseSingleExample
from penstock.ops.text.parse_sequence import ParseSequenceExample, ParseSingleSequenceExample

VarLenFeature = namedtuple("VarLenFeature", ["dtype"])
VarLenFeature.__doc__ = "``tf.VarLenFeature``: a feature with any number of values; it becomes a SparseTensor."
FixedLenFeature = namedtuple("FixedLenFeature", ["shape", "dtype", "default_value"], defaults=[None])
FixedLenFeature.__doc__ = "``tf.FixedLenFeature``: a feature with as many values as its shape says; without a default it must be there."
FixedLenSequenceFeature = namedtuple("FixedLenSequenceFeature", ["shape", "dtype", "allow_missing", "default_value"], defaults=[False, None])
FixedLenSequenceFeature.__doc__ = "``tf.FixedLenSequenceFeature``: a sequence of any length, each of its items with this shape."
SparseFeature = namedtuple("SparseFeature", ["index_key", "value_key", "dtype", "size", "already_sorted"], defaults=[False])
SparseFeature.__doc__ = "``tf.SparseFeature``: a sparse vector of which one feature holds the indices and another one the values."

_ALL = (VarLenFeature, SparseFeature, FixedLenFeature, FixedLenSequenceFeature)


class _Plan:
    """Features, sorted by their names and by what the operations take: sparse and dense ones."""

    def __init__(self, features: dict[str, Any] | None, allowed: tuple[type, ...]) -> None:
        self.sparse: dict[str, dt.DType] = {}
        self.dense: dict[str, tuple[dt.DType, TensorShape, Any]] = {}
        self.merged: dict[str, Any] = {}
        self.may_miss: set[str] = set()
        self.hidden: set[str] = set()  # sparse features that only serve to make merged ones
        for key, feature in sorted((features or {}).items()):
            if not isinstance(feature, allowed):
                raise ValueError(f"Unsupported {type(feature).__name__} {feature} for the feature '{key}'.")
            self._add(key, feature)
        self.hidden = {key for key in self.sparse if not isinstance((features or {}).get(key), VarLenFeature)}

    def _add(self, key: str, feature: Any) -> None:
        if not getattr(feature, "dtype", None):
            raise ValueError(f"Missing type for feature {key}.")
        dtype = dt.as_dtype(feature.dtype)
        if isinstance(feature, VarLenFeature):
            self._add_sparse(key, dtype)
        elif isinstance(feature, SparseFeature):
            keys = feature.index_key if isinstance(feature.index_key, list) else [feature.index_key]
            for index_key in sorted(keys):
                self._add_sparse(index_key, dt.int64)
            self._add_sparse(feature.value_key, dtype)
            self.merged[key] = feature
        else:
            if feature.shape is None:
                raise ValueError(f"Missing shape for feature {key}.")
            shape = as_shape(feature.shape)
            if isinstance(feature, FixedLenSequenceFeature):
                shape = TensorShape([None]).concatenate(shape)
                if feature.allow_missing:
                    self.may_miss.add(key)
            elif not shape.is_fully_defined():
                raise ValueError(f"First dimension of shape for feature {key} unknown. Consider using FixedLenSequenceFeature.")
            self.dense[key] = (dtype, shape, feature.default_value)

    def _add_sparse(self, key: str, dtype: dt.DType) -> None:
        if self.sparse.setdefault(key, dtype) is not dtype:
            raise ValueError(f"Conflicting type {self.sparse[key].name} vs {dtype.name} for feature {key}.")

    def defaults(self) -> list[Tensor]:
        """One tensor per dense feature: its default, or an empty one."""
        return [_default(key, dtype, shape, value) for key, (dtype, shape, value) in self.dense.items()]

    def result(self, tensors: list[Any]) -> dict[str, Any]:
        """What a program gets: {name: Tensor or SparseTensor}, from the outputs of an operation."""
        indices, values, shapes, dense = tensors
        features: dict[str, Any] = {key: SparseTensor(*parts) for key, parts in zip(self.sparse, zip(indices, values, shapes))}
        features.update(zip(self.dense, dense))
        for key, feature in sorted(self.merged.items()):
            several = isinstance(feature.index_key, list)
            indices = [features[name] for name in feature.index_key] if several else features[feature.index_key]
            features[key] = sparse_merge(indices, features[feature.value_key], feature.size, already_sorted=feature.already_sorted)
        return {key: value for key, value in features.items() if key not in self.hidden}


def _default(key: str, dtype: dt.DType, shape: TensorShape, value: Any) -> Tensor:
    if shape.ndims and shape.extents[0] is None:  # type: ignore[index]
        # A sequence: the default is what short ones are filled up with.
        if value is None:
            return to_tensor("" if dtype is dt.string else np.zeros((), dtype.np), dtype)
        return reshape(to_tensor(value, dtype), [])
    if value is None:
        return to_tensor(np.empty(0, dtype.np), dtype)
    clean = "".join(c if c.isalnum() or c in "_.\\-/" else "_" for c in key)
    return reshape(to_tensor(value, dtype, f"key_{clean}"), shape)


def parse_example(serialized: Any, features: Any, name: str | None = None, example_names: Any = None) -> dict[str, Any]:
    """``tf.parse_example``: the features of a batch of serialized Examples, as {name: Tensor or SparseTensor}."""
    if not features:
        raise ValueError("Missing: features was None.")
    plan = _Plan(features, _ALL)
    _check_sequences(features)
    with name_scope(name, "ParseExample", [serialized, example_names]):
        defaults = plan.defaults()
        outputs = ParseExample(serialized, [] if example_names is None else example_names, list(plan.sparse), list(plan.dense), defaults,
                               sparse_types=list(plan.sparse.values()), Tdense=[entry[0] for entry in plan.dense.values()],
                               dense_shapes=[entry[1] for entry in plan.dense.values()])
    return plan.result(outputs)


def _check_sequences(features: dict[str, Any]) -> None:
    for key, feature in features.items():
        if isinstance(feature, FixedLenSequenceFeature) and not feature.allow_missing:
            raise ValueError(f"Unsupported: FixedLenSequenceFeature requires allow_missing to be True. (feature '{key}')")


def parse_single_example(serialized: Any, features: Any, name: str | None = None, example_names: Any = None) -> dict[str, Any]:
    """``tf.parse_single_example``: the features of one serialized Example, as {name: Tensor or SparseTensor}."""
    if not features:
        raise ValueError("Missing features.")
    plan = _Plan(features, _ALL)
    _check_sequences(features)
    with name_scope(name, "ParseSingleExample", [serialized, example_names]):
        serialized = to_tensor(serialized, dt.string, "serialized")
        outputs = ParseSingleExample(serialized, plan.defaults(), num_sparse=len(plan.sparse), sparse_keys=list(plan.sparse),
                                     sparse_types=list(plan.sparse.values()), dense_keys=list(plan.dense),
                                     Tdense=[entry[0] for entry in plan.dense.values()], dense_shapes=[entry[1] for entry in plan.dense.values()])
    return plan.result(outputs)


def parse_single_sequence_example(serialized: Any, context_features: Any = None, sequence_features: Any = None, example_name: Any = None,
                                  name: str | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
    """``tf.parse_single_sequence_example``: the context features and the feature lists of one serialized SequenceExample."""
    if not context_features and not sequence_features:
        raise ValueError("Missing features.")
    context = _Plan(context_features, (VarLenFeature, FixedLenFeature))
    lists = _Plan(sequence_features, (VarLenFeature, FixedLenSequenceFeature))
    with name_scope(name, "ParseSingleSequenceExample", [serialized, example_name]):
        outputs = ParseSingleSequenceExample(
            serialized, sorted(lists.may_miss), list(context.sparse), list(context.dense),
            list(lists.sparse), list(lists.dense), context.defaults(), "" if example_name is None else example_name,
            context_sparse_types=list(context.sparse.values()), Tcontext_dense=[entry[0] for entry in context.dense.values()],
            context_dense_shapes=[entry[1] for entry in context.dense.values()], feature_list_sparse_types=list(lists.sparse.values()),
            feature_list_dense_types=[entry[0] for entry in lists.dense.values()],
            feature_list_dense_shapes=[entry[1][1:] for entry in lists.dense.values()])
    return context.result(outputs[:4]), lists.result(outputs[4:])


def parse_sequence_example(serialized: Any, context_features: Any = None, sequence_features: Any = None, example_names: Any = None,
                           name: str | None = None) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """``tf.io.parse_sequence_example``: the context features and the feature lists of a batch of serialized SequenceExamples, and how long
    each list is that became a dense tensor."""
    if not context_features and not sequence_features:
        raise ValueError("Missing features.")
    context = _Plan(context_features, (VarLenFeature, FixedLenFeature))
    lists = _Plan(sequence_features, (VarLenFeature, FixedLenSequenceFeature))
    for key, (_, _, default) in lists.dense.items():
        if default is not None:
            raise ValueError(f"A default_value is not possible for the feature list '{key}': Value feature_list_dense_defaults[{key}] must be None")
    with name_scope(name, "ParseSequenceExample", [serialized]):
        *outputs, lengths = ParseSequenceExample(
            serialized, [] if example_names is None else example_names, context.defaults(), Ncontext_sparse=len(context.sparse),
            Ncontext_dense=len(context.dense), Nfeature_list_sparse=len(lists.sparse), Nfeature_list_dense=len(lists.dense),
            feature_list_dense_missing_assumed_empty=sorted(lists.may_miss), context_sparse_keys=list(context.sparse),
            context_dense_keys=list(context.dense), feature_list_sparse_keys=list(lists.sparse), feature_list_dense_keys=list(lists.dense),
            context_sparse_types=list(context.sparse.values()), Tcontext_dense=[entry[0] for entry in context.dense.values()],
            context_dense_shapes=[entry[1] for entry in context.dense.values()], feature_list_sparse_types=list(lists.sparse.values()),
            feature_list_dense_types=[entry[0] for entry in lists.dense.values()],
            feature_list_dense_shapes=[entry[1][1:] for entry in lists.dense.values()], name=name)
    return context.result(outputs[:4]), lists.result(outputs[4:]), dict(zip(lists.dense, lengths))
