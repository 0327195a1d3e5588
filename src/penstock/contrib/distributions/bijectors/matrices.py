"""Bijections of matrices: vectors to triangles, L to L L', and the inverses of triangles."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.arguments import checked
from penstock.contrib.distributions.bijectors.bijector import Bijector
from penstock.contrib.distributions.shapes import pick_vector
from penstock.contrib.distributions.triangular import fill_triangular, fill_triangular_inverse

_NONE = np.array([], dtype=np.int32)


class FillTriangular(Bijector):
    """``bijectors.FillTriangular``: vectors of n (n + 1) / 2 elements to triangular matrices."""

    def __init__(self, upper: bool = False, validate_args: bool = False, name: str = "fill_triangular") -> None:
        self._upper = upper
        super().__init__(forward_min_event_ndims=1, inverse_min_event_ndims=2, validate_args=validate_args, name=name)

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        return fill_triangular(x, upper=self._upper)

    def _inverse(self, y: tf.Tensor) -> tf.Tensor:
        return fill_triangular_inverse(y, upper=self._upper)

    def _forward_log_det_jacobian(self, x: tf.Tensor) -> tf.Tensor:
        return tf.zeros_like(x[..., 0])

    def _inverse_log_det_jacobian(self, y: tf.Tensor) -> tf.Tensor:
        return tf.zeros_like(y[..., 0, 0])

    def _forward_event_shape(self, input_shape: tf.TensorShape) -> tf.TensorShape:
        length = tf.dimension_value(input_shape[-1])
        rows = None if length is None else _rows_of_triangle(length)
        return input_shape[:-1].concatenate([rows, rows])

    def _inverse_event_shape(self, output_shape: tf.TensorShape) -> tf.TensorShape:
        rows, columns = tf.dimension_value(output_shape[-2]), tf.dimension_value(output_shape[-1])
        if rows is None or columns is None:
            return output_shape[:-2].concatenate([None])
        if rows != columns:
            raise ValueError(f"Matrix must be square. (saw [{rows}, {columns}])")
        return output_shape[:-2].concatenate([rows * (rows + 1) // 2])

    def _forward_event_shape_tensor(self, input_shape: tf.Tensor) -> tf.Tensor:
        batch_shape, length = input_shape[:-1], input_shape[-1]
        with tf.name_scope("vector_size_to_square_matrix_size", values=[length]):
            rows = (-1.0 + tf.sqrt(1 + 8.0 * tf.cast(length, tf.float32))) / 2.0
            if self.validate_args:
                whole = tf.cast(tf.cast(rows, tf.int32), tf.float32)
                with tf.control_dependencies([tf.assert_equal(whole, rows, message="Vector length is not a triangular number")]):
                    rows = tf.identity(rows)
            rows = tf.cast(rows, length.dtype)
        return tf.concat([batch_shape, [rows, rows]], axis=0)

    def _inverse_event_shape_tensor(self, output_shape: tf.Tensor) -> tf.Tensor:
        batch_shape, rows = output_shape[:-2], output_shape[-1]
        if self.validate_args:
            with tf.control_dependencies([tf.assert_equal(rows, output_shape[-2], message="Matrix must be square.")]):
                rows = tf.identity(rows)
        return tf.concat([batch_shape, [tf.cast(rows * (rows + 1) / 2, output_shape.dtype)]], axis=0)


def _rows_of_triangle(length: int) -> int:
    rows = (-1 + np.sqrt(1 + 8 * length)) / 2.0
    if float(int(rows)) != rows:
        raise ValueError("Vector length is not a triangular number.")
    return int(rows)


class CholeskyOuterProduct(Bijector):
    """``bijectors.CholeskyOuterProduct``: Y = X X', for lower triangular matrices with a positive diagonal."""

    def __init__(self, validate_args: bool = False, name: str = "cholesky_outer_product", event_ndims: Any = None) -> None:
        super().__init__(forward_min_event_ndims=2, validate_args=validate_args, name=name, event_ndims=event_ndims)

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        if self.validate_args:
            is_matrix = tf.assert_rank_at_least(x, 2)
            shape = tf.shape(x)
            x = checked(x, is_matrix, tf.assert_equal(shape[-2], shape[-1]))
        x = tf.matrix_band_part(x, -1, 0)
        return tf.matmul(x, x, adjoint_b=True)

    def _inverse(self, y: tf.Tensor) -> tf.Tensor:
        return tf.cholesky(y)

    def _forward_log_det_jacobian(self, x: tf.Tensor) -> tf.Tensor:
        """p log(2) + sum of (p - i) log(x[i, i]), for the p rows i."""
        diagonal = _with_two_axes(tf.matrix_diag_part(x))
        if self.validate_args:
            is_matrix = tf.assert_rank_at_least(x, 2, message="Input must be a (batch of) matrix.")
            shape = tf.shape(x)
            is_square = tf.assert_equal(shape[-2], shape[-1], message="Input must be a (batch of) square matrix.")
            x = checked(x, is_matrix, is_square, tf.assert_positive(diagonal, message="Input must be positive definite."))
        rows, count = _rows(x)
        exponents = tf.linspace(count, 1.0, rows)
        weighted = tf.squeeze(tf.matmul(tf.log(diagonal), exponents[..., None]), axis=-1)
        result = count * np.log(2.0) + weighted
        if x.shape.ndims is not None:
            return tf.squeeze(result, axis=-1) if x.shape.ndims == 2 else result
        shape = tf.shape(result)
        return tf.reshape(result, tf.concat([shape[:-1], pick_vector(tf.equal(tf.rank(x), 2), _NONE, shape[-1:])], 0))


