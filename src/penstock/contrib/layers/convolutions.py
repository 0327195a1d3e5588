"""Convolutions over one to three spatial axes, their transposes, and those that treat channels apart."""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from penstock.contrib.framework.arg_scope import add_arg_scope
from penstock.contrib.framework.variables import model_variable
from penstock.contrib.layers.building import (
    FORMATS_2D,
    FORMATS_3D,
    KERNEL_AND_BIAS,
    channels,
    check_format,
    collect_variable,
    finish,
    layer_scope,
    with_biases,
)
from penstock.contrib.layers.initializers import xavier_initializer
from penstock.contrib.layers.utils import channel_dimension, get_variable_collections, last_dimension, two_element_tuple
from penstock.graph.convert import to_tensor
from penstock.layers import scoped_layers
from penstock.ops.array.permute import tile
from penstock.ops.nn.activations import relu
from penstock.ops.nn.space_to_batch_conv import depthwise_conv2d
from penstock.variables.initializers import Zeros
from penstock.variables.scope import variable_scope

_FORMATS = (None, "NWC", "NCW", "NHWC", "NCHW", "NDHWC", "NCDHW")


@add_arg_scope
def convolution(inputs: Any, num_outputs: int, kernel_size: Any, stride: Any = 1, padding: str = "SAME", data_format: str | None = None,
                rate: Any = 1, activation_fn: Any = relu, normalizer_fn: Any = None, normalizer_params: Any = None,
                weights_initializer: Any = xavier_initializer(), weights_regularizer: Any = None, biases_initializer: Any = Zeros(),
                biases_regularizer: Any = None, reuse: Any = None, variables_collections: Any = None, outputs_collections: Any = None,
                trainable: bool = True, scope: Any = None, conv_dims: int | None = None) -> Any:
    """A convolution over all spatial axes, with biases or a normalisation, then an activation."""
    if data_format not in _FORMATS:
        raise ValueError(f"Invalid data_format: {data_format!r}")
    with layer_scope(scope, "Conv", inputs, reuse, KERNEL_AND_BIAS) as opened:
        inputs = to_tensor(inputs)
        rank = inputs.shape.ndims
        if conv_dims is not None and conv_dims + 2 != rank:
            raise ValueError(f"Convolution expects input with rank {conv_dims + 2}, got {rank}")
        if rank not in (3, 4, 5):
            raise ValueError("Convolution not supported for input with rank", rank)
        layer_class = (scoped_layers.Conv1D, scoped_layers.Conv2D, scoped_layers.Conv3D)[rank - 3]
        layer = layer_class(
            filters=num_outputs, kernel_size=kernel_size, strides=stride, padding=padding, data_format=channels(data_format), dilation_rate=rate,
            use_bias=bool(not normalizer_fn and biases_initializer), kernel_initializer=weights_initializer, bias_initializer=biases_initializer,
            kernel_regularizer=weights_regularizer, bias_regularizer=biases_regularizer, trainable=trainable, name=opened.name,
            dtype=inputs.dtype.base_dtype, _scope=opened, _reuse=reuse)
        outputs = layer.apply(inputs)
        collect_variable(layer.kernel, variables_collections, "weights")
        collect_variable(layer.bias, variables_collections, "biases")
        return finish(outputs, opened.name, outputs_collections, activation_fn, normalizer_fn, normalizer_params)


def _over_axes(number: int) -> Callable[..., Any]:
    """``convolution`` over so many axes."""
    inner = inspect.unwrap(convolution)
    signature = inspect.signature(inner)
    signature = signature.replace(parameters=[each for each in signature.parameters.values() if each.name != "conv_dims"])

    def function(*args: Any, **kwargs: Any) -> Any:
        return inner(*signature.bind(*args, **kwargs).args, **signature.bind(*args, **kwargs).kwargs, conv_dims=number)

    function.__name__ = function.__qualname__ = f"convolution{number}d"
    function.__doc__ = f"A convolution over {number} {'axis' if number == 1 else 'axes'}: see ``convolution``."
    function.__signature__ = signature  # type: ignore[attr-defined]
    return add_arg_scope(function)


convolution1d, convolution2d, convolution3d = _over_axes(1), _over_axes(2), _over_axes(3)


