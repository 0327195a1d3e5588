"""Vectors of independent numbers, transformed: loc + scale z for exponential and Laplacian z, and what sinh and arcsinh make of a normal z."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.arguments import assert_scalar_distribution, checked
from penstock.contrib.distributions.bijectors.affine import Affine
from penstock.contrib.distributions.bijectors.combined import Chain
from penstock.contrib.distributions.bijectors.elementwise import AffineScalar
from penstock.contrib.distributions.bijectors.elementwise import SinhArcsinh as SinhArcsinhBijector
from penstock.contrib.distributions.distribution import Distribution
from penstock.contrib.distributions.gamma import Exponential
from penstock.contrib.distributions.location_scale import Laplace
from penstock.contrib.distributions.normal import Normal
from penstock.contrib.distributions.scale import as_tensor, is_diagonal_scale, make_diag_scale, shapes_from_loc_and_scale
from penstock.contrib.distributions.scaled import ScaledVector
from penstock.contrib.distributions.shapes import broadcast_shape_of, pick_vector
from penstock.contrib.distributions.student_t import StudentT
from penstock.contrib.distributions.transformed import TransformedDistribution
from penstock.contrib.linalg.linear_operator import LinearOperator


class _ScaledVector(ScaledVector):
    """loc + scale z, where the elements of z are independent, with a mean, a variance and 0 as their mode."""

    _mean_of_z, _variance_of_z = 0.0, 1.0

    def _at(self, z: float) -> tf.Tensor:
        """loc + scale z for a vector of equal elements."""
        shape: Any = self.batch_shape.concatenate(self.event_shape)
        if not shape.is_fully_defined():
            shape = tf.concat([self.batch_shape_tensor(), self.event_shape_tensor()], 0)
        scaled = self.scale.matvec(tf.fill(shape, tf.constant(z, self.dtype)))
        return scaled if self.loc is None else self.loc + scaled

    def _mean(self) -> tf.Tensor:
        return self._at(self._mean_of_z)

    def _mode(self) -> tf.Tensor:
        return self._at(0.0)

    def _covariance(self) -> tf.Tensor:
        if is_diagonal_scale(self.scale):
            return self._variance_of_z * tf.matrix_diag(tf.square(self.scale.diag_part()))
        return self._variance_of_z * self.scale.matmul(self.scale.to_dense(), adjoint_arg=True)

    def _variance(self) -> tf.Tensor:
        if is_diagonal_scale(self.scale):
            return self._variance_of_z * tf.square(self.scale.diag_part())
        return tf.matrix_diag_part(self._covariance())

    def _stddev(self) -> tf.Tensor:
        return tf.sqrt(self._variance())


def _diag_scale(name: str, loc: Any, scale_diag: Any, scale_identity_multiplier: Any) -> tuple[str, LinearOperator]:
    """(the scope, the operator)."""
    with tf.name_scope(name) as scope, tf.name_scope("init", values=[loc, scale_diag, scale_identity_multiplier]):
        return scope, make_diag_scale(loc=loc, scale_diag=scale_diag, scale_identity_multiplier=scale_identity_multiplier)


class VectorExponentialDiag(_ScaledVector):
    """``tf.contrib.distributions.VectorExponentialDiag``: the elements of z are exponential, with rate 1."""

    _mean_of_z = 1.0

    def __init__(self, loc: Any = None, scale_diag: Any = None, scale_identity_multiplier: Any = None, validate_args: bool = False,
                 allow_nan_stats: bool = True, name: str = "VectorExponentialDiag") -> None:
        name, scale = _diag_scale(name, loc, scale_diag, scale_identity_multiplier)
        standard = Exponential(rate=tf.ones([], dtype=scale.dtype), allow_nan_stats=allow_nan_stats)
        super().__init__(standard, loc, scale, validate_args, name)


class VectorLaplaceDiag(_ScaledVector):
    """``tf.contrib.distributions.VectorLaplaceDiag``: the elements of z have Laplace's distribution, with scale 1."""

    _variance_of_z = 2.0

    def __init__(self, loc: Any = None, scale_diag: Any = None, scale_identity_multiplier: Any = None, validate_args: bool = False,
                 allow_nan_stats: bool = True, name: str = "VectorLaplaceDiag") -> None:
        name, scale = _diag_scale(name, loc, scale_diag, scale_identity_multiplier)
        standard = Laplace(loc=tf.zeros([], dtype=scale.dtype), scale=tf.ones([], dtype=scale.dtype), allow_nan_stats=allow_nan_stats)
        super().__init__(standard, loc, scale, validate_args, name)


