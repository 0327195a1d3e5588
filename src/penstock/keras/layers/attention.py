"""Attention: values weighted by how well their keys fit a query."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes
from penstock.graph.convert import to_tensor
from penstock.graph.shape import TensorShape
from penstock.layers import settings
from penstock.layers.base import Layer
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import ones, ones_like
from penstock.ops.array.pack import concat
from penstock.ops.array.shape_ops import expand_dims, shape
from penstock.ops.linalg.matmul import matmul
from penstock.ops.math.compare import greater_equal, logical_and, logical_not
from penstock.ops.math.cumulative import cumsum
from penstock.ops.math.reduce import reduce_sum
from penstock.ops.math.trigonometry import tanh
from penstock.ops.nn.softmax import softmax
from penstock.variables.initializers import GlorotUniform, Ones


class DenseAttention(Layer):
    """What both kinds share. Inputs are [query, value] or [query, value, key]."""

    def __init__(self, causal: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.causal, self.supports_masking = causal, True

    def _calculate_scores(self, query: Any, key: Any) -> Any:
        raise NotImplementedError

    def call(self, inputs: Any, mask: Any = None) -> Any:
        """The weighted sums of values, one for each query."""
        self._check(inputs, mask)
        query, value = inputs[0], inputs[1]
        query_mask, value_mask = mask if mask else (None, None)
        scores = self._calculate_scores(query, inputs[2] if len(inputs) > 2 else value)
        allowed = None if value_mask is None else expand_dims(value_mask, axis=-2)
        if self.causal:
            extents = shape(scores)
            earlier = _lower_triangle(concat([ones_like(extents[:-2]), extents[-2:]], axis=0))
            allowed = earlier if allowed is None else logical_and(allowed, earlier)
        if allowed is not None:
            scores -= 1.0e9 * cast(logical_not(allowed), settings.floatx())
        result = matmul(softmax(scores), value)
        return result if query_mask is None else result * cast(expand_dims(query_mask, axis=-1), result.dtype)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """That of the queries."""
        self._check(inputs, mask)
        return to_tensor(mask[0]) if mask and mask[0] is not None else None

    def _check(self, inputs: Any, mask: Any) -> None:
        name = type(self).__name__
        if not isinstance(inputs, list):
            raise ValueError(f"{name} layer must be called on a list of inputs, namely [query, value] or [query, value, key].")
        if len(inputs) not in (2, 3):
            raise ValueError(f"{name} layer accepts inputs list of length 2 or 3, namely [query, value] or [query, value, key]. Given length: "
                             f"{len(inputs)}")
        if mask:
            if not isinstance(mask, list):
                raise ValueError(f"{name} layer mask must be a list, namely [query_mask, value_mask].")
            if len(mask) != 2:
                raise ValueError(f"{name} layer mask must be a list of length 2, namely [query_mask, value_mask]. Given length: {len(mask)}")

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        return {**super().get_config(), "causal": self.causal, "use_scale": self.use_scale}  # type: ignore[attr-defined]


class Attention(DenseAttention):
    """``tf.keras.layers.Attention``: scores are products of query and key."""

    def __init__(self, use_scale: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.use_scale = use_scale

    def build(self, input_shape: Any) -> None:
        """The scale of the scores."""
        self.scale = self.add_weight("scale", (), initializer=Ones(), dtype=self.dtype, trainable=True) if self.use_scale else None
        self.built = True

    def _calculate_scores(self, query: Any, key: Any) -> Any:
        scores = matmul(query, key, transpose_b=True)
        return scores if self.scale is None else scores * self.scale


class AdditiveAttention(DenseAttention):
    """``tf.keras.layers.AdditiveAttention``: scores are sums of tanh(query + key)."""

    def __init__(self, use_scale: bool = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.use_scale = use_scale

    def build(self, input_shape: Any) -> None:
        """The scale of each feature."""
        features = TensorShape(input_shape[1]).as_list()[-1]
        self.scale = self.add_weight("scale", [features], initializer=GlorotUniform(), dtype=self.dtype, trainable=True) if self.use_scale else None
        self.built = True

    def _calculate_scores(self, query: Any, key: Any) -> Any:
        fits = tanh(expand_dims(query, axis=-2) + expand_dims(key, axis=-3))
        return reduce_sum((1.0 if self.scale is None else self.scale) * fits, axis=-1)


def _lower_triangle(extents: Any) -> Any:
    """True where the column is not behind the row."""
    filled = ones(extents, dtype=dtypes.int32)
    return greater_equal(cumsum(filled, axis=-2), cumsum(filled, axis=-1))
