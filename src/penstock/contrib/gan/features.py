"""``tf.contrib.gan.features``: clipped and normalized weights, pools of generated data, conditioning, virtual batch normalization."""
from __future__ import annotations

import numbers
import re
from collections.abc import Callable
from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.layers.connected import linear
from penstock.contrib.layers.shaping import flatten
from penstock.contrib.opt.wrappers import VariableClippingOptimizer
from penstock.graph import nest
from penstock.ops.nn.nn_ops import l2_normalize
from penstock.ops.nn.normalization import batch_normalization
from penstock.ops.queues.queue_classes import RandomShuffleQueue
from penstock.ops.sparse.embedding import embedding_lookup
from penstock.platform import logging
from penstock.variables.initializers import Ones, RandomNormal, Zeros

# --- weights ---------------------------------------------------------------------------------------------------------


def clip_variables(optimizer: Any, variables: Any, weight_clip: float) -> VariableClippingOptimizer:
    """``clip_variables``: an optimizer that holds each weight within ``weight_clip`` of 0."""
    if weight_clip < 0:
        raise ValueError(f"`discriminator_weight_clip` must be positive. Instead, was {weight_clip}")
    return VariableClippingOptimizer(optimizer, {variable: [] for variable in variables}, weight_clip, use_locking=True,
                                     colocate_clip_ops_with_vars=True)


def clip_discriminator_weights(optimizer: Any, model: Any, weight_clip: float) -> VariableClippingOptimizer:
    """``clip_discriminator_weights``: the same for the discriminator's weights."""
    return clip_variables(optimizer, model.discriminator_variables, weight_clip)


_VECTOR = "spectral_norm_u"  # of the variable that keeps the vector of the power iteration


def compute_spectral_norm(w_tensor: Any, power_iteration_rounds: int = 1, name: str | None = None) -> tf.Tensor:
    """``compute_spectral_norm``: the largest singular value, by power iteration that goes on from step to step (Miyato et al. 2018)."""
    with tf.variable_scope(name, "spectral_norm"):
        w = tf.reshape(w_tensor, (-1, w_tensor.get_shape()[-1]))
        kept = tf.get_variable(_VECTOR, shape=(w.shape[0], 1), dtype=w.dtype, initializer=RandomNormal(), trainable=False)
        u = kept
        for _ in range(power_iteration_rounds):
            v = l2_normalize(tf.matmul(tf.transpose(w), u))
            u = l2_normalize(tf.matmul(w, v))
        with tf.control_dependencies([kept.assign(u, name="update_u")]):
            u = tf.identity(u)
        u, v = tf.stop_gradient(u), tf.stop_gradient(v)
        norm = tf.matmul(tf.matmul(tf.transpose(u), w), v)
        norm.shape.assert_is_compatible_with([1, 1])
        return norm[0][0]


def spectral_normalize(w: Any, power_iteration_rounds: int = 1, name: str | None = None) -> tf.Tensor:
    """``spectral_normalize``: weights divided by their spectral norm."""
    with tf.variable_scope(name, "spectral_normalize"):
        normalized = w / compute_spectral_norm(w, power_iteration_rounds=power_iteration_rounds)
        return tf.reshape(normalized, w.get_shape())


def spectral_norm_regularizer(scale: float, power_iteration_rounds: int = 1, scope: str | None = None) -> Callable[..., Any]:
    """``spectral_norm_regularizer``: ``scale`` times the spectral norm."""
    if isinstance(scale, numbers.Integral):
        raise ValueError(f"scale cannot be an integer: {scale}")
    if isinstance(scale, numbers.Real):
        if scale < 0.0:
            raise ValueError(f"Setting a scale less than 0 on a regularizer: {scale:g}")
        if scale == 0.0:
            logging.info("Scale of 0 disables regularizer.")
            return lambda _: None

    def regularizer(weights: Any, name: str | None = None) -> tf.Tensor:
        with tf.name_scope(scope, "SpectralNormRegularizer", [weights]) as name:
            factor = tf.convert_to_tensor(scale, dtype=weights.dtype.base_dtype, name="scale")
            return tf.multiply(factor, compute_spectral_norm(weights, power_iteration_rounds=power_iteration_rounds), name=name)

    return regularizer


