"""Bijections of numbers: exponential, sigmoid, softplus, powers, ..."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.arguments import checked
from penstock.contrib.distributions.bijectors.bijector import Bijector
from penstock.contrib.distributions.numerics import softplus_inverse


class Identity(Bijector):
    """``bijectors.Identity``: y = x."""

    def __init__(self, validate_args: bool = False, name: str = "identity", event_ndims: Any = None) -> None:
        super().__init__(forward_min_event_ndims=0, is_constant_jacobian=True, validate_args=validate_args, name=name, event_ndims=event_ndims)

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        return x

    def _inverse(self, y: tf.Tensor) -> tf.Tensor:
        return y

    def _inverse_log_det_jacobian(self, y: tf.Tensor) -> tf.Tensor:
        return tf.constant(0.0, dtype=y.dtype)

    def _forward_log_det_jacobian(self, x: tf.Tensor) -> tf.Tensor:
        return tf.constant(0.0, dtype=x.dtype)


class AbsoluteValue(Bijector):
    """``bijectors.AbsoluteValue``: y = abs(x); two branches, x = -y and x = y."""

    def __init__(self, validate_args: bool = False, name: str = "absolute_value", event_ndims: Any = None) -> None:
        with self._init_scope(name):
            super().__init__(forward_min_event_ndims=0, is_constant_jacobian=True, validate_args=validate_args, name=name, event_ndims=event_ndims)

    @property
    def _is_injective(self) -> bool:
        return False

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        return tf.abs(x)

    def _inverse(self, y: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        y = self._check(y, y)
        return -y, y

    def _inverse_log_det_jacobian(self, y: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        zeros = self._check(tf.constant(0.0, dtype=y.dtype), y)
        return zeros, zeros

    def _check(self, result: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        return checked(result, tf.assert_non_negative(y, message="Argument y was negative")) if self.validate_args else result


class AffineScalar(Bijector):
    """``bijectors.AffineScalar``: y = scale x + shift."""

    def __init__(self, shift: Any = None, scale: Any = None, validate_args: bool = False, name: str = "affine_scalar") -> None:
        with self._init_scope(name, scale, shift):
            self._shift = None if shift is None else tf.convert_to_tensor(shift, name="shift")
            self._scale = None if scale is None else tf.convert_to_tensor(scale, name="scale")
            if self._scale is not None and validate_args:
                self._scale = checked(self._scale, tf.assert_none_equal(self._scale, tf.zeros([], dtype=self._scale.dtype)))
            super().__init__(forward_min_event_ndims=0, is_constant_jacobian=True, validate_args=validate_args, name=name)

    @property
    def shift(self) -> tf.Tensor | None:
        """What is added."""
        return self._shift

    @property
    def scale(self) -> tf.Tensor | None:
        """The factor."""
        return self._scale

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        y = tf.identity(x)
        if self.scale is not None:
            y *= self.scale
        return y if self.shift is None else y + self.shift

    def _inverse(self, y: tf.Tensor) -> tf.Tensor:
        x = tf.identity(y)
        if self.shift is not None:
            x -= self.shift
        return x if self.scale is None else x / self.scale

    def _forward_log_det_jacobian(self, x: tf.Tensor) -> tf.Tensor:
        if self.scale is None:
            return tf.constant(0.0, dtype=x.dtype.base_dtype)
        return tf.log(tf.abs(self.scale))


class PowerTransform(Bijector):
    """``bijectors.PowerTransform``: y = (1 + c x)^(1/c); exp(x) for c = 0."""

    def __init__(self, power: Any = 0.0, validate_args: bool = False, name: str = "power_transform", event_ndims: Any = None) -> None:
        with self._init_scope(name, power):
            power = tf.constant_value(tf.convert_to_tensor(power, name="power"))
        if power is None or power < 0:
            raise ValueError("`power` must be a non-negative TF constant.")
        self._power = power
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name, event_ndims=event_ndims)

    @property
    def power(self) -> Any:
        """c."""
        return self._power

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        x = self._checked_x(x)
        return tf.exp(x) if self.power == 0.0 else tf.exp(tf.log1p(x * self.power) / self.power)

    def _inverse(self, y: tf.Tensor) -> tf.Tensor:
        y = self._checked_y(y)
        return tf.log(y) if self.power == 0.0 else tf.expm1(tf.log(y) * self.power) / self.power

    def _inverse_log_det_jacobian(self, y: tf.Tensor) -> tf.Tensor:
        return (self.power - 1.0) * tf.log(self._checked_y(y))

    def _forward_log_det_jacobian(self, x: tf.Tensor) -> tf.Tensor:
        x = self._checked_x(x)
        return x if self.power == 0.0 else (1.0 / self.power - 1.0) * tf.log1p(x * self.power)

    def _checked_x(self, x: tf.Tensor) -> tf.Tensor:
        if not self.validate_args or self.power == 0.0:
            return x
        return checked(x, tf.assert_non_negative(1.0 + self.power * x,
                                                 message=f"Forward transformation input must be at least {-1.0 / self.power}."))

    def _checked_y(self, y: tf.Tensor) -> tf.Tensor:
        if not self.validate_args:
            return y
        return checked(y, tf.assert_positive(y, message="Inverse transformation input must be greater than 0."))


class Exp(PowerTransform):
    """``bijectors.Exp``: y = exp(x)."""

    def __init__(self, validate_args: bool = False, name: str = "exp", event_ndims: Any = None) -> None:
        super().__init__(validate_args=validate_args, name=name, event_ndims=event_ndims)


class Sigmoid(Bijector):
    """``bijectors.Sigmoid``: y = 1 / (1 + exp(-x))."""

    def __init__(self, validate_args: bool = False, name: str = "sigmoid") -> None:
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        return tf.sigmoid(x)

    def _inverse(self, y: tf.Tensor) -> tf.Tensor:
        return tf.log(y) - tf.log1p(-y)

    def _inverse_log_det_jacobian(self, y: tf.Tensor) -> tf.Tensor:
        return -tf.log(y) - tf.log1p(-y)

    def _forward_log_det_jacobian(self, x: tf.Tensor) -> tf.Tensor:
        return -tf.softplus(-x) - tf.softplus(x)


class Softplus(Bijector):
    """``bijectors.Softplus``: y = c log(1 + exp(x / c)); c is ``hinge_softness``, 1 if it is None."""

    def __init__(self, hinge_softness: Any = None, validate_args: bool = False, name: str = "softplus", event_ndims: Any = None) -> None:
        with tf.name_scope(name, values=[hinge_softness]):
            self._hinge_softness = None if hinge_softness is None else tf.convert_to_tensor(hinge_softness, name="hinge_softness")
            if validate_args and self._hinge_softness is not None:
                zero = tf.convert_to_tensor(0, dtype=self._hinge_softness.dtype)
                not_zero = tf.assert_none_equal(zero, self._hinge_softness, message="hinge_softness must be non-zero")
                self._hinge_softness = checked(self._hinge_softness, not_zero)
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name, event_ndims=event_ndims)

    @property
    def hinge_softness(self) -> tf.Tensor | None:
        """c."""
        return self._hinge_softness

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        return self._soften(tf.softplus, x)

    def _inverse(self, y: tf.Tensor) -> tf.Tensor:
        return self._soften(softplus_inverse, y)

    def _soften(self, function: Any, x: tf.Tensor) -> tf.Tensor:
        if self.hinge_softness is None:
            return function(x)
        c = tf.cast(self.hinge_softness, x.dtype)
        return c * function(x / c)

    def _scale(self, x: tf.Tensor) -> tf.Tensor:
        return x if self.hinge_softness is None else x / tf.cast(self.hinge_softness, x.dtype)

    def _inverse_log_det_jacobian(self, y: tf.Tensor) -> tf.Tensor:
        return -tf.log(-tf.expm1(-self._scale(y)))

    def _forward_log_det_jacobian(self, x: tf.Tensor) -> tf.Tensor:
        return -tf.softplus(-self._scale(x))


class Softsign(Bijector):
    """``bijectors.Softsign``: y = x / (1 + abs(x))."""

    def __init__(self, validate_args: bool = False, name: str = "softsign") -> None:
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        return x / (1.0 + tf.abs(x))

    def _inverse(self, y: tf.Tensor) -> tf.Tensor:
        y = self._check(y)
        return y / (1.0 - tf.abs(y))

    def _forward_log_det_jacobian(self, x: tf.Tensor) -> tf.Tensor:
        return -2.0 * tf.log1p(tf.abs(x))

    def _inverse_log_det_jacobian(self, y: tf.Tensor) -> tf.Tensor:
        return -2.0 * tf.log1p(-tf.abs(self._check(y)))

    def _check(self, y: tf.Tensor) -> tf.Tensor:
        if not self.validate_args:
            return y
        dtype = y.dtype.base_dtype
        above = tf.assert_greater(y, tf.cast(-1.0, dtype=dtype), message="Inverse transformation input must be greater than -1.")
        return checked(y, above, tf.assert_less(y, tf.cast(1.0, dtype=dtype), message="Inverse transformation input must be less than 1."))


class Square(Bijector):
    """``bijectors.Square``: y = x^2, for numbers that are not negative."""

    def __init__(self, validate_args: bool = False, name: str = "square") -> None:
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        return tf.square(self._check(x))

    def _inverse(self, y: tf.Tensor) -> tf.Tensor:
        return tf.sqrt(self._check(y))

    def _forward_log_det_jacobian(self, x: tf.Tensor) -> tf.Tensor:
        return np.log(2.0) + tf.log(self._check(x))

    def _check(self, t: tf.Tensor) -> tf.Tensor:
        return checked(t, tf.assert_non_negative(t, message="All elements must be non-negative.")) if self.validate_args else t


class SinhArcsinh(Bijector):
    """``bijectors.SinhArcsinh``: y = sinh((arcsinh(x) + skewness) tailweight)."""

    def __init__(self, skewness: Any = None, tailweight: Any = None, validate_args: bool = False, name: str = "SinhArcsinh",
                 event_ndims: Any = None) -> None:
        with self._init_scope(name, skewness, tailweight):
            self._skewness = tf.convert_to_tensor(0.0 if skewness is None else skewness, name="skewness")
            self._tailweight = tf.convert_to_tensor(1.0 if tailweight is None else tailweight, name="tailweight", dtype=self._skewness.dtype)
            tf.assert_same_float_dtype([self._skewness, self._tailweight])
            if validate_args:
                positive = tf.assert_positive(self._tailweight, message="Argument tailweight was not positive")
                self._tailweight = checked(self._tailweight, positive)
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name, event_ndims=event_ndims)

    @property
    def skewness(self) -> tf.Tensor:
        """To which side, and how much, the function is skewed."""
        return self._skewness

    @property
    def tailweight(self) -> tf.Tensor:
        """How heavy tails become."""
        return self._tailweight

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        return tf.sinh((tf.asinh(x) + self.skewness) * self.tailweight)

    def _inverse(self, y: tf.Tensor) -> tf.Tensor:
        return tf.sinh(tf.asinh(y) / self.tailweight - self.skewness)

    def _inverse_log_det_jacobian(self, y: tf.Tensor) -> tf.Tensor:
        slope = tf.cosh(tf.asinh(y) / self.tailweight - self.skewness) / _root_of_square_plus_one(y)
        return tf.log(slope) - tf.log(self.tailweight)

    def _forward_log_det_jacobian(self, x: tf.Tensor) -> tf.Tensor:
        slope = tf.cosh((tf.asinh(x) + self.skewness) * self.tailweight) / _root_of_square_plus_one(x)
        return tf.log(slope) + tf.log(self.tailweight)


def _root_of_square_plus_one(x: tf.Tensor) -> tf.Tensor:
    """sqrt(x^2 + 1); abs(x) where x^2 might be infinite."""
    fits = tf.abs(x) * np.sqrt(np.finfo(x.dtype.as_numpy_dtype).eps) <= 1.0
    root = tf.sqrt(x ** 2.0 + 1.0)
    return tf.where_v2(fits, root, tf.abs(x))
