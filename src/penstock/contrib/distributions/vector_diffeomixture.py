"""Vectors whose affine transformation is drawn as well: somewhere between two of them. The integral over the places between is a sum over few."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.arguments import assert_scalar_distribution, checked
from penstock.contrib.distributions.bijectors.affine import AffineLinearOperator
from penstock.contrib.distributions.bijectors.vectors import SoftmaxCentered
from penstock.contrib.distributions.categorical import Categorical
from penstock.contrib.distributions.distribution import FULLY_REPARAMETERIZED, Distribution
from penstock.contrib.distributions.normal import Normal
from penstock.contrib.distributions.quadrature import hermite_places, quantile_places
from penstock.contrib.distributions.seeds import gen_new_seed
from penstock.contrib.distributions.shapes import pad, pick_vector
from penstock.contrib.linalg.addition import add_operators, scale_operator
from penstock.contrib.linalg.identity import LinearOperatorIdentity, LinearOperatorScaledIdentity
from penstock.contrib.linalg.linear_operator import LinearOperator
from penstock.contrib.linalg.matrices import LinearOperatorDiag, LinearOperatorFullMatrix


def _normal_parameters(loc: Any, scale: Any, validate_args: bool) -> tuple[tf.Tensor, tf.Tensor]:
    loc = tf.convert_to_tensor(loc, name="normal_loc")
    scale = tf.convert_to_tensor(scale, dtype=loc.dtype.base_dtype, name="normal_scale")
    with tf.name_scope("check_normal_scale", values=[scale]):
        if scale.shape.ndims == 0:
            raise ValueError("Mixing params must be a (batch of) vector; normal_scale.rank=0 is not at least one.")
        if scale.shape.ndims is not None:
            last = tf.dimension_value(scale.shape[-1])
            if last != 1:
                raise NotImplementedError(f"Currently only bimixtures are supported; normal_scale.shape[-1]={last} is not 1.")
        elif validate_args:
            rank = tf.assert_rank_at_least(scale, 1, message="Mixing params must be a (batch of) vector; normal_scale.rank is not at least one.")
            last = tf.assert_equal(tf.shape(scale)[-1], 1, message="Currently only bimixtures are supported; normal_scale.shape[-1] is not 1.")
            scale = checked(scale, rank, last)
    return loc, scale


def quadrature_scheme_softmaxnormal_gauss_hermite(normal_loc: Any, normal_scale: Any, quadrature_size: int, validate_args: bool = False,
                                                  name: str | None = None) -> tuple[tf.Tensor, tf.Tensor]:
    """``tf.contrib.distributions.quadrature_scheme_softmaxnormal_gauss_hermite``: (shares of both ends, weights), by Gauss and Hermite."""
    with tf.name_scope(name, "quadrature_scheme_softmaxnormal_gauss_hermite", [normal_loc, normal_scale]):
        places, probs = hermite_places(*_normal_parameters(normal_loc, normal_scale, validate_args), quadrature_size)
        return tf.softmax(-pad(places, axis=-2, front=True), axis=-2), probs


def quadrature_scheme_softmaxnormal_quantiles(normal_loc: Any, normal_scale: Any, quadrature_size: int, validate_args: bool = False,
                                              name: str | None = None) -> tuple[tf.Tensor, tf.Tensor]:
    """``tf.contrib.distributions.quadrature_scheme_softmaxnormal_quantiles``: (means of neighbouring quantiles, equal weights)."""
    with tf.name_scope(name, "softmax_normal_grid_and_probs", [normal_loc, normal_scale]):
        loc, scale = _normal_parameters(normal_loc, normal_scale, validate_args)
        normal = Normal(loc=loc, scale=scale)
        grid, probs = quantile_places(normal, quadrature_size, SoftmaxCentered().forward)
        grid.set_shape(normal.batch_shape.with_rank_at_least(1)[:-1].concatenate([2, quadrature_size]))
        return grid, probs


class VectorDiffeomixture(Distribution):
    """``tf.contrib.distributions.VectorDiffeomixture``: scale x + loc, where the elements of x are drawn from ``distribution``, and (loc, scale) lies
    between the two that are given; ``quadrature_fn`` says where, and how often.
    """

    def __init__(self, mix_loc: Any, temperature: Any, distribution: Distribution, loc: Sequence[Any] | None = None,
                 scale: Sequence[LinearOperator] | None = None, quadrature_size: int = 8,
                 quadrature_fn: Callable[..., tuple[tf.Tensor, tf.Tensor]] = quadrature_scheme_softmaxnormal_quantiles, validate_args: bool = False,
                 allow_nan_stats: bool = True, name: str = "VectorDiffeomixture") -> None:
        with tf.name_scope(name, values=[mix_loc, temperature]) as name:
            if not scale or len(scale) < 2:
                raise ValueError("Must specify list (or list-like object) of scale LinearOperators, one for each component with num_component >= 2.")
            loc = [None] * len(scale) if loc is None else loc
            if len(loc) != len(scale):
                raise ValueError("loc/scale must be same-length lists (or same-length list-like objects).")
            dtype = scale[0].dtype.base_dtype
            loc = [None if each is None else tf.convert_to_tensor(each, dtype=dtype, name=f"loc{k}") for k, each in enumerate(loc)]
            _check_scales(scale, dtype, validate_args)
            self._endpoint_affine = _affines(loc, scale, validate_args, "endpoint_affine")
            if len(scale) != 2:
                raise NotImplementedError(f"Currently only bimixtures are supported; len(scale)={len(scale)} is not 2.")
            mix_loc = tf.convert_to_tensor(mix_loc, dtype=dtype, name="mix_loc")
            temperature = tf.convert_to_tensor(temperature, dtype=dtype, name="temperature")
            self._grid, probs = quadrature_fn(mix_loc / temperature, 1.0 / temperature, quadrature_size, validate_args)
            self._mixture_distribution = Categorical(logits=tf.log(probs), validate_args=validate_args, allow_nan_stats=allow_nan_stats)
            checks = assert_scalar_distribution(distribution, dtype, validate_args)
            self._grid = checked(self._grid, *checks) if checks else self._grid
            self._distribution = distribution
            self._interpolated_affine = _affines(_locs_between(self._grid, loc), _scales_between(self._grid, scale), validate_args,
                                                 "interpolated_affine")
            self._shapes = _shapes(self._grid, self._endpoint_affine)
            # A distribution of x that is not reparameterized is the user's affair, unless arguments are validated: it may have no variables.
            super().__init__(dtype=dtype, reparameterization_type=FULLY_REPARAMETERIZED, validate_args=validate_args,
                             allow_nan_stats=allow_nan_stats, name=name,
                             graph_parents=[*distribution._graph_parents, *(each for each in loc if each is not None),
                                            *(parent for each in scale for parent in each.graph_parents)])

    @property
    def mixture_distribution(self) -> Categorical:
        """Which of the places between the ends it is."""
        return self._mixture_distribution

    @property
    def distribution(self) -> Distribution:
        """The distribution of an element of x."""
        return self._distribution

    @property
    def grid(self) -> tf.Tensor:
        """The shares of both ends at each place: [..., 2, places]."""
        return self._grid

    @property
    def endpoint_affine(self) -> list[AffineLinearOperator]:
        """The transformations at both ends."""
        return self._endpoint_affine

    @property
    def interpolated_affine(self) -> list[AffineLinearOperator]:
        """The transformation at each place."""
        return self._interpolated_affine

    def _batch_shape(self) -> tf.TensorShape:
        return self._shapes[0]

    def _batch_shape_tensor(self) -> tf.Tensor:
        return self._shapes[1]

    def _event_shape(self) -> tf.TensorShape:
        return self._shapes[2]

    def _event_shape_tensor(self) -> tf.Tensor:
        return self._shapes[3]

    def _draw_shape(self) -> tf.Tensor:
        return tf.concat([self.batch_shape_tensor(), self.event_shape_tensor()], axis=0)

    def _sample_n(self, n: Any, seed: int | None = None) -> tf.Tensor:
        x = self.distribution.sample(sample_shape=tf.concat([[n], self._draw_shape()], axis=0), seed=seed)
        first, second = (affine.forward(x) for affine in self.endpoint_affine)
        weight = tf.reshape(self._draw_first_shares(n, gen_new_seed(seed, "vector_diffeomixture")),
                            tf.concat([[-1], self.batch_shape_tensor(), [1]], axis=0))
        return weight * (first - second) + second

    def _draw_first_shares(self, n: Any, seed: int | None) -> tf.Tensor:
        """The share of the first end: [n, batch size], or [n] if there is no batch."""
        mixture, count = self.mixture_distribution, self.batch_shape.num_elements()
        count = tf.reduce_prod(self.batch_shape_tensor()) if count is None else count
        own = mixture.batch_shape.num_elements()
        own = tf.reduce_prod(mixture.batch_shape_tensor()) if own is None else own
        none = np.int32([])
        ids = mixture.sample(sample_shape=tf.concat([[n], pick_vector(self.is_scalar_batch(), none, [count // own])], axis=0), seed=seed)
        ids = tf.reshape(ids, tf.concat([[n], pick_vector(self.is_scalar_batch(), none, np.int32([-1]))], axis=0))
        stride = tf.reduce_prod(tf.shape(self.grid)[-2:])
        return tf.gather(tf.reshape(self.grid, [-1]), ids + tf.range(0, count * stride, stride, dtype=ids.dtype))

    def _log_prob(self, x: tf.Tensor) -> tf.Tensor:
        y = tf.stack([affine.inverse(x) for affine in self.interpolated_affine], axis=-1)
        log_prob = tf.reduce_sum(self.distribution.log_prob(y), axis=-2)
        event_ndims = tf.rank(self.event_shape_tensor())
        volumes = tf.stack([affine.forward_log_det_jacobian(x, event_ndims=event_ndims) for affine in self.interpolated_affine], axis=-1)
        return tf.reduce_logsumexp(self.mixture_distribution.logits - volumes + log_prob, axis=-1)

    def _mean(self) -> tf.Tensor:
        probs = self._event_probs()
        return _total(probs[..., k] * mean for k, mean in enumerate(self._means_between()))

    def _covariance(self) -> tf.Tensor:
        """Of the mean of the covariances, and the covariance of the means."""
        probs, mean = self._event_probs()[..., None, :], self._mean()
        distances = [each - mean for each in self._means_between()]
        between = _total(probs[..., k] * (d[..., :, None] * d[..., None, :]) for k, d in enumerate(distances))
        return self._mean_covariance().to_dense() + between

    def _variance(self) -> tf.Tensor:
        probs, mean = self._event_probs(), self._mean()
        between = _total(probs[..., k] * tf.square(each - mean) for k, each in enumerate(self._means_between()))
        return self._mean_covariance().diag_part() + between

    def _mean_covariance(self) -> LinearOperator:
        """The mean of S S' over the places, S being the scale of a place, times the variance of an element of x."""
        probs, variance = self.mixture_distribution.probs, self.distribution.variance()
        positive = True if all(affine.scale.is_positive_definite for affine in self.endpoint_affine) else None
        return add_operators([_weighted_square(probs[..., k] * variance, affine.scale, positive)
                              for k, affine in enumerate(self.interpolated_affine)])

    def _means_between(self) -> list[tf.Tensor]:
        """The mean at each place."""
        shape = self._draw_shape()
        x = tf.tile(tf.reshape(self.distribution.mean(), tf.ones_like(shape, dtype=tf.int32)), multiples=shape)
        x.set_shape(self.batch_shape.concatenate(self.event_shape))
        return [affine.forward(x) for affine in self.interpolated_affine]

    def _event_probs(self) -> tf.Tensor:
        """The weights of places, with an axis of extent 1 for the event: [..., 1, places]."""
        return self.mixture_distribution.probs[..., None, :]


