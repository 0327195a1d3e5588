"""Transposed convolutions over two and three spatial axes."""
from __future__ import annotations

from typing import Any

from penstock.graph.shape import TensorShape
from penstock.layers.conv import Conv, Conv2D, Conv3D
from penstock.layers.input_spec import InputSpec
from penstock.layers.options import add_weight, channel_axis, input_channels, normalize_tuple, op_format, transposed_length, windowed_shape
from penstock.ops.array.pack import stack
from penstock.ops.array.permute import transpose
from penstock.ops.array.shape_ops import shape
from penstock.ops.nn.bias import bias_add
from penstock.ops.nn.convolution import conv2d_transpose, conv3d_transpose
from penstock.ops.nn.data_formats import arrange
from penstock.ops.nn.space_to_batch_conv import atrous_conv2d_transpose


class ConvTranspose(Conv):
    """What transposed convolutions have in common: mixed into Conv2D and Conv3D. Each input element spreads its kernel over the output."""

    def _set_output_padding(self, output_padding: Any) -> None:
        self.output_padding = output_padding
        if output_padding is None:
            return
        self.output_padding = normalize_tuple(output_padding, self.rank, "output_padding")
        if any(extra >= stride for stride, extra in zip(self.strides, self.output_padding)):
            raise ValueError(f"Stride {self.strides} must be greater than output padding {self.output_padding}")

    def build(self, input_shape: Any) -> None:
        """The kernel, whose last two axes are (out, in), and the bias."""
        if TensorShape(input_shape).ndims != self.rank + 2:
            raise ValueError(f"Inputs should have rank {self.rank + 2}. Received input shape: {TensorShape(input_shape)}")
        channels = input_channels(self, input_shape)
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={channel_axis(self): channels})
        self.kernel = add_weight(self, "kernel", (*self.kernel_size, self.filters, channels))
        self._add_bias()
        self.built = True

    def call(self, inputs: Any) -> Any:
        """The transposed convolution, the bias, the activation."""
        kind = op_format(self.data_format, self.rank)
        extents = shape(inputs)
        batch, first = extents[0], 2 if self.data_format == "channels_first" else 1
        inner = [extents[axis] for axis in range(first, first + self.rank)]
        lengths = [self._length(axis, length) for axis, length in enumerate(inner)]
        outputs = self._convolve_transposed(inputs, stack(arrange(batch, lengths, self.filters, kind)), kind)
        outputs.set_shape(self.compute_output_shape(inputs.shape))
        if self.use_bias:
            outputs = bias_add(outputs, self.bias, data_format=op_format(self.data_format, 2))
        return self.activation(outputs) if self.activation is not None else outputs

    def _convolve_transposed(self, inputs: Any, output_shape: Any, kind: str) -> Any:
        raise NotImplementedError

    def _length(self, axis: int, length: Any) -> Any:
        extra = None if self.output_padding is None else self.output_padding[axis]
        return transposed_length(length, self.kernel_size[axis], self.padding, extra, self.strides[axis], self.dilation_rate[axis])

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The shape of the outputs."""
        return windowed_shape(input_shape, self.data_format, self._length, self.filters)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        return {**super().get_config(), "output_padding": self.output_padding}


class Conv2DTranspose(ConvTranspose, Conv2D):
    """``tf.keras.layers.Conv2DTranspose``."""

    def __init__(self, filters: int, kernel_size: Any, strides: Any = (1, 1), padding: Any = "valid", output_padding: Any = None,
                 data_format: str | None = None, dilation_rate: Any = (1, 1), activation: Any = None, use_bias: bool = True,
                 kernel_initializer: Any = "glorot_uniform", bias_initializer: Any = "zeros", kernel_regularizer: Any = None,
                 bias_regularizer: Any = None, activity_regularizer: Any = None, kernel_constraint: Any = None, bias_constraint: Any = None,
                 **kwargs: Any) -> None:
        Conv2D.__init__(self, filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias, kernel_initializer,
                        bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer, kernel_constraint, bias_constraint, **kwargs)
        self._set_output_padding(output_padding)

    def _convolve_transposed(self, inputs: Any, output_shape: Any, kind: str) -> Any:
        """TensorFlow's CPU has no transposed convolution with the channels first, so it moves them; its op counts are kept."""
        moved = kind == "NCHW"
        if moved:
            inputs = transpose(inputs, (0, 2, 3, 1))
            output_shape = stack([output_shape[0], output_shape[2], output_shape[3], output_shape[1]])
        else:
            _ = output_shape[0]  # TensorFlow looks whether it is known, by an op that counts for the seeds of later ones
        if all(rate == 1 for rate in self.dilation_rate):
            outputs = conv2d_transpose(inputs, self.kernel, output_shape, [1, *self.strides, 1], padding=self.padding.upper())
        else:
            if len(set(self.dilation_rate)) > 1:
                raise ValueError(f"A transposed convolution has one dilation rate for both axes, not {self.dilation_rate}.")
            outputs = atrous_conv2d_transpose(inputs, self.kernel, output_shape, self.dilation_rate[0], self.padding.upper())
        return transpose(outputs, (0, 3, 1, 2)) if moved else outputs


class Conv3DTranspose(ConvTranspose, Conv3D):
    """``tf.keras.layers.Conv3DTranspose``."""

    def __init__(self, filters: int, kernel_size: Any, strides: Any = (1, 1, 1), padding: Any = "valid", output_padding: Any = None,
                 data_format: str | None = None, activation: Any = None, use_bias: bool = True, kernel_initializer: Any = "glorot_uniform",
                 bias_initializer: Any = "zeros", kernel_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None,
                 kernel_constraint: Any = None, bias_constraint: Any = None, **kwargs: Any) -> None:
        Conv3D.__init__(self, filters, kernel_size, strides, padding, data_format, (1, 1, 1), activation, use_bias, kernel_initializer,
                        bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer, kernel_constraint, bias_constraint, **kwargs)
        self._set_output_padding(output_padding)

    def _convolve_transposed(self, inputs: Any, output_shape: Any, kind: str) -> Any:
        return conv3d_transpose(inputs, self.kernel, output_shape, arrange(1, self.strides, 1, kind), data_format=kind, padding=self.padding.upper())

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        config = super().get_config()
        del config["dilation_rate"]
        return config
