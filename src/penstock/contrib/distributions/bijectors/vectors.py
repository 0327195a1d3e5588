"""Bijections of vectors: order, permutations, the simplex, and other shapes."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.arguments import checked
from penstock.contrib.distributions.bijectors.bijector import Bijector
from penstock.contrib.distributions.shapes import pad


class _LastAxis(Bijector):
    """A function of vectors that makes them ``_growth`` elements longer."""

    _growth = 0

    def _forward_event_shape(self, input_shape: tf.TensorShape) -> tf.TensorShape:
        return _vector_shape(input_shape, self._growth)

    def _forward_event_shape_tensor(self, input_shape: tf.Tensor) -> tf.Tensor:
        length = input_shape[-1]
        return (length + self._growth if self._growth else length)[..., None]

    def _inverse_event_shape(self, output_shape: tf.TensorShape) -> tf.TensorShape:
        if output_shape.ndims is not None and output_shape.as_list()[-1] is not None and output_shape.as_list()[-1] <= 1:
            raise ValueError(f"output_shape[-1] = {output_shape[-1]} <= 1")
        return _vector_shape(output_shape, -self._growth)

    def _inverse_event_shape_tensor(self, output_shape: tf.Tensor) -> tf.Tensor:
        if self.validate_args:
            output_shape = checked(output_shape, tf.assert_greater(output_shape[-1], 1, message="Need last dimension greater than 1."))
        length = output_shape[-1]
        return (length - self._growth if self._growth else length)[..., None]


def _vector_shape(shape: tf.TensorShape, growth: int) -> tf.TensorShape:
    if shape.ndims is None:
        return shape
    length = shape.as_list()[-1]
    return tf.TensorShape([None if length is None else length + growth])


class Ordered(_LastAxis):
    """``bijectors.Ordered``: vectors of increasing numbers to all vectors; the inverse sums exponentials up."""

    def __init__(self, validate_args: bool = False, name: str = "ordered") -> None:
        super().__init__(forward_min_event_ndims=1, validate_args=validate_args, name=name)

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        x = self._check(x)
        first = x[..., 0, None]
        return tf.concat([first, tf.log(x[..., 1:] - x[..., :-1])], axis=-1)

    def _inverse(self, y: tf.Tensor) -> tf.Tensor:
        first = y[..., 0, None]
        return tf.cumsum(tf.concat([first, tf.exp(y[..., 1:])], axis=-1), axis=-1)

    def _inverse_log_det_jacobian(self, y: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(y[..., 1:], axis=-1)

    def _forward_log_det_jacobian(self, x: tf.Tensor) -> tf.Tensor:
        x = self._check(x)
        return -tf.reduce_sum(tf.log(x[..., 1:] - x[..., :-1]), axis=-1)

    def _check(self, x: tf.Tensor) -> tf.Tensor:
        if not self.validate_args:
            return x
        message = "Forward transformation input must be strictly increasing."
        return checked(x, tf.assert_positive(x[..., 1:] - x[..., :-1], message=message))


class SoftmaxCentered(_LastAxis):
    """``bijectors.SoftmaxCentered``: the softmax of vectors with a 0 behind their elements. With ``event_ndims=0``, which TensorFlow had up to 1.6,
    it takes numbers, each of which becomes a vector of two.
    """

    _growth = 1

    def __init__(self, validate_args: bool = False, name: str = "softmax_centered", event_ndims: Any = None) -> None:
        self._takes_numbers = event_ndims == 0
        super().__init__(forward_min_event_ndims=0 if self._takes_numbers else 1, inverse_min_event_ndims=1, validate_args=validate_args, name=name,
                         event_ndims=event_ndims or None)

    def _forward_event_shape(self, input_shape: tf.TensorShape) -> tf.TensorShape:
        return super()._forward_event_shape(input_shape.concatenate([1]) if self._takes_numbers else input_shape)

    def _forward_event_shape_tensor(self, input_shape: tf.Tensor) -> tf.Tensor:
        return super()._forward_event_shape_tensor(tf.concat([input_shape, [1]], 0) if self._takes_numbers else input_shape)

    def _inverse_event_shape(self, output_shape: tf.TensorShape) -> tf.TensorShape:
        vector = super()._inverse_event_shape(output_shape)
        return vector[:-1] if self._takes_numbers else vector

    def _inverse_event_shape_tensor(self, output_shape: tf.Tensor) -> tf.Tensor:
        vector = super()._inverse_event_shape_tensor(output_shape)
        return vector[:-1] if self._takes_numbers else vector

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        return tf.softmax(pad(x[..., None] if self._takes_numbers else x, axis=-1, back=True))

    def _inverse(self, y: tf.Tensor) -> tf.Tensor:
        x = tf.log(y)
        normalization = (-x[..., -1])[..., None]
        x = x[..., :-1] + normalization
        if y.shape.ndims is not None:
            length = y.shape.as_list()[-1]
            x.set_shape(y.shape[:-1].concatenate([None if length is None else length - 1]))
        return tf.squeeze(x, axis=-1) if self._takes_numbers else x

    def _inverse_log_det_jacobian(self, y: tf.Tensor) -> tf.Tensor:
        return -tf.reduce_sum(tf.log(y), axis=-1)

    def _forward_log_det_jacobian(self, x: tf.Tensor) -> tf.Tensor:
        x = x[..., None] if self._takes_numbers else x
        normalization = tf.softplus(tf.reduce_logsumexp(x, axis=-1, keepdims=True))
        return tf.squeeze(-normalization + tf.reduce_sum(x - normalization, axis=-1, keepdims=True), axis=-1)


class SigmoidCentered(SoftmaxCentered):
    """``bijectors.SigmoidCentered`` of TensorFlow 1.4: numbers become vectors of two, a sigmoid and what it lacks of 1."""

    def __init__(self, validate_args: bool = False, name: str = "sigmoid_centered") -> None:
        super().__init__(validate_args, name, event_ndims=0)


class Permute(Bijector):
    """``bijectors.Permute``: the elements of the last axis in another order."""

    def __init__(self, permutation: Any, validate_args: bool = False, name: str | None = None) -> None:
        message = "Permutation over `d` must contain exactly one of each of `{0, 1, ..., d}`."
        with tf.name_scope(name, "permute", values=[permutation]):
            permutation = tf.convert_to_tensor(permutation, name="permutation")
            if not permutation.dtype.is_integer:
                raise TypeError(f"permutation.dtype ({permutation.dtype.name}) should be `int`-like.")
            static = tf.constant_value(permutation)
            if static is not None:
                if set(static.tolist()) != set(range(static.size)):
                    raise ValueError(message)
            elif validate_args:
                ordered, _ = tf.top_k(-permutation, k=tf.shape(permutation)[-1], sorted=True)
                permutation = checked(permutation, tf.assert_equal(-ordered, tf.range(tf.size(ordered)), message=message))
            self._permutation = permutation
            super().__init__(forward_min_event_ndims=1, is_constant_jacobian=True, validate_args=validate_args, name=name or "permute")

    @property
    def permutation(self) -> tf.Tensor:
        """From where each element comes."""
        return self._permutation

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        return tf.gather(x, self.permutation, axis=-1)

    def _inverse(self, y: tf.Tensor) -> tf.Tensor:
        return tf.gather(y, tf.invert_permutation(self.permutation), axis=-1)

    def _inverse_log_det_jacobian(self, y: tf.Tensor) -> tf.Tensor:
        return tf.constant(0.0, dtype=y.dtype.base_dtype)

    def _forward_log_det_jacobian(self, x: tf.Tensor) -> tf.Tensor:
        return tf.constant(0.0, dtype=x.dtype.base_dtype)


class Reshape(Bijector):
    """``bijectors.Reshape``: events in another shape; -1 stands for what is left."""

    def __init__(self, event_shape_out: Any, event_shape_in: Any = (-1,), validate_args: bool = False, name: str | None = None) -> None:
        with tf.name_scope(name, "reshape", values=[event_shape_out, event_shape_in]):
            event_shape_out = tf.convert_to_tensor(event_shape_out, name="event_shape_out", preferred_dtype=tf.int32)
            event_shape_in = tf.convert_to_tensor(event_shape_in, name="event_shape_in", preferred_dtype=tf.int32)
            self._assertions = [*_shape_checks(event_shape_out, validate_args), *_shape_checks(event_shape_in, validate_args)]
            self._event_shape_in, self._event_shape_out = event_shape_in, event_shape_out
            super().__init__(forward_min_event_ndims=0, is_constant_jacobian=True, validate_args=validate_args, name=name or "reshape")

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        with tf.control_dependencies(self._assertions):
            return self._reshape(x, self._event_shape_in, self._event_shape_out)

    def _inverse(self, y: tf.Tensor) -> tf.Tensor:
        with tf.control_dependencies(self._assertions):
            return self._reshape(y, self._event_shape_out, self._event_shape_in)

    def _inverse_log_det_jacobian(self, y: tf.Tensor) -> tf.Tensor:
        with tf.control_dependencies(self._assertions):
            return tf.constant(0.0, dtype=y.dtype)

    def _forward_log_det_jacobian(self, x: tf.Tensor) -> tf.Tensor:
        return self._inverse_log_det_jacobian(x)

    def _forward_event_shape(self, input_shape: Any) -> Any:
        return self._example(input_shape, self.forward).shape

    def _inverse_event_shape(self, output_shape: Any) -> Any:
        return self._example(output_shape, self.inverse).shape

    def _forward_event_shape_tensor(self, input_shape: Any) -> Any:
        return tf.shape(self._example(input_shape, self.forward))

    def _inverse_event_shape_tensor(self, output_shape: Any) -> Any:
        return tf.shape(self._example(output_shape, self.inverse))

    def _example(self, shape: Any, function: Any) -> tf.Tensor:
        """Zeros, reshaped: they have the shape that is asked for."""
        with tf.control_dependencies(self._assertions):
            return function(tf.zeros(dtype=tf.float32, shape=shape))

    def _reshape(self, x: tf.Tensor, before: tf.Tensor, after: tf.Tensor) -> tf.Tensor:
        static_ndims = tf.dimension_value(before.shape.with_rank_at_least(1)[0])
        event_ndims = tf.shape(before)[0]
        x_ndims, x_rank = x.shape.ndims, tf.rank(x)
        x = self._check_event(x, before, static_ndims, event_ndims, x_rank)
        shape = tf.shape(x)
        ndims = x_ndims if x_ndims is not None else tf.rank(x)
        shape = shape[:ndims - tf.abs(event_ndims)]
        if static_ndims is not None and static_ndims == x_ndims:
            return tf.reshape(x, after)
        return tf.reshape(x, tf.concat([shape, after], axis=0))

    def _check_event(self, x: tf.Tensor, before: tf.Tensor, static_ndims: int | None, event_ndims: Any, x_rank: Any) -> tf.Tensor:
        """``x``, checked to end in the shape that events are said to have."""
        event_shape, wanted = None, tf.constant_value(before)
        if static_ndims is not None and x.shape.ndims is not None:
            static = x.shape.with_rank_at_least(static_ndims)[x.shape.ndims - static_ndims:]
            event_shape = np.int32(static.as_list()) if static.is_fully_defined() else None
        dynamic = tf.shape(x)[x_rank - event_ndims:] if event_shape is None else event_shape
        if event_shape is not None and wanted is not None:
            if not np.equal(event_shape[wanted >= 0], wanted[wanted >= 0]).all():
                raise ValueError(f"Input `event_shape` does not match `event_shape_in` ({event_shape} vs {wanted}).")
        elif self.validate_args:
            mask = tf.reshape(before >= 0, [-1])
            told, wanted = tf.boolean_mask(dynamic, mask), tf.boolean_mask(before, mask)
            return checked(x, tf.assert_equal(told, wanted, message="Input `event_shape` does not match `event_shape_in`."))
        return x


def _shape_checks(shape: tf.Tensor, validate_args: bool) -> list[Any]:
    """Checks that a shape is a vector of sizes with at most one -1; what cannot be checked yet becomes assertions."""
    if not shape.dtype.is_integer:
        raise TypeError(f"{shape} dtype ({shape.dtype.name}) should be `int`-like.")
    assertions = []
    ndims = tf.rank(shape)
    static_ndims, static = tf.constant_value(ndims), tf.constant_value(shape)
    if static_ndims is not None and static_ndims > 1:
        raise ValueError(f"`{shape}` rank ({static_ndims}) should be <= 1.")
    if static_ndims is None and validate_args:
        assertions.append(tf.assert_less_equal(ndims, 1, message=f"`{shape}` rank should be <= 1."))
    if static is not None:
        if (static == -1).sum() > 1:
            raise ValueError(f"`{shape}` must have at most one `-1` (given {static})")
        if (static < -1).any():
            raise ValueError(f"`{shape}` elements must be either positive integers or `-1`(given {static}).")
    elif validate_args:
        unknown = tf.reduce_sum(tf.cast(tf.equal(shape, -1), tf.int32))
        assertions.append(tf.assert_less_equal(unknown, 1, message=f"`{shape}` elements must have at most one `-1`."))
        assertions.append(tf.assert_greater_equal(shape, -1, message=f"`{shape}` elements must be either positive integers or `-1`."))
    return assertions