def _total(terms: Any) -> tf.Tensor:
    first, *rest = terms
    for term in rest:
        first += term
    return first


def _weighted_square(weight: tf.Tensor, scale: Any, positive: bool | None) -> LinearOperator:
    """weight * S S'."""
    if isinstance(scale, (LinearOperatorIdentity, LinearOperatorScaledIdentity)):
        square = tf.square(scale.multiplier) if isinstance(scale, LinearOperatorScaledIdentity) else tf.ones([], dtype=scale.dtype)
        return LinearOperatorScaledIdentity(scale.range_dimension_tensor(), weight * square, is_positive_definite=positive)
    if isinstance(scale, LinearOperatorDiag):
        return LinearOperatorDiag(weight[..., None] * tf.square(scale.diag_part()), is_positive_definite=positive)
    return LinearOperatorFullMatrix(weight[..., None, None] * scale.matmul(scale.to_dense(), adjoint_arg=True), is_positive_definite=positive)


def _check_scales(scales: Sequence[LinearOperator], dtype: tf.DType, validate_args: bool) -> None:
    for k, scale in enumerate(scales):
        if validate_args and not scale.is_positive_definite:
            raise ValueError(f"scale[{k}].is_positive_definite = {scale.is_positive_definite} != True")
        if scale.dtype.base_dtype != dtype:
            raise TypeError(f"dtype mismatch; scale[{k}].base_dtype=\"{scale.dtype.base_dtype.name}\" != \"{dtype.name}\"")


