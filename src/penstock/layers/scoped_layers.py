"""``tf.layers``: the classes, with variable scopes, and the functions that make a layer and call it once."""
from __future__ import annotations

from typing import Any

from penstock.layers import batch_norm, conv, conv_transpose, pooling, separable
from penstock.layers import dense as dense_layers
from penstock.layers.scoped import Layer
from penstock.layers.signatures import derived_init, layer_function
from penstock.variables.initializers import Ones, Zeros

# The defaults by which the constructors of tf.layers differ from those of Keras.
_NAMED: dict[str, Any] = {"trainable": True, "name": None}
_WEIGHTS: dict[str, Any] = {"kernel_initializer": None, "bias_initializer": Zeros(), **_NAMED}
_IMAGES: dict[str, Any] = {"data_format": "channels_last", **_WEIGHTS}
_SEPARABLE: dict[str, Any] = {"depthwise_initializer": None, "pointwise_initializer": None, "bias_initializer": Zeros(),
                              "data_format": "channels_last", **_NAMED}


class Dense(dense_layers.Dense, Layer):
    """``tf.layers.Dense``."""

    __init__ = derived_init(dense_layers.Dense, **_WEIGHTS)


class Dropout(dense_layers.Dropout, Layer):
    """``tf.layers.Dropout``."""

    __init__ = derived_init(dense_layers.Dropout, rate=0.5, name=None)

    def call(self, inputs: Any, training: Any = False) -> Any:
        """The inputs, or, in training, what is left of them."""
        return super().call(inputs, training=training)


class Flatten(dense_layers.Flatten, Layer):
    """``tf.layers.Flatten``."""

    __init__ = derived_init(dense_layers.Flatten)


class BatchNormalization(batch_norm.BatchNormalization, Layer):
    """``tf.layers.BatchNormalization``."""

    __init__ = derived_init(batch_norm.BatchNormalization, beta_initializer=Zeros(), gamma_initializer=Ones(),
                            moving_mean_initializer=Zeros(), moving_variance_initializer=Ones())

    def call(self, inputs: Any, training: Any = False) -> Any:
        """The normalised inputs: by their own moments in training, else by moving averages."""
        return super().call(inputs, training=training)


class Conv1D(conv.Conv1D, Layer):
    """``tf.layers.Conv1D``."""

    __init__ = derived_init(conv.Conv1D, **_IMAGES)


class Conv2D(conv.Conv2D, Layer):
    """``tf.layers.Conv2D``."""

    __init__ = derived_init(conv.Conv2D, **_IMAGES)


class Conv3D(conv.Conv3D, Layer):
    """``tf.layers.Conv3D``."""

    __init__ = derived_init(conv.Conv3D, **_IMAGES)


class Conv2DTranspose(conv_transpose.Conv2DTranspose, Layer):
    """``tf.layers.Conv2DTranspose``."""

    __init__ = derived_init(conv_transpose.Conv2DTranspose, fixed={"output_padding": None, "dilation_rate": (1, 1)}, **_IMAGES)


class Conv3DTranspose(conv_transpose.Conv3DTranspose, Layer):
    """``tf.layers.Conv3DTranspose``."""

    __init__ = derived_init(conv_transpose.Conv3DTranspose, fixed={"output_padding": None}, **_IMAGES)


class SeparableConv1D(separable.SeparableConv1D, Layer):
    """``tf.layers.SeparableConv1D``."""

    __init__ = derived_init(separable.SeparableConv1D, **_SEPARABLE)


class SeparableConv2D(separable.SeparableConv2D, Layer):
    """``tf.layers.SeparableConv2D``."""

    __init__ = derived_init(separable.SeparableConv2D, **_SEPARABLE)


class _StridesGiven:
    """The constructor of the poolings of tf.layers: unlike Keras's, it wants strides."""

    def __init__(self, pool_size: Any, strides: Any, padding: str = "valid", data_format: str = "channels_last", name: Any = None,
                 **kwargs: Any) -> None:
        if strides is None:
            raise ValueError("Argument `strides` must not be None.")
        super().__init__(pool_size=pool_size, strides=strides, padding=padding, data_format=data_format, name=name, **kwargs)  # type: ignore[call-arg]


