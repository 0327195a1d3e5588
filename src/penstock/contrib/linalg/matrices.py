"""Operators that are diagonal, lower triangular, or written out."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.linalg.linear_operator import LinearOperator
from penstock.contrib.linalg.linear_operator import adjoint as adjoint_of


def assert_no_zeros(x: tf.Tensor, message: str) -> Any:
    """An assertion that no element is 0."""
    with tf.name_scope("assert_no_entries_with_modulus_zero", values=[x]):
        modulus = tf.abs(x)
        return tf.assert_less(tf.convert_to_tensor(0, dtype=x.dtype.base_dtype.real_dtype), modulus, message=message)


class LinearOperatorDiag(LinearOperator):
    """``tf.linalg.LinearOperatorDiag``: a diagonal matrix."""

    def __init__(self, diag: Any, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
                 is_positive_definite: bool | None = None, is_square: bool | None = None, name: str = "LinearOperatorDiag") -> None:
        with tf.name_scope(name, values=[diag]):
            self._diag = tf.convert_to_tensor(diag, name="diag")
            if self._diag.shape.ndims == 0:
                raise ValueError(f"Argument diag must have at least 1 dimension.  Found: {self._diag}")
            if not self._diag.dtype.is_complex:
                if is_self_adjoint is False:
                    raise ValueError("A real diagonal operator is always self adjoint.")
                is_self_adjoint = True
            if is_square is False:
                raise ValueError("Only square diagonal operators currently supported.")
            super().__init__(dtype=self._diag.dtype, graph_parents=[self._diag], is_non_singular=is_non_singular, is_self_adjoint=is_self_adjoint,
                             is_positive_definite=is_positive_definite, is_square=True, name=name)

    @property
    def diag(self) -> tf.Tensor:
        """The diagonal."""
        return self._diag

    def _shape(self) -> tf.TensorShape:
        return self._diag.shape.concatenate(self._diag.shape[-1:])

    def _shape_tensor(self) -> tf.Tensor:
        shape = tf.shape(self._diag)
        rows = shape[-1]
        return tf.concat((shape, [rows]), 0)

    def _matmul(self, x: tf.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> tf.Tensor:
        diagonal = self._conjugate(adjoint)
        x = adjoint_of(x) if adjoint_arg else x
        return tf.expand_dims(diagonal, -1) * x

    def _matvec(self, x: tf.Tensor, adjoint: bool = False) -> tf.Tensor:
        return self._conjugate(adjoint) * x

    def _solve(self, rhs: tf.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> tf.Tensor:
        diagonal = self._conjugate(adjoint)
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        return rhs * tf.expand_dims(1.0 / diagonal, -1)

    def _conjugate(self, adjoint: bool) -> tf.Tensor:
        return tf.conj(self._diag) if adjoint else self._diag

    def _determinant(self) -> tf.Tensor:
        return tf.reduce_prod(self._diag, axis=[-1])

    def _log_abs_determinant(self) -> tf.Tensor:
        result = tf.reduce_sum(tf.log(tf.abs(self._diag)), axis=[-1])
        return tf.cast(result, dtype=self.dtype) if self.dtype.is_complex else result

    def _to_dense(self) -> tf.Tensor:
        return tf.matrix_diag(self._diag)

    def _diag_part(self) -> tf.Tensor:
        return self.diag

    def _add_to_tensor(self, x: tf.Tensor) -> tf.Tensor:
        diagonal = tf.matrix_diag_part(x)
        return tf.matrix_set_diag(x, self._diag + diagonal)

    def _assert_non_singular(self) -> Any:
        return assert_no_zeros(self._diag, "Singular operator:  Diagonal contained zero values.")

    def _assert_positive_definite(self) -> Any:
        return tf.assert_positive(self._diag, message="Real diagonal operator had non-positive diagonal entries, thus was not positive definite.")

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """The diagonal matrix of the reciprocals."""
        with self._name_scope(name), tf.name_scope("Inverse"):
            return LinearOperatorDiag(1.0 / self.diag, is_non_singular=self.is_non_singular, is_self_adjoint=self.is_self_adjoint,
                                      is_positive_definite=self.is_positive_definite, is_square=True)


def _broadcast_batches(matrix: tf.Tensor, rhs: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Two (batches of) matrices with one batch shape."""
    with tf.name_scope("broadcast_matrix_batch_dims", values=[matrix, rhs]):
        static = tf.broadcast_static_shape(matrix.shape[:-2], rhs.shape[:-2])
        if static.is_fully_defined():
            return tuple(each if each.shape[:-2] == static else tf.broadcast_to(each, tf.concat([static.as_list(), tf.shape(each)[-2:]], axis=0))
                         for each in (matrix, rhs))
        batch = tf.broadcast_dynamic_shape(tf.shape(matrix)[:-2], tf.shape(rhs)[:-2])
        return tuple(tf.broadcast_to(each, tf.concat([batch, tf.shape(each)[-2:]], axis=0)) for each in (matrix, rhs))