def _rows(x: tf.Tensor) -> tuple[Any, Any]:
    """The number of rows, and the same as a float."""
    if x.shape.ndims is None or x.shape.as_list()[-1] is None:
        rows = tf.shape(x)[-1]
        return rows, tf.cast(rows, dtype=x.dtype)
    return x.shape.as_list()[-1], np.array(x.shape.as_list()[-1], dtype=x.dtype.as_numpy_dtype)


def _with_two_axes(x: tf.Tensor) -> tf.Tensor:
    """A vector as a row; more axes as they are."""
    if x.shape.ndims is not None:
        return x[None, :] if x.shape.ndims == 1 else x
    shape = tf.shape(x)
    return tf.reshape(x, tf.concat([shape[:-1], pick_vector(tf.equal(tf.rank(x), 1), [1], _NONE), shape[-1:]], 0))


class MatrixInverseTriL(Bijector):
    """``bijectors.MatrixInverseTriL``: the inverse of a lower triangular matrix."""

    def __init__(self, validate_args: bool = False, name: str = "matrix_inverse_tril") -> None:
        super().__init__(forward_min_event_ndims=2, validate_args=validate_args, name=name)

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        with tf.control_dependencies(self._assertions(x)):
            shape = tf.shape(x)
            return tf.matrix_triangular_solve(x, tf.eye(shape[-1], batch_shape=shape[:-2]), lower=True)

    def _inverse(self, y: tf.Tensor) -> tf.Tensor:
        return self._forward(y)

    def _forward_log_det_jacobian(self, x: tf.Tensor) -> tf.Tensor:
        with tf.control_dependencies(self._assertions(x)):
            rows = -2.0 * tf.cast(tf.shape(x)[-1], x.dtype.base_dtype)
            return rows * tf.reduce_sum(tf.log(tf.abs(tf.matrix_diag_part(x))), axis=-1)

    def _assertions(self, x: tf.Tensor) -> list[Any]:
        if not self.validate_args:
            return []
        shape = tf.shape(x)
        is_matrix = tf.assert_rank_at_least(x, 2, message="Input must have rank at least 2.")
        is_square = tf.assert_equal(shape[-2], shape[-1], message="Input must be a square matrix.")
        above = tf.matrix_band_part(tf.matrix_set_diag(x, tf.zeros(shape[:-1], dtype=x.dtype)), 0, -1)
        is_lower = tf.assert_equal(above, tf.zeros_like(above), message="Input must be lower triangular.")
        diagonal = tf.matrix_diag_part(x)
        not_singular = tf.assert_none_equal(diagonal, tf.zeros_like(diagonal), message="Input must have all diagonal entries nonzero.")
        return [is_matrix, is_square, is_lower, not_singular]
