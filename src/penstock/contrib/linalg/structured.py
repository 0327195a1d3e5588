"""Operators with structure: Kronecker products, reflections, zeros."""
from __future__ import annotations

from functools import reduce
from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.linalg.combined import Several
from penstock.contrib.linalg.linear_operator import LinearOperator, shape_tensor
from penstock.contrib.linalg.linear_operator import adjoint as adjoint_of
from penstock.errors import InvalidArgumentError


def _columns(vectors: tf.Tensor, others: tf.Tensor) -> tf.Tensor:
    """The outer products of the last axes, flattened."""
    product = tf.expand_dims(vectors, -1) * tf.expand_dims(others, -2)
    return tf.reshape(product, tf.concat([tf.shape(product)[:-2], [-1]], 0))


class LinearOperatorKronecker(Several):
    """``tf.linalg.LinearOperatorKronecker``: the Kronecker product of operators, which is never written out."""

    def __init__(self, operators: Any, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
                 is_positive_definite: bool | None = None, is_square: bool | None = None, name: str | None = None) -> None:
        operators = list(operators)
        if operators and all(operator.is_self_adjoint for operator in operators):
            is_self_adjoint = True
        if operators and all(operator.is_positive_definite for operator in operators):
            is_positive_definite = True
        super().__init__(operators, "_x_", is_non_singular, is_self_adjoint, is_positive_definite, is_square, name)

    def _shape(self) -> tf.TensorShape:
        def product(extents: list[int]) -> int:
            return reduce(lambda a, b: a * b, extents)

        return self._batch().concatenate([self._combine([operator.range_dimension for operator in self.operators], product),
                                          self._combine([operator.domain_dimension for operator in self.operators], product)])

    def _shape_tensor(self) -> tf.Tensor:
        rows = reduce(lambda a, b: a * b, [operator.range_dimension_tensor() for operator in self.operators])
        columns = reduce(lambda a, b: a * b, [operator.domain_dimension_tensor() for operator in self.operators])
        return tf.concat([self._batch_tensor(), tf.stack([rows, columns])], 0)

    def _by_factor(self, method: str, x: tf.Tensor, adjoint: bool, adjoint_arg: bool, by_rows: bool) -> tf.Tensor:
        """``method`` of each factor on its part of the rows: the part stands in front, and goes behind all others when it is done."""
        x = adjoint_of(x) if adjoint_arg else x
        batch = tf.broadcast_dynamic_shape(self.batch_shape_tensor(), tf.shape(x)[:-2])
        static = tf.broadcast_static_shape(self.batch_shape, x.shape[:-2]) if x.shape.ndims is not None else None
        columns = x.shape[-1:]
        x = tf.broadcast_to(x, tf.concat([batch, tf.shape(x)[-2:]], 0))
        count = tf.shape(x)[-1]
        for operator in self.operators:
            extent = operator.range_dimension_tensor() if by_rows else operator.domain_dimension_tensor()
            x = tf.reshape(x, tf.concat([batch, [extent, -1]], 0))
            x = tf.matrix_transpose(getattr(operator, method)(x, adjoint=adjoint))
        x = tf.matrix_transpose(tf.reshape(x, tf.concat([batch, [count, -1]], 0)))
        if static is not None:
            rows = self.shape[-1:] if by_rows else self.shape[-2:-1]
            x.set_shape(static.concatenate(rows).concatenate(columns))
        return x

    def _matmul(self, x: tf.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> tf.Tensor:
        return self._by_factor("matmul", x, adjoint, adjoint_arg, by_rows=adjoint)

    def _solve(self, rhs: tf.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> tf.Tensor:
        return self._by_factor("solve", rhs, adjoint, adjoint_arg, by_rows=not adjoint)

    def _times(self, operator: LinearOperator, dtype: Any) -> tf.Tensor:
        """How often the determinant of a factor is in the product's."""
        return tf.cast(self.domain_dimension_tensor() // operator.domain_dimension_tensor(), dtype)

    def _determinant(self) -> tf.Tensor:
        return reduce(lambda a, b: a * b, (operator.determinant() ** self._times(operator, self.dtype) for operator in self.operators))

    def _log_abs_determinant(self) -> tf.Tensor:
        logarithms = [(operator, operator.log_abs_determinant()) for operator in self.operators]
        return reduce(lambda a, b: a + b, (value * self._times(operator, value.dtype) for operator, value in logarithms))

    def _trace(self) -> tf.Tensor:
        return reduce(lambda a, b: a * b, (operator.trace() for operator in self.operators))

    def _diag_part(self) -> tf.Tensor:
        if not all(operator.is_square for operator in self.operators):  # the diagonal then goes across the blocks
            return super()._diag_part()
        return reduce(_columns, (operator.diag_part() for operator in self.operators))

    def _assert_non_singular(self) -> Any:
        if all(operator.is_square for operator in self.operators):
            return self._assert_all("assert_non_singular")
        raise InvalidArgumentError(None, None, "All Kronecker factors must be square for the product to be invertible.")


class LinearOperatorHouseholder(LinearOperator):
    """``tf.linalg.LinearOperatorHouseholder``: the reflection at the plane through 0 that is orthogonal to ``reflection_axis``."""

    def __init__(self, reflection_axis: Any, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
                 is_positive_definite: bool | None = None, is_square: bool | None = None, name: str = "LinearOperatorHouseholder") -> None:
        with tf.name_scope(name, values=[reflection_axis]):
            self._reflection_axis = tf.convert_to_tensor(reflection_axis, name="reflection_axis")
            if self._reflection_axis.shape.ndims == 0:
                raise ValueError(f"Argument reflection_axis must have at least 1 dimension.  Found: {self._reflection_axis}")
            for hint, what in ((is_self_adjoint, "self adjoint"), (is_non_singular, "non-singular"), (is_square, "square")):
                if hint is False:
                    raise ValueError(f"A Householder operator is always {what}.")
            if is_positive_definite:
                raise ValueError("A Householder operator is always non-positive definite.")
            super().__init__(dtype=self._reflection_axis.dtype, graph_parents=[self._reflection_axis], is_non_singular=is_non_singular,
                             is_self_adjoint=True, is_positive_definite=is_positive_definite, is_square=True, name=name)

    @property
    def reflection_axis(self) -> tf.Tensor:
        """The normal of the plane, of any length."""
        return self._reflection_axis

    def _shape(self) -> tf.TensorShape:
        return self._reflection_axis.shape.concatenate(self._reflection_axis.shape[-1:])

    def _shape_tensor(self) -> tf.Tensor:
        shape = tf.shape(self._reflection_axis)
        return tf.concat([shape, shape[-1:]], 0)

    def _normal(self) -> tf.Tensor:
        length = tf.sqrt(tf.reduce_sum(tf.abs(self._reflection_axis) ** 2, axis=-1, keepdims=True))
        return self._reflection_axis / tf.cast(length, self.dtype)

    def _matmul(self, x: tf.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> tf.Tensor:
        normal = tf.expand_dims(self._normal(), -1)
        x = adjoint_of(x) if adjoint_arg else x
        conjugate = tf.conj(normal) if self.dtype.is_complex else normal
        return x - 2 * normal * tf.reduce_sum(conjugate * x, axis=-2, keepdims=True)

    def _solve(self, rhs: tf.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> tf.Tensor:
        return self._matmul(rhs, adjoint, adjoint_arg)  # a reflection is its own inverse

    def _determinant(self) -> tf.Tensor:
        return -tf.ones(shape=self.batch_shape_tensor(), dtype=self.dtype)

    def _log_abs_determinant(self) -> tf.Tensor:
        return tf.zeros(shape=self.batch_shape_tensor(), dtype=self.dtype)

    def _trace(self) -> tf.Tensor:
        return tf.cast(self.domain_dimension_tensor() - 2, self.dtype) * tf.ones(shape=self.batch_shape_tensor(), dtype=self.dtype)

    def _diag_part(self) -> tf.Tensor:
        return 1.0 - 2 * tf.cast(tf.abs(self._normal()) ** 2, self.dtype)

    def _assert_non_singular(self) -> Any:
        return tf.no_op("assert_non_singular")

    def _assert_positive_definite(self) -> Any:
        raise InvalidArgumentError(None, None, "Householder operators are not positive definite.")


class LinearOperatorZeros(LinearOperator):
    """``tf.linalg.LinearOperatorZeros``: zeros."""

    def __init__(self, num_rows: Any, num_columns: Any = None, batch_shape: Any = None, dtype: Any = None, is_non_singular: bool = False,
                 is_self_adjoint: bool = True, is_positive_definite: bool = False, is_square: bool = True, assert_proper_shapes: bool = False,
                 name: str = "LinearOperatorZeros") -> None:
        self._assert_proper_shapes = assert_proper_shapes
        with tf.name_scope(name):
            for hint, what in ((is_non_singular, "singular"), (is_positive_definite, "not positive-definite")):
                if hint:
                    raise ValueError(f"A zero operator is always {what}.")
            if not is_self_adjoint and is_square:
                raise ValueError("A zero operator is always self-adjoint.")
            self._extents = [self._extent_of("num_rows", num_rows), self._extent_of("num_columns", num_rows if num_columns is None else num_columns)]
            rows, columns = map(tf.constant_value, self._extents)
            if is_square and rows is not None and columns is not None and rows != columns:
                raise ValueError(f"LinearOperatorZeros initialized as is_square=True, but got num_rows({rows}) != num_columns({columns})")
            super().__init__(dtype=dtype or tf.float32, is_non_singular=False, is_self_adjoint=is_self_adjoint, is_positive_definite=False,
                             is_square=is_square, name=name)
            self._batch_shape_arg = shape_tensor([] if batch_shape is None else batch_shape, name="batch_shape_arg")

    def _extent_of(self, name: str, value: Any) -> tf.Tensor:
        extent = shape_tensor(value, name=name)
        if not extent.dtype.is_integer:
            raise TypeError(f"Argument {name} must be integer type.  Found: {extent}")
        static = tf.constant_value(extent)
        if static is not None and (static.ndim or static < 0):
            raise ValueError(f"Argument {name} must be a non-negative 0-D Tensor.  Found: {static}")
        if static is None and self._assert_proper_shapes:
            extent = tf.with_dependencies([tf.assert_rank(extent, 0, message=f"Argument {name} must be a 0-D Tensor."),
                                           tf.assert_non_negative(extent, message=f"Argument {name} must be non-negative.")], extent)
        return extent

    def _shape(self) -> tf.TensorShape:
        matrix = [None if value is None else int(value) for value in map(tf.constant_value, self._extents)]
        return tf.constant_value_as_shape(self._batch_shape_arg).concatenate(matrix)

    def _shape_tensor(self) -> tf.Tensor:
        return tf.concat([self._batch_shape_arg, tf.stack(self._extents)], 0)

    def _matmul(self, x: tf.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> tf.Tensor:
        columns = tf.shape(x)[-2 if adjoint_arg else -1]
        rows = self.domain_dimension_tensor() if adjoint else self.range_dimension_tensor()
        batch = tf.broadcast_dynamic_shape(self.batch_shape_tensor(), tf.shape(x)[:-2])
        return tf.zeros(shape=tf.concat([batch, tf.stack([rows, columns])], 0), dtype=x.dtype)

    def _determinant(self) -> tf.Tensor:
        return tf.zeros(shape=self.batch_shape_tensor(), dtype=self.dtype)

    def _trace(self) -> tf.Tensor:
        return tf.zeros(shape=self.batch_shape_tensor(), dtype=self.dtype)

    def _diag_part(self) -> tf.Tensor:
        shortest = tf.minimum(self.range_dimension_tensor(), self.domain_dimension_tensor())
        return tf.zeros(shape=tf.concat([self.batch_shape_tensor(), [shortest]], 0), dtype=self.dtype)

    def add_to_tensor(self, mat: Any, name: str = "add_to_tensor") -> Any:
        """The sum with a matrix: the matrix, as it is."""
        return mat

    def _assert_non_singular(self) -> Any:
        raise InvalidArgumentError(None, None, "Zero operators are always non-invertible.")

    def _assert_positive_definite(self) -> Any:
        raise InvalidArgumentError(None, None, "Zero operators are always non-positive definite.")
