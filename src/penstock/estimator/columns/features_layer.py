"""The input layers of columns as Keras layers, which are called on a dict of features and own the tables of embeddings."""
from __future__ import annotations

from typing import Any

from penstock.estimator.columns.base import DenseColumn, FeatureCache
from penstock.estimator.columns.building import check_sequence_columns, flat_numbers, joined_sequences, sorted_columns
from penstock.estimator.columns.configs import deserialize_feature_columns, serialize_feature_columns
from penstock.estimator.columns.dense import EmbeddingBase
from penstock.graph.scopes import name_scope
from penstock.layers.base import Layer
from penstock.ops.array.pack import concat
from penstock.ops.array.shape_ops import reshape, shape


class _Features(Layer):
    """What both share: columns in the order of their names, and the tables of embeddings."""

    def __init__(self, feature_columns: Any, trainable: bool = True, name: str | None = None, **kwargs: Any) -> None:
        super().__init__(trainable=trainable, name=name, **kwargs)
        self._feature_columns = sorted_columns(feature_columns)
        self._check_columns()
        self._tables: dict[str, Any] = {}

    def _check_columns(self) -> None:
        """ValueError for a column that has no numbers of the kind that is needed."""

    def build(self, input_shape: Any) -> None:
        """Makes the tables; columns that share one have one."""
        for column in self._feature_columns:
            if isinstance(column, EmbeddingBase) and column.var_scope_name not in self._tables:
                self._tables[column.var_scope_name] = self.add_weight(
                    f"{column.var_scope_name}/embedding_weights", (column.categorical_column.num_buckets, column.dimension), "float32",
                    column.initializer, trainable=self.trainable and column.trainable)
        super().build(input_shape)

    def _numbers(self, column: Any, cache: FeatureCache) -> Any:
        return column.look_up(self._tables[column.var_scope_name], cache)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again; functions of columns are named."""
        return {**super().get_config(), "feature_columns": serialize_feature_columns(self._feature_columns)}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """The layer that ``get_config`` described. Functions and columns of the program are in ``custom_objects``, by their names."""
        return cls(**{**config, "feature_columns": deserialize_feature_columns(config["feature_columns"], custom_objects)})


class DenseFeatures(_Features):
    """``tf.keras.layers.DenseFeatures``: the numbers of dense columns side by side, in the order of their names: [batch, numbers]."""

    def _check_columns(self) -> None:
        for column in self._feature_columns:
            if not isinstance(column, DenseColumn):
                raise ValueError("Items of feature_columns must be a DenseColumn. You can wrap a categorical column with an embedding_column or "
                                 f"indicator_column. Given: {column}")

    def call(self, features: Any, cols_to_output_tensors: dict[Any, Any] | None = None) -> Any:
        """The numbers of a batch; ``cols_to_output_tensors`` is filled with those of each column."""
        _check_features(features)
        cache = FeatureCache(features)
        outputs = [self._column_numbers(column, cache) for column in self._feature_columns]
        if cols_to_output_tensors is not None:
            cols_to_output_tensors.update(zip(self._feature_columns, outputs))
        return concat(outputs, -1)

    def _column_numbers(self, column: Any, cache: FeatureCache) -> Any:
        with name_scope(column.name):
            if not isinstance(column, EmbeddingBase):
                return flat_numbers(column, cache)
            numbers = self._numbers(column, cache)
            return reshape(numbers, [shape(numbers)[0], column.dimension])

    def compute_output_shape(self, input_shape: Any) -> tuple[Any, int]:
        """[batch, numbers]."""
        first = next(iter(input_shape.values())) if isinstance(input_shape, dict) else input_shape
        return first[0], sum(column.variable_shape.num_elements() for column in self._feature_columns)


class SequenceFeatures(_Features):
    """``tf.keras.experimental.SequenceFeatures``: the numbers of columns of sequences side by side, [batch, steps, numbers], and their lengths."""

    def _check_columns(self) -> None:
        check_sequence_columns(self._feature_columns)

    def call(self, features: Any) -> Any:
        """(numbers, lengths) of a batch of sequences."""
        _check_features(features)
        cache, outputs, lengths = FeatureCache(features), [], []
        for column in self._feature_columns:
            with name_scope(column.name):
                if isinstance(column, EmbeddingBase):
                    dense, length = self._numbers(column, cache), column.lengths(cache)
                else:
                    dense, length = column.get_sequence_dense_tensor(cache)
                outputs.append(reshape(dense, [shape(dense)[0], shape(dense)[1], column.variable_shape.num_elements()]))
                lengths.append(length)
        return joined_sequences(outputs, lengths, self._feature_columns)


def _check_features(features: Any) -> None:
    if not isinstance(features, dict):
        raise ValueError("We expected a dictionary here. Instead we got: ", features)
