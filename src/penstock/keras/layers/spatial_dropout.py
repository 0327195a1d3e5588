"""Dropout of whole channels."""
from __future__ import annotations

from typing import Any

from penstock.layers.dense import Dropout
from penstock.layers.input_spec import InputSpec
from penstock.layers.options import normalize_data_format
from penstock.ops.array.pack import stack
from penstock.ops.array.shape_ops import shape


class SpatialDropout1D(Dropout):
    """``tf.keras.layers.SpatialDropout1D``: a channel is dropped in all steps."""

    def __init__(self, rate: float, **kwargs: Any) -> None:
        super().__init__(rate, **kwargs)
        self.input_spec = InputSpec(ndim=3)

    def _get_noise_shape(self, inputs: Any) -> Any:
        extents = shape(inputs)
        return stack([extents[0], 1, extents[2]])


class _Images(Dropout):
    rank = 2

    def __init__(self, rate: float, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(rate, **kwargs)
        self.data_format, self.input_spec = normalize_data_format(data_format), InputSpec(ndim=self.rank + 2)

    def _get_noise_shape(self, inputs: Any) -> Any:
        extents, ones = shape(inputs), (1,) * self.rank
        return stack([extents[0], extents[1], *ones] if self.data_format == "channels_first" else [extents[0], *ones, extents[self.rank + 1]])


class SpatialDropout2D(_Images):
    """``tf.keras.layers.SpatialDropout2D``: a channel is dropped in the whole image."""


class SpatialDropout3D(_Images):
    """``tf.keras.layers.SpatialDropout3D``: a channel is dropped in the whole volume."""

    rank = 3