def _transpose_convolution(layer_class: Any, name: str, formats: tuple[str, str], arguments: dict[str, Any]) -> Any:
    """A transposed convolution; ``arguments`` are those of the public functions."""
    inputs, data_format, reuse, scope = (arguments[key] for key in ("inputs", "data_format", "reuse", "scope"))
    with layer_scope(scope, name, inputs, reuse, KERNEL_AND_BIAS) as opened:
        check_format(data_format, formats)
        inputs = to_tensor(inputs)
        layer = layer_class(
            filters=arguments["num_outputs"], kernel_size=arguments["kernel_size"], strides=arguments["stride"], padding=arguments["padding"],
            data_format=channels(data_format), use_bias=bool(not arguments["normalizer_fn"] and arguments["biases_initializer"]),
            kernel_initializer=arguments["weights_initializer"], bias_initializer=arguments["biases_initializer"],
            kernel_regularizer=arguments["weights_regularizer"], bias_regularizer=arguments["biases_regularizer"],
            trainable=arguments["trainable"], name=opened.name, dtype=inputs.dtype.base_dtype, _scope=opened, _reuse=reuse)
        outputs = layer.apply(inputs)
        collect_variable(layer.kernel, arguments["variables_collections"], "weights")
        collect_variable(layer.bias, arguments["variables_collections"], "biases")
        return finish(outputs, opened.name, *(arguments[key] for key in ("outputs_collections", "activation_fn", "normalizer_fn",
                                                                          "normalizer_params")))


@add_arg_scope
def convolution2d_transpose(inputs: Any, num_outputs: int, kernel_size: Any, stride: Any = 1, padding: str = "SAME", data_format: str = "NHWC",
                            activation_fn: Any = relu, normalizer_fn: Any = None, normalizer_params: Any = None,
                            weights_initializer: Any = xavier_initializer(), weights_regularizer: Any = None, biases_initializer: Any = Zeros(),
                            biases_regularizer: Any = None, reuse: Any = None, variables_collections: Any = None,
                            outputs_collections: Any = None, trainable: bool = True, scope: Any = None) -> Any:
    """The transpose of a convolution of images, with biases or a normalisation, then an activation."""
    return _transpose_convolution(scoped_layers.Conv2DTranspose, "Conv2d_transpose", FORMATS_2D, locals())


@add_arg_scope
def convolution3d_transpose(inputs: Any, num_outputs: int, kernel_size: Any, stride: Any = 1, padding: str = "SAME", data_format: str = "NDHWC",
                            activation_fn: Any = relu, normalizer_fn: Any = None, normalizer_params: Any = None,
                            weights_initializer: Any = xavier_initializer(), weights_regularizer: Any = None, biases_initializer: Any = Zeros(),
                            biases_regularizer: Any = None, reuse: Any = None, variables_collections: Any = None,
                            outputs_collections: Any = None, trainable: bool = True, scope: Any = None) -> Any:
    """The transpose of a convolution of volumes, with biases or a normalisation, then an activation."""
    return _transpose_convolution(scoped_layers.Conv3DTranspose, "Conv3d_transpose", FORMATS_3D, locals())


@add_arg_scope
def convolution2d_in_plane(inputs: Any, kernel_size: Any, stride: Any = 1, padding: str = "SAME", activation_fn: Any = relu,
                           normalizer_fn: Any = None, normalizer_params: Any = None, weights_initializer: Any = xavier_initializer(),
                           weights_regularizer: Any = None, biases_initializer: Any = Zeros(), biases_regularizer: Any = None, reuse: Any = None,
                           variables_collections: Any = None, outputs_collections: Any = None, trainable: bool = True, scope: Any = None) -> Any:
    """One kernel of one channel, which goes over each channel by itself."""
    with variable_scope(scope, "ConvInPlane", [inputs], reuse=reuse) as opened:
        height, width = two_element_tuple(stride)
        number = last_dimension(inputs.shape, min_rank=4)
        weights = model_variable("weights", shape=[*two_element_tuple(kernel_size), 1, 1], dtype=inputs.dtype.base_dtype,
                                 initializer=weights_initializer, regularizer=weights_regularizer,
                                 collections=get_variable_collections(variables_collections, "weights"), trainable=trainable)
        outputs = depthwise_conv2d(inputs, tile(weights, [1, 1, number, 1]), [1, height, width, 1], padding)
        if normalizer_fn is None and biases_initializer is not None:
            outputs = with_biases(outputs, number, biases_initializer, biases_regularizer, variables_collections, trainable)
        return finish(outputs, opened.name, outputs_collections, activation_fn, normalizer_fn, normalizer_params)