class AveragePooling1D(_StridesGiven, pooling.AveragePooling1D, Layer):
    """``tf.layers.AveragePooling1D``."""


class AveragePooling2D(_StridesGiven, pooling.AveragePooling2D, Layer):
    """``tf.layers.AveragePooling2D``."""


class AveragePooling3D(_StridesGiven, pooling.AveragePooling3D, Layer):
    """``tf.layers.AveragePooling3D``."""


class MaxPooling1D(_StridesGiven, pooling.MaxPooling1D, Layer):
    """``tf.layers.MaxPooling1D``."""


class MaxPooling2D(_StridesGiven, pooling.MaxPooling2D, Layer):
    """``tf.layers.MaxPooling2D``."""


class MaxPooling3D(_StridesGiven, pooling.MaxPooling3D, Layer):
    """``tf.layers.MaxPooling3D``."""


# --- functions -------------------------------------------------------------------------------------------------------

dense = layer_function(Dense, "dense")
conv1d, conv2d, conv3d = layer_function(Conv1D, "conv1d"), layer_function(Conv2D, "conv2d"), layer_function(Conv3D, "conv3d")
conv2d_transpose = layer_function(Conv2DTranspose, "conv2d_transpose")
conv3d_transpose = layer_function(Conv3DTranspose, "conv3d_transpose")
separable_conv1d = layer_function(SeparableConv1D, "separable_conv1d")
separable_conv2d = layer_function(SeparableConv2D, "separable_conv2d")
average_pooling1d = layer_function(AveragePooling1D, "average_pooling1d", shared=False)
average_pooling2d = layer_function(AveragePooling2D, "average_pooling2d", shared=False)
average_pooling3d = layer_function(AveragePooling3D, "average_pooling3d", shared=False)
max_pooling1d = layer_function(MaxPooling1D, "max_pooling1d", shared=False)
max_pooling2d = layer_function(MaxPooling2D, "max_pooling2d", shared=False)
max_pooling3d = layer_function(MaxPooling3D, "max_pooling3d", shared=False)


def dropout(inputs: Any, rate: Any = 0.5, noise_shape: Any = None, seed: int | None = None, training: Any = False, name: Any = None) -> Any:
    """``tf.layers.dropout``: a new layer Dropout, called on ``inputs``."""
    return Dropout(rate, noise_shape=noise_shape, seed=seed, name=name).apply(inputs, training=training)


def flatten(inputs: Any, name: Any = None, data_format: str = "channels_last") -> Any:
    """``tf.layers.flatten``: a new layer Flatten, called on ``inputs``."""
    return Flatten(name=name, data_format=data_format).apply(inputs)


def batch_normalization(inputs: Any, axis: Any = -1, momentum: float = 0.99, epsilon: float = 1e-3, center: bool = True, scale: bool = True,
                        beta_initializer: Any = Zeros(), gamma_initializer: Any = Ones(), moving_mean_initializer: Any = Zeros(),
                        moving_variance_initializer: Any = Ones(), beta_regularizer: Any = None, gamma_regularizer: Any = None,
                        beta_constraint: Any = None, gamma_constraint: Any = None, training: Any = False, trainable: bool = True, name: Any = None,
                        reuse: Any = None, renorm: bool = False, renorm_clipping: Any = None, renorm_momentum: float = 0.99,
                        fused: bool | None = None, virtual_batch_size: int | None = None, adjustment: Any = None) -> Any:
    """``tf.layers.batch_normalization``: a new layer BatchNormalization, called on ``inputs``."""
    layer = BatchNormalization(
        axis, momentum, epsilon, center, scale, beta_initializer, gamma_initializer, moving_mean_initializer, moving_variance_initializer,
        beta_regularizer, gamma_regularizer, beta_constraint, gamma_constraint, renorm, renorm_clipping, renorm_momentum, fused, trainable,
        virtual_batch_size, adjustment, name, _reuse=reuse, _scope=name)
    return layer.apply(inputs, training=training)