class VectorStudentT(TransformedDistribution):
    """The elements of z have Student's distribution, with ``df`` degrees of freedom; the scale is that of the bijector `Affine`."""

    def __init__(self, df: Any, loc: Any = None, scale_identity_multiplier: Any = None, scale_diag: Any = None, scale_tril: Any = None,
                 scale_perturb_factor: Any = None, scale_perturb_diag: Any = None, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "VectorStudentT") -> None:
        with tf.name_scope(name) as name, tf.name_scope("init", values=[df, loc, scale_identity_multiplier, scale_diag, scale_tril]):
            affine = Affine(shift=loc, scale_identity_multiplier=scale_identity_multiplier, scale_diag=scale_diag, scale_tril=scale_tril,
                            scale_perturb_factor=scale_perturb_factor, scale_perturb_diag=scale_perturb_diag, validate_args=validate_args)
            standard = StudentT(df=df, loc=tf.zeros([], affine.dtype), scale=tf.ones([], affine.dtype), allow_nan_stats=allow_nan_stats)
            batch_shape, event_shape = shapes_from_loc_and_scale(affine.shift, affine.scale)
            batch_shape = pick_vector(standard.is_scalar_batch(), batch_shape, tf.constant([], tf.int32))
            super().__init__(distribution=standard, bijector=affine, batch_shape=batch_shape, event_shape=event_shape, validate_args=validate_args,
                             name=name)

    df = property(lambda self: self.distribution.df, doc="The degrees of freedom.")
    loc = property(lambda self: self.bijector.shift, doc="What is added.")
    scale = property(lambda self: self.bijector.scale, doc="The scale, an operator.")


# --- sinh and arcsinh ------------------------------------------------------------------------------------------------

def _skewness_parts(skewness: Any, tailweight: Any, dtype: Any) -> tuple[tf.Tensor, tf.Tensor, SinhArcsinhBijector, tf.Tensor]:
    """(skewness, tailweight, the bijector, the factor by which 2 stays 2 if there is no skewness)."""
    is_skewed = skewness is not None
    skewness = tf.convert_to_tensor(0.0 if skewness is None else skewness, dtype=dtype, name="skewness")
    tailweight = tf.convert_to_tensor(1.0 if tailweight is None else tailweight, dtype=dtype, name="tailweight")
    bijector = SinhArcsinhBijector(skewness=skewness, tailweight=tailweight)
    straight = SinhArcsinhBijector(skewness=dtype.as_numpy_dtype(0.0), tailweight=tailweight) if is_skewed else bijector
    return skewness, tailweight, bijector, 2 / straight.forward(tf.convert_to_tensor(2, dtype=dtype))


def _standard(distribution: Distribution | None, dtype: Any, validate_args: bool, allow_nan_stats: bool) -> tuple[Distribution, list[Any]]:
    """(the distribution of z, checks that it is one of numbers)."""
    if distribution is None:
        return Normal(loc=tf.zeros([], dtype=dtype), scale=tf.ones([], dtype=dtype), allow_nan_stats=allow_nan_stats), []
    return distribution, assert_scalar_distribution(distribution, dtype, validate_args)


class SinhArcsinh(TransformedDistribution):
    """``tf.contrib.distributions.SinhArcsinh``: numbers whose skewness and tails can be chosen."""

    def __init__(self, loc: Any, scale: Any, skewness: Any = None, tailweight: Any = None, distribution: Distribution | None = None,
                 validate_args: bool = False, allow_nan_stats: bool = True, name: str = "SinhArcsinh") -> None:
        with tf.name_scope(name, values=[loc, scale, skewness, tailweight]) as name:
            loc = tf.convert_to_tensor(loc, name="loc")
            self.scale = tf.convert_to_tensor(scale, name="scale", dtype=loc.dtype)
            self.skewness, self.tailweight, bijector, factor = _skewness_parts(skewness, tailweight, loc.dtype)
            standard, checks = _standard(distribution, loc.dtype, validate_args, allow_nan_stats)
            self.loc = checked(loc, *checks) if checks else loc
            affine = AffineScalar(shift=self.loc, scale=self.scale * factor, validate_args=validate_args)
            super().__init__(distribution=standard, bijector=Chain([affine, bijector]),
                             batch_shape=broadcast_shape_of(loc, self.scale, self.tailweight, self.skewness), validate_args=validate_args, name=name)


class VectorSinhArcsinhDiag(TransformedDistribution):
    """``tf.contrib.distributions.VectorSinhArcsinhDiag``: vectors of such numbers."""

    def __init__(self, loc: Any = None, scale_diag: Any = None, scale_identity_multiplier: Any = None, skewness: Any = None, tailweight: Any = None,
                 distribution: Distribution | None = None, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "MultivariateNormalLinearOperator") -> None:
        with tf.name_scope(name, values=[loc, scale_diag, scale_identity_multiplier, skewness, tailweight]) as name:
            self.loc = as_tensor(loc, "loc")
            self.scale = make_diag_scale(loc=self.loc, scale_diag=scale_diag, scale_identity_multiplier=scale_identity_multiplier)
            batch_shape, event_shape = shapes_from_loc_and_scale(self.loc, self.scale)
            diagonal = self.scale.diag_part()
            standard, checks = _standard(distribution, diagonal.dtype, validate_args, allow_nan_stats)
            diagonal = checked(diagonal, *checks) if checks else diagonal
            self.skewness, self.tailweight, bijector, factor = _skewness_parts(skewness, tailweight, diagonal.dtype)
            affine = Affine(shift=self.loc, scale_diag=diagonal * factor, validate_args=validate_args)
            super().__init__(distribution=standard, bijector=Chain([affine, bijector]), batch_shape=batch_shape, event_shape=event_shape,
                             validate_args=validate_args, name=name)
