"""Flows: bijections whose shift and scale are computed by a network, and batch normalization as one."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.bijectors.bijector import Bijector
from penstock.layers.scoped_layers import BatchNormalization as BatchNormalizationLayer
from penstock.layers.scoped_layers import Dense, dense
from penstock.ops.math.clip import clip_by_value
from penstock.ops.nn.normalization import moments
from penstock.variables.initializers import GlorotNormal
from penstock.variables.template import make_template

Network = Callable[..., tuple[Any, Any]]  # gives a shift and the logarithm of a scale; either may be None


def _depth(x: tf.Tensor) -> int:
    depth = tf.dimension_value(x.shape.with_rank_at_least(1)[-1])
    if depth is None:
        raise NotImplementedError("Rightmost dimension must be known prior to graph execution.")
    return int(depth)


def _move(x: tf.Tensor, shift: Any, log_scale: Any) -> tf.Tensor:
    scaled = x if log_scale is None else x * tf.exp(log_scale)
    return scaled if shift is None else scaled + shift


def _moved_back(y: tf.Tensor, shift: Any, log_scale: Any) -> tf.Tensor:
    centred = y if shift is None else y - shift
    return centred if log_scale is None else centred * tf.exp(-log_scale)


class MaskedAutoregressiveFlow(Bijector):
    """``bijectors.MaskedAutoregressiveFlow``: element i is shifted and scaled by what a network says of the elements before it.

    The inverse is one call of the network; ``forward`` is as many as an event has elements.
    """

    def __init__(self, shift_and_log_scale_fn: Network, is_constant_jacobian: bool = False, validate_args: bool = False, unroll_loop: bool = False,
                 name: str | None = None) -> None:
        self._network, self._unroll_loop = shift_and_log_scale_fn, unroll_loop
        super().__init__(forward_min_event_ndims=1, is_constant_jacobian=is_constant_jacobian, validate_args=validate_args,
                         name=name or "masked_autoregressive_flow")

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        count = tf.dimension_value(x.shape.with_rank_at_least(1)[-1])
        start = tf.zeros_like(x, name="y0")
        if self._unroll_loop:
            if count is None:
                raise ValueError("The final dimension of `x` must be known at graph construction time if `unroll_loop=True`. "
                                 f"`x.shape: {x.shape!r}`")
            y = start
            for _ in range(count):
                y = _move(x, *self._network(y))
            return y
        self._network(start)  # its variables are made here: inside of the loop they could not be
        size = tf.shape(x)[-1]
        _, y = tf.while_loop(cond=lambda index, _: index < size, body=lambda index, y: (index + 1, _move(x, *self._network(y))),
                             loop_vars=(0, start), maximum_iterations=count)
        return y

    def _inverse(self, y: tf.Tensor) -> tf.Tensor:
        return _moved_back(y, *self._network(y))

    def _inverse_log_det_jacobian(self, y: tf.Tensor) -> tf.Tensor:
        _, log_scale = self._network(y)
        return tf.constant(0.0, dtype=y.dtype, name="ildj") if log_scale is None else -tf.reduce_sum(log_scale, axis=-1)


class RealNVP(Bijector):
    """``bijectors.RealNVP``: the first ``num_masked`` elements stay, and a network says how the others are shifted and scaled."""

    def __init__(self, num_masked: int, shift_and_log_scale_fn: Network, is_constant_jacobian: bool = False, validate_args: bool = False,
                 name: str | None = None) -> None:
        if num_masked <= 0:
            raise ValueError("num_masked must be a positive integer.")
        self._num_masked, self._network = num_masked, shift_and_log_scale_fn
        super().__init__(forward_min_event_ndims=1, is_constant_jacobian=is_constant_jacobian, validate_args=validate_args, name=name or "real_nvp")

    def _parts(self, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, Any, Any]:
        """What stays, the rest, and its shift and scale."""
        depth = _depth(x)
        if self._num_masked >= depth:
            raise ValueError("Number of masked units must be smaller than the event size.")
        kept, rest = x[:, :self._num_masked], x[:, self._num_masked:]
        return kept, rest, *self._network(kept, depth - self._num_masked)

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        kept, rest, shift, log_scale = self._parts(x)
        return tf.concat([kept, _move(rest, shift, log_scale)], axis=-1)

    def _inverse(self, y: tf.Tensor) -> tf.Tensor:
        kept, rest, shift, log_scale = self._parts(y)
        return tf.concat([kept, _moved_back(rest, shift, log_scale)], axis=-1)

    def _inverse_log_det_jacobian(self, y: tf.Tensor) -> tf.Tensor:
        *_, log_scale = self._parts(y)
        return tf.constant(0.0, dtype=y.dtype, name="ildj") if log_scale is None else -tf.reduce_sum(log_scale, axis=-1)

    def _forward_log_det_jacobian(self, x: tf.Tensor) -> tf.Tensor:
        *_, log_scale = self._parts(x)
        return tf.constant(0.0, dtype=x.dtype, name="fldj") if log_scale is None else tf.reduce_sum(log_scale, axis=-1)


class BatchNormalization(Bijector):
    """``bijectors.BatchNormalization``: the inverse normalizes a batch; ``forward`` undoes that with the moving statistics."""

    def __init__(self, batchnorm_layer: Any = None, training: bool = True, validate_args: bool = False, name: str = "batch_normalization") -> None:
        self.batchnorm = batchnorm_layer or BatchNormalizationLayer(gamma_constraint=lambda x: tf.relu(x) + 1e-6)
        if not isinstance(self.batchnorm, BatchNormalizationLayer):
            raise ValueError("batchnorm_layer must be an instance of BatchNormalization layer.")
        if self.batchnorm.renorm:
            raise ValueError("BatchNorm Bijector does not support renormalization.")
        if self.batchnorm.virtual_batch_size:
            raise ValueError("BatchNorm Bijector does not support virtual batch sizes.")
        self._training = training
        ndims = 1 if isinstance(self.batchnorm.axis, int) else len(self.batchnorm.axis)
        super().__init__(forward_min_event_ndims=ndims, validate_args=validate_args, name=name)

    def _axes(self, x: tf.Tensor) -> tuple[list[int], list[int]]:
        """(extents, axes that are averaged over) of an input, for which the layer is built."""
        if not x.shape.is_fully_defined():
            raise ValueError("Input must have shape known at graph construction.")
        if not self.batchnorm.built:
            self.batchnorm.build(x.shape)
        extents = x.shape.as_list()
        return extents, [axis for axis in range(len(extents)) if axis not in self.batchnorm.axis]

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        extents, averaged = self._axes(x)
        layer = self.batchnorm

        def along(statistic: Any) -> Any:
            if len(statistic.shape) == len(extents) or averaged == list(range(len(extents) - 1)):
                return statistic
            return tf.reshape(statistic, [extent if axis == layer.axis[0] else 1 for axis, extent in enumerate(extents)])

        with tf.name_scope("undo_batchnorm"):
            rescale = tf.sqrt(along(layer.moving_variance) + layer.epsilon)
            if layer.scale:
                rescale /= along(layer.gamma)
            return x * rescale + (along(layer.moving_mean) - along(layer.beta) * rescale if layer.center else along(layer.moving_mean))

    def _inverse(self, y: tf.Tensor) -> tf.Tensor:
        return self.batchnorm.apply(y, training=self._training)

    def _forward_log_det_jacobian(self, x: tf.Tensor) -> tf.Tensor:
        return -self._inverse_log_det_jacobian(x, use_saved_statistics=True)

    def _inverse_log_det_jacobian(self, y: tf.Tensor, use_saved_statistics: bool = False) -> tf.Tensor:
        _, averaged = self._axes(y)
        variance = self.batchnorm.moving_variance
        if self._training and not use_saved_statistics:
            _, variance = moments(y, axes=averaged, keep_dims=True)
        log_variance = tf.reduce_sum(tf.log(variance + self.batchnorm.epsilon))
        return tf.reduce_sum(tf.log(self.batchnorm.gamma)) - 0.5 * log_variance


# --- networks --------------------------------------------------------------------------------------------------------


def _mask(blocks: int, inputs: int, outputs: int, exclusive: bool) -> np.ndarray:
    """[inputs, outputs]: 1 where outputs of a block may see inputs: those of blocks before, and of their own unless that is excluded."""
    wide, tall = inputs // blocks, outputs // blocks
    mask = np.zeros([inputs, outputs], np.float32)
    for block in range(blocks):
        mask[block * wide:(block + 1) * wide, (block + exclusive) * tall:] = 1
    return mask


def masked_dense(inputs: Any, units: int, num_blocks: int | None = None, exclusive: bool = False, kernel_initializer: Any = None,
                 reuse: bool | None = None, name: str | None = None, *args: Any, **kwargs: Any) -> tf.Tensor:
    """``bijectors.masked_dense``: a dense layer in which each block of outputs sees the blocks of inputs before it, and its own if not exclusive."""
    if num_blocks is None:
        raise TypeError("masked_dense needs num_blocks: the number of blocks that inputs and units are divided into")
    mask = _mask(num_blocks, _depth(inputs), units, exclusive)
    initializer = kernel_initializer or GlorotNormal()

    def masked_initializer(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        return mask * initializer(shape, dtype, partition_info)

    with tf.name_scope(name, "masked_dense", [inputs, units, num_blocks]):
        layer = Dense(units, *args, kernel_initializer=masked_initializer, kernel_constraint=lambda x: mask * x, name=name,
                      dtype=inputs.dtype.base_dtype, _scope=name, _reuse=reuse, **kwargs)
        return layer.apply(inputs)


def masked_autoregressive_default_template(hidden_layers: Sequence[int], shift_only: bool = False, activation: Any = tf.relu,
                                           log_scale_min_clip: float = -5.0, log_scale_max_clip: float = 3.0,
                                           log_scale_clip_gradient: bool = False, name: str | None = None, *args: Any, **kwargs: Any) -> Any:
    """``bijectors.masked_autoregressive_default_template``: a network of masked layers for `MaskedAutoregressiveFlow`."""
    name = name or "masked_autoregressive_default_template"

    def network(x: tf.Tensor) -> tuple[Any, Any]:
        depth = _depth(x)
        shape = np.int32(x.shape.as_list()) if x.shape.is_fully_defined() else tf.shape(x)
        for index, units in enumerate(hidden_layers):
            x = masked_dense(x, units, depth, index == 0, None, None, None, *args, activation=activation, **kwargs)
        x = masked_dense(x, (1 if shift_only else 2) * depth, depth, False, None, None, None, *args, activation=None, **kwargs)
        if shift_only:
            return tf.reshape(x, shape=shape), None
        shift, log_scale = tf.unstack(tf.reshape(x, shape=tf.concat([shape, [2]], axis=0)), num=2, axis=-1)
        clip = clip_by_value if log_scale_clip_gradient else _clip_but_keep_gradient
        return shift, clip(log_scale, log_scale_min_clip, log_scale_max_clip)

    with tf.name_scope(name, values=[log_scale_min_clip, log_scale_max_clip]):
        return make_template(name, network)


def _clip_but_keep_gradient(x: tf.Tensor, low: float, high: float) -> tf.Tensor:
    with tf.name_scope("clip_by_value_preserve_grad", values=[x, low, high]):
        return x + tf.stop_gradient(clip_by_value(x, low, high) - x)


def real_nvp_default_template(hidden_layers: Sequence[int], shift_only: bool = False, activation: Any = tf.relu, name: str | None = None,
                              *args: Any, **kwargs: Any) -> Any:
    """``bijectors.real_nvp_default_template``: a network of dense layers for `RealNVP`."""
    def network(x: tf.Tensor, output_units: int) -> tuple[Any, Any]:
        for units in hidden_layers:
            x = dense(x, units, activation, *args, **kwargs)
        x = dense(x, (1 if shift_only else 2) * output_units, None, *args, **kwargs)
        return (x, None) if shift_only else tuple(tf.split(x, 2, axis=-1))

    with tf.name_scope(name, "real_nvp_default_template"):
        return make_template("real_nvp_default_template", network)
