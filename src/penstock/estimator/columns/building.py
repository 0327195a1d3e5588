"""What models make of columns: the input layer of a network, a linear model, and what to read of examples."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.estimator.columns.base import CategoricalColumn, DenseColumn, FeatureCache, FeatureColumn
from penstock.estimator.columns.dense import EmbeddingColumn, SharedEmbeddingColumn
from penstock.graph.graph import default_graph
from penstock.graph.keys import GraphKeys
from penstock.graph.scopes import control_dependencies, get_collection, name_scope
from penstock.ops.array.pack import concat
from penstock.ops.array.shape_ops import reshape, shape
from penstock.ops.constant import identity
from penstock.ops.flow.checks import assert_equal
from penstock.ops.linalg.matmul import matmul
from penstock.ops.math.add_n import add_n
from penstock.ops.nn.bias import bias_add
from penstock.ops.sparse.embedding import safe_embedding_lookup_sparse
from penstock.ops.sparse.sparse_functions import sparse_reshape
from penstock.variables.initializers import Zeros
from penstock.variables.partitioned import PartitionedVariable
from penstock.variables.scope import get_variable, get_variable_scope, variable_scope

# What TensorFlow's linear model makes beyond ours: a resource has a node more than a variable, each use reads it, and ids are flattened in any case.
_RESOURCE, _READ, _FLAT_IDS = 1, 1, 10


def input_layer(features: dict[str, Any], feature_columns: Any, weight_collections: Any = None, trainable: bool = True,
                cols_to_vars: dict[Any, Any] | None = None, cols_to_output_tensors: dict[Any, Any] | None = None) -> Any:
    """``tf.feature_column.input_layer``: the numbers of dense columns side by side, in the order of their names: [batch, numbers]."""
    return joined_numbers(features, feature_columns, weight_collections, trainable, cols_to_vars, cols_to_output_tensors)


def joined_numbers(features: dict[str, Any], feature_columns: Any, weight_collections: Any = None, trainable: bool = True,
                   cols_to_vars: dict[Any, Any] | None = None, cols_to_output_tensors: dict[Any, Any] | None = None,
                   tables_first: bool = False) -> Any:
    """What ``input_layer`` gives. In TensorFlow's canned networks all tables of embeddings come before the ids of the first one (``tables_first``),
    unless a table is shared: the seeds of initial values follow from that."""
    columns = sorted_columns(feature_columns)
    for column in columns:
        if not isinstance(column, DenseColumn):
            raise ValueError("Items of feature_columns must be a _DenseColumn. You can wrap a categorical column with an embedding_column or "
                             f"indicator_column. Given: {column}")
    collections = _with_defaults(weight_collections)
    with variable_scope(None, default_name="input_layer", values=list(features.values())):
        cache = FeatureCache(features)
        scopes: dict[Any, Any] = {}
        for column in columns if tables_first and not any(isinstance(column, SharedEmbeddingColumn) for column in columns) else ():
            if isinstance(column, EmbeddingColumn):
                with variable_scope(None, default_name=column.var_scope_name, auxiliary_name_scope=False) as scopes[column]:
                    cache.tables[column] = column.new_table(collections, trainable)
                    default_graph().imply(1)  # a resource there
        outputs = []
        for column in columns:
            with variable_scope(scopes.get(column), default_name=column.var_scope_name):
                output = flat_numbers(column, cache, collections, trainable)
                outputs.append(output)
                if cols_to_vars is not None:
                    cols_to_vars[column] = get_collection(GraphKeys.GLOBAL_VARIABLES, scope=get_variable_scope().name)
                if cols_to_output_tensors is not None:
                    cols_to_output_tensors[column] = output
        _check_batch_sizes(outputs, columns)
        return concat(outputs, 1)


def linear_model(features: dict[str, Any], feature_columns: Any, units: int = 1, sparse_combiner: str = "sum", weight_collections: Any = None,
                 trainable: bool = True, cols_to_vars: dict[Any, Any] | None = None) -> Any:
    """``tf.feature_column.linear_model``: a weighted sum of all columns, and a bias: [batch, units]. Ids count as indicators."""
    with variable_scope(None, default_name="linear_model", values=list(features.values())) as scope:
        name = _last_part(scope)
    names = {}
    for column in sorted_columns(feature_columns):  # each is a layer, whose name differs from those of the layers beside the model
        with variable_scope(None, default_name=column.var_scope_name, auxiliary_name_scope=False) as layer:
            names[column] = _last_part(layer)
    with variable_scope(scope, auxiliary_name_scope=False), name_scope(name), name_scope(name):  # as TensorFlow's layer names its operations
        return _weighted_columns(features, feature_columns, units, sparse_combiner, weight_collections, trainable, cols_to_vars, names)


def _last_part(scope: Any) -> str:
    return str(scope.name.rpartition("/")[2])


def canned_linear_model(features: dict[str, Any], feature_columns: Any, units: int = 1, sparse_combiner: str = "sum",
                        cols_to_vars: dict[Any, Any] | None = None) -> Any:
    """The linear model of a canned estimator; its operations are three scopes deep, so in TensorFlow."""
    with variable_scope(None, default_name="linear_model", values=list(features.values())), name_scope("linear_model"), name_scope("linear_model"):
        return _weighted_columns(features, feature_columns, units, sparse_combiner, None, True, cols_to_vars)


def _weighted_columns(features: dict[str, Any], feature_columns: Any, units: int, sparse_combiner: str, weight_collections: Any, trainable: bool,
                      cols_to_vars: dict[Any, Any] | None, names: dict[Any, str] | None = None) -> Any:
    """A weighted sum of all columns, and a bias, in the scope of their variables; ``names`` are those of the columns' own scopes."""
    columns = sorted_columns(feature_columns)
    for column in columns:
        if not isinstance(column, (DenseColumn, CategoricalColumn)):
            raise ValueError(f"Items of feature_columns must be either a _DenseColumn or _CategoricalColumn. Given: {column}")
    collections = _with_defaults(weight_collections)
    variables: dict[Any, Any] = {} if cols_to_vars is None else cols_to_vars
    cache = FeatureCache(features)
    sums = []
    for column in columns:
        with variable_scope(names and names[column], default_name=column.var_scope_name):
            weights, weighted = _weighted_sum(column, cache, units, sparse_combiner, collections, trainable)
            sums.append(weighted)
            variables[column] = _variable_parts(weights)
    _check_batch_sizes(sums, columns)
    bias = get_variable("bias_weights", [units], initializer=Zeros(), trainable=trainable, collections=collections)
    variables["bias"] = _variable_parts(bias)
    default_graph().imply(_RESOURCE + _READ)
    return bias_add(add_n(sums, name="weighted_sum_no_bias"), bias, name="weighted_sum")


