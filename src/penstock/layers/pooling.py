"""Pooling over one, two and three spatial axes."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.graph.shape import TensorShape
from penstock.layers.base import Layer
from penstock.layers.input_spec import InputSpec
from penstock.layers.options import normalize_data_format, normalize_padding, normalize_tuple, op_format, output_length, windowed_shape
from penstock.layers.signatures import derived_init
from penstock.ops.array.permute import transpose
from penstock.ops.array.shape_ops import expand_dims, squeeze
from penstock.ops.nn.data_formats import arrange
from penstock.ops.nn.pooling_functions import avg_pool, avg_pool3d, max_pool, max_pool3d


class Pooling(Layer):
    """What poolings have in common: one number for each place of a window."""

    def __init__(self, rank: int, pool_function: Callable[..., Any], pool_size: Any, strides: Any = None, padding: str = "valid",
                 data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rank, self.pool_function = rank, pool_function
        self.pool_size = normalize_tuple(pool_size, rank, "pool_size")
        self.strides = normalize_tuple(pool_size if strides is None else strides, rank, "strides")
        self.padding, self.data_format = normalize_padding(padding), normalize_data_format(data_format)
        self.input_spec = InputSpec(ndim=rank + 2)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The shape of the outputs."""
        return windowed_shape(input_shape, self.data_format, lambda axis, length: output_length(length, self.pool_size[axis], self.padding,
                                                                                                self.strides[axis]))

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        return {**super().get_config(), "pool_size": self.pool_size, "padding": self.padding, "strides": self.strides,
                "data_format": self.data_format}


class Pooling1D(Pooling):
    """Over sequences, as images one pixel wide. TensorFlow's CPU wants the channels last, so it moves them; its op counts are kept."""

    def call(self, inputs: Any) -> Any:
        """The numbers of all windows."""
        last = self.data_format == "channels_last"
        axis = 2 if last else 3
        inputs = expand_dims(inputs, axis)
        outputs = self.pool_function(inputs if last else transpose(inputs, (0, 2, 3, 1)), (1, *self.pool_size, 1, 1), (1, *self.strides, 1, 1),
                                     padding=self.padding.upper())
        return squeeze(outputs if last else transpose(outputs, (0, 3, 1, 2)), axis)


class Pooling2D(Pooling):
    """Over images."""

    def call(self, inputs: Any) -> Any:
        """The numbers of all windows."""
        kind = op_format(self.data_format, 2)
        return self.pool_function(inputs, ksize=arrange(1, self.pool_size, 1, kind), strides=arrange(1, self.strides, 1, kind),
                                  padding=self.padding.upper(), data_format=kind)


class Pooling3D(Pooling):
    """Over volumes."""

    def call(self, inputs: Any) -> Any:
        """The numbers of all windows."""
        first = self.data_format == "channels_first"
        outputs = self.pool_function(transpose(inputs, (0, 2, 3, 4, 1)) if first else inputs, ksize=(1, *self.pool_size, 1),
                                     strides=(1, *self.strides, 1), padding=self.padding.upper())
        return transpose(outputs, (0, 4, 1, 2, 3)) if first else outputs


class MaxPooling1D(Pooling1D):
    """``tf.keras.layers.MaxPooling1D``."""

    __init__ = derived_init(Pooling, {"rank": 1, "pool_function": max_pool}, pool_size=2, data_format="channels_last")


class AveragePooling1D(Pooling1D):
    """``tf.keras.layers.AveragePooling1D``."""

    __init__ = derived_init(Pooling, {"rank": 1, "pool_function": avg_pool}, pool_size=2, data_format="channels_last")


class MaxPooling2D(Pooling2D):
    """``tf.keras.layers.MaxPooling2D``."""

    __init__ = derived_init(Pooling, {"rank": 2, "pool_function": max_pool}, pool_size=(2, 2))


class AveragePooling2D(Pooling2D):
    """``tf.keras.layers.AveragePooling2D``."""

    __init__ = derived_init(Pooling, {"rank": 2, "pool_function": avg_pool}, pool_size=(2, 2))


class MaxPooling3D(Pooling3D):
    """``tf.keras.layers.MaxPooling3D``."""

    __init__ = derived_init(Pooling, {"rank": 3, "pool_function": max_pool3d}, pool_size=(2, 2, 2))


class AveragePooling3D(Pooling3D):
    """``tf.keras.layers.AveragePooling3D``."""

    __init__ = derived_init(Pooling, {"rank": 3, "pool_function": avg_pool3d}, pool_size=(2, 2, 2))
