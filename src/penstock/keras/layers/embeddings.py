"""Embedding: numbers of things as rows of a table."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes
from penstock.graph.shape import TensorShape
from penstock.layers import regularizers, settings
from penstock.layers.base import Layer
from penstock.layers.options import add_weight, ordered_config, set_weight_options, weight_config
from penstock.ops.array.cast import cast
from penstock.ops.math.compare import not_equal
from penstock.ops.sparse.embedding import embedding_lookup


class Embedding(Layer):
    """``tf.keras.layers.Embedding``; with ``mask_zero`` the number 0 is a step that does not count."""

    _autocast = False  # its inputs are numbers of rows

    def __init__(self, input_dim: int, output_dim: int, embeddings_initializer: Any = "uniform", embeddings_regularizer: Any = None,
                 activity_regularizer: Any = None, embeddings_constraint: Any = None, mask_zero: bool = False, input_length: Any = None,
                 **kwargs: Any) -> None:
        if "input_shape" not in kwargs:
            kwargs["input_shape"] = (input_length,) if input_length else (None,)
        super().__init__(dtype=kwargs.pop("dtype", settings.floatx()), activity_regularizer=regularizers.get(activity_regularizer), **kwargs)
        self.input_dim, self.output_dim, self.input_length = input_dim, output_dim, input_length
        set_weight_options(self, "embeddings", embeddings_initializer, embeddings_regularizer, embeddings_constraint)
        self.mask_zero = self.supports_masking = mask_zero

    def build(self, input_shape: Any) -> None:
        """The table."""
        self.embeddings = add_weight(self, "embeddings", (self.input_dim, self.output_dim))
        self.built = True

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Which numbers are not 0."""
        return not_equal(inputs, 0) if self.mask_zero else None

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """With an axis of features."""
        first, *rest = TensorShape(input_shape).as_list()
        if self.input_length is None:
            return TensorShape([first, *rest, self.output_dim])
        lengths = list(self.input_length) if isinstance(self.input_length, (list, tuple)) else [self.input_length]
        if len(lengths) != len(rest) or any(None not in (mine, given) and mine != given for mine, given in zip(lengths, rest)):
            raise ValueError(f'"input_length" is {self.input_length}, but received input has shape {(first, *rest)}')
        return TensorShape([first, *(given if mine is None else mine for mine, given in zip(lengths, rest)), self.output_dim])

    def call(self, inputs: Any) -> Any:
        """The rows."""
        if inputs.dtype.base_dtype not in (dtypes.int32, dtypes.int64):
            inputs = cast(inputs, dtypes.int32)
        return embedding_lookup(self.embeddings, inputs)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        return ordered_config({
                **super().get_config(), "input_dim": self.input_dim, "output_dim": self.output_dim, **weight_config(self, "embeddings"),
                "activity_regularizer": regularizers.serialize(self.activity_regularizer), "mask_zero": self.mask_zero,
                "input_length": self.input_length})
