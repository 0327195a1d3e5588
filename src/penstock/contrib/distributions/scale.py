"""Scales of vectors as LinearOperators: which one, made of what the user gives."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.arguments import checked
from penstock.contrib.distributions.shapes import broadcast_shape
from penstock.contrib.linalg.identity import LinearOperatorIdentity, LinearOperatorScaledIdentity
from penstock.contrib.linalg.linear_operator import LinearOperator
from penstock.contrib.linalg.matrices import LinearOperatorDiag, LinearOperatorLowerTriangular


def as_tensor(x: Any, name: str) -> Any:
    """A tensor; None stays None."""
    return None if x is None else tf.convert_to_tensor(x, name=name)


def _checked_diagonal(x: tf.Tensor, diagonal: Any, validate_args: bool, positive: bool) -> tf.Tensor:
    """``x``, checked to have a diagonal that is positive, or at least not zero."""
    if not validate_args:
        return x
    if positive:
        return checked(x, tf.assert_positive(diagonal(x), message="diagonal part must be positive"))
    return checked(x, tf.assert_none_equal(diagonal(x), tf.zeros([], x.dtype), message="diagonal part must be non-zero"))


def make_tril_scale(loc: Any = None, scale_tril: Any = None, scale_diag: Any = None, scale_identity_multiplier: Any = None, shape_hint: Any = None,
                    validate_args: bool = False, assert_positive: bool = False, name: str | None = None) -> LinearOperator:
    """A lower triangle, to whose diagonal the others are added; without one what ``make_diag_scale`` gives."""
    with tf.name_scope(name, "make_tril_scale", values=[loc, scale_diag, scale_identity_multiplier]):
        loc, scale_tril = as_tensor(loc, "loc"), as_tensor(scale_tril, "scale_tril")
        scale_diag = as_tensor(scale_diag, "scale_diag")
        scale_identity_multiplier = as_tensor(scale_identity_multiplier, "scale_identity_multiplier")
    if scale_tril is None:
        return make_diag_scale(loc, scale_diag, scale_identity_multiplier, shape_hint, validate_args, assert_positive, name)
    scale_tril = tf.matrix_band_part(scale_tril, -1, 0)
    diagonal = tf.matrix_diag_part(scale_tril)
    if scale_diag is not None:
        diagonal += scale_diag
    if scale_identity_multiplier is not None:
        diagonal += scale_identity_multiplier[..., None]
    scale_tril = tf.matrix_set_diag(scale_tril, diagonal)
    return LinearOperatorLowerTriangular(tril=_checked_diagonal(scale_tril, tf.matrix_diag_part, validate_args, assert_positive),
                                         is_non_singular=True, is_self_adjoint=False, is_positive_definite=assert_positive)


def make_diag_scale(loc: Any = None, scale_diag: Any = None, scale_identity_multiplier: Any = None, shape_hint: Any = None,
                    validate_args: bool = False, assert_positive: bool = False, name: str | None = None) -> LinearOperator:
    """The sum of a diagonal and a multiple of the identity; without both the identity. ``loc`` or ``shape_hint`` say how large it is then."""
    with tf.name_scope(name, "make_diag_scale", values=[loc, scale_diag, scale_identity_multiplier]):
        loc, scale_diag = as_tensor(loc, "loc"), as_tensor(scale_diag, "scale_diag")
        multiplier = as_tensor(scale_identity_multiplier, "scale_identity_multiplier")

        def safe(x: tf.Tensor) -> tf.Tensor:
            return _checked_diagonal(x, lambda diagonal: diagonal, validate_args, assert_positive)

        if scale_diag is not None:
            if multiplier is not None:
                scale_diag += multiplier[..., None]
            return LinearOperatorDiag(diag=safe(scale_diag), is_non_singular=True, is_self_adjoint=True, is_positive_definite=assert_positive)
        if loc is None and shape_hint is None:
            raise ValueError("Cannot infer `event_shape` unless `loc` or `shape_hint` is specified.")
        rows = loc.shape[-1] if shape_hint is None else shape_hint
        if multiplier is None:
            return LinearOperatorIdentity(num_rows=rows, dtype=loc.dtype.base_dtype, assert_proper_shapes=validate_args)
        return LinearOperatorScaledIdentity(num_rows=rows, multiplier=safe(multiplier), is_non_singular=True, is_self_adjoint=True,
                                            is_positive_definite=assert_positive, assert_proper_shapes=validate_args)


def shapes_from_loc_and_scale(loc: Any, scale: LinearOperator, name: str = "shapes_from_loc_and_scale") -> tuple[Any, Any]:
    """(batch shape, event shape) of loc + scale x; constants where they are known."""
    with tf.name_scope(name, values=[loc, *scale.graph_parents]):
        size = scale.range_dimension_tensor()
        static_size = tf.constant_value(size)
        event_shape = size[None] if static_size is None else static_size.reshape([1])
        length = None if loc is None else tf.dimension_value(loc.shape[-1])
        if length is not None and static_size is not None and length not in (1, static_size):
            raise ValueError(f"Event size of 'scale' ({length}) could not be broadcast up to that of 'loc' ({static_size}).")
        batch_shape = scale.batch_shape_tensor()
        if loc is None:
            static = tf.constant_value(batch_shape)
            return batch_shape if static is None else static, event_shape
        loc_batch = loc.shape.with_rank_at_least(1)[:-1]
        if loc.shape.ndims is None or not loc_batch.is_fully_defined():
            return broadcast_shape(batch_shape, tf.shape(loc)[:-1]), event_shape
        return broadcast_shape(batch_shape, tf.convert_to_tensor(loc_batch, name="loc_batch_shape")), event_shape


def is_diagonal_scale(scale: Any) -> bool:
    """Whether an operator is diagonal by its class."""
    if not isinstance(scale, LinearOperator):
        raise TypeError(f"Expected argument 'scale' to be instance of LinearOperator. Found: {scale}")
    return isinstance(scale, (LinearOperatorIdentity, LinearOperatorScaledIdentity, LinearOperatorDiag))
