"""Layers that rearrange, encode or repeat: flatten, one_hot_encoding, dropout, repeat, stack, images as sequences, ..."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.contrib.framework.arg_scope import add_arg_scope
from penstock.contrib.framework.variables import model_variable
from penstock.contrib.layers.building import channels, check_format, layer_scope
from penstock.contrib.layers.utils import collect_named_outputs, get_variable_collections, last_dimension
from penstock.custom_gradient import custom_gradient
from penstock.graph import dtypes
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import to_tensor
from penstock.graph.scopes import control_dependencies, name_scope
from penstock.layers import scoped_layers
from penstock.ops.array.array import meshgrid
from penstock.ops.array.cast import to_int64
from penstock.ops.array.fill import one_hot
from penstock.ops.array.gather import gather_nd
from penstock.ops.array.pack import concat
from penstock.ops.array.permute import transpose
from penstock.ops.array.select import where
from penstock.ops.array.sequences import lin_space
from penstock.ops.array.shape_ops import reshape, shape
from penstock.ops.array.slicing import strided_slice
from penstock.ops.constant import constant, identity
from penstock.ops.flow.check_shapes import assert_rank_at_least
from penstock.ops.math.compare import not_equal
from penstock.ops.math.reduce import reduce_max, reduce_prod, reduce_sum
from penstock.ops.nn.softmax import softmax as softmax_op
from penstock.ops.sparse.sparse_functions import sparse_reshape
from penstock.variables.initializers import Constant, Ones
from penstock.variables.scope import variable_scope


@add_arg_scope
def dropout(inputs: Any, keep_prob: Any = 0.5, noise_shape: Any = None, is_training: Any = True, outputs_collections: Any = None,
            scope: Any = None, seed: int | None = None) -> Any:
    """In training, each element is kept with a probability, and scaled up, or set to 0."""
    with layer_scope(scope, "Dropout", inputs) as opened:
        inputs = to_tensor(inputs)
        layer = scoped_layers.Dropout(rate=1 - keep_prob, noise_shape=noise_shape, seed=seed, name=opened.name, _scope=opened)
        return collect_named_outputs(outputs_collections, opened.name, layer.apply(inputs, training=is_training))


@add_arg_scope
def flatten(inputs: Any, outputs_collections: Any = None, scope: Any = None) -> Any:
    """All axes but the first become one."""
    with name_scope(scope, "Flatten", [inputs]) as full_scope:
        return collect_named_outputs(outputs_collections, full_scope, scoped_layers.flatten(to_tensor(inputs)))


@add_arg_scope
def inner_flatten(inputs: Any, new_rank: int, output_collections: Any = None, scope: Any = None) -> Any:
    """The last axes become one, so that ``new_rank`` are left; the tensor may be sparse."""
    with name_scope(scope, "InnerFlatten", [inputs, new_rank]) as full_scope:
        flattened = _sparse_inner_flatten(inputs, new_rank) if isinstance(inputs, SparseTensor) else _dense_inner_flatten(to_tensor(inputs), new_rank)
    return collect_named_outputs(output_collections, full_scope, flattened)


def _sparse_inner_flatten(inputs: SparseTensor, new_rank: int) -> SparseTensor:
    rank = inputs.dense_shape.shape.as_list()[0]
    if rank < new_rank:
        raise ValueError(f"Inputs has rank less than new_rank. {inputs} must have rank at least {new_rank}. Received rank {rank}, "
                         f"shape {inputs.get_shape()}")
    inner = reduce_prod(inputs.dense_shape[new_rank - 1:])
    return sparse_reshape(inputs, concat((inputs.dense_shape[:new_rank - 1], [inner]), 0))


def _dense_inner_flatten(inputs: Any, new_rank: int) -> Any:
    with control_dependencies([assert_rank_at_least(inputs, new_rank, message="inputs has rank less than new_rank")]):
        outer = strided_slice(shape(inputs), [0], [new_rank - 1])
        flat = reshape(inputs, concat((outer, [-1]), 0))
    if inputs.shape.ndims is not None:
        outer_extents, inner = inputs.shape.as_list()[:new_rank - 1], inputs.shape[new_rank - 1:]
        flat.set_shape([*outer_extents, inner.num_elements()])
    return flat


@add_arg_scope
def one_hot_encoding(labels: Any, num_classes: int, on_value: Any = 1.0, off_value: Any = 0.0, outputs_collections: Any = None,
                     scope: Any = None) -> Any:
    """Numbers of classes as rows with one 1."""
    with name_scope(scope, "OneHotEncoding", [labels, num_classes]) as full_scope:
        labels = to_tensor(labels)
        if labels.dtype == dtypes.int32:
            labels = to_int64(labels)
        return collect_named_outputs(outputs_collections, full_scope, one_hot(labels, num_classes, on_value=on_value, off_value=off_value))


@add_arg_scope
def dense_to_sparse(tensor: Any, eos_token: Any = 0, outputs_collections: Any = None, scope: Any = None) -> Any:
    """The elements that differ from ``eos_token``, as a sparse tensor."""
    with variable_scope(scope, "dense_to_sparse", [tensor]) as opened:
        tensor = to_tensor(tensor)
        indices = where(not_equal(tensor, constant(eos_token, tensor.dtype)))
        outputs = SparseTensor(indices, gather_nd(tensor, indices), shape(tensor, out_type=dtypes.int64))
        return collect_named_outputs(outputs_collections, opened.name, outputs)


# --- images and sequences --------------------------------------------------------------------------------------------

@add_arg_scope
def images_to_sequence(inputs: Any, data_format: str = "NHWC", outputs_collections: Any = None, scope: Any = None) -> Any:
    """Images as sequences of their columns, time first; each row of an image is an example."""
    check_format(data_format)
    with name_scope(scope, "ImagesToSequence", [inputs]) as full_scope:
        inputs = to_tensor(inputs)
        if channels(data_format) == "channels_first":
            inputs = transpose(inputs, [0, 2, 3, 1])
        _, _, width, depth = inputs.shape.as_list()
        extents = shape(inputs)
        batch, height = extents[0], extents[1]
        outputs = reshape(transpose(inputs, [2, 0, 1, 3]), [width, batch * height, depth])
        return collect_named_outputs(outputs_collections, full_scope, outputs)


@add_arg_scope
def sequence_to_images(inputs: Any, height: int, output_data_format: str = "channels_last", outputs_collections: Any = None,
                       scope: Any = None) -> Any:
    """What ``images_to_sequence`` made of images of this height, as images again."""
    with name_scope(scope, "SequenceToImages", [inputs]) as full_scope:
        inputs = to_tensor(inputs)
        width, rows, depth = inputs.shape.as_list()
        images = reshape(inputs, [width, -1 if rows is None else rows // height, height, depth])
        outputs = transpose(images, [1, 3, 2, 0] if output_data_format == "channels_first" else [1, 2, 0, 3])
        return collect_named_outputs(outputs_collections, full_scope, outputs)


# --- values ----------------------------------------------------------------------------------------------------------

@add_arg_scope
def softmax(logits: Any, scope: Any = None) -> Any:
    """Softmax over the last axis, for any rank."""
    with variable_scope(scope, "softmax", [logits]):
        flat = reshape(logits, [-1, last_dimension(logits.shape, min_rank=2)])
        predictions = reshape(softmax_op(flat), shape(logits))
        predictions.set_shape(logits.shape)
        return predictions


@add_arg_scope
def spatial_softmax(features: Any, temperature: Any = None, name: Any = None, variables_collections: Any = None, trainable: bool = True,
                    data_format: str = "NHWC") -> Any:
    """The expected place, (x, y) between -1 and 1, of each channel, whose softmax over the image is taken as a distribution."""
    with variable_scope(name, "spatial_softmax"):
        extents, static = shape(features), features.shape
        check_format(data_format)
        first = data_format == "NCHW"
        height, width = (extents[2], extents[3]) if first else (extents[1], extents[2])
        number = static.as_list()[1 if first else 3]
        if number is None:
            raise ValueError("The num_channels dimension of the inputs to `spatial_softmax` should be defined. Found `None`.")
        with name_scope("spatial_softmax_op", "spatial_softmax_op", [features]):
            x, y = meshgrid(lin_space(-1.0, 1.0, num=height), lin_space(-1.0, 1.0, num=width), indexing="ij")
            x, y = reshape(x, [height * width]), reshape(y, [height * width])
            collections = get_variable_collections(variables_collections, "temperature") if trainable else None
            temperature = model_variable("temperature", shape=(), dtype=dtypes.float32, collections=collections, trainable=trainable,
                                         initializer=Ones() if temperature is None else Constant(temperature))
            by_channel = features if first else transpose(features, [0, 3, 1, 2])
            attention = softmax_op(reshape(by_channel, [-1, height * width]) / temperature)
            expected = [reduce_sum(place * attention, [1], keepdims=True) for place in (x, y)]
            keypoints = reshape(concat(expected, 1), [-1, number * 2])
            keypoints.set_shape([None, number * 2])
    return keypoints


@add_arg_scope
def maxout(inputs: Any, num_units: int, axis: int = -1, scope: Any = None) -> Any:
    """The largest value of each group of channels; ``num_units`` groups."""
    with variable_scope(scope, "MaxOut", [inputs]):
        inputs = to_tensor(inputs)
        extents: list[Any] = inputs.shape.as_list()
        number = extents[axis]
        if number % num_units:
            raise ValueError(f"number of features({number}) is not a multiple of num_units({num_units})")
        extents[axis] = num_units
        extents.append(number // num_units)
        extents = [shape(inputs)[index] if extent is None else extent for index, extent in enumerate(extents)]
        return reduce_max(reshape(inputs, extents), -1, keepdims=False)


@custom_gradient
def scale_gradient(inputs: Any, gradient_multiplier: Any) -> Any:
    """``inputs``, whose gradient is multiplied."""
    return identity(inputs), lambda grad: (grad * gradient_multiplier, None)


# --- several layers --------------------------------------------------------------------------------------------------

def _name_of(layer: Callable[..., Any], default: str) -> str:
    return getattr(layer, "__name__", None) or getattr(getattr(layer, "func", None), "__name__", default)


def repeat(inputs: Any, repetitions: int, layer: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The same layer so many times; the scopes are numbered from 1."""
    scope = kwargs.pop("scope", None)
    with variable_scope(scope, "Repeat", [inputs]):
        outputs, name = to_tensor(inputs), scope or _name_of(layer, "repeat")
        for number in range(1, repetitions + 1):
            outputs = layer(outputs, *args, **{**kwargs, "scope": f"{name}_{number}"})
        return outputs


def stack(inputs: Any, layer: Callable[..., Any], stack_args: Any, **kwargs: Any) -> Any:
    """The same layer several times, each time with other arguments; the scopes are numbered from 1."""
    scope = kwargs.pop("scope", None)
    if not isinstance(stack_args, (list, tuple)):
        raise ValueError("stack_args need to be a list or tuple")
    with variable_scope(scope, "Stack", [inputs]):
        outputs, name = to_tensor(inputs), scope or _name_of(layer, "stack")
        for number, args in enumerate(stack_args, 1):
            outputs = layer(outputs, *(args if isinstance(args, (list, tuple)) else [args]), **{**kwargs, "scope": f"{name}_{number}"})
        return outputs
