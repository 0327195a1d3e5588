"""Pooling: the largest or the mean value of each window."""
from __future__ import annotations

from typing import Any

from penstock.contrib.framework.arg_scope import add_arg_scope
from penstock.contrib.layers.building import FORMATS_2D, FORMATS_3D, channels, check_format
from penstock.contrib.layers.utils import collect_named_outputs, n_positive_integers
from penstock.graph.convert import to_tensor
from penstock.graph.scopes import name_scope
from penstock.layers import scoped_layers
from penstock.ops.nn import space_to_batch_conv


def _apply_pooling(layer_class: Any, name: str, formats: tuple[str, str], inputs: Any, kernel_size: Any, stride: Any, padding: str, data_format: str,
            outputs_collections: Any, scope: str | None) -> Any:
    check_format(data_format, formats)
    with name_scope(scope, name, [inputs]) as full_scope:
        inputs = to_tensor(inputs)
        layer = layer_class(pool_size=kernel_size, strides=stride, padding=padding, data_format=channels(data_format), _scope=full_scope)
        return collect_named_outputs(outputs_collections, full_scope, layer.apply(inputs))


@add_arg_scope
def avg_pool2d(inputs: Any, kernel_size: Any, stride: Any = 2, padding: str = "VALID", data_format: str = "NHWC", outputs_collections: Any = None,
               scope: str | None = None) -> Any:
    """The means of windows of images."""
    return _apply_pooling(scoped_layers.AveragePooling2D, "AvgPool2D", FORMATS_2D, inputs, kernel_size, stride, padding, data_format,
                   outputs_collections, scope)


@add_arg_scope
def avg_pool3d(inputs: Any, kernel_size: Any, stride: Any = 2, padding: str = "VALID", data_format: str = "NDHWC",
               outputs_collections: Any = None, scope: str | None = None) -> Any:
    """The means of windows of volumes."""
    return _apply_pooling(scoped_layers.AveragePooling3D, "AvgPool3D", FORMATS_3D, inputs, kernel_size, stride, padding, data_format,
                   outputs_collections, scope)


@add_arg_scope
def max_pool2d(inputs: Any, kernel_size: Any, stride: Any = 2, padding: str = "VALID", data_format: str = "NHWC", outputs_collections: Any = None,
               scope: str | None = None) -> Any:
    """The largest values of windows of images."""
    return _apply_pooling(scoped_layers.MaxPooling2D, "MaxPool2D", FORMATS_2D, inputs, kernel_size, stride, padding, data_format,
                   outputs_collections, scope)


@add_arg_scope
def max_pool3d(inputs: Any, kernel_size: Any, stride: Any = 2, padding: str = "VALID", data_format: str = "NDHWC",
               outputs_collections: Any = None, scope: str | None = None) -> Any:
    """The largest values of windows of volumes."""
    return _apply_pooling(scoped_layers.MaxPooling3D, "MaxPool3D", FORMATS_3D, inputs, kernel_size, stride, padding, data_format,
                   outputs_collections, scope)


@add_arg_scope
def pool(inputs: Any, kernel_size: Any, pooling_type: str, padding: str = "VALID", data_format: str | None = None, dilation_rate: Any = 1,
         stride: Any = 1, outputs_collections: Any = None, scope: str | None = None) -> Any:
    """``tf.nn.pool`` over all spatial axes."""
    with name_scope(scope, f"{pooling_type.lower()}_pool", [inputs]) as full_scope:
        inputs = to_tensor(inputs)
        rank = inputs.shape.ndims
        if rank is None:
            raise ValueError("Rank of inputs must be known")
        if rank < 3:
            raise ValueError("Rank of inputs must be >= 3")
        output = space_to_batch_conv.pool(
            input=inputs, window_shape=n_positive_integers(rank - 2, kernel_size), pooling_type=pooling_type, padding=padding,
            data_format=data_format, dilation_rate=n_positive_integers(rank - 2, dilation_rate), strides=n_positive_integers(rank - 2, stride),
            name=full_scope)
        return collect_named_outputs(outputs_collections, full_scope, output)
