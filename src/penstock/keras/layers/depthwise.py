"""DepthwiseConv2D: a convolution of each channel by itself."""
from __future__ import annotations

from typing import Any

from penstock.graph.shape import TensorShape
from penstock.layers import activations, regularizers
from penstock.layers.conv import Conv2D
from penstock.layers.input_spec import InputSpec
from penstock.layers.options import (
    add_weight,
    channel_axis,
    input_channels,
    normalize_data_format,
    op_format,
    ordered_config,
    output_length,
    set_weight_options,
    weight_config,
    windowed_shape,
)
from penstock.ops.nn.bias import bias_add
from penstock.ops.nn.data_formats import arrange
from penstock.ops.nn.space_to_batch_conv import depthwise_conv2d


class DepthwiseConv2D(Conv2D):
    """``tf.keras.layers.DepthwiseConv2D``."""

    def __init__(self, kernel_size: Any, strides: Any = (1, 1), padding: str = "valid", depth_multiplier: int = 1, data_format: str | None = None,
                 activation: Any = None, use_bias: bool = True, depthwise_initializer: Any = "glorot_uniform", bias_initializer: Any = "zeros",
                 depthwise_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None, depthwise_constraint: Any = None,
                 bias_constraint: Any = None, **kwargs: Any) -> None:
        super().__init__(None, kernel_size,  # type: ignore[operator]
                         strides=strides, padding=padding, data_format=normalize_data_format(data_format), activation=activation,
                         use_bias=use_bias, bias_initializer=bias_initializer, bias_regularizer=bias_regularizer,
                         activity_regularizer=activity_regularizer, bias_constraint=bias_constraint, **kwargs)
        self.depth_multiplier = depth_multiplier
        set_weight_options(self, "depthwise", depthwise_initializer, depthwise_regularizer, depthwise_constraint)

    def build(self, input_shape: Any) -> None:
        """The kernel and the bias."""
        if (TensorShape(input_shape).ndims or 0) < 4:
            raise ValueError("Inputs to `DepthwiseConv2D` should have rank 4. Received input shape:", str(input_shape))
        channels = input_channels(self, input_shape)
        self.depthwise_kernel = add_weight(self, "depthwise_kernel", (*self.kernel_size, channels, self.depth_multiplier), "depthwise")
        self.bias = add_weight(self, "bias", (channels * self.depth_multiplier,)) if self.use_bias else None
        self.input_spec = InputSpec(ndim=4, axes={channel_axis(self): channels})
        self.built = True

    def call(self, inputs: Any) -> Any:
        """The convolution, the bias, the activation."""
        kind = op_format(self.data_format, 2)
        outputs = depthwise_conv2d(inputs, self.depthwise_kernel, strides=arrange(1, self.strides, 1, kind), padding=self.padding.upper(),
                                   rate=self.dilation_rate, data_format=kind)
        if self.use_bias:
            outputs = bias_add(outputs, self.bias, data_format=kind)
        return self.activation(outputs) if self.activation is not None else outputs

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The shape of the outputs."""
        def length(axis: int, before: int | None) -> int | None:
            return output_length(before, self.kernel_size[axis], self.padding, self.strides[axis], self.dilation_rate[axis])

        return windowed_shape(input_shape, self.data_format, length, input_channels(self, input_shape) * self.depth_multiplier)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        config = super().get_config()
        for name in ("filters", "kernel_initializer", "kernel_regularizer", "kernel_constraint"):
            del config[name]
        return ordered_config({**config, "depth_multiplier": self.depth_multiplier, **weight_config(self, "depthwise"),
                "activation": activations.serialize(self.activation),
                "activity_regularizer": regularizers.serialize(self.activity_regularizer)})