def _is_kernel(name: str) -> bool:
    return re.match(r"(.*/)?(depthwise_|pointwise_)?(weights|kernel)$", name) is not None


def spectral_normalization_custom_getter(name_filter: Callable[[str], bool] = _is_kernel, power_iteration_rounds: int = 1) -> Callable[..., Any]:
    """``spectral_normalization_custom_getter``: a getter for variable scopes that normalizes kernels."""
    if not callable(name_filter):
        raise ValueError("name_filter must be callable")

    def custom_getter(getter: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
        if not name_filter(name):
            return getter(name, *args, **kwargs)
        if name.endswith(_VECTOR):
            raise ValueError("Cannot apply Spectral Normalization to internal variables created for Spectral Normalization. Tried to normalized "
                             f"variable [{name}]")
        if kwargs["dtype"] not in (tf.float16, tf.float32, tf.float64):
            raise ValueError(f"Disallowed data type {kwargs['dtype']}")
        weights = getter(name, *args, **kwargs)
        if len(weights.get_shape()) < 2:
            raise ValueError("Spectral norm can only be applied to multi-dimensional tensors")
        return spectral_normalize(weights, power_iteration_rounds=power_iteration_rounds, name=name + "/spectral_normalize")

    return custom_getter


# --- data ------------------------------------------------------------------------------------------------------------


def tensor_pool(input_values: Any, pool_size: int = 50, pooling_probability: float = 0.5, name: str = "tensor_pool") -> Any:
    """``tensor_pool``: keeps values of earlier steps, and gives one of them with ``pooling_probability`` once the pool is full."""
    pool_size = int(pool_size)
    if pool_size < 0:
        raise ValueError("`pool_size` is negative.")
    if pool_size == 0:
        return input_values
    values = nest.flatten(input_values)

    def as_list(results: Any) -> list[Any]:
        return [results] if isinstance(results, tf.Tensor) else list(results)

    with tf.name_scope(f"{name}_pool_queue", values=[*values, pooling_probability]):
        pool = RandomShuffleQueue(capacity=pool_size, min_after_dequeue=0, dtypes=[value.dtype for value in values], shapes=None)

        def put() -> list[Any]:
            with tf.control_dependencies([pool.enqueue(values)]):
                return [tf.identity(value) for value in values]

        def exchange() -> Any:
            earlier = as_list(pool.dequeue())
            with tf.control_dependencies(earlier), tf.control_dependencies([pool.enqueue(values)]):
                return tf.cond(tf.random_uniform((), dtype=tf.float32) < pooling_probability, lambda: earlier, lambda: values)

        results = as_list(tf.cond(pool.size() < pool_size, put, exchange))
        for value, result in zip(values, results):
            result.set_shape(value.shape)
    return nest.pack_sequence_as(input_values, results)


def condition_tensor(tensor: Any, conditioning: Any) -> tf.Tensor:
    """``condition_tensor``: adds a linear map of ``conditioning``, in the tensor's shape."""
    tensor.shape[1:].assert_is_fully_defined()
    mapped = linear(flatten(conditioning), tensor.shape[1:].num_elements())
    if not mapped.shape.is_compatible_with(tensor.shape):
        extents = tf.shape(tensor)
        static = tf.constant_value(extents)
        mapped = tf.reshape(mapped, extents if static is None else static)
    return tensor + mapped


def condition_tensor_from_onehot(tensor: Any, one_hot_labels: Any, embedding_size: int = 256) -> tf.Tensor:
    """``condition_tensor_from_onehot``: adds a linear map of the labels' embeddings."""
    one_hot_labels.shape.assert_has_rank(2)
    one_hot_labels.shape[1:].assert_is_fully_defined()
    embedding = tf.get_variable("embedding", [one_hot_labels.shape[1], embedding_size])
    return condition_tensor(tensor, embedding_lookup(embedding, tf.argmax(one_hot_labels, axis=1), name="token_to_embedding"))


# --- virtual batch normalization -------------------------------------------------------------------------------------


def _statistics(x: tf.Tensor, axes: list[int]) -> list[tf.Tensor]:
    """The means of ``x`` and of its squares; of float16, computed in float32."""
    y = tf.cast(x, tf.float32) if x.dtype == tf.float16 else x
    shift = tf.stop_gradient(tf.reduce_mean(y, axes, keepdims=True))
    mean = tf.reduce_mean(y - shift, axes, keepdims=True) + shift
    squares = tf.reduce_mean(tf.square(y), axes, keepdims=True)
    return [tf.cast(tf.squeeze(each, axes), x.dtype) for each in (mean, squares)]


def _axis_within(batch: Any, axis: int) -> int:
    if batch.shape.ndims is None:
        raise ValueError("`reference_batch` has unknown dimensions.")
    used = axis + batch.shape.ndims if axis < 0 else axis
    if not 0 <= used < batch.shape.ndims:
        raise ValueError(f"Value of `axis` argument {used} is out of range for input with rank {batch.shape.ndims}")
    return used


def _batch_size(tensor: Any, axis: int) -> Any:
    size = tf.shape(tensor)[axis]
    return tf.constant_value(size) or size


class VBN:
    """``tf.contrib.gan.features.VBN``: each example is normalized with the statistics of itself and of a fixed batch (Salimans et al. 2016)."""

    def __init__(self, reference_batch: Any, axis: int = -1, epsilon: float = 1e-3, center: bool = True, scale: bool = True,
                 beta_initializer: Any = Zeros(), gamma_initializer: Any = Ones(), beta_regularizer: Any = None, gamma_regularizer: Any = None,
                 trainable: bool = True, name: str | None = None, batch_axis: int = 0) -> None:
        axis, self._batch_axis = _axis_within(reference_batch, axis), _axis_within(reference_batch, batch_axis)
        if axis == self._batch_axis:
            raise ValueError("`axis` and `batch_axis` cannot be the same.")
        self._epsilon, self._reference_batch = epsilon, reference_batch
        with tf.variable_scope(name, "VBN", values=[reference_batch]) as self._scope:
            ndims = reference_batch.shape.ndims
            self._parameter_shape = [1] * ndims
            self._parameter_shape[axis] = reference_batch.shape.extent(axis)
            self._example_axes = [each for each in range(ndims) if each not in (axis, self._batch_axis)]
            self._is_reshaped = self._example_axes != list(range(ndims))[:-2]
            self._mean, self._squares = _statistics(reference_batch, [each for each in range(ndims) if each != axis])
            self._variance = self._squares - tf.square(self._mean)
            self._example_weight = 1.0 / (tf.cast(_batch_size(reference_batch, self._batch_axis), tf.float32) + 1.0)
            self._reference_weight = 1.0 - self._example_weight

            def parameter(name: str, initializer: Any, regularizer: Any) -> Any:
                return tf.get_variable(name=name, shape=(reference_batch.shape[axis],), initializer=initializer, regularizer=regularizer,
                                       trainable=trainable)

            self._beta = parameter("beta", beta_initializer, beta_regularizer) if center else 0
            self._gamma = parameter("gamma", gamma_initializer, gamma_regularizer) if scale else 1

    def _normalize(self, inputs: Any, mean: Any, variance: Any, shape: list[Any]) -> tf.Tensor:
        def reshaped(value: Any, extents: list[Any]) -> Any:
            return tf.reshape(value, extents) if self._is_reshaped else value

        return batch_normalization(inputs, reshaped(mean, shape), reshaped(variance, shape), reshaped(self._beta, self._parameter_shape),
                                   reshaped(self._gamma, self._parameter_shape), self._epsilon)

    def reference_batch_normalization(self) -> tf.Tensor:
        """The reference batch, normalized with its own statistics."""
        with tf.name_scope(self._scope.name):
            return self._normalize(self._reference_batch, self._mean, self._variance, self._parameter_shape)

    def __call__(self, inputs: Any) -> tf.Tensor:
        """``inputs``, normalized."""
        shapes = [tensor.shape.as_list() for tensor in (inputs, self._reference_batch)]
        for shape in shapes:
            del shape[self._batch_axis]
        tf.TensorShape(shapes[0]).assert_is_compatible_with(shapes[1])
        with tf.name_scope(self._scope.name, values=[inputs, self._reference_batch]):
            mean, squares = (self._example_weight * own + self._reference_weight * reference
                             for own, reference in zip(_statistics(inputs, self._example_axes), (self._mean, self._squares)))
            shape = list(self._parameter_shape)
            shape[self._batch_axis] = _batch_size(inputs, self._batch_axis)
            return self._normalize(inputs, mean, squares - tf.square(mean), shape)