def _affines(locs: Sequence[Any], scales: Sequence[LinearOperator], validate_args: bool, name: str) -> list[AffineLinearOperator]:
    return [AffineLinearOperator(shift=loc, scale=scale, validate_args=validate_args, name=f"{name}_{k}")
            for k, (loc, scale) in enumerate(zip(locs, scales))]


def _place_count(grid: tf.Tensor) -> int:
    count = tf.dimension_value(grid.shape.with_rank_at_least(1)[-1])
    if count is None:
        raise ValueError("Num quadrature grid points must be known prior to graph execution.")
    return int(count)


def _locs_between(grid: tf.Tensor, locs: Sequence[Any]) -> list[Any]:
    count = _place_count(grid)
    with tf.name_scope("interpolate_loc", values=[grid, *locs]):
        if locs[0] is None and locs[1] is None:
            return [None] * count
        shares = grid[..., None, :, :]
        first, second = (None if loc is None else loc[..., None] for loc in locs)
        if first is None:
            x = shares[..., 1, :] * second
        elif second is None:
            x = shares[..., 0, :] * first
        else:
            x = shares[..., 0, :] * (first - second) + second
        return [x[..., k] for k in range(count)]


def _scales_between(grid: tf.Tensor, scales: Sequence[LinearOperator]) -> list[LinearOperator]:
    with tf.name_scope("interpolate_scale", values=[grid]):
        return [add_operators([scale_operator(grid[..., k, place], scale) for k, scale in enumerate(scales)]) for place in range(_place_count(grid))]


def _shapes(grid: tf.Tensor, affines: Sequence[Any]) -> tuple[Any, ...]:
    """(batch shape, the same as a tensor, event shape, the same as a tensor)."""
    with tf.name_scope("determine_batch_event_shapes"):
        batches = [(grid.shape[:-2], tf.shape(grid)[:-2])]
        events = []
        for affine in affines:
            if affine.shift is not None:
                batches.append((affine.shift.shape[:-1], tf.shape(affine.shift)[:-1]))
                events.append((affine.shift.shape[-1:], tf.shape(affine.shift)[-1:]))
            batches.append((affine.scale.batch_shape, affine.scale.batch_shape_tensor()))
            events.append((tf.TensorShape([affine.scale.range_dimension]), affine.scale.range_dimension_tensor()[None]))
        return (*_broadcast(batches), *_broadcast(events))


def _broadcast(shapes: Sequence[tuple[tf.TensorShape, tf.Tensor]]) -> tuple[tf.TensorShape, tf.Tensor]:
    static, dynamic = shapes[0]
    for more_static, more_dynamic in shapes[1:]:
        static, dynamic = tf.broadcast_static_shape(static, more_static), tf.broadcast_dynamic_shape(dynamic, more_dynamic)
    return static, dynamic
