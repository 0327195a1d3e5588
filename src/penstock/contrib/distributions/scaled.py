"""Vectors loc + scale z, where the elements of z are independent: what multivariate normal, Laplace and exponential distributions have in common."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.bijectors.affine import AffineLinearOperator
from penstock.contrib.distributions.distribution import Distribution
from penstock.contrib.distributions.scale import as_tensor, shapes_from_loc_and_scale
from penstock.contrib.distributions.transformed import TransformedDistribution
from penstock.contrib.linalg.linear_operator import LinearOperator


class ScaledVector(TransformedDistribution):
    """loc + scale z; ``standard`` is the distribution of an element of z."""

    def __init__(self, standard: Distribution, loc: Any, scale: LinearOperator, validate_args: bool, name: str) -> None:
        with tf.name_scope(name, values=[loc, *scale.graph_parents]) as name:
            loc = as_tensor(loc, "loc")
            batch_shape, event_shape = shapes_from_loc_and_scale(loc, scale)
        super().__init__(distribution=standard, bijector=AffineLinearOperator(shift=loc, scale=scale, validate_args=validate_args),
                         batch_shape=batch_shape, event_shape=event_shape, validate_args=validate_args, name=name)

    @property
    def loc(self) -> Any:
        """What is added; None stands for zeros."""
        return self.bijector.shift

    @property
    def scale(self) -> LinearOperator:
        """The factor of z."""
        return self.bijector.scale
