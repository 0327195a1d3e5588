"""Normalisations of each example by itself: over layers, instances, groups, and to length 1."""
from __future__ import annotations

from typing import Any

from penstock.contrib.framework.arg_scope import add_arg_scope
from penstock.contrib.framework.variables import model_variable
from penstock.contrib.layers.building import check_format, finish
from penstock.contrib.layers.utils import get_variable_collections
from penstock.graph import dtypes
from penstock.graph.convert import to_tensor
from penstock.graph.scopes import name_scope
from penstock.ops.array.fill import ones
from penstock.ops.array.pack import concat
from penstock.ops.array.permute import tile
from penstock.ops.array.shape_ops import reshape, shape
from penstock.ops.array.slicing import strided_slice
from penstock.ops.math.division import div
from penstock.ops.math.elementwise import minimum, multiply, square
from penstock.ops.math.powers import rsqrt, sqrt
from penstock.ops.math.reduce import reduce_sum
from penstock.ops.nn.normalization import batch_normalization, moments, normalize_moments, sufficient_statistics
from penstock.variables.initializers import Ones, Zeros
from penstock.variables.scope import variable_scope


def _offset_and_scale(center: bool, scale: bool, extents: Any, dtype: Any, initializers: Any, variables_collections: Any, trainable: bool,
                      broadcast: list[int] | None = None) -> list[Any]:
    """The model variables beta and gamma, in a shape that broadcasts, or None."""
    def parameter(name: str, default: Any) -> Any:
        variable = model_variable(name, shape=extents, dtype=dtype, initializer=(initializers or {}).get(name, default), trainable=trainable,
                                  collections=get_variable_collections(variables_collections, name))
        return reshape(variable, broadcast) if broadcast else variable
    return [parameter("beta", Zeros()) if center else None, parameter("gamma", Ones()) if scale else None]


@add_arg_scope
def layer_norm(inputs: Any, center: bool = True, scale: bool = True, activation_fn: Any = None, reuse: Any = None,
               variables_collections: Any = None, outputs_collections: Any = None, trainable: bool = True, begin_norm_axis: int = 1,
               begin_params_axis: int = -1, scope: Any = None) -> Any:
    """Normalised over the axes from ``begin_norm_axis`` on; offset and scale have those from ``begin_params_axis`` on."""
    with variable_scope(scope, "LayerNorm", [inputs], reuse=reuse) as opened:
        inputs = to_tensor(inputs)
        rank, dtype = inputs.shape.ndims, inputs.dtype.base_dtype
        if rank is None:
            raise ValueError(f"Inputs {inputs.name} has undefined rank.")
        begin_norm_axis += rank if begin_norm_axis < 0 else 0
        if begin_params_axis >= rank or begin_norm_axis >= rank:
            raise ValueError(f"begin_params_axis ({begin_params_axis}) and begin_norm_axis ({begin_norm_axis}) must be < rank(inputs) ({rank})")
        extents = inputs.shape[begin_params_axis:]
        if not extents.is_fully_defined():
            raise ValueError(f"Inputs {inputs.name}: shape(inputs)[{begin_params_axis}:] is not fully defined: {inputs.shape}")
        beta, gamma = _offset_and_scale(center, scale, extents, dtype, None, variables_collections, trainable)
        mean, variance = moments(inputs, list(range(begin_norm_axis, rank)), keep_dims=True)
        epsilon = 1e-3 if dtype == dtypes.float16 else 1e-12
        outputs = batch_normalization(inputs, mean, variance, offset=beta, scale=gamma, variance_epsilon=epsilon)
        outputs.set_shape(inputs.shape)
        return finish(outputs, opened.name, outputs_collections, activation_fn)


@add_arg_scope
def instance_norm(inputs: Any, center: bool = True, scale: bool = True, epsilon: float = 1e-6, activation_fn: Any = None,
                  param_initializers: Any = None, reuse: Any = None, variables_collections: Any = None, outputs_collections: Any = None,
                  trainable: bool = True, data_format: str = "NHWC", scope: Any = None) -> Any:
    """Each channel of each example, normalised over the places."""
    inputs = to_tensor(inputs)
    rank = inputs.shape.ndims
    if rank is None:
        raise ValueError(f"Inputs {inputs.name} has undefined rank.")
    check_format(data_format)
    with variable_scope(scope, "InstanceNorm", [inputs], reuse=reuse) as opened:
        channels = 1 if data_format == "NCHW" else rank - 1
        extents = inputs.shape[channels:channels + 1]
        if not extents.is_fully_defined():
            raise ValueError(f"Inputs {inputs.name} has undefined channels dimension {extents}.")
        broadcast = [1, extents.as_list()[0]] + [1] * (rank - 2) if data_format == "NCHW" else None
        parameters = _offset_and_scale(center, scale, extents, inputs.dtype.base_dtype, param_initializers, variables_collections, trainable,
                                       broadcast)
        mean, variance = moments(inputs, [axis for axis in range(1, rank) if axis != channels], keep_dims=True)
        outputs = batch_normalization(inputs, mean, variance, *parameters, epsilon, name="instancenorm")
        return finish(outputs, opened.name, outputs_collections, activation_fn)


