"""Multivariate normal distributions: loc + scale z, with one class per way to give the scale."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.arguments import checked
from penstock.contrib.distributions.kullback_leibler import RegisterKL
from penstock.contrib.distributions.normal import Normal
from penstock.contrib.distributions.scale import as_tensor, is_diagonal_scale, make_diag_scale
from penstock.contrib.distributions.scaled import ScaledVector
from penstock.contrib.distributions.shapes import dimension_size
from penstock.contrib.linalg.identity import LinearOperatorIdentity
from penstock.contrib.linalg.linear_operator import LinearOperator
from penstock.contrib.linalg.low_rank import LinearOperatorLowRankUpdate
from penstock.contrib.linalg.matrices import LinearOperatorLowerTriangular


class MultivariateNormalLinearOperator(ScaledVector):
    """The one that the others derive from; ``scale`` is a LinearOperator."""

    def __init__(self, loc: Any = None, scale: LinearOperator | None = None, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "MultivariateNormalLinearOperator") -> None:
        if scale is None:
            raise ValueError("Missing required `scale` parameter.")
        if not scale.dtype.is_floating:
            raise TypeError("`scale` parameter must have floating-point dtype.")
        super().__init__(Normal(loc=tf.zeros([], dtype=scale.dtype), scale=tf.ones([], dtype=scale.dtype)), loc, scale, validate_args, name)

    def _mean(self) -> tf.Tensor:
        shape: Any = self.batch_shape.concatenate(self.event_shape)
        is_static = shape.is_fully_defined()
        if not is_static:
            shape = tf.concat([self.batch_shape_tensor(), self.event_shape_tensor()], 0)
        if self.loc is None:
            return tf.zeros(shape, self.dtype)
        if is_static and shape == self.loc.shape:
            return tf.identity(self.loc)
        return tf.identity(self.loc) + tf.zeros(shape, self.dtype)

    def _covariance(self) -> tf.Tensor:
        if is_diagonal_scale(self.scale):
            return tf.matrix_diag(tf.square(self.scale.diag_part()))
        return self.scale.matmul(self.scale.to_dense(), adjoint_arg=True)

    def _dense_variance(self) -> tf.Tensor:
        symmetric = isinstance(self.scale, LinearOperatorLowRankUpdate) and self.scale.is_self_adjoint
        return tf.matrix_diag_part(self.scale.matmul(self.scale.to_dense(), adjoint_arg=not symmetric))

    def _variance(self) -> tf.Tensor:
        return tf.square(self.scale.diag_part()) if is_diagonal_scale(self.scale) else self._dense_variance()

    def _stddev(self) -> tf.Tensor:
        return tf.abs(self.scale.diag_part()) if is_diagonal_scale(self.scale) else tf.sqrt(self._dense_variance())

    def _mode(self) -> tf.Tensor:
        return self._mean()


@RegisterKL(MultivariateNormalLinearOperator, MultivariateNormalLinearOperator)
def _kl_mvn(a: MultivariateNormalLinearOperator, b: MultivariateNormalLinearOperator, name: str | None = None) -> tf.Tensor:
    def squared_norm(x: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(tf.square(x), axis=[-2, -1])

    with tf.name_scope(name, "kl_mvn", values=[a.loc, b.loc, *a.scale.graph_parents, *b.scale.graph_parents]):
        if is_diagonal_scale(a.scale) and is_diagonal_scale(b.scale):
            ratio = (a.stddev() / b.stddev())[..., None]
        else:
            ratio = b.scale.solve(a.scale.to_dense())
        volumes = b.scale.log_abs_determinant() - a.scale.log_abs_determinant()
        size = tf.cast(a.scale.domain_dimension_tensor(), a.dtype)
        divergence = volumes + 0.5 * (-size + squared_norm(ratio) + squared_norm(b.scale.solve((b.mean() - a.mean())[..., None])))
        divergence.set_shape(tf.broadcast_static_shape(a.batch_shape, b.batch_shape))
        return divergence


class MultivariateNormalDiag(MultivariateNormalLinearOperator):
    """``tf.contrib.distributions.MultivariateNormalDiag``: independent elements."""

    def __init__(self, loc: Any = None, scale_diag: Any = None, scale_identity_multiplier: Any = None, validate_args: bool = False,
                 allow_nan_stats: bool = True, name: str = "MultivariateNormalDiag") -> None:
        with tf.name_scope(name) as name, tf.name_scope("init", values=[loc, scale_diag, scale_identity_multiplier]):
            scale = make_diag_scale(loc=loc, scale_diag=scale_diag, scale_identity_multiplier=scale_identity_multiplier)
        super().__init__(loc=loc, scale=scale, validate_args=validate_args, allow_nan_stats=allow_nan_stats, name=name)


class MultivariateNormalDiagWithSoftplusScale(MultivariateNormalDiag):
    """``tf.contrib.distributions.MultivariateNormalDiagWithSoftplusScale``: the softplus of ``scale_diag`` is used."""

    def __init__(self, loc: Any, scale_diag: Any, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "MultivariateNormalDiagWithSoftplusScale") -> None:
        with tf.name_scope(name, values=[scale_diag]) as name:
            super().__init__(loc=loc, scale_diag=tf.softplus(scale_diag), validate_args=validate_args, allow_nan_stats=allow_nan_stats, name=name)


class MultivariateNormalDiagPlusLowRank(MultivariateNormalLinearOperator):
    """``tf.contrib.distributions.MultivariateNormalDiagPlusLowRank``: the scale is a diagonal and U D U'."""

    def __init__(self, loc: Any = None, scale_diag: Any = None, scale_identity_multiplier: Any = None, scale_perturb_factor: Any = None,
                 scale_perturb_diag: Any = None, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "MultivariateNormalDiagPlusLowRank") -> None:
        given = [loc, scale_diag, scale_identity_multiplier, scale_perturb_factor, scale_perturb_diag]
        with tf.name_scope(name) as name, tf.name_scope("init", values=given):
            has_low_rank = scale_perturb_factor is not None or scale_perturb_diag is not None
            scale = make_diag_scale(loc=loc, scale_diag=scale_diag, scale_identity_multiplier=scale_identity_multiplier,
                                    validate_args=validate_args, assert_positive=has_low_rank)
            factor, diag = as_tensor(scale_perturb_factor, "scale_perturb_factor"), as_tensor(scale_perturb_diag, "scale_perturb_diag")
            if has_low_rank:
                scale = LinearOperatorLowRankUpdate(scale, u=factor, diag_update=diag, is_diag_update_positive=diag is None, is_non_singular=True,
                                                    is_self_adjoint=True, is_positive_definite=True, is_square=True)
        super().__init__(loc=loc, scale=scale, validate_args=validate_args, allow_nan_stats=allow_nan_stats, name=name)


