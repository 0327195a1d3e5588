"""What models make of columns: the input of a network, a weighted sum, what to read of examples."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.contrib.framework.variables import model_variable
from penstock.contrib.layers.columns.base import LayersColumn, LinearInput, parts, restore_from_checkpoint
from penstock.contrib.layers.columns.dense import (
    BucketizedColumn,
    EmbeddingColumn,
    OneHotColumn,
    RealValuedColumn,
    ScatteredEmbeddingColumn,
    real_valued_column,
)
from penstock.contrib.layers.columns.sparse import CrossedColumn
from penstock.contrib.layers.columns.varying import RealValuedVarLenColumn
from penstock.contrib.layers.embeddings import safe_embedding_lookup_sparse
from penstock.estimator.columns.base import FeatureCache
from penstock.graph import dtypes
from penstock.graph.composite import SparseTensor
from penstock.graph.keys import GraphKeys
from penstock.ops.array.pack import concat
from penstock.ops.array.shape_ops import reshape
from penstock.ops.constant import placeholder
from penstock.ops.linalg.matmul import matmul
from penstock.ops.math.add_n import add_n
from penstock.ops.nn.bias import bias_add
from penstock.ops.sparse.sparse_functions import sparse_concat, sparse_placeholder
from penstock.ops.text.parsing import FixedLenSequenceFeature, VarLenFeature, parse_example, parse_single_sequence_example
from penstock.platform import logging
from penstock.variables.initializers import Zeros
from penstock.variables.scope import variable_scope

_FOR_SEQUENCES = (OneHotColumn, EmbeddingColumn, RealValuedColumn, RealValuedVarLenColumn)
_NOT_FOR_SEQUENCES = (ScatteredEmbeddingColumn, BucketizedColumn, CrossedColumn)


class Transformer(FeatureCache):
    """What columns make of features, each once. The name is that of TensorFlow's private class."""

    def transform(self, feature_column: Any) -> Any:
        """What the column makes of the features."""
        return self.get(feature_column)

    def missing_feature(self, key: str) -> Exception:
        """The error for a feature that is not there: that of a dict."""
        return KeyError(str(super().missing_feature(key)))


def check_feature_columns(feature_columns: Any) -> None:
    """ValueError if two columns have one key."""
    if isinstance(feature_columns, dict):
        raise ValueError("Expected feature_columns to be iterable, found dict.")
    keys = set()
    for column in feature_columns:
        if column.key in keys:
            raise ValueError(f"Duplicate feature column key found for column: {column.name}. This usually means that the column is almost identical "
                             "to another column, and one must be discarded.")
        keys.add(column.key)


def _in_key_order(feature_columns: Any) -> list[Any]:
    """The columns in the order of their keys, checked."""
    feature_columns = list(feature_columns) if not isinstance(feature_columns, dict) else feature_columns
    check_feature_columns(feature_columns)
    return sorted(feature_columns, key=lambda column: column.key)


def transform_features(features: dict[Any, Any], feature_columns: Any) -> dict[Any, Any]:
    """``tf.contrib.layers.transform_features``: {column: what it makes of the features}."""
    cache = Transformer(features)
    return {column: cache.get(column) for column in _in_key_order(feature_columns)}


# --- networks --------------------------------------------------------------------------------------------------------

def input_from_feature_columns(columns_to_tensors: dict[Any, Any], feature_columns: Any, weight_collections: Any = None, trainable: bool = True,
                               scope: Any = None, cols_to_outs: dict[Any, Any] | None = None) -> Any:
    """``tf.contrib.layers.input_from_feature_columns``: the numbers of all columns side by side: [batch, numbers]."""
    return _input(columns_to_tensors, feature_columns, weight_collections, trainable, scope, 2, "input_from_feature_columns", cols_to_outs)


def sequence_input_from_feature_columns(columns_to_tensors: dict[Any, Any], feature_columns: Any, weight_collections: Any = None,
                                        trainable: bool = True, scope: Any = None) -> Any:
    """``tf.contrib.layers.sequence_input_from_feature_columns``: the same for sequences: [batch, time, numbers]."""
    check_sequence_columns(feature_columns)
    return _input(columns_to_tensors, feature_columns, weight_collections, trainable, scope, 3, "sequence_input_from_feature_columns", None)


def check_sequence_columns(columns: Iterable[Any]) -> None:
    """ValueError for a column that sequences cannot have."""
    for column in columns:
        if not isinstance(column, _FOR_SEQUENCES):
            raise ValueError(f"FeatureColumn type _{type(column).__name__} is not currently supported for sequence data. Column: {column.name}")
    for column in _with_sources(columns):
        if isinstance(column, _NOT_FOR_SEQUENCES):
            raise ValueError(f"Column {column.name} is of type _{type(column).__name__}, which is not currently supported for sequences.")


def parent_columns(column: Any) -> list[Any]:
    """The columns that a column is made of."""
    source = [getattr(column, field) for field in ("sparse_id_column", "source_column") if hasattr(column, field)]
    return [*source, *getattr(column, "columns", ())]


