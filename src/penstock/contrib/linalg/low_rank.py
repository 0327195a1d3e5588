"""Another operator with an update of low rank."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.linalg.identity import LinearOperatorIdentity
from penstock.contrib.linalg.linear_operator import LinearOperator
from penstock.contrib.linalg.matrices import LinearOperatorDiag, solve_dense


class LinearOperatorLowRankUpdate(LinearOperator):
    """``tf.linalg.LinearOperatorLowRankUpdate``: L + U D V', where U and V have few columns; V is U if it is not given."""

    def __init__(self, base_operator: LinearOperator, u: Any, diag_update: Any = None, v: Any = None, is_diag_update_positive: bool | None = None,
                 is_non_singular: bool | None = None, is_self_adjoint: bool | None = None, is_positive_definite: bool | None = None,
                 is_square: bool | None = None, name: str = "LinearOperatorLowRankUpdate") -> None:
        if diag_update is None:
            if is_diag_update_positive is False:
                raise ValueError("Default diagonal is the identity, which is positive.  However, user set 'is_diag_update_positive' to False.")
            is_diag_update_positive = True
        symmetric = base_operator.is_self_adjoint and v is None
        self._use_cholesky = bool(symmetric and base_operator.is_positive_definite and is_diag_update_positive)
        if symmetric and not base_operator.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError("A = L + UDU^H, with L self-adjoint and D real diagonal.  Since UDU^H is self-adjoint, this must be a "
                                 "self-adjoint operator.")
            is_self_adjoint = True
        if self._use_cholesky:
            if is_positive_definite is False or is_self_adjoint is False or is_non_singular is False:
                raise ValueError("Arguments imply this is self-adjoint positive-definite operator.")
            is_positive_definite = is_self_adjoint = True
        with tf.name_scope(name, values=[*base_operator.graph_parents, u, diag_update, v]):
            self._u = tf.convert_to_tensor(u, name="u")
            self._v = self._u if v is None else tf.convert_to_tensor(v, name="v")
            self._diag_update = None if diag_update is None else tf.convert_to_tensor(diag_update, name="diag_update")
            self._base_operator = base_operator
            parents = [parent for parent in (self._u, self._diag_update, self._v) if parent is not None]
            super().__init__(dtype=base_operator.dtype, graph_parents=base_operator.graph_parents + parents, is_non_singular=is_non_singular,
                             is_self_adjoint=is_self_adjoint, is_positive_definite=is_positive_definite, is_square=is_square, name=name)
            self._is_diag_update_positive = is_diag_update_positive
            self._diag_operator = self._make_diag_operator()

    def _make_diag_operator(self) -> LinearOperator:
        if self._diag_update is not None:
            return LinearOperatorDiag(self._diag_update, is_positive_definite=self._is_diag_update_positive)
        columns = tf.dimension_value(self.u.shape[-1])
        return LinearOperatorIdentity(num_rows=tf.shape(self.u)[-1] if columns is None else columns, dtype=self.dtype)

    @property
    def u(self) -> tf.Tensor:
        """U."""
        return self._u

    @property
    def v(self) -> tf.Tensor:
        """V."""
        return self._v

    @property
    def diag_update(self) -> tf.Tensor | None:
        """The diagonal of D; None for the identity."""
        return self._diag_update

    @property
    def is_diag_update_positive(self) -> bool | None:
        """Whether D is positive."""
        return self._is_diag_update_positive

    @property
    def diag_operator(self) -> LinearOperator:
        """D."""
        return self._diag_operator

    @property
    def base_operator(self) -> LinearOperator:
        """L."""
        return self._base_operator

    def _shape(self) -> tf.TensorShape:
        batch = tf.broadcast_static_shape(self.base_operator.batch_shape, self.u.shape[:-2])
        return batch.concatenate(self.base_operator.shape[-2:])

    def _shape_tensor(self) -> tf.Tensor:
        batch = tf.broadcast_dynamic_shape(self.base_operator.batch_shape_tensor(), tf.shape(self.u)[:-2])
        return tf.concat([batch, self.base_operator.shape_tensor()[-2:]], axis=0)

    def _matmul(self, x: tf.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> tf.Tensor:
        left, right = (self.v, self.u) if adjoint else (self.u, self.v)
        leading = self.base_operator.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        inner = tf.matmul(right, x, adjoint_a=True, adjoint_b=adjoint_arg)
        return leading + tf.matmul(left, self.diag_operator.matmul(inner, adjoint=adjoint))

    def _capacitance(self) -> tf.Tensor:
        """D^-1 + V' L^-1 U, of the Woodbury formula."""
        inner = tf.matmul(self.v, self.base_operator.solve(self.u), adjoint_a=True)
        return self._diag_operator.inverse().add_to_tensor(inner)

    def _solve(self, rhs: tf.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> tf.Tensor:
        if self.base_operator.is_non_singular is False:
            raise ValueError("Solve not implemented unless this is a perturbation of a non-singular LinearOperator.")
        left, right = (self.v, self.u) if adjoint else (self.u, self.v)
        base = self.base_operator.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        inner = tf.matmul(right, base, adjoint_a=True)
        inner = solve_dense(self._capacitance(), inner, self._use_cholesky, adjoint)
        return base - self.base_operator.solve(tf.matmul(left, inner), adjoint=adjoint)

    def _determinant(self) -> tf.Tensor:
        if self.is_positive_definite:
            return tf.exp(self.log_abs_determinant())
        capacitance = tf.matrix_determinant(self._capacitance())
        diagonal = self.diag_operator.determinant()
        return capacitance * diagonal * self.base_operator.determinant()

    def _log_abs_determinant(self) -> tf.Tensor:
        diagonal = self.diag_operator.log_abs_determinant()
        base = self.base_operator.log_abs_determinant()
        if self._use_cholesky:
            capacitance = 2 * tf.reduce_sum(tf.log(tf.matrix_diag_part(tf.cholesky(self._capacitance()))), axis=[-1])
        else:
            capacitance = tf.log(tf.abs(tf.matrix_determinant(self._capacitance())))
        return capacitance + diagonal + base
