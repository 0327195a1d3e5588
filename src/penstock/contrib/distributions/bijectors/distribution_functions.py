"""Bijections that are the distribution functions of distributions: Gumbel's, Kumaraswamy's and Weibull's."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.arguments import checked
from penstock.contrib.distributions.bijectors.bijector import Bijector
from penstock.contrib.distributions.parameters import HasLocationAndScale


def _positive(x: tf.Tensor, message: str, validate_args: bool) -> tf.Tensor:
    return checked(x, tf.assert_positive(x, message=message)) if validate_args else x


class Gumbel(HasLocationAndScale, Bijector):
    """``bijectors.Gumbel``: y = exp(-exp(-(x - loc) / scale))."""

    def __init__(self, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool = False, name: str = "gumbel") -> None:
        with self._init_scope(name, loc, scale):
            self._loc = tf.convert_to_tensor(loc, name="loc")
            self._scale = tf.convert_to_tensor(scale, name="scale")
            tf.assert_same_float_dtype([self._loc, self._scale])
            self._scale = _positive(self._scale, "Argument scale was not positive", validate_args)
        super().__init__(validate_args=validate_args, forward_min_event_ndims=0, name=name)

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        z = (x - self.loc) / self.scale
        return tf.exp(-tf.exp(-z))

    def _inverse(self, y: tf.Tensor) -> tf.Tensor:
        return self.loc - self.scale * tf.log(-tf.log(self._check(y)))

    def _inverse_log_det_jacobian(self, y: tf.Tensor) -> tf.Tensor:
        y = self._check(y)
        return tf.log(self.scale / (-tf.log(y) * y))

    def _forward_log_det_jacobian(self, x: tf.Tensor) -> tf.Tensor:
        z = (x - self.loc) / self.scale
        return -z - tf.exp(-z) - tf.log(self.scale)

    def _check(self, y: tf.Tensor) -> tf.Tensor:
        if not self.validate_args:
            return y
        return checked(y, tf.assert_non_negative(y, message="Inverse transformation input must be greater than 0."),
                       tf.assert_less_equal(y, tf.constant(1.0, y.dtype), message="Inverse transformation input must be less than or equal to 1."))


class Kumaraswamy(Bijector):
    """``bijectors.Kumaraswamy``: its inverse is x = 1 - (1 - y^a)^b, with a = ``concentration1`` and b = ``concentration0``."""

    def __init__(self, concentration1: Any = None, concentration0: Any = None, validate_args: bool = False, name: str = "kumaraswamy") -> None:
        message = "Concentration parameter must be positive."
        with self._init_scope(name, concentration1, concentration0):
            self._concentration1 = _positive(tf.convert_to_tensor(concentration1, name="concentration1"), message, validate_args)
            self._concentration0 = _positive(tf.convert_to_tensor(concentration0, name="concentration0"), message, validate_args)
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    @property
    def concentration1(self) -> tf.Tensor:
        """a."""
        return self._concentration1

    @property
    def concentration0(self) -> tf.Tensor:
        """b."""
        return self._concentration0

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        x = self._check(x)
        return tf.exp(tf.log1p(-tf.exp(tf.log1p(-x) / self.concentration0)) / self.concentration1)

    def _inverse(self, y: tf.Tensor) -> tf.Tensor:
        y = self._check(y)
        return tf.exp(tf.log1p(-(1 - y ** self.concentration1) ** self.concentration0))

    def _inverse_log_det_jacobian(self, y: tf.Tensor) -> tf.Tensor:
        y = self._check(y)
        a, b = self.concentration1, self.concentration0
        return tf.log(a) + tf.log(b) + (a - 1) * tf.log(y) + (b - 1) * tf.log1p(-y ** a)

    def _check(self, x: tf.Tensor) -> tf.Tensor:
        if not self.validate_args:
            return x
        return checked(x, tf.assert_non_negative(x, message="sample must be non-negative"),
                       tf.assert_less_equal(x, tf.ones([], self.concentration0.dtype), message="sample must be no larger than `1`."))


class Weibull(Bijector):
    """Weibull's distribution function, y = 1 - exp(-(x / scale)^concentration); TensorFlow has it inside ``bijectors``."""

    def __init__(self, scale: Any = 1.0, concentration: Any = 1.0, validate_args: bool = False, name: str = "weibull",
                 event_ndims: Any = None) -> None:
        with self._init_scope(name, scale, concentration):
            self._scale = tf.convert_to_tensor(scale, name="scale")
            self._concentration = tf.convert_to_tensor(concentration, name="concentration")
            tf.assert_same_float_dtype([self._scale, self._concentration])
            self._scale = _positive(self._scale, "Argument scale was not positive", validate_args)
            self._concentration = _positive(self._concentration, "Argument concentration was not positive", validate_args)
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name, event_ndims=event_ndims)

    @property
    def scale(self) -> tf.Tensor:
        """The scale."""
        return self._scale

    @property
    def concentration(self) -> tf.Tensor:
        """The exponent."""
        return self._concentration

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        x = self._checked_x(x)
        return -tf.expm1(-(x / self.scale) ** self.concentration)

    def _inverse(self, y: tf.Tensor) -> tf.Tensor:
        y = self._checked_y(y)
        return self.scale * (-tf.log1p(-y)) ** (1 / self.concentration)

    def _inverse_log_det_jacobian(self, y: tf.Tensor) -> tf.Tensor:
        y = self._checked_y(y)
        return (-tf.log1p(-y) + (1 / self.concentration - 1) * tf.log(-tf.log1p(-y)) + tf.log(self.scale / self.concentration))

    def _forward_log_det_jacobian(self, x: tf.Tensor) -> tf.Tensor:
        x = self._checked_x(x)
        return (-(x / self.scale) ** self.concentration + (self.concentration - 1) * tf.log(x)
                + tf.log(self.concentration) + -self.concentration * tf.log(self.scale))

    def _checked_x(self, x: tf.Tensor) -> tf.Tensor:
        if not self.validate_args:
            return x
        return checked(x, tf.assert_non_negative(x, message="Forward transformation input must be at least 0."))

    def _checked_y(self, y: tf.Tensor) -> tf.Tensor:
        if not self.validate_args:
            return y
        return checked(y, tf.assert_positive(y, message="Inverse transformation input must be greater than 0."),
                       tf.assert_less_equal(y, tf.constant(1.0, y.dtype), message="Inverse transformation input must be less than or equal to 1."))
