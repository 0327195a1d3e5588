"""Convolutions over one, two and three spatial axes."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes
from penstock.graph.convert import to_tensor
from penstock.graph.shape import TensorShape
from penstock.layers import activations, regularizers
from penstock.layers.base import Layer
from penstock.layers.input_spec import InputSpec
from penstock.layers.options import (
    add_weight,
    channel_axis,
    input_channels,
    normalize_data_format,
    normalize_padding,
    normalize_tuple,
    op_format,
    ordered_config,
    output_length,
    set_weight_options,
    weight_config,
    windowed_shape,
)
from penstock.layers.signatures import derived_init
from penstock.ops.array.pad import pad
from penstock.ops.array.shape_ops import reshape
from penstock.ops.nn.bias import bias_add
from penstock.ops.nn.convolution import conv1d, conv2d, conv3d
from penstock.ops.nn.data_formats import arrange
from penstock.ops.nn.space_to_batch_conv import with_space_to_batch


class Conv(Layer):
    """What convolutions of all ranks have in common."""

    weight_names: tuple[str, ...] = ("kernel", "bias")

    def __init__(self, rank: int, filters: Any, kernel_size: Any, strides: Any = 1, padding: Any = "valid", data_format: str | None = None,
                 dilation_rate: Any = 1, activation: Any = None, use_bias: bool = True, kernel_initializer: Any = "glorot_uniform",
                 bias_initializer: Any = "zeros", kernel_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None,
                 kernel_constraint: Any = None, bias_constraint: Any = None, **kwargs: Any) -> None:
        super().__init__(activity_regularizer=regularizers.get(activity_regularizer), **kwargs)
        self.rank, self.filters, self.use_bias, self.activation = rank, filters, use_bias, activations.get(activation)
        self.kernel_size = normalize_tuple(kernel_size, rank, "kernel_size")
        self.strides = normalize_tuple(strides, rank, "strides")
        self.padding = normalize_padding(padding)
        if self.padding == "causal" and rank != 1:
            raise ValueError("Causal padding is only supported for `Conv1D`and ``SeparableConv1D`.")
        self.data_format = normalize_data_format(data_format)
        self.dilation_rate = normalize_tuple(dilation_rate, rank, "dilation_rate")
        set_weight_options(self, "kernel", kernel_initializer, kernel_regularizer, kernel_constraint)
        set_weight_options(self, "bias", bias_initializer, bias_regularizer, bias_constraint)
        self.input_spec = InputSpec(ndim=rank + 2)

    def build(self, input_shape: Any) -> None:
        """The kernel, the bias, and the convolution of the kernel."""
        channels = input_channels(self, input_shape)
        self.kernel = add_weight(self, "kernel", (*self.kernel_size, channels, self.filters))
        self._add_bias()
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={channel_axis(self): channels})
        self._rate_tensor = to_tensor(self.dilation_rate, dtype=dtypes.int32, name="dilation_rate")
        self.built = True

    def _add_bias(self) -> None:
        self.bias = add_weight(self, "bias", (self.filters,)) if self.use_bias else None

    def call(self, inputs: Any) -> Any:
        """The convolution, the bias, the activation."""
        return self._finish(self._convolve(inputs))

    def _convolve(self, inputs: Any) -> Any:
        kind = op_format(self.data_format, self.rank)
        padding = self.padding if isinstance(self.padding, (list, tuple)) else "VALID" if self.padding == "causal" else self.padding.upper()

        def plain(images: Any, _: Any, padding: Any) -> Any:
            if self.rank == 1:
                return conv1d(images, self.kernel, self.strides, padding, data_format=kind)
            return (conv2d if self.rank == 2 else conv3d)(images, self.kernel, arrange(1, self.strides, 1, kind), padding, data_format=kind)

        if all(rate == 1 for rate in self.dilation_rate):
            return plain(inputs, None, padding)
        if any(stride > 1 for stride in self.strides):
            raise ValueError("strides > 1 not supported in conjunction with dilation_rate > 1")
        return with_space_to_batch(inputs, self._rate_tensor, padding, plain, filter_shape=self.kernel.shape.as_list(), data_format=kind)

    def _finish(self, outputs: Any) -> Any:
        """Adds the bias and applies the activation."""
        if self.use_bias and self.data_format == "channels_first" and self.rank == 1:
            outputs += reshape(self.bias, (1, self.filters, 1))
        elif self.use_bias:
            outputs = bias_add(outputs, self.bias, data_format="NCHW" if self.data_format == "channels_first" else "NHWC")
        return self.activation(outputs) if self.activation is not None else outputs

    def _pad_causally(self, inputs: Any) -> Any:
        """The inputs with as many zeros before the first step as the window reaches back."""
        steps = [self.dilation_rate[0] * (self.kernel_size[0] - 1), 0]
        return pad(inputs, [[0, 0], steps, [0, 0]] if self.data_format == "channels_last" else [[0, 0], [0, 0], steps])

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The shape of the outputs."""
        def length(axis: int, before: int | None) -> int | None:
            return output_length(before, self.kernel_size[axis], self.padding, self.strides[axis], self.dilation_rate[axis])

        return windowed_shape(input_shape, self.data_format, length, self.filters)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        names = ("filters", "kernel_size", "strides", "padding", "data_format", "dilation_rate", "use_bias")
        return ordered_config({
            **super().get_config(), **{name: getattr(self, name) for name in names}, "activation": activations.serialize(self.activation),
            "activity_regularizer": regularizers.serialize(self.activity_regularizer), **weight_config(self, *self.weight_names)})


class Conv1D(Conv):
    """``tf.keras.layers.Conv1D``: over sequences; padding "causal" lets a step see earlier ones only."""

    __init__ = derived_init(Conv, fixed={"rank": 1}, data_format="channels_last")

    def call(self, inputs: Any) -> Any:
        """The convolution, the bias, the activation."""
        return super().call(self._pad_causally(inputs) if self.padding == "causal" else inputs)


class Conv2D(Conv):
    """``tf.keras.layers.Conv2D``: over images."""

    __init__ = derived_init(Conv, fixed={"rank": 2}, strides=(1, 1), dilation_rate=(1, 1))


class Conv3D(Conv):
    """``tf.keras.layers.Conv3D``: over volumes."""

    __init__ = derived_init(Conv, fixed={"rank": 3}, strides=(1, 1, 1), dilation_rate=(1, 1, 1))
