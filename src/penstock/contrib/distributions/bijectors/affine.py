"""Affine bijections of vectors: y = A x + b."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.arguments import checked
from penstock.contrib.distributions.bijectors.bijector import Bijector
from penstock.contrib.distributions.event_shape import DistributionShape
from penstock.contrib.distributions.scale import as_tensor, make_tril_scale
from penstock.contrib.distributions.shapes import dimension_size
from penstock.contrib.linalg.linear_operator import LinearOperator
from penstock.contrib.linalg.low_rank import LinearOperatorLowRankUpdate


class _ByOperator(Bijector):
    """y = scale x + shift, where scale is a LinearOperator."""

    _shift: Any
    _scale: Any
    _shaper: DistributionShape

    @property
    def shift(self) -> Any:
        """b."""
        return self._shift

    @property
    def scale(self) -> Any:
        """A."""
        return self._scale

    def _multiply(self, x: tf.Tensor) -> tf.Tensor:
        y, sample_shape = self._shaper.make_batch_of_event_sample_matrices(x, expand_batch_dim=False)
        with tf.control_dependencies(self._scale_checks()):
            y = self.scale.matmul(y)
        return self._shaper.undo_make_batch_of_event_sample_matrices(y, sample_shape, expand_batch_dim=False)

    def _solve(self, y: tf.Tensor) -> tf.Tensor:
        x, sample_shape = self._shaper.make_batch_of_event_sample_matrices(y, expand_batch_dim=False)
        return self._shaper.undo_make_batch_of_event_sample_matrices(self.scale.solve(x), sample_shape, expand_batch_dim=False)

    def _scale_checks(self) -> list[Any]:
        if not self.validate_args:
            return []
        try:
            return [self.scale.assert_non_singular()]
        except NotImplementedError:  # not every operator can tell
            return []

    def _check_dtypes(self) -> None:
        if self._shift is not None and self._shift.dtype.base_dtype != self._scale.dtype.base_dtype:
            raise TypeError(f"shift.dtype({self._shift.dtype}) is incompatible with scale.dtype({self._scale.dtype}).")


class AffineLinearOperator(_ByOperator):
    """``bijectors.AffineLinearOperator``: ``scale`` is a LinearOperator."""

    def __init__(self, shift: Any = None, scale: LinearOperator | None = None, validate_args: bool = False,
                 name: str = "affine_linear_operator", event_ndims: Any = None) -> None:
        parents: list[Any] = []
        with self._init_scope(name, shift):
            self._shift = None if shift is None else tf.convert_to_tensor(shift, name="shift")
            if self._shift is not None:
                parents.append(self._shift)
            self._scale = scale
            dtype = tf.float32 if self._shift is None else self._shift.dtype.base_dtype
            batch_ndims: Any = 0
            if scale is not None:
                self._check_dtypes()
                if not isinstance(scale, LinearOperator):
                    raise TypeError("scale is not an instance of tf.LinearOperator")
                if validate_args and not scale.is_non_singular:
                    raise ValueError("Scale matrix must be non-singular.")
                parents += scale.graph_parents
                dtype = dtype if scale.dtype is None else scale.dtype.base_dtype
                batch_ndims = scale.tensor_rank_tensor() - 2 if scale.tensor_rank is None else scale.tensor_rank - 2
                if scale.tensor_rank is None:
                    parents.append(batch_ndims)
            self._shaper = DistributionShape(batch_ndims=batch_ndims, event_ndims=1, validate_args=validate_args)
            super().__init__(forward_min_event_ndims=1, graph_parents=parents, is_constant_jacobian=True, dtype=dtype, validate_args=validate_args,
                             name=name, event_ndims=event_ndims)

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        y = x if self.scale is None else self._multiply(x)
        return y if self.shift is None else y + self.shift

    def _inverse(self, y: tf.Tensor) -> tf.Tensor:
        x = y if self.shift is None else y - self.shift
        return x if self.scale is None else self._solve(x)

    def _forward_log_det_jacobian(self, x: tf.Tensor) -> tf.Tensor:
        if self.scale is None:
            return tf.constant(0.0, dtype=x.dtype.base_dtype)
        with tf.control_dependencies(self._scale_checks()):
            return self.scale.log_abs_determinant()


class Affine(_ByOperator):
    """``bijectors.Affine``: A is the sum of a multiple of the identity, a diagonal, a lower triangle, and U D U'."""

    def __init__(self, shift: Any = None, scale_identity_multiplier: Any = None, scale_diag: Any = None, scale_tril: Any = None,
                 scale_perturb_factor: Any = None, scale_perturb_diag: Any = None, validate_args: bool = False, name: str = "affine",
                 event_ndims: Any = None) -> None:
        if scale_perturb_diag is not None and scale_perturb_factor is None:
            raise ValueError("When scale_perturb_diag is specified, scale_perturb_factor must be specified.")
        self._is_multiple = scale_tril is None and scale_diag is None and scale_perturb_factor is None
        self._is_scalar = self._is_multiple and event_ndims == 0
        if isinstance(event_ndims, int) and event_ndims not in (0, 1):
            raise ValueError(f"event_ndims({event_ndims}) was not 0 or 1")
        if event_ndims == 0 and not self._is_multiple:
            raise ValueError("With event_ndims = 0, scale_identity_multiplier is the only scale argument that makes sense.")
        given = (shift, scale_identity_multiplier, scale_diag, scale_tril, scale_perturb_diag, scale_perturb_factor)
        with self._init_scope(name, *given):
            self._shift = None if shift is None else tf.convert_to_tensor(shift, name="shift")
            if self._is_multiple and scale_identity_multiplier is None:
                scale_identity_multiplier = tf.convert_to_tensor(1.0, dtype=tf.float32 if shift is None else self._shift.dtype.base_dtype)
            self._scale = self._make_scale(scale_identity_multiplier, scale_diag, scale_tril, scale_perturb_diag, scale_perturb_factor, validate_args)
            batch_ndims: Any = 0
            if not self._is_multiple:
                self._check_dtypes()
                rank = self._scale.tensor_rank
                batch_ndims = self._scale.tensor_rank_tensor() - 2 if rank is None else rank - 2
            self._shaper = DistributionShape(batch_ndims=batch_ndims, event_ndims=1, validate_args=validate_args)
            super().__init__(forward_min_event_ndims=0 if self._is_scalar else 1, graph_parents=self._parents(), is_constant_jacobian=True,
                             dtype=self._scale.dtype.base_dtype, validate_args=validate_args, name=name,
                             event_ndims=1 if event_ndims is None else event_ndims)

    def _parents(self) -> list[Any]:
        scale = [self._scale] if self._is_multiple else self._scale.graph_parents
        return scale if self._shift is None else [*scale, self._shift]

    def _make_scale(self, multiplier: Any, diag: Any, tril: Any, perturb_diag: Any, perturb_factor: Any, validate_args: bool) -> Any:
        """A number, or a LinearOperator."""
        multiplier, diag, tril = as_tensor(multiplier, "identity_multiplier"), as_tensor(diag, "diag"), as_tensor(tril, "tril")
        perturb_diag, perturb_factor = as_tensor(perturb_diag, "perturb_diag"), as_tensor(perturb_factor, "perturb_factor")
        if self._is_multiple:
            if not validate_args:
                return multiplier
            zero = tf.zeros([], multiplier.dtype)
            return checked(multiplier, tf.assert_none_equal(multiplier, zero, message="identity_multiplier should be non-zero."))
        hint = None if perturb_factor is None else dimension_size(perturb_factor, axis=-2)
        scale = make_tril_scale(loc=self._shift, scale_tril=tril, scale_diag=diag, scale_identity_multiplier=multiplier,
                                validate_args=validate_args, assert_positive=False, shape_hint=hint)
        if perturb_factor is None:
            return scale
        return LinearOperatorLowRankUpdate(scale, u=perturb_factor, diag_update=perturb_diag, is_diag_update_positive=perturb_diag is None,
                                           is_non_singular=True, is_self_adjoint=True, is_positive_definite=True, is_square=True)

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        y = x * self._scale if self._is_multiple else self._multiply(x)
        return y if self.shift is None else y + self.shift

    def _inverse(self, y: tf.Tensor) -> tf.Tensor:
        x = y if self.shift is None else y - self.shift
        return x / self._scale if self._is_multiple else self._solve(x)

    def _forward_log_det_jacobian(self, x: tf.Tensor) -> tf.Tensor:
        if not self._is_multiple:
            return self.scale.log_abs_determinant()
        if self._is_scalar:
            return tf.log(tf.abs(self._scale))
        size = tf.cast(tf.shape(x)[-1], dtype=self._scale.dtype)
        return tf.log(tf.abs(self._scale)) * size