@add_arg_scope
def group_norm(inputs: Any, groups: int = 32, channels_axis: int = -1, reduction_axes: Any = (-3, -2), center: bool = True, scale: bool = True,
               epsilon: float = 1e-6, activation_fn: Any = None, param_initializers: Any = None, reuse: Any = None,
               variables_collections: Any = None, outputs_collections: Any = None, trainable: bool = True, scope: Any = None,
               mean_close_to_zero: bool = False) -> Any:
    """Each group of channels of each example, normalised over the group and ``reduction_axes``."""
    inputs = to_tensor(inputs)
    channels, axis, reduced = _check_groups(inputs, groups, channels_axis, reduction_axes)
    in_step = shape(inputs)
    extents = [in_step[index] if extent is None else extent for index, extent in enumerate(inputs.shape.as_list())]
    split = [groups, channels // groups]
    inputs = reshape(inputs, [*extents[:axis], *split, *extents[axis + 1:]])
    broadcast = [1] * axis + split + [1] * (len(extents) - axis - 1)
    axes = [axis + 1, *(each + 1 if each > axis else each for each in reduced)]
    with variable_scope(scope, "GroupNorm", [inputs], reuse=reuse) as opened:
        beta, gamma = _offset_and_scale(center, scale, [channels], inputs.dtype.base_dtype, param_initializers, variables_collections, trainable,
                                        broadcast)
        if mean_close_to_zero:
            count, mean_sum, square_sum, _ = sufficient_statistics(inputs, axes, keep_dims=True)
            mean, variance = normalize_moments(count, mean_sum, square_sum, shift=None)
        else:
            mean, variance = moments(inputs, axes, keep_dims=True)
        gain = rsqrt(variance + epsilon)
        offset = -mean * gain
        if gamma is not None:
            gain, offset = gain * gamma, offset * gamma
        if beta is not None:
            offset += beta
        return finish(reshape(inputs * gain + offset, extents), opened.name, outputs_collections, activation_fn)


def _check_groups(inputs: Any, groups: int, channels_axis: int, reduction_axes: Any) -> tuple[int, int, list[int]]:
    """(number of channels, their axis, the axes of the moments), all checked."""
    rank = inputs.shape.ndims
    if rank is None:
        raise ValueError(f"Inputs {inputs.name} has undefined rank.")
    if channels_axis > rank - 1:
        raise ValueError("Axis is out of bounds.")
    axis = channels_axis + rank if channels_axis < 0 else channels_axis
    channels = inputs.shape.as_list()[axis]
    if channels is None:
        raise ValueError(f"Inputs {inputs.name} has undefined channel dimension: {axis}.")
    reduced = [each + rank if each < 0 else each for each in reduction_axes]
    for each in reduced:
        if each > rank:
            raise ValueError("Axis is out of bounds.")
        if inputs.shape.as_list()[each] is None:
            raise ValueError(f"Inputs {inputs.name} has undefined dimensions {each}.")
        if axis == each:
            raise ValueError("reduction_axis must be mutually exclusive with channels_axis")
    if groups > channels:
        raise ValueError(f"Invalid groups {groups} for {channels} channels.")
    if channels % groups:
        raise ValueError(f"{channels} channels is not commensurate with {groups} groups.")
    return channels, axis, reduced


@add_arg_scope
def unit_norm(inputs: Any, dim: int, epsilon: float = 1e-7, scope: Any = None) -> Any:
    """Scaled to length 1 along an axis."""
    with variable_scope(scope, "UnitNorm", [inputs]):
        rank = inputs.shape.ndims
        if not rank:
            raise ValueError("The input rank must be known.")
        if dim < 0 or dim >= rank:
            raise ValueError("dim must be positive but smaller than the input rank.")
        lengths = sqrt(epsilon + reduce_sum(square(inputs), dim, True))
        multiples = [ones([dim], dtypes.int32)] if dim > 0 else []
        multiples.append(strided_slice(shape(inputs), [dim], [dim + 1]))
        if dim < rank - 1:
            multiples.append(ones([rank - 1 - dim], dtypes.int32))
        return div(inputs, tile(lengths, concat(multiples, 0)))


def poincare_normalize(x: Any, axis: Any = 1, epsilon: float = 1e-5, name: str | None = None) -> Any:
    """Vectors longer than 1 - epsilon, shortened to that: points of the Poincaré ball."""
    with name_scope(name, "poincare_normalize", [x]) as scope:
        x = to_tensor(x, name="x")
        inverse = rsqrt(reduce_sum(square(x), axis, keepdims=True))
        return multiply(x, minimum((1.0 - epsilon) * inverse, 1.0), name=scope)