@add_arg_scope
def separable_convolution2d(inputs: Any, num_outputs: int | None, kernel_size: Any, depth_multiplier: int = 1, stride: Any = 1,
                            padding: str = "SAME", data_format: str = "NHWC", rate: Any = 1, activation_fn: Any = relu, normalizer_fn: Any = None,
                            normalizer_params: Any = None, weights_initializer: Any = xavier_initializer(), pointwise_initializer: Any = None,
                            weights_regularizer: Any = None, biases_initializer: Any = Zeros(), biases_regularizer: Any = None, reuse: Any = None,
                            variables_collections: Any = None, outputs_collections: Any = None, trainable: bool = True, scope: Any = None) -> Any:
    """Kernels for each channel by itself, then one of size 1 that mixes channels; without it if ``num_outputs`` is None."""
    check_format(data_format)
    rename = {"bias": "biases", "depthwise_kernel": "depthwise_weights", "pointwise_kernel": "pointwise_weights"}
    with layer_scope(scope, "SeparableConv2d", inputs, reuse, rename) as opened:
        inputs = to_tensor(inputs)
        if num_outputs is None:
            outputs = _convolve_depthwise(inputs, kernel_size, depth_multiplier, stride, padding, data_format, rate, weights_initializer,
                                          weights_regularizer, variables_collections, trainable)
            if normalizer_fn is None and biases_initializer is not None:
                number = depth_multiplier * channel_dimension(inputs.shape, channels(data_format), min_rank=4)
                outputs = with_biases(outputs, number, biases_initializer, biases_regularizer, variables_collections, trainable, data_format)
            return finish(outputs, opened.name, outputs_collections, activation_fn, normalizer_fn, normalizer_params)
        layer = scoped_layers.SeparableConv2D(
            filters=num_outputs, kernel_size=kernel_size, strides=stride, padding=padding, data_format=channels(data_format),
            dilation_rate=two_element_tuple(rate), depth_multiplier=depth_multiplier, use_bias=bool(not normalizer_fn and biases_initializer),
            depthwise_initializer=weights_initializer,
            pointwise_initializer=weights_initializer if pointwise_initializer is None else pointwise_initializer,
            bias_initializer=biases_initializer, depthwise_regularizer=weights_regularizer, pointwise_regularizer=weights_regularizer,
            bias_regularizer=biases_regularizer, trainable=trainable, name=opened.name, dtype=inputs.dtype.base_dtype, _scope=opened, _reuse=reuse)
        outputs = layer.apply(inputs)
        for variable, name in ((layer.depthwise_kernel, "weights"), (layer.pointwise_kernel, "weights"), (layer.bias, "biases")):
            collect_variable(variable, variables_collections, name)
        return finish(outputs, opened.name, outputs_collections, activation_fn, normalizer_fn, normalizer_params)


def _convolve_depthwise(inputs: Any, kernel_size: Any, depth_multiplier: int, stride: Any, padding: str, data_format: str, rate: Any,
                        initializer: Any, regularizer: Any, variables_collections: Any, trainable: bool) -> Any:
    (height, width), channels_in = two_element_tuple(stride), channel_dimension(inputs.shape, channels(data_format), min_rank=4)
    weights = model_variable("depthwise_weights", shape=[*two_element_tuple(kernel_size), channels_in, depth_multiplier],
                             dtype=inputs.dtype.base_dtype, initializer=initializer, regularizer=regularizer, trainable=trainable,
                             collections=get_variable_collections(variables_collections, "weights"))
    strides = [1, 1, height, width] if data_format == "NCHW" else [1, height, width, 1]
    return depthwise_conv2d(inputs, weights, strides, padding, rate=two_element_tuple(rate), data_format=data_format)


conv1d, conv2d, conv3d = convolution1d, convolution2d, convolution3d
conv2d_transpose, conv3d_transpose = convolution2d_transpose, convolution3d_transpose
conv2d_in_plane, separable_conv2d = convolution2d_in_plane, separable_convolution2d
