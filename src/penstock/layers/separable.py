"""Separable convolutions: one kernel per channel, then a convolution of size 1 that mixes the channels."""
from __future__ import annotations

from typing import Any

from penstock.layers.conv import Conv
from penstock.layers.input_spec import InputSpec
from penstock.layers.options import add_weight, channel_axis, input_channels, op_format, ordered_config, set_weight_options
from penstock.layers.signatures import derived_init
from penstock.ops.array.shape_ops import expand_dims, squeeze
from penstock.ops.nn.bias import bias_add
from penstock.ops.nn.data_formats import arrange
from penstock.ops.nn.space_to_batch_conv import separable_conv2d


class SeparableConv(Conv):
    """What separable convolutions have in common."""

    weight_names = ("kernel", "depthwise", "pointwise", "bias")  # those of the unused kernel are in TensorFlow's configurations, too

    def __init__(self, rank: int, filters: int, kernel_size: Any, strides: Any = 1, padding: Any = "valid", data_format: str | None = None,
                 dilation_rate: Any = 1, depth_multiplier: int = 1, activation: Any = None, use_bias: bool = True,
                 depthwise_initializer: Any = "glorot_uniform", pointwise_initializer: Any = "glorot_uniform", bias_initializer: Any = "zeros",
                 depthwise_regularizer: Any = None, pointwise_regularizer: Any = None, bias_regularizer: Any = None,
                 activity_regularizer: Any = None, depthwise_constraint: Any = None, pointwise_constraint: Any = None, bias_constraint: Any = None,
                 **kwargs: Any) -> None:
        for name in ("kernel_initializer", "kernel_regularizer", "kernel_constraint"):  # configurations have them
            kwargs.pop(name, None)
        super().__init__(rank, filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias,
                         bias_initializer=bias_initializer, bias_regularizer=bias_regularizer, activity_regularizer=activity_regularizer,
                         bias_constraint=bias_constraint, **kwargs)
        self.depth_multiplier = depth_multiplier
        set_weight_options(self, "depthwise", depthwise_initializer, depthwise_regularizer, depthwise_constraint)
        set_weight_options(self, "pointwise", pointwise_initializer, pointwise_regularizer, pointwise_constraint)

    def build(self, input_shape: Any) -> None:
        """The two kernels and the bias."""
        channels = input_channels(self, input_shape)
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={channel_axis(self): channels})
        self.depthwise_kernel = add_weight(self, "depthwise_kernel", (*self.kernel_size, channels, self.depth_multiplier), "depthwise")
        inner = (1,) * self.rank
        self.pointwise_kernel = add_weight(self, "pointwise_kernel", (*inner, self.depth_multiplier * channels, self.filters), "pointwise")
        self._add_bias()
        self.built = True

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        return ordered_config({**super().get_config(), "depth_multiplier": self.depth_multiplier})


class SeparableConv1D(SeparableConv):
    """``tf.keras.layers.SeparableConv1D``: computed as images one pixel high."""

    __init__ = derived_init(SeparableConv, fixed={"rank": 1})

    def call(self, inputs: Any) -> Any:
        """The convolutions, the bias, the activation."""
        if self.padding == "causal":
            inputs = self._pad_causally(inputs)
        kind, padding = op_format(self.data_format, 2), "VALID" if self.padding == "causal" else self.padding.upper()
        axis = 1 if self.data_format == "channels_last" else 2
        inputs = expand_dims(inputs, axis)
        outputs = separable_conv2d(inputs, expand_dims(self.depthwise_kernel, 0), expand_dims(self.pointwise_kernel, 0),
                                   strides=arrange(1, self.strides * 2, 1, kind), padding=padding,
                                   rate=(1, *self.dilation_rate), data_format=kind)
        if self.use_bias:
            outputs = bias_add(outputs, self.bias, data_format=kind)
        outputs = squeeze(outputs, [axis])
        return self.activation(outputs) if self.activation is not None else outputs


class SeparableConv2D(SeparableConv):
    """``tf.keras.layers.SeparableConv2D``."""

    __init__ = derived_init(SeparableConv, fixed={"rank": 2}, strides=(1, 1), dilation_rate=(1, 1))

    def call(self, inputs: Any) -> Any:
        """The convolutions, the bias, the activation."""
        kind = op_format(self.data_format, 2)
        return self._finish(separable_conv2d(inputs, self.depthwise_kernel, self.pointwise_kernel, strides=arrange(1, self.strides, 1, kind),
                                             padding=self.padding.upper(), rate=self.dilation_rate, data_format=kind))
