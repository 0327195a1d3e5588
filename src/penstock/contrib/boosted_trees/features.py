"""The columns that trees split on: numbers, sparse numbers and sparse ids, in the order of their names within each kind."""
from __future__ import annotations

from typing import Any, NamedTuple

from penstock.contrib import prelude as tf
from penstock.contrib.layers.columns.building import transform_features
from penstock.contrib.layers.columns.dense import EmbeddingColumn
from penstock.estimator.columns.building import input_layer
from penstock.variables.scope import variable_scope


class Columns(NamedTuple):
    """The columns of a batch, and their names in the order of the kinds."""

    names: list[str]
    dense: list[Any]
    sparse_floats: list[Any]
    sparse_ints: list[Any]

    def arguments(self) -> dict[str, Any]:
        """The arguments of the operations of trees."""
        result: dict[str, Any] = {"dense_float_features": self.dense}
        for kind, columns in (("float", self.sparse_floats), ("int", self.sparse_ints)):
            result |= {f"sparse_{kind}_feature_indices": [each.indices for each in columns],
                       f"sparse_{kind}_feature_values": [each.values for each in columns],
                       f"sparse_{kind}_feature_shapes": [each.dense_shape for each in columns]}
        return result


def columns_of(features: dict[str, Any] | None, feature_columns: Any) -> Columns:
    """The columns of features, or of what ``feature_columns`` make of them. A dense feature with several numbers is a column per number."""
    if not features:
        raise ValueError("Features dictionary must be specified.")
    tensors = _transform(features, feature_columns) if feature_columns else features
    dense: dict[str, Any] = {}
    sparse: dict[Any, dict[str, Any]] = {tf.float32: {}, tf.int64: {}}
    for name in sorted(tensors):
        tensor = tensors[name]
        if isinstance(tensor, tf.SparseTensor):
            if tensor.dtype not in sparse:
                raise ValueError(f"Unsupported sparse feature {name} with dtype {tensor.dtype}: trees split on float32 and int64.")
            sparse[tensor.dtype][name] = tensor
        elif tensor.dtype != tf.float32:
            raise ValueError(f"Unsupported dense feature {name} with dtype {tensor.dtype}: trees split on float32. Cast it, or give ids as a "
                             "SparseTensor.")
        elif (tensor.shape.ndims or 1) > 1 and (tensor.shape.as_list()[1] or 1) > 1:
            dense |= {f"{name}_{number}": tf.reshape(each, [-1, 1]) for number, each in enumerate(tf.unstack(tensor, axis=1))}
        else:
            dense[name] = tensor
    floats, ints = sparse.values()
    return Columns([*dense, *floats, *ints], list(dense.values()), list(floats.values()), list(ints.values()))


def _transform(features: dict[str, Any], feature_columns: Any) -> dict[str, Any]:
    result = {}
    with variable_scope("gbdt"):
        for column in feature_columns:
            if isinstance(column, EmbeddingColumn):
                result[column.name] = input_layer(features, [column], weight_collections=["gbdt"])
            else:
                result[column.name], = transform_features(features, [column]).values()
    return result
