"""``LinearOperator``: a (batch of) matrix that knows how to multiply and to solve; a subclass says how, in hooks as ``_matmul``."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from penstock.contrib import prelude as tf


def adjoint(matrix: tf.Tensor) -> tf.Tensor:
    """The conjugate transpose."""
    with tf.name_scope("adjoint", values=[matrix]):
        return tf.matrix_transpose(tf.convert_to_tensor(matrix, name="matrix"), conjugate=True)


def shape_tensor(shape: Any, name: str | None = None) -> tf.Tensor:
    """A shape as a vector; an empty one is of int32."""
    return tf.convert_to_tensor(shape, dtype=tf.int32 if isinstance(shape, (list, tuple)) and not shape else None, name=name)


class LinearOperator:
    """``tf.linalg.LinearOperator``. What is known of the matrix (``is_non_singular``, ...) is a hint of the user's: True, False, or None."""

    def __init__(self, dtype: Any, graph_parents: list[Any] | None = None, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
                 is_positive_definite: bool | None = None, is_square: bool | None = None, name: str | None = None) -> None:
        if is_positive_definite:
            if is_non_singular is False:
                raise ValueError("A positive definite matrix is always non-singular.")
            is_non_singular = True
        for hint, what in ((is_non_singular, "non-singular"), (is_self_adjoint, "self-adjoint")):
            if hint and is_square is False:
                raise ValueError(f"A {what} matrix is always square.")
            is_square = True if hint else is_square
        for index, parent in enumerate(graph_parents or ()):
            if not hasattr(parent, "graph"):
                raise ValueError(f"Graph parent item {index} is not a Tensor; {parent}.")
        self._dtype = tf.as_dtype(dtype).base_dtype if dtype else dtype
        self._graph_parents = graph_parents or []
        self._is_non_singular, self._is_self_adjoint = is_non_singular, is_self_adjoint
        self._is_positive_definite, self._square_hint = is_positive_definite, is_square
        self._name = name or type(self).__name__

    @property
    def dtype(self) -> Any:
        """The type of the elements."""
        return self._dtype

    @property
    def name(self) -> str:
        """The scope of its nodes."""
        return self._name

    @property
    def graph_parents(self) -> list[Any]:
        """The tensors that it is made of."""
        return self._graph_parents

    @property
    def is_non_singular(self) -> bool | None:
        """A hint."""
        return self._is_non_singular

    @property
    def is_self_adjoint(self) -> bool | None:
        """A hint."""
        return self._is_self_adjoint

    @property
    def is_positive_definite(self) -> bool | None:
        """A hint."""
        return self._is_positive_definite

    @property
    def is_square(self) -> bool | None:
        """Whether the matrix is square: the hint, or what the shape says."""
        by_shape = self.domain_dimension == self.range_dimension
        if self._square_hint is False and by_shape:
            raise ValueError("User set is_square hint to False, but the operator was square.")
        return by_shape if self._square_hint is None else self._square_hint

    # Shapes ----------------------------------------------------------------------------------------------------------

    def _shape(self) -> tf.TensorShape:
        raise NotImplementedError("_shape is not implemented.")

    def _shape_tensor(self) -> tf.Tensor:
        raise NotImplementedError("_shape_tensor is not implemented.")

    @property
    def shape(self) -> tf.TensorShape:
        """[batch..., rows, columns]."""
        return self._shape()

    def shape_tensor(self, name: str = "shape_tensor") -> tf.Tensor:
        """The shape as a vector."""
        with self._name_scope(name):
            return shape_tensor(self.shape.as_list()) if self.shape.is_fully_defined() else self._shape_tensor()

    @property
    def batch_shape(self) -> tf.TensorShape:
        """The shape before rows and columns."""
        return self.shape[:-2]

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> tf.Tensor:
        """The shape before rows and columns, as a vector."""
        with self._name_scope(name):
            if self.batch_shape.is_fully_defined():
                return shape_tensor(self.batch_shape.as_list(), name="batch_shape")
            return self.shape_tensor()[:-2]

    @property
    def tensor_rank(self) -> int | None:
        """The number of axes."""
        with self._name_scope("tensor_rank"):
            return self.shape.ndims

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> tf.Tensor:
        """The number of axes, as a tensor."""
        with self._name_scope(name):
            rank = self.tensor_rank
            return tf.size(self.shape_tensor()) if rank is None else tf.convert_to_tensor(rank)

    @property
    def domain_dimension(self) -> Any:
        """The number of columns."""
        return tf.Dimension(None) if self.shape.ndims is None else self.shape.dims[-1]

    @property
    def range_dimension(self) -> Any:
        """The number of rows."""
        return tf.Dimension(None) if self.shape.ndims is None else self.shape.dims[-2]

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> tf.Tensor:
        """The number of columns, as a tensor."""
        return self._extent(name, self.domain_dimension, -1)

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> tf.Tensor:
        """The number of rows, as a tensor."""
        return self._extent(name, self.range_dimension, -2)

    def _extent(self, name: str, dimension: Any, axis: int) -> tf.Tensor:
        with self._name_scope(name):
            static = tf.dimension_value(dimension)
            return self.shape_tensor()[axis] if static is None else tf.convert_to_tensor(static)

    # Products and solutions ------------------------------------------------------------------------------------------

    def _matmul(self, x: tf.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> tf.Tensor:
        raise NotImplementedError("_matmul is not implemented.")

    def _solve(self, rhs: tf.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> tf.Tensor:
        raise NotImplementedError("_solve is not implemented.")

    def matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul") -> tf.Tensor:
        """The product with matrices ``x``."""
        with self._name_scope(name):
            return self._matmul(self._operand(x, "x", -2 if adjoint else -1, -1 if adjoint_arg else -2), adjoint=adjoint, adjoint_arg=adjoint_arg)

    def matvec(self, x: Any, adjoint: bool = False, name: str = "matvec") -> tf.Tensor:
        """The product with vectors ``x``."""
        with self._name_scope(name):
            return self._matvec(self._operand(x, "x", -2 if adjoint else -1, -1), adjoint=adjoint)

    def _matvec(self, x: tf.Tensor, adjoint: bool = False) -> tf.Tensor:
        return tf.squeeze(self.matmul(tf.expand_dims(x, axis=-1), adjoint=adjoint), axis=-1)

    def solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve") -> tf.Tensor:
        """X for which the product with X is ``rhs``."""
        if self.is_non_singular is False:
            raise NotImplementedError("Exact solve not implemented for an operator that is expected to be singular.")
        self._demand_square("Exact solve")
        with self._name_scope(name):
            rhs = self._operand(rhs, "rhs", -1 if adjoint else -2, -1 if adjoint_arg else -2)
            return self._solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def solvevec(self, rhs: Any, adjoint: bool = False, name: str = "solve") -> tf.Tensor:
        """x for which the product with x is the vector ``rhs``."""
        with self._name_scope(name):
            rhs = self._operand(rhs, "rhs", -1 if adjoint else -2, -1)
            return tf.squeeze(self.solve(tf.expand_dims(rhs, axis=-1), adjoint=adjoint), axis=-1)

    def _operand(self, x: Any, name: str, own_axis: int, axis: int) -> tf.Tensor:
        """``x`` as a tensor, checked to fit."""
        x = tf.convert_to_tensor(x, name=name)
        self._check_input_dtype(x)
        if self.shape.ndims is not None and x.shape.ndims is not None:
            self.shape.dims[own_axis].assert_is_compatible_with(x.shape.dims[axis])
        return x

    def _check_input_dtype(self, arg: tf.Tensor) -> None:  # subclasses in libraries call it by this name
        if arg.dtype.base_dtype != self.dtype:
            raise TypeError(f"Expected argument to have dtype {self.dtype}.  Found: {arg.dtype} in tensor {arg}")

    def _demand_square(self, what: str) -> None:
        if self.is_square is False:
            raise NotImplementedError(f"{what} not implemented for an operator that is expected to not be square.")

    # Numbers of the matrix -------------------------------------------------------------------------------------------

    def _determinant(self) -> tf.Tensor:
        return tf.exp(self.log_abs_determinant()) if self._can_use_cholesky() else tf.matrix_determinant(self.to_dense())

    def determinant(self, name: str = "det") -> tf.Tensor:
        """The determinant."""
        self._demand_square("Determinant")
        with self._name_scope(name):
            return self._determinant()

    def _log_abs_determinant(self) -> tf.Tensor:
        if self._can_use_cholesky():
            return 2 * tf.reduce_sum(tf.log(tf.matrix_diag_part(tf.cholesky(self.to_dense()))), axis=[-1])
        return tf.log_matrix_determinant(self.to_dense())[1]

    def log_abs_determinant(self, name: str = "log_abs_det") -> tf.Tensor:
        """The logarithm of the determinant's modulus."""
        self._demand_square("Determinant")
        with self._name_scope(name):
            return self._log_abs_determinant()

    def _to_dense(self) -> tf.Tensor:
        batch_shape = self.batch_shape if self.batch_shape.is_fully_defined() else self.batch_shape_tensor()
        columns = tf.dimension_value(self.domain_dimension)
        columns = self.domain_dimension_tensor() if columns is None else columns
        return self.matmul(tf.eye(num_rows=columns, batch_shape=batch_shape, dtype=self.dtype))

    def to_dense(self, name: str = "to_dense") -> tf.Tensor:
        """The matrix, written out."""
        with self._name_scope(name):
            return self._to_dense()

    def _diag_part(self) -> tf.Tensor:
        return tf.matrix_diag_part(self.to_dense())

    def diag_part(self, name: str = "diag_part") -> tf.Tensor:
        """The diagonal."""
        with self._name_scope(name):
            return self._diag_part()

    def _trace(self) -> tf.Tensor:
        return tf.reduce_sum(self.diag_part(), axis=-1)

    def trace(self, name: str = "trace") -> tf.Tensor:
        """The sum of the diagonal."""
        with self._name_scope(name):
            return self._trace()

    def _add_to_tensor(self, x: tf.Tensor) -> tf.Tensor:
        return self.to_dense() + x

    def add_to_tensor(self, x: Any, name: str = "add_to_tensor") -> tf.Tensor:
        """The sum with a matrix."""
        with self._name_scope(name):
            return self._add_to_tensor(tf.convert_to_tensor(x, name="x"))

    def _assert_non_singular(self) -> Any:
        raise NotImplementedError("assert_non_singular is not implemented.")

    def assert_non_singular(self, name: str = "assert_non_singular") -> Any:
        """An assertion that the matrix can be inverted."""
        with self._name_scope(name):
            return self._assert_non_singular()

    def _assert_positive_definite(self) -> Any:
        if not self.is_self_adjoint:
            raise NotImplementedError("assert_positive_definite is not implemented.")
        diagonal = tf.matrix_diag_part(tf.cholesky(self.to_dense()))
        return tf.assert_positive(diagonal, message="Matrix was not positive definite.")

    def assert_positive_definite(self, name: str = "assert_positive_definite") -> Any:
        """An assertion that the matrix is positive definite."""
        with self._name_scope(name):
            return self._assert_positive_definite()

    def _assert_self_adjoint(self) -> Any:
        dense = self.to_dense()
        return tf.assert_equal(dense, adjoint(dense), message="Matrix was not equal to its adjoint.")

    def assert_self_adjoint(self, name: str = "assert_self_adjoint") -> Any:
        """An assertion that the matrix is its own conjugate transpose."""
        with self._name_scope(name):
            return self._assert_self_adjoint()

    def _can_use_cholesky(self) -> bool:
        return bool(self.is_self_adjoint and self.is_positive_definite)

    @contextmanager
    def _name_scope(self, name: str | None = None) -> Iterator[str]:
        with tf.name_scope(self.name if name is None else f"{self.name}/{name}") as scope:
            yield scope