def _with_sources(columns: Iterable[Any]) -> list[Any]:
    """The columns, and all that they are made of."""
    result = list(columns)
    for column in result:  # it grows
        result += [each for each in parent_columns(column) if each not in result]
    return result


def _input(features: dict[Any, Any], feature_columns: Any, weight_collections: Any, trainable: bool, scope: Any, rank: int, default_name: str,
           cols_to_outs: dict[Any, Any] | None) -> Any:
    columns = _in_key_order(feature_columns)
    if cols_to_outs is not None and not isinstance(cols_to_outs, dict):
        raise ValueError("cols_to_outs must be a dict unless None")
    with variable_scope(scope, default_name=default_name, values=list(features.values())):
        cache, outputs = Transformer(features), []
        for column in columns:
            with variable_scope(None, default_name=column.name, values=list(features.values())):
                try:
                    outputs.append(column.dnn_input(cache, _with_globals(weight_collections), trainable, rank))
                except ValueError as error:
                    raise ValueError(f"Error creating input layer for column: {column.name}.\n{error}") from error
            if cols_to_outs is not None:
                cols_to_outs[column] = outputs[-1]
        return concat(outputs, rank - 1)


def _with_globals(weight_collections: Any) -> Any:
    return [*dict.fromkeys([*weight_collections, GraphKeys.GLOBAL_VARIABLES])] if weight_collections else weight_collections


# --- linear models ---------------------------------------------------------------------------------------------------

def weighted_sum_from_feature_columns(columns_to_tensors: dict[Any, Any], feature_columns: Any, num_outputs: int, weight_collections: Any = None,
                                      trainable: bool = True, scope: Any = None) -> tuple[Any, dict[Any, list[Any]], Any]:
    """``tf.contrib.layers.weighted_sum_from_feature_columns``: (sums [batch, num_outputs], {column: its weights}, bias)."""
    columns = _in_key_order(feature_columns)
    with variable_scope(scope, default_name="weighted_sum_from_feature_columns", values=list(columns_to_tensors.values())):
        cache, sums, variables = Transformer(columns_to_tensors), [], {}
        make = _maker(num_outputs, weight_collections, trainable)
        for column in columns:
            weights, total = _weighted_sum(column, cache, make)
            sums.append(reshape(total, shape=(-1, num_outputs)))
            variables[column] = weights
            restore_from_checkpoint(column, weights)
        return _with_bias(add_n(sums), num_outputs, weight_collections, trainable, variables)


def joint_weighted_sum_from_feature_columns(columns_to_tensors: dict[Any, Any], feature_columns: Any, num_outputs: int,
                                            weight_collections: Any = None, trainable: bool = True,
                                            scope: Any = None) -> tuple[Any, list[Any], Any]:
    """``tf.contrib.layers.joint_weighted_sum_from_feature_columns``: the same with one variable for the ids of all columns."""
    columns = _in_key_order(feature_columns)
    with variable_scope(scope, default_name="joint_weighted_sum_from_feature_columns", values=list(columns_to_tensors.values())):
        cache, offset, shifted = Transformer(columns_to_tensors), 0, []
        for column in columns:
            given = column.linear_input(cache)
            _check_joint(column, given)
            shifted.append(SparseTensor(given.ids.indices, given.ids.values + offset, given.ids.dense_shape))
            offset += column.num_buckets
        with variable_scope(None, default_name="linear_weights", values=list(columns_to_tensors.values())):
            weights = _maker(num_outputs, weight_collections, trainable)("weights", offset)
            total = safe_embedding_lookup_sparse(weights, sparse_concat(1, shifted), combiner="sum", name="_weights")
        return _with_bias(total, num_outputs, weight_collections, trainable, weights)


def _check_joint(column: LayersColumn, given: LinearInput | None) -> None:
    if given is None:
        raise NotImplementedError(f"Real-valued columns are not supported, and {column.name} is one. Use weighted_sum_from_feature_columns instead, "
                                  "or bucketize these columns.")
    assert given.weights is None, (f"Joint sums for weighted sparse columns are not supported, and {column.name} is one. Please use "
                                   "weighted_sum_from_feature_columns instead.")
    assert given.combiner == "sum", (f"Combiners other than sum are not supported for joint sums; {column.name} has {given.combiner!r}. Please use "
                                     "weighted_sum_from_feature_columns instead.")


def _maker(num_outputs: int, collections: Any, trainable: bool) -> Callable[[str, int], list[Any]]:
    """A function that makes weights, which begin at zero, and returns their parts."""
    return lambda name, rows: parts(model_variable(name, shape=[rows, num_outputs], dtype=dtypes.float32, initializer=Zeros(), trainable=trainable,
                                                   collections=collections))


