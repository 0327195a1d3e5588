"""Wishart's distribution: sums of outer products of normal vectors, by Bartlett's decomposition. Matrices may be given as Cholesky factors."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.arguments import checked
from penstock.contrib.distributions.distribution import FULLY_REPARAMETERIZED, Distribution
from penstock.contrib.distributions.seeds import gen_new_seed
from penstock.contrib.linalg.linear_operator import LinearOperator
from penstock.contrib.linalg.matrices import LinearOperatorLowerTriangular


class WishartLinearOperator(Distribution):
    """Matrices with ``df`` degrees of freedom; ``scale_operator`` is the factor of the scale. Samples are matrices or their factors."""

    def __init__(self, df: Any, scale_operator: LinearOperator, cholesky_input_output_matrices: bool = False, validate_args: bool = False,
                 allow_nan_stats: bool = True, name: str | None = None) -> None:
        self.cholesky_input_output_matrices, self.scale_operator = cholesky_input_output_matrices, scale_operator
        with tf.name_scope(name) as name, tf.name_scope("init", values=[df]):
            if not scale_operator.dtype.is_floating:
                raise TypeError(f"scale_operator.dtype={scale_operator.dtype} is not a floating-point type. Argument tril must have dtype "
                                "float16, float32 or float64.")
            self.df = tf.convert_to_tensor(df, dtype=scale_operator.dtype, name="df")
            size = tf.dimension_value(scale_operator.shape[-1]) if scale_operator.shape.ndims is not None else None
            self.dimension = tf.cast(scale_operator.domain_dimension_tensor() if size is None else size, scale_operator.dtype, name="dimension")
            self._check_df(validate_args)
        super().__init__(dtype=scale_operator.dtype, reparameterization_type=FULLY_REPARAMETERIZED, validate_args=validate_args,
                         allow_nan_stats=allow_nan_stats, graph_parents=[self.df, self.dimension, *scale_operator.graph_parents], name=name)

    def _check_df(self, validate_args: bool) -> None:
        df, dimension = tf.constant_value(self.df), tf.constant_value(self.dimension)
        if df is not None and dimension is not None:
            if np.any(df < dimension):
                raise ValueError(f"Degrees of freedom (df = {df}) cannot be less than dimension of scale matrix (scale.dimension = {dimension})")
        elif validate_args:
            self.df = checked(self.df, tf.assert_less_equal(self.dimension, self.df, message=(
                f"Degrees of freedom (df = {self.df}) cannot be less than dimension of scale matrix (scale.dimension = {self.dimension})")))

    def scale(self) -> tf.Tensor:
        """The scale, or its factor."""
        return self.scale_operator.to_dense() if self.cholesky_input_output_matrices else self._whole_scale()

    def _whole_scale(self) -> tf.Tensor:
        return self.scale_operator.matmul(self.scale_operator.to_dense(), adjoint_arg=True)

    def _event_shape_tensor(self) -> tf.Tensor:
        return tf.stack([self.scale_operator.domain_dimension_tensor()] * 2)

    def _event_shape(self) -> Any:
        return tf.TensorShape([self.scale_operator.domain_dimension] * 2)

    def _batch_shape_tensor(self) -> tf.Tensor:
        return self.scale_operator.batch_shape_tensor()

    def _batch_shape(self) -> Any:
        return self.scale_operator.batch_shape

    # --- samples and probabilities -----------------------------------------------------------------------------------

    def _sample_n(self, n: Any, seed: int | None = None) -> tf.Tensor:
        """A lower triangle of normal numbers, with roots of chi-squared ones on the diagonal, times the factor of the scale."""
        shape = tf.concat([[n], self.batch_shape_tensor(), self.event_shape_tensor()], 0)
        normal = tf.random_normal(shape, mean=0.0, stddev=1.0, dtype=self.dtype, seed=seed)
        df = self.df * tf.ones(self.batch_shape_tensor(), dtype=self.dtype)
        gamma = tf.random_gamma(shape=[n], alpha=self._gamma_arguments(0.5 * df), beta=0.5, dtype=self.dtype, seed=gen_new_seed(seed, "wishart"))
        factor = tf.matrix_set_diag(tf.matrix_band_part(normal, -1, 0), tf.sqrt(gamma))
        factor = self._through(self.scale_operator.matmul, factor)
        return factor if self.cholesky_input_output_matrices else tf.matmul(factor, factor, adjoint_b=True)

    def _through(self, operator: Any, x: tf.Tensor) -> tf.Tensor:
        """What a method of the operator makes of the columns of all samples: [..., batch, d, d] as [batch, d, -1]."""
        ndims, batch = tf.rank(x), self.batch_shape_tensor()
        samples = ndims - tf.size(batch) - 2
        before = tf.shape(x)[:samples]
        moved = tf.transpose(x, tf.concat([tf.range(samples, ndims), tf.range(0, samples)], 0))
        size = self.event_shape_tensor()
        result = operator(tf.reshape(moved, tf.concat([batch, [size[0]], [-1]], 0)))
        result = tf.reshape(result, tf.concat([batch, size, before], 0))
        return tf.transpose(result, tf.concat([tf.range(ndims - samples, ndims), tf.range(0, ndims - samples)], 0))

    def _log_prob(self, x: tf.Tensor) -> tf.Tensor:
        root = x if self.cholesky_input_output_matrices else tf.cholesky(x)
        trace = tf.reduce_sum(tf.square(self._through(self.scale_operator.solve, root)), axis=[-2, -1])
        half_log_det = tf.reduce_sum(tf.log(tf.matrix_diag_part(root)), axis=[-1])
        result = (self.df - self.dimension - 1.0) * half_log_det - 0.5 * trace - self.log_normalization()
        if x.shape.ndims is not None:
            result.set_shape(x.shape[:-2])
        return result

    def _entropy(self) -> tf.Tensor:
        half, half_df = 0.5 * self.dimension + 0.5, 0.5 * self.df
        return (self.dimension * (half_df + half * math.log(2.0)) + 2 * half * self.scale_operator.log_abs_determinant()
                + self._multi(tf.lgamma, half_df) + 0.25 * self.dimension * (self.dimension - 1.0) * math.log(math.pi)
                + (half - half_df) * self._multi(tf.digamma, half_df))

    # --- moments -----------------------------------------------------------------------------------------------------

    def _mean(self) -> tf.Tensor:
        if self.cholesky_input_output_matrices:
            return tf.sqrt(self.df) * self.scale_operator.to_dense()
        return self.df * self._whole_scale()

    def _variance(self) -> tf.Tensor:
        x = tf.sqrt(self.df) * self._whole_scale()
        diagonal = tf.expand_dims(tf.matrix_diag_part(x), -1)
        variance = tf.square(x) + tf.matmul(diagonal, diagonal, adjoint_b=True)
        return tf.cholesky(variance) if self.cholesky_input_output_matrices else variance

    def _stddev(self) -> tf.Tensor:
        if self.cholesky_input_output_matrices:
            raise ValueError("Computing std. dev. when is cholesky_input_output_matrices=True does not make sense.")
        return tf.cholesky(self.variance())

    def _mode(self) -> tf.Tensor:
        s = self.df - self.dimension - 1.0
        s = tf.where_v2(tf.less(s, 0.0), tf.constant(float("NaN"), dtype=self.dtype), s)
        return tf.sqrt(s) * self.scale_operator.to_dense() if self.cholesky_input_output_matrices else s * self._whole_scale()

    def mean_log_det(self, name: str = "mean_log_det") -> tf.Tensor:
        """The mean of the logarithm of the determinant."""
        with self._name_scope(name):
            return self._multi(tf.digamma, 0.5 * self.df) + self.dimension * math.log(2.0) + 2 * self.scale_operator.log_abs_determinant()

    def log_normalization(self, name: str = "log_normalization") -> tf.Tensor:
        """The logarithm of the integral that makes the density one."""
        with self._name_scope(name):
            constant = 0.25 * self.dimension * (self.dimension - 1.0) * math.log(math.pi)
            return (self.df * self.scale_operator.log_abs_determinant() + 0.5 * self.df * self.dimension * math.log(2.0) + constant
                    + self._multi(tf.lgamma, 0.5 * self.df))

    def _gamma_arguments(self, a: tf.Tensor) -> tf.Tensor:
        """a, a - 1/2, a - 1, ...: one for each row."""
        steps = tf.linspace(tf.constant(0.0, dtype=self.dtype), 0.5 - 0.5 * self.dimension, tf.cast(self.dimension, tf.int32))
        return steps + tf.expand_dims(a, [-1])

    def _multi(self, function: Any, a: tf.Tensor) -> tf.Tensor:
        """The sum of lgamma or digamma over the rows."""
        return tf.reduce_sum(function(self._gamma_arguments(a)), axis=[-1])


def _factor(tril: tf.Tensor) -> LinearOperatorLowerTriangular:
    return LinearOperatorLowerTriangular(tril=tril, is_non_singular=True, is_positive_definite=True, is_square=True)


class WishartCholesky(WishartLinearOperator):
    """``tf.contrib.distributions.WishartCholesky``: ``scale`` is the Cholesky factor of the scale."""

    def __init__(self, df: Any, scale: Any, cholesky_input_output_matrices: bool = False, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "WishartCholesky") -> None:
        with tf.name_scope(name, values=[scale]) as name:
            scale = tf.convert_to_tensor(scale)
            if validate_args:
                scale = checked(scale, tf.assert_positive(tf.matrix_diag_part(scale), message="scale must be positive definite"),
                                tf.assert_equal(tf.shape(scale)[-1], tf.shape(scale)[-2], message="scale must be square"))
            super().__init__(df, _factor(scale), cholesky_input_output_matrices, validate_args, allow_nan_stats, name)


class WishartFull(WishartLinearOperator):
    """``tf.contrib.distributions.WishartFull``: ``scale`` is the scale itself, a symmetric matrix."""

    def __init__(self, df: Any, scale: Any, cholesky_input_output_matrices: bool = False, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "WishartFull") -> None:
        with tf.name_scope(name) as name:
            scale = tf.convert_to_tensor(scale)
            if validate_args:
                scale = checked(scale, tf.assert_near(scale, tf.matrix_transpose(scale), message="Matrix was not symmetric"))
            factor = tf.cholesky(scale)
            if validate_args:
                factor = checked(factor, tf.assert_positive(tf.matrix_diag_part(factor)))
            super().__init__(df, _factor(factor), cholesky_input_output_matrices, validate_args, allow_nan_stats, name)
