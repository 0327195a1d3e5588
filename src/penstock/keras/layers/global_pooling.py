"""Pooling over all places: one number per channel."""
from __future__ import annotations

from typing import Any

from penstock.graph.shape import TensorShape
from penstock.layers.base import Layer
from penstock.layers.input_spec import InputSpec
from penstock.layers.options import normalize_data_format
from penstock.ops.array.cast import cast
from penstock.ops.array.shape_ops import expand_dims
from penstock.ops.math.reduce import reduce_max, reduce_mean, reduce_sum


class _Global(Layer):
    rank = 1

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.input_spec, self.data_format = InputSpec(ndim=self.rank + 2), normalize_data_format(data_format)

    def _axes(self) -> list[int]:
        """The spatial axes."""
        first = 2 if self.data_format == "channels_first" else 1
        return list(range(first, first + self.rank))

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The batch and the channels."""
        extents = TensorShape(input_shape).as_list()
        return TensorShape([extents[0], extents[1 if self.data_format == "channels_first" else -1]])

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        return {**super().get_config(), "data_format": self.data_format}


class _Average(_Global):
    def call(self, inputs: Any) -> Any:
        """The means."""
        return reduce_mean(inputs, axis=self._axes())


class _Max(_Global):
    def call(self, inputs: Any) -> Any:
        """The maxima."""
        return reduce_max(inputs, axis=self._axes())


class GlobalAveragePooling1D(_Average):
    """``tf.keras.layers.GlobalAveragePooling1D``: steps that are masked do not count."""

    def __init__(self, data_format: str | None = "channels_last", **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.supports_masking = True

    def call(self, inputs: Any, mask: Any = None) -> Any:
        """The means over the steps."""
        if mask is None:
            return reduce_mean(inputs, axis=self._axes())
        axis = self._axes()[0]
        mask = expand_dims(cast(mask, inputs.dtype), 2 if self.data_format == "channels_last" else 1)
        return reduce_sum(inputs * mask, axis=axis) / reduce_sum(mask, axis=axis)

    def compute_mask(self, inputs: Any, mask: Any = None) -> None:
        """None: there are no steps any more."""


class GlobalAveragePooling2D(_Average):
    """``tf.keras.layers.GlobalAveragePooling2D``."""

    rank = 2


class GlobalAveragePooling3D(_Average):
    """``tf.keras.layers.GlobalAveragePooling3D``."""

    rank = 3


class GlobalMaxPooling1D(_Max):
    """``tf.keras.layers.GlobalMaxPooling1D``."""

    def __init__(self, data_format: str | None = "channels_last", **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)


class GlobalMaxPooling2D(_Max):
    """``tf.keras.layers.GlobalMaxPooling2D``."""

    rank = 2


class GlobalMaxPooling3D(_Max):
    """``tf.keras.layers.GlobalMaxPooling3D``."""

    rank = 3