def sequence_input_layer(features: dict[str, Any], feature_columns: Any, weight_collections: Any = None, trainable: bool = True) -> tuple[Any, Any]:
    """``tf.contrib.feature_column.sequence_input_layer``: ([batch, steps, numbers], [batch] lengths) of columns of sequences."""
    columns = sorted_columns(feature_columns)
    check_sequence_columns(columns)
    outputs, lengths = [], []
    with variable_scope(None, default_name="sequence_input_layer", values=list(features.values())):
        cache = FeatureCache(features)
        for column in columns:
            with variable_scope(None, default_name=column.var_scope_name):
                dense, length = column.get_sequence_dense_tensor(cache, weight_collections=weight_collections, trainable=trainable)
                extents = shape(dense)
                outputs.append(reshape(dense, [extents[0], extents[1], column.variable_shape.num_elements()]))
                lengths.append(length)
        return joined_sequences(outputs, lengths, columns)


def check_sequence_columns(columns: Iterable[Any]) -> None:
    """ValueError for a column that is not one of sequences."""
    for column in columns:
        if not hasattr(column, "get_sequence_dense_tensor"):
            raise ValueError("All feature_columns must be of type _SequenceDenseColumn. You can wrap a sequence_categorical_column with an "
                             f"embedding_column or indicator_column. Given (type {type(column)}): {column}")


def joined_sequences(outputs: list[Any], lengths: list[Any], columns: list[Any]) -> tuple[Any, Any]:
    """The numbers of columns side by side, and the lengths of the sequences, which must be the same in all of them."""
    _check_batch_sizes(lengths, columns)
    checks = [assert_equal(lengths[0], length, message=f"the sequences of the columns {columns[0].name!r} and {column.name!r} differ in length")
              for length, column in zip(lengths[1:], columns[1:])]
    joined = concat(outputs, -1)
    if not checks:
        return joined, lengths[0]
    default_graph().imply(-2 * len(checks))  # which TensorFlow makes without a message
    with control_dependencies(checks):
        return joined, identity(lengths[0])