def _weighted_sum(column: LayersColumn, cache: FeatureCache, make: Callable[[str, int], list[Any]]) -> tuple[list[Any], Any]:
    """(weights, weighted sum) of a column."""
    try:
        given = column.linear_input(cache)
    except ValueError as error:
        raise ValueError(f"Error creating weighted sum for column: {column.name}.\n{error}") from error
    if given is None:
        numbers = column.linear_numbers(cache)
        with variable_scope(None, default_name=column.name):
            weights = make("weight", numbers.shape.as_list()[1])
            return weights, matmul(numbers, weights[0], name="matmul")
    with variable_scope(None, default_name=column.name):
        weights = make("weights", column.num_buckets)  # type: ignore[attr-defined]
        return weights, safe_embedding_lookup_sparse(weights, given.ids, sparse_weights=given.weights, combiner=given.combiner,
                                                     name=f"{column.name}_weights")


def _with_bias(total: Any, num_outputs: int, collections: Any, trainable: bool, weights: Any) -> tuple[Any, Any, Any]:
    bias = model_variable("bias_weight", shape=[num_outputs], initializer=Zeros(), trainable=trainable, collections=_with_globals(collections))
    return bias_add(total, bias), weights, bias


# --- examples --------------------------------------------------------------------------------------------------------

def create_feature_spec_for_parsing(feature_columns: Any) -> dict[str, Any]:
    """``tf.contrib.layers.create_feature_spec_for_parsing``: what ``tf.parse_example`` has to read for the columns."""
    spec: dict[str, Any] = {}
    for column in feature_columns.values() if isinstance(feature_columns, dict) else feature_columns:
        if not isinstance(column, LayersColumn):
            raise TypeError(f"feature_columns should only contain instances of _FeatureColumn. Given column is {column}")
        spec.update(column.config)
    return spec


def parse_feature_columns_from_examples(serialized: Any, feature_columns: Any, name: str | None = None, example_names: Any = None) -> dict[Any, Any]:
    """``tf.contrib.layers.parse_feature_columns_from_examples``: the features of serialized Examples, and what columns make of them."""
    columns = _in_key_order(feature_columns)
    features = parse_example(serialized=serialized, features=create_feature_spec_for_parsing(columns), name=name, example_names=example_names)
    return {**features, **transform_features(features, columns)}


def parse_feature_columns_from_sequence_examples(serialized: Any, context_feature_columns: Any, sequence_feature_columns: Any,
                                                 name: str | None = None, example_name: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
    """``tf.contrib.layers.parse_feature_columns_from_sequence_examples``: (features of the context, features of the sequence) of one example."""
    try:
        serialized = reshape(serialized, [])
    except ValueError as error:
        raise ValueError("serialized must contain as single sequence example. Batching must be done after parsing for sequence examples. "
                         f"Error: {error}") from error
    context = create_feature_spec_for_parsing(_in_key_order(context_feature_columns or []))
    sequence = {key: _of_sequence(key, feature) for key, feature in
                create_feature_spec_for_parsing(_in_key_order(sequence_feature_columns or [])).items()}
    return parse_single_sequence_example(serialized, context, sequence, example_name, name)


def _of_sequence(key: str, feature: Any) -> Any:
    """A feature of an example as one of each step of a sequence."""
    if isinstance(feature, VarLenFeature):
        return feature
    has_default = feature.default_value is not None
    if has_default:
        logging.warning('Found default value %s for feature "%s". Ignoring this value and setting `allow_missing=True` instead.',
                        feature.default_value, key)
    return FixedLenSequenceFeature(shape=feature.shape, dtype=feature.dtype, allow_missing=has_default)


def make_place_holder_tensors_for_base_features(feature_columns: Any) -> dict[str, Any]:
    """``tf.contrib.layers.make_place_holder_tensors_for_base_features``: a placeholder for each feature that the columns need."""
    made = {}
    for name, feature in create_feature_spec_for_parsing(feature_columns).items():
        if isinstance(feature, VarLenFeature):
            made[name] = sparse_placeholder(feature.dtype, name=f"Placeholder_{name}")
        else:
            made[name] = placeholder(feature.dtype, shape=(None, feature.shape[0]), name=f"Placeholder_{name}")
    return made


def infer_real_valued_columns(features: Any) -> list[RealValuedColumn]:
    """``tf.contrib.layers.infer_real_valued_columns``: a column of numbers for each feature; the name of a tensor alone is empty."""
    named = features if isinstance(features, dict) else {"": features}
    return [_real_valued(name, tensor) for name, tensor in named.items()]


def _real_valued(name: str, tensor: Any) -> RealValuedColumn:
    if isinstance(tensor, SparseTensor):
        raise ValueError(f"SparseTensor is not supported for auto detection. Please define corresponding FeatureColumn for tensor {name} {tensor}.")
    if not (tensor.dtype.is_integer or tensor.dtype.is_floating):
        raise ValueError("Non integer or non floating types are not supported for auto detection. Please define corresponding FeatureColumn for "
                         f"tensor {name} {tensor}.")
    return real_valued_column(name, dimension=tensor.shape[1:].num_elements(), dtype=tensor.dtype)
