"""Fully connected layers, under several names, and biases alone."""
from __future__ import annotations

import functools
from typing import Any

from penstock.contrib.framework.arg_scope import add_arg_scope
from penstock.contrib.layers.building import KERNEL_AND_BIAS, check_format, collect_variable, finish, layer_scope, with_biases
from penstock.contrib.layers.initializers import xavier_initializer
from penstock.graph.convert import to_tensor
from penstock.graph.keys import GraphKeys
from penstock.graph.scopes import add_to_collections
from penstock.layers import scoped_layers
from penstock.ops.array.pack import stack, unstack
from penstock.ops.array.shape_ops import reshape, shape
from penstock.ops.linalg.matmul import matmul
from penstock.ops.nn import activations
from penstock.ops.nn.bias import bias_add as add_bias
from penstock.platform.deprecation import renamed_args
from penstock.variables.initializers import Zeros
from penstock.variables.scope import get_variable, variable_scope


@add_arg_scope
@renamed_args(num_output_units="num_outputs")
def fully_connected(inputs: Any, num_outputs: int, activation_fn: Any = activations.relu, normalizer_fn: Any = None, normalizer_params: Any = None,
                    weights_initializer: Any = xavier_initializer(), weights_regularizer: Any = None, biases_initializer: Any = Zeros(),
                    biases_regularizer: Any = None, reuse: Any = None, variables_collections: Any = None, outputs_collections: Any = None,
                    trainable: bool = True, scope: Any = None) -> Any:
    """A product with weights, with biases or a normalisation, then an activation."""
    if not isinstance(num_outputs, int):
        raise ValueError(f"num_outputs type should be one of {[int]}, got {type(num_outputs)}.")
    with layer_scope(scope, "fully_connected", inputs, reuse, KERNEL_AND_BIAS) as opened:
        inputs = to_tensor(inputs)
        layer = scoped_layers.Dense(
            units=num_outputs, use_bias=bool(not normalizer_fn and biases_initializer), kernel_initializer=weights_initializer,
            bias_initializer=biases_initializer, kernel_regularizer=weights_regularizer, bias_regularizer=biases_regularizer,
            trainable=trainable, name=opened.name, dtype=inputs.dtype.base_dtype, _scope=opened, _reuse=reuse)
        outputs = layer.apply(inputs)
        collect_variable(layer.kernel, variables_collections, "weights")
        collect_variable(layer.bias, variables_collections, "biases")
        return finish(outputs, opened.name, outputs_collections, activation_fn, normalizer_fn, normalizer_params)


relu = functools.partial(fully_connected, activation_fn=activations.relu)
relu6 = functools.partial(fully_connected, activation_fn=activations.relu6)
elu = functools.partial(fully_connected, activation_fn=activations.elu)
linear = functools.partial(fully_connected, activation_fn=None)


@add_arg_scope
def bias_add(inputs: Any, activation_fn: Any = None, initializer: Any = Zeros(), regularizer: Any = None, reuse: Any = None,
             variables_collections: Any = None, outputs_collections: Any = None, trainable: bool = True, data_format: str = "NHWC",
             scope: Any = None) -> Any:
    """``inputs`` plus biases, one per channel."""
    check_format(data_format)
    with variable_scope(scope, "BiasAdd", [inputs], reuse=reuse) as opened:
        inputs = to_tensor(inputs)
        rank = inputs.shape.ndims
        if rank is None:
            raise ValueError("Dims of shape must be known but is None")
        if rank != 4 and data_format == "NCHW":
            raise ValueError("Data format NCHW only supports 4D Tensor")
        number = inputs.shape.as_list()[1 if data_format == "NCHW" else -1]
        if number is None:
            raise ValueError("`C` dimension must be known but is None")
        outputs = with_biases(inputs, number, initializer, regularizer, variables_collections, trainable, data_format)
        return finish(outputs, opened.name, outputs_collections, activation_fn)


def legacy_fully_connected(x: Any, num_output_units: int, activation_fn: Any = None, weight_init: Any = xavier_initializer(),
                           bias_init: Any = Zeros(), name: Any = None, weight_collections: Any = (GraphKeys.WEIGHTS,),
                           bias_collections: Any = (GraphKeys.BIASES,), output_collections: Any = (GraphKeys.ACTIVATIONS,),
                           trainable: bool = True, weight_regularizer: Any = None, bias_regularizer: Any = None) -> Any:
    """The fully connected layer of TensorFlow 0.6: its variables are ``weights`` and ``bias``, in collections of their own."""
    with variable_scope(name, "fully_connected", [x]):
        x = to_tensor(x)
        if x.shape.ndims is None:
            raise ValueError("dims of x must be known but is None")
        if x.shape.ndims < 2:
            raise ValueError(f"rank of x must be at least 2 not: {x.shape.ndims}")
        static = x.shape.as_list()
        if static[-1] is None:
            raise ValueError("last dimension of x must be known but is None")

        def parameter(name: str, extents: list[int], initializer: Any, collections: Any, regularizer: Any) -> Any:
            return get_variable(name, shape=extents, dtype=x.dtype.base_dtype, initializer=initializer, regularizer=regularizer,
                                collections=[*(collections or []), GraphKeys.GLOBAL_VARIABLES], trainable=trainable)

        weights = parameter("weights", [static[-1], num_output_units], weight_init, weight_collections, weight_regularizer)
        y = matmul(x if len(static) <= 2 else reshape(x, [-1, static[-1]]), weights)
        if bias_init is not None:
            y = add_bias(y, parameter("bias", [num_output_units], bias_init, bias_collections, bias_regularizer))
        if len(static) > 2:
            y = reshape(y, stack([*unstack(shape(x))[:-1], num_output_units]))
            y.set_shape([*static[:-1], num_output_units])
        if activation_fn is not None:
            y = activation_fn(y)
        add_to_collections([*(output_collections or []), GraphKeys.ACTIVATIONS], y)
        return y


legacy_relu = functools.partial(legacy_fully_connected, activation_fn=activations.relu)
legacy_linear = functools.partial(legacy_fully_connected, activation_fn=None)