class MultivariateNormalTriL(MultivariateNormalLinearOperator):
    """``tf.contrib.distributions.MultivariateNormalTriL``: the scale is a lower triangle."""

    def __init__(self, loc: Any = None, scale_tril: Any = None, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "MultivariateNormalTriL") -> None:
        if loc is None and scale_tril is None:
            raise ValueError("Must specify one or both of `loc`, `scale_tril`.")
        scale: LinearOperator
        with tf.name_scope(name) as name, tf.name_scope("init", values=[loc, scale_tril]):
            loc, scale_tril = as_tensor(loc, "loc"), as_tensor(scale_tril, "scale_tril")
            if scale_tril is None:
                scale = LinearOperatorIdentity(num_rows=dimension_size(loc, -1), dtype=loc.dtype, assert_proper_shapes=validate_args)
            else:
                scale = LinearOperatorLowerTriangular(scale_tril, is_non_singular=True, is_self_adjoint=False, is_positive_definite=False)
        super().__init__(loc=loc, scale=scale, validate_args=validate_args, allow_nan_stats=allow_nan_stats, name=name)


class MultivariateNormalFullCovariance(MultivariateNormalTriL):
    """``tf.contrib.distributions.MultivariateNormalFullCovariance``: the covariance is given, as a whole."""

    def __init__(self, loc: Any = None, covariance_matrix: Any = None, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "MultivariateNormalFullCovariance") -> None:
        with tf.name_scope(name) as name, tf.name_scope("init", values=[loc, covariance_matrix]):
            scale_tril = None
            if covariance_matrix is not None:
                covariance_matrix = tf.convert_to_tensor(covariance_matrix, name="covariance_matrix")
                if validate_args:
                    covariance_matrix = checked(covariance_matrix, tf.assert_near(
                        covariance_matrix, tf.matrix_transpose(covariance_matrix), message="Matrix was not symmetric"))
                scale_tril = tf.cholesky(covariance_matrix)
            super().__init__(loc=loc, scale_tril=scale_tril, validate_args=validate_args, allow_nan_stats=allow_nan_stats, name=name)