def make_parse_example_spec(feature_columns: Iterable[FeatureColumn]) -> dict[str, Any]:
    """``tf.feature_column.make_parse_example_spec``: what ``tf.parse_example`` has to read for the columns."""
    result: dict[str, Any] = {}
    for column in feature_columns:
        if not isinstance(column, FeatureColumn):
            raise ValueError(f"All feature_columns must be _FeatureColumn instances. Given: {column}")
        for key, value in column.parse_example_spec.items():
            if key in result and value != result[key]:
                raise ValueError(f"feature_columns contain different parse_spec for key {key}. Given {value} and {result[key]}")
            result[key] = value
    return result


def transform_features(features: dict[str, Any], feature_columns: Any) -> dict[Any, Any]:
    """What each column makes of the features, by column: ``_transform_features``, which estimators of programs call."""
    with name_scope(None, default_name="transform_features", values=list(features.values())):
        cache = FeatureCache(features)
        return {column: cache.get(column) for column in sorted_columns(feature_columns)}


def sorted_columns(feature_columns: Any) -> list[Any]:
    """The columns in the order of their names, which must differ."""
    columns = [feature_columns] if isinstance(feature_columns, FeatureColumn) else feature_columns
    if isinstance(columns, dict):
        raise ValueError("Expected feature_columns to be iterable, found dict.")
    columns = list(columns)
    if not columns:
        raise ValueError("feature_columns must not be empty.")
    names: dict[str, Any] = {}
    for column in columns:
        if not isinstance(column, FeatureColumn):
            raise ValueError(f"Items of feature_columns must be a _FeatureColumn. Given (type {type(column)}): {column}.")
        if column.name in names:
            raise ValueError(f"Duplicate feature column name found for columns: {column} and {names[column.name]}. This usually means that these "
                             "columns refer to same base feature. Either one must be discarded or a duplicated but renamed item must be inserted in "
                             "features dict.")
        names[column.name] = column
    return sorted(columns, key=lambda column: column.name)


def _with_defaults(collections: Any) -> list[str]:
    return list(dict.fromkeys([*(collections or ()), GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES]))


def _variable_parts(variable: Any) -> list[Any]:
    return list(variable) if isinstance(variable, PartitionedVariable) else [variable]


def flat_numbers(column: DenseColumn, cache: FeatureCache, collections: Any = None, trainable: bool = True) -> Any:
    """The numbers of a column, a row per example."""
    tensor = column.get_dense_tensor(cache, weight_collections=collections, trainable=trainable)
    return reshape(tensor, shape=(shape(tensor)[0], column.variable_shape.num_elements()))


def _weighted_sum(column: Any, cache: FeatureCache, units: int, combiner: str, collections: Any, trainable: bool) -> tuple[Any, Any]:
    """(weights, weighted sum) of a column."""
    categorical = isinstance(column, CategoricalColumn)
    rows = column.num_buckets if categorical else column.variable_shape.num_elements()
    weights = get_variable("weights", [rows, units], initializer=Zeros(), trainable=trainable, collections=collections)
    default_graph().imply(_RESOURCE)
    if not categorical:
        default_graph().imply(_READ)
        return weights, matmul(flat_numbers(column, cache, collections, trainable), weights, name="weighted_sum")
    ids, id_weights = column.get_sparse_tensors(cache)
    if ids.dense_shape.shape.extents == (2,):  # a matrix is what it should be
        default_graph().imply(_FLAT_IDS if id_weights is None else 2 * _FLAT_IDS)
    else:
        batch = shape(ids)[0]
        ids = sparse_reshape(ids, [batch, -1])
        id_weights = None if id_weights is None else sparse_reshape(id_weights, [batch, -1])
    return weights, safe_embedding_lookup_sparse(_variable_parts(weights), ids, id_weights, combiner=combiner, name="weighted_sum")


def _check_batch_sizes(tensors: list[Any], columns: list[Any]) -> None:
    """Tensors of different static batch sizes are an error that names the columns."""
    known = [(tensor.shape.extents[0], column) for tensor, column in zip(tensors, columns)
             if tensor.shape.ndims and tensor.shape.extents[0] is not None]
    for size, column in known[1:]:
        if size != known[0][0]:
            raise ValueError(f"Batch size (first dimension) of each feature must be same. Batch size of columns ({known[0][1].name}, {column.name}): "
                             f"({known[0][0]}, {size})")
