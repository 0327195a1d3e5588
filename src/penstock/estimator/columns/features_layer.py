"""DenseFeatures: the input layer of columns as a Keras layer, which is called on a dict of features and owns the tables of embeddings."""
from __future__ import annotations

from typing import Any

from penstock.estimator.columns.base import DenseColumn, FeatureCache
from penstock.estimator.columns.building import flat_numbers, sorted_columns
from penstock.estimator.columns.dense import EmbeddingBase
from penstock.graph.scopes import name_scope
from penstock.layers.base import Layer
from penstock.ops.array.pack import concat
from penstock.ops.array.shape_ops import reshape, shape


class DenseFeatures(Layer):
    """``tf.keras.layers.DenseFeatures``: the numbers of dense columns side by side, in the order of their names: [batch, numbers]."""

    def __init__(self, feature_columns: Any, trainable: bool = True, name: str | None = None, **kwargs: Any) -> None:
        super().__init__(trainable=trainable, name=name, **kwargs)
        self._feature_columns = sorted_columns(feature_columns)
        for column in self._feature_columns:
            if not isinstance(column, DenseColumn):
                raise ValueError("Items of feature_columns must be a DenseColumn. You can wrap a categorical column with an embedding_column or "
                                 f"indicator_column. Given: {column}")
        self._tables: dict[str, Any] = {}

    def build(self, input_shape: Any) -> None:
        """Makes the tables; columns that share one have one."""
        for column in self._feature_columns:
            if isinstance(column, EmbeddingBase) and column.var_scope_name not in self._tables:
                self._tables[column.var_scope_name] = self.add_weight(
                    f"{column.var_scope_name}/embedding_weights", (column.categorical_column.num_buckets, column.dimension), "float32",
                    column.initializer, trainable=self.trainable and column.trainable)
        super().build(input_shape)

    def call(self, features: Any) -> Any:
        """The numbers of a batch."""
        if not isinstance(features, dict):
            raise ValueError("We expected a dictionary here. Instead we got: ", features)
        cache, outputs = FeatureCache(features), []
        for column in self._feature_columns:
            with name_scope(column.name):
                if isinstance(column, EmbeddingBase):
                    numbers = column.look_up(self._tables[column.var_scope_name], cache)
                    outputs.append(reshape(numbers, [shape(numbers)[0], column.dimension]))
                else:
                    outputs.append(flat_numbers(column, cache))
        return concat(outputs, -1)

    def get_config(self) -> dict[str, Any]:
        """Refused: columns are Python objects, of functions among other things."""
        raise NotImplementedError("DenseFeatures: feature columns have no configuration. Make the layer anew, and load its weights.")

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> DenseFeatures:
        """Refused, as ``get_config`` is."""
        raise NotImplementedError("DenseFeatures: feature columns have no configuration. Make the layer anew, and load its weights.")

    def compute_output_shape(self, input_shape: Any) -> tuple[Any, int]:
        """[batch, numbers]."""
        first = next(iter(input_shape.values())) if isinstance(input_shape, dict) else input_shape
        return first[0], sum(column.variable_shape.num_elements() for column in self._feature_columns)