class LinearOperatorLowerTriangular(LinearOperator):
    """``tf.linalg.LinearOperatorLowerTriangular``; what is above the diagonal of ``tril`` does not count."""

    def __init__(self, tril: Any, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
                 is_positive_definite: bool | None = None, is_square: bool | None = None, name: str = "LinearOperatorLowerTriangular") -> None:
        if is_square is False:
            raise ValueError("Only square lower triangular operators supported at this time.")
        with tf.name_scope(name, values=[tril]):
            self._given = tf.convert_to_tensor(tril, name="tril")
            if self._given.shape.ndims is not None and self._given.shape.ndims < 2:
                raise ValueError(f"Argument tril must have at least 2 dimensions.  Found: {self._given}")
            super().__init__(dtype=self._given.dtype, graph_parents=[self._given], is_non_singular=is_non_singular,
                             is_self_adjoint=is_self_adjoint, is_positive_definite=is_positive_definite, is_square=True, name=name)

    def _tril(self) -> tf.Tensor:
        return tf.matrix_band_part(self._given, -1, 0)

    def _shape(self) -> tf.TensorShape:
        return self._given.shape

    def _shape_tensor(self) -> tf.Tensor:
        return tf.shape(self._given)

    def _matmul(self, x: tf.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> tf.Tensor:
        return tf.matmul(self._tril(), x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _solve(self, rhs: tf.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> tf.Tensor:
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        matrix = self._tril()
        with tf.name_scope("MatrixTriangularSolve", values=[matrix, rhs]):
            matrix, rhs = _broadcast_batches(matrix, rhs)
            return tf.matrix_triangular_solve(matrix, rhs, lower=True, adjoint=adjoint)

    def _determinant(self) -> tf.Tensor:
        return tf.reduce_prod(tf.matrix_diag_part(self._given), axis=[-1])

    def _log_abs_determinant(self) -> tf.Tensor:
        return tf.reduce_sum(tf.log(tf.abs(tf.matrix_diag_part(self._given))), axis=[-1])

    def _to_dense(self) -> tf.Tensor:
        return self._tril()

    def _assert_non_singular(self) -> Any:
        return assert_no_zeros(tf.matrix_diag_part(self._given), "Singular operator:  Diagonal contained zero values.")


class LinearOperatorFullMatrix(LinearOperator):
    """``tf.linalg.LinearOperatorFullMatrix``: a matrix that is written out."""

    def __init__(self, matrix: Any, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
                 is_positive_definite: bool | None = None, is_square: bool | None = None, name: str = "LinearOperatorFullMatrix") -> None:
        with tf.name_scope(name, values=[matrix]):
            self._matrix = tf.convert_to_tensor(matrix, name="matrix")
            if not (self._matrix.dtype.is_floating or self._matrix.dtype.is_complex):
                raise TypeError(f"Argument matrix must have a floating or complex dtype.  Found: {self._matrix.dtype}")
            if self._matrix.shape.ndims is not None and self._matrix.shape.ndims < 2:
                raise ValueError(f"Argument matrix must have at least 2 dimensions.  Found: {self._matrix}")
            super().__init__(dtype=self._matrix.dtype, graph_parents=[self._matrix], is_non_singular=is_non_singular,
                             is_self_adjoint=is_self_adjoint, is_positive_definite=is_positive_definite, is_square=is_square, name=name)

    def _shape(self) -> tf.TensorShape:
        return self._matrix.shape

    def _shape_tensor(self) -> tf.Tensor:
        return tf.shape(self._matrix)

    def _matmul(self, x: tf.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> tf.Tensor:
        return tf.matmul(self._matrix, x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _solve(self, rhs: tf.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> tf.Tensor:
        return solve_dense(self.to_dense(), adjoint_of(rhs) if adjoint_arg else rhs, self._can_use_cholesky(), adjoint)

    def _to_dense(self) -> tf.Tensor:
        return self._matrix


def solve_dense(matrix: tf.Tensor, rhs: tf.Tensor, cholesky: bool, adjoint: bool = False) -> tf.Tensor:
    """The solution for a matrix that is written out."""
    if cholesky:
        factor = tf.cholesky(matrix)
        with tf.name_scope("CholeskySolveWithBroadcast", values=[factor, rhs]):
            return tf.cholesky_solve(*_broadcast_batches(factor, rhs))
    with tf.name_scope("MatrixSolveWithBroadcast", values=[matrix, rhs]):
        return tf.matrix_solve(*_broadcast_batches(matrix, rhs), adjoint=adjoint)
