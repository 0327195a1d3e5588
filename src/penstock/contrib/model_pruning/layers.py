"""Layers whose kernels have masks: ``masked_convolution`` and ``masked_fully_connected``."""
from __future__ import annotations

from typing import Any

from penstock.contrib.framework.arg_scope import add_arg_scope
from penstock.contrib.layers.building import KERNEL_AND_BIAS, channels, collect_variable, finish, layer_scope
from penstock.contrib.layers.initializers import xavier_initializer
from penstock.contrib.model_pruning import masks
from penstock.graph.convert import to_tensor
from penstock.layers import scoped_layers
from penstock.layers.input_spec import InputSpec
from penstock.layers.options import add_weight, channel_axis, input_channels, op_format
from penstock.ops.math.elementwise import multiply
from penstock.ops.nn.activations import relu
from penstock.ops.nn.space_to_batch_conv import convolution
from penstock.variables.initializers import Ones, Zeros


class _Masked:
    """A layer with a kernel, to which a mask and a threshold are added."""

    kernel: Any

    def _add_mask(self, shape: Any) -> None:
        self.mask = self.add_variable("mask", shape, initializer=Ones(), trainable=False)  # type: ignore[attr-defined]

    def _apply_mask(self) -> None:
        """Makes the threshold. From now on the layer computes with the masked kernel."""
        self.threshold = self.add_variable("threshold", [], initializer=Zeros(), trainable=False)  # type: ignore[attr-defined]
        self.weight = self.kernel
        self.kernel = multiply(self.mask, self.weight, masks.MASKED_WEIGHT_NAME)
        masks.collect(self.mask, self.threshold, self.kernel, self.weight)


class MaskedFullyConnected(_Masked, scoped_layers.Dense):
    """``tf.layers.Dense`` with a mask."""

    def _add_bias(self) -> None:
        """The mask and the threshold come between the kernel and the bias."""
        self._add_mask(self.kernel.shape)
        self._apply_mask()
        super()._add_bias()


class MaskedConv2D(_Masked, scoped_layers.Conv2D):
    """``tf.layers.Conv2D`` with a mask, which is made before the kernel."""

    def build(self, input_shape: Any) -> None:
        """Mask, kernel, threshold and bias."""
        channel_count = input_channels(self, input_shape)
        shape = (*self.kernel_size, channel_count, self.filters)
        self._add_mask(shape)
        self.kernel = add_weight(self, "kernel", shape)
        self._apply_mask()
        self._add_bias()
        self.input_spec = InputSpec(ndim=4, axes={channel_axis(self): channel_count})
        self.built = True

    def _convolve(self, inputs: Any) -> Any:
        return convolution(inputs, self.kernel, self.padding.upper(), self.strides, self.dilation_rate, data_format=op_format(self.data_format, 2))


@add_arg_scope
def masked_convolution(inputs: Any, num_outputs: int, kernel_size: Any, stride: Any = 1, padding: str = "SAME", data_format: str | None = None,
                       rate: Any = 1, activation_fn: Any = relu, normalizer_fn: Any = None, normalizer_params: Any = None,
                       weights_initializer: Any = xavier_initializer(), weights_regularizer: Any = None, biases_initializer: Any = Zeros(),
                       biases_regularizer: Any = None, reuse: Any = None, variables_collections: Any = None, outputs_collections: Any = None,
                       trainable: bool = True, scope: Any = None) -> Any:
    """``tf.contrib.layers.conv2d`` with a mask of its weights."""
    if data_format not in (None, "NHWC", "NCHW"):
        raise ValueError(f"Invalid data_format: {data_format!r}")
    with layer_scope(scope, "Conv", inputs, reuse, KERNEL_AND_BIAS) as opened:
        inputs = to_tensor(inputs)
        if inputs.shape.ndims != 4:
            raise ValueError("Convolution not supported for input with rank", inputs.shape.ndims)
        layer = MaskedConv2D(
            filters=num_outputs, kernel_size=kernel_size, strides=stride, padding=padding, data_format=channels(data_format), dilation_rate=rate,
            use_bias=bool(not normalizer_fn and biases_initializer), kernel_initializer=weights_initializer, bias_initializer=biases_initializer,
            kernel_regularizer=weights_regularizer, bias_regularizer=biases_regularizer, trainable=trainable, name=opened.name,
            dtype=inputs.dtype.base_dtype, _scope=opened, _reuse=reuse)
        return _applied(layer, inputs, opened, variables_collections, outputs_collections, activation_fn, normalizer_fn, normalizer_params)


@add_arg_scope
def masked_fully_connected(inputs: Any, num_outputs: int, activation_fn: Any = relu, normalizer_fn: Any = None, normalizer_params: Any = None,
                           weights_initializer: Any = xavier_initializer(), weights_regularizer: Any = None, biases_initializer: Any = Zeros(),
                           biases_regularizer: Any = None, reuse: Any = None, variables_collections: Any = None, outputs_collections: Any = None,
                           trainable: bool = True, scope: Any = None) -> Any:
    """``tf.contrib.layers.fully_connected`` with a mask of its weights."""
    if not isinstance(num_outputs, int):
        raise ValueError("num_outputs should be integer, got %s." % num_outputs)
    with layer_scope(scope, "fully_connected", inputs, reuse, KERNEL_AND_BIAS) as opened:
        inputs = to_tensor(inputs)
        layer = MaskedFullyConnected(
            units=num_outputs, use_bias=bool(not normalizer_fn and biases_initializer), kernel_initializer=weights_initializer,
            bias_initializer=biases_initializer, kernel_regularizer=weights_regularizer, bias_regularizer=biases_regularizer,
            trainable=trainable, name=opened.name, dtype=inputs.dtype.base_dtype, _scope=opened, _reuse=reuse)
        return _applied(layer, inputs, opened, variables_collections, outputs_collections, activation_fn, normalizer_fn, normalizer_params)


def _applied(layer: Any, inputs: Any, opened: Any, variables_collections: Any, outputs_collections: Any, activation_fn: Any, normalizer_fn: Any,
             normalizer_params: Any) -> Any:
    outputs = layer.apply(inputs)
    collect_variable(layer.weight, variables_collections, "weights")
    collect_variable(layer.bias, variables_collections, "biases")
    return finish(outputs, opened.name, outputs_collections, activation_fn, normalizer_fn, normalizer_params)


masked_conv2d = masked_convolution
