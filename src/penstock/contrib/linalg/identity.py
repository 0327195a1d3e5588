"""Operators that are multiples of the identity."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.contrib.linalg.linear_operator import LinearOperator, shape_tensor
from penstock.contrib.linalg.linear_operator import adjoint as adjoint_of


class _IdentityLike(LinearOperator):
    """A multiple of the identity with ``num_rows`` rows."""

    _num_rows: tf.Tensor

    def add_to_tensor(self, mat: Any, name: str = "add_to_tensor") -> tf.Tensor:
        """The sum with a matrix."""
        return super().add_to_tensor(mat, name)

    def _set_num_rows(self, num_rows: Any, assert_proper_shapes: bool) -> None:
        self._assert_proper_shapes = assert_proper_shapes
        self._num_rows = shape_tensor(num_rows, name="num_rows")
        self._static_rows = tf.constant_value(self._num_rows)
        if assert_proper_shapes:
            self._num_rows = tf.with_dependencies(
                [tf.assert_rank(self._num_rows, 0, message="Argument num_rows must be a 0-D Tensor."),
                 tf.assert_non_negative(self._num_rows, message="Argument num_rows must be non-negative.")], self._num_rows)
        if not self._num_rows.dtype.is_integer:
            raise TypeError(f"Argument num_rows must be integer type.  Found: {self._num_rows}")
        if self._static_rows is not None and (np.ndim(self._static_rows) or self._static_rows < 0):
            raise ValueError(f"Argument num_rows must be non-negative and a 0-D Tensor.  Found: {self._static_rows}")

    def _matrix_shape(self) -> tf.TensorShape:
        rows = None if self._static_rows is None else int(self._static_rows)
        return tf.TensorShape([rows, rows])

    def _ones_diag(self) -> tf.Tensor:
        if self.shape.is_fully_defined():
            shape = self.batch_shape.concatenate([self._matrix_shape()[0]])
        else:
            shape = tf.concat([self.batch_shape_tensor(), [tf.reduce_min(self.shape_tensor()[-2:])]], axis=0)
        return tf.ones(shape=shape, dtype=self.dtype)

    def _fitting(self, x: tf.Tensor, adjoint_arg: bool) -> tf.Tensor:
        """An operand, checked at run time if that was asked for."""
        x = adjoint_of(x) if adjoint_arg else x
        if not self._assert_proper_shapes:
            return x
        message = "Dimensions are not compatible.  shape[-2] of argument to be the same as this operator"
        return tf.with_dependencies([tf.assert_equal(tf.shape(x)[-2], self.domain_dimension_tensor(), message=message)], x)


class LinearOperatorIdentity(_IdentityLike):
    """``tf.linalg.LinearOperatorIdentity``."""

    def __init__(self, num_rows: Any, batch_shape: Any = None, dtype: Any = None, is_non_singular: bool = True, is_self_adjoint: bool = True,
                 is_positive_definite: bool = True, is_square: bool = True, assert_proper_shapes: bool = False,
                 name: str = "LinearOperatorIdentity") -> None:
        with tf.name_scope(name):
            for hint, what in ((is_self_adjoint, "self adjoint"), (is_non_singular, "non-singular"), (is_positive_definite, "positive-definite"),
                               (is_square, "square")):
                if not hint:
                    raise ValueError(f"An identity operator is always {what}.")
            super().__init__(dtype=dtype or tf.float32, is_non_singular=True, is_self_adjoint=True, is_positive_definite=True, is_square=True,
                             name=name)
            self._set_num_rows(num_rows, assert_proper_shapes)
            self._batch_shape_arg = None if batch_shape is None else shape_tensor(batch_shape, name="batch_shape_arg")
            if self._batch_shape_arg is not None and not self._batch_shape_arg.dtype.is_integer:
                raise TypeError(f"Argument batch_shape must be integer type.  Found: {self._batch_shape_arg}")
            static = tf.constant_value(self._batch_shape_arg)
            if static is not None and (static.ndim != 1 or (static < 0).any()):
                raise ValueError(f"Argument batch_shape must be non-negative and a 1-D Tensor.  Found: {static}")

    def _shape(self) -> tf.TensorShape:
        if self._batch_shape_arg is None:
            return self._matrix_shape()
        return tf.TensorShape(tf.constant_value(self._batch_shape_arg)).concatenate(self._matrix_shape())

    def _shape_tensor(self) -> tf.Tensor:
        matrix_shape = tf.stack((self._num_rows, self._num_rows), axis=0)
        return matrix_shape if self._batch_shape_arg is None else tf.concat((self._batch_shape_arg, matrix_shape), 0)

    def _matmul(self, x: tf.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> tf.Tensor:
        x = self._fitting(x, adjoint_arg)
        if self._batch_shape_arg is None:
            return x
        shape = self.batch_shape.concatenate([1, 1])
        if shape.is_fully_defined():
            return x if tf.broadcast_static_shape(x.shape, shape) == x.shape else x + tf.zeros(shape=shape, dtype=self.dtype)
        return x + tf.zeros(shape=tf.concat((self.batch_shape_tensor(), [1, 1]), 0), dtype=self.dtype)

    def _solve(self, rhs: tf.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> tf.Tensor:
        return self._matmul(rhs, adjoint_arg=adjoint_arg)

    def _determinant(self) -> tf.Tensor:
        return tf.ones(shape=self.batch_shape_tensor(), dtype=self.dtype)

    def _log_abs_determinant(self) -> tf.Tensor:
        return tf.zeros(shape=self.batch_shape_tensor(), dtype=self.dtype)

    def _diag_part(self) -> tf.Tensor:
        return self._ones_diag()

    def _add_to_tensor(self, x: tf.Tensor) -> tf.Tensor:
        return tf.matrix_set_diag(x, 1 + tf.matrix_diag_part(x))

    def _assert_non_singular(self) -> Any:
        return tf.no_op("assert_non_singular")

    def _assert_positive_definite(self) -> Any:
        return tf.no_op("assert_positive_definite")

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """Itself."""
        return self


class LinearOperatorScaledIdentity(_IdentityLike):
    """``tf.linalg.LinearOperatorScaledIdentity``: ``multiplier`` times the identity."""

    def __init__(self, num_rows: Any, multiplier: Any, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
                 is_positive_definite: bool | None = None, is_square: bool = True, assert_proper_shapes: bool = False,
                 name: str = "LinearOperatorScaledIdentity") -> None:
        with tf.name_scope(name, values=[multiplier, num_rows]):
            self._multiplier = tf.convert_to_tensor(multiplier, name="multiplier")
            if is_self_adjoint is False and not self._multiplier.dtype.is_complex:
                raise ValueError("A real diagonal operator is always self adjoint.")
            if not is_square:
                raise ValueError("A ScaledIdentity operator is always square.")
            super().__init__(dtype=self._multiplier.dtype.base_dtype, is_non_singular=is_non_singular,
                             is_self_adjoint=is_self_adjoint if self._multiplier.dtype.is_complex else True,
                             is_positive_definite=is_positive_definite, is_square=is_square, name=name)
            self._set_num_rows(num_rows, assert_proper_shapes)
            self._rows_as_number = tf.cast(self._num_rows, self.dtype)
            self._rows_as_real = tf.cast(self._num_rows, self.dtype.real_dtype)

    @property
    def multiplier(self) -> tf.Tensor:
        """The factor of each matrix of the batch."""
        return self._multiplier

    def _shape(self) -> tf.TensorShape:
        return self.multiplier.shape.concatenate(self._matrix_shape())

    def _shape_tensor(self) -> tf.Tensor:
        matrix_shape = tf.stack((self._num_rows, self._num_rows), axis=0)
        return tf.concat((tf.shape(self.multiplier), matrix_shape), 0)

    def _factor(self, conjugate: bool) -> tf.Tensor:
        factor = tf.expand_dims(tf.expand_dims(self.multiplier, -1), -1)
        return tf.conj(factor) if conjugate else factor

    def _matmul(self, x: tf.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> tf.Tensor:
        return self._fitting(x, adjoint_arg) * self._factor(adjoint)

    def _solve(self, rhs: tf.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> tf.Tensor:
        return self._fitting(rhs, adjoint_arg) / self._factor(adjoint)

    def _determinant(self) -> tf.Tensor:
        return self.multiplier ** self._rows_as_number

    def _log_abs_determinant(self) -> tf.Tensor:
        return self._rows_as_real * tf.log(tf.abs(self.multiplier))

    def _diag_part(self) -> tf.Tensor:
        return self._ones_diag() * self.multiplier[..., None]

    def _add_to_tensor(self, x: tf.Tensor) -> tf.Tensor:
        return tf.matrix_set_diag(x, tf.expand_dims(self.multiplier, -1) + tf.matrix_diag_part(x))

    def _assert_non_singular(self) -> Any:
        return tf.assert_positive(tf.abs(self.multiplier), message="LinearOperator was singular")

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """The identity over the multiplier."""
        with self._name_scope(name), tf.name_scope("Inverse"):
            return LinearOperatorScaledIdentity(self._num_rows, 1.0 / self.multiplier, is_non_singular=self.is_non_singular, is_self_adjoint=True,
                                                is_positive_definite=self.is_positive_definite)
