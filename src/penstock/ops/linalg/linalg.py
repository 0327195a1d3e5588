"""Inverses, determinants, Cholesky factors and linear systems, for single matrices and batches. LAPACK does the work."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.scopes import name_scope
from penstock.graph.shape import TensorShape, unknown_shape
from penstock.ops.array.cast import cast
from penstock.ops.array.permute import matrix_transpose
from penstock.ops.array.shape_ops import expand_dims
from penstock.ops.common import COMPLEX, INEXACT, shape_text
from penstock.ops.linalg.diag import eye, matrix_band_part, matrix_diag_part, matrix_rows, matrix_set_diag
from penstock.ops.linalg.matmul import adjoint_view, matmul
from penstock.ops.linalg.matrix_shape import check_square, extents_of, same_extent, square_like, square_shape
from penstock.ops.math.complex import conj
from penstock.ops.math.powers import log
from penstock.ops.math.reduce import reduce_sum
from penstock.platform.lapack_threads import suited_to

LAPACK_TYPES = INEXACT - {dt.bfloat16}



def in_lapack(function: Callable[..., Any], *arrays: np.ndarray, error: str) -> Any:
    """``function`` of the arrays in a type that LAPACK knows, results in their own; ``error`` is for singular matrices."""
    half = arrays[0].dtype == np.float16
    try:
        with np.errstate(all="ignore"), suited_to(*arrays):
            result = function(*[array.astype(np.float32) if half else array for array in arrays])
    except np.linalg.LinAlgError:
        raise invalid_argument(error) from None
    if isinstance(result, tuple):
        return tuple(part.astype(arrays[0].dtype, copy=False) for part in result)
    return np.asarray(result).astype(arrays[0].dtype, copy=False)


def each(function: Callable[..., Any], *batches: np.ndarray) -> np.ndarray:
    """Stacks ``function(*matrices)`` over the batch, for routines that take one matrix at a time."""
    batch = batches[0].shape[:-2]
    if not batches[0].size:
        return np.zeros_like(batches[-1])
    if not batch:
        return function(*batches)
    flat = [array.reshape((int(np.prod(array.shape[:-2])), *array.shape[-2:])) for array in batches]
    results = np.stack([function(*matrices) for matrices in zip(*flat)])
    return results.reshape(batch + results.shape[1:])


def _batch_scalar_shape(input: Tensor) -> TensorShape:
    return square_shape(input)[:-2] if input.shape.ndims is not None else unknown_shape()


def _invertible(input: np.ndarray, error: str) -> None:
    check_square(input)
    if np.isnan(input).any():  # NaN pivots pass through LAPACK without a word
        raise invalid_argument(error)


@op("MatrixInverse", "input: T -> output: T", adjoint=False, T=LAPACK_TYPES)
class MatrixInverse:
    """The inverses of square matrices, or of their adjoints."""

    shape = square_like("input")

    def kernel(input, adjoint):
        _invertible(input, "Input is not invertible.")
        return in_lapack(np.linalg.inv, adjoint_view(input) if adjoint else input, error="Input is not invertible.")

    def gradient(op, dy):
        inverse = op.outputs[0]
        grad = -matmul(inverse, matmul(dy, inverse, adjoint_b=True), adjoint_a=True)
        return adjoint(grad) if op.attrs["adjoint"] else grad


@op("MatrixDeterminant", "input: T -> output: T", T=LAPACK_TYPES)
class MatrixDeterminant:
    """The determinants of square matrices."""

    shape = _batch_scalar_shape

    def kernel(input):
        check_square(input)
        return in_lapack(np.linalg.det, input, error="")  # the determinant of a singular matrix is 0

    def gradient(op, dy):
        return _as_matrices(dy * conj(op.outputs[0])) * MatrixInverse(op.inputs[0], adjoint=True)


@op("LogMatrixDeterminant", "input: T -> sign: T, log_abs_determinant: T", T=LAPACK_TYPES)
class LogMatrixDeterminant:
    """The sign of the determinants of square matrices, and the logarithm of their absolute values."""

    def shape(input):
        return [_batch_scalar_shape(input)] * 2

    def kernel(input):
        check_square(input)
        return in_lapack(lambda a: tuple(map(np.asarray, np.linalg.slogdet(a))), input, error="")

    def gradient(op, dsign, dlog):
        return _as_matrices(dlog) * MatrixInverse(op.inputs[0], adjoint=True)


def _as_matrices(scalars: Tensor) -> Tensor:
    """A batch of scalars as a batch of 1 x 1 matrices, to be broadcast."""
    return expand_dims(expand_dims(scalars, -1), -1)


@op("Cholesky", "input: T -> output: T", T=LAPACK_TYPES)
class Cholesky:
    """Lower triangular L with L Lᴴ = input; only the lower triangle of the input is read."""

    shape = square_like("input")

    def kernel(input):
        check_square(input)
        error = "Cholesky decomposition was not successful. The input might not be valid."
        _invertible(np.tril(input), error)
        return in_lapack(np.linalg.cholesky, input, error=error)

    def gradient(op, dy):
        factor = op.outputs[0]
        rows, batch = matrix_rows(factor)
        inverse = MatrixTriangularSolve(factor, eye(rows, batch_shape=batch, dtype=factor.dtype))
        product = matmul(factor, dy, adjoint_a=True)
        middle = matrix_band_part(matrix_set_diag(product, 0.5 * matrix_diag_part(product)), -1, 0)
        grad = matmul(matmul(inverse, middle, adjoint_a=True), inverse)
        return (grad + adjoint(grad)) * 0.5


def solution_shape(matrix: Tensor, rhs: Tensor, square: bool) -> TensorShape:
    """The shape of x in matrix @ x = rhs."""
    left, right = extents_of(matrix), extents_of(rhs)
    if left is None or right is None:
        return unknown_shape()
    if len(left) != len(right):
        raise ValueError(f"Shapes must be equal rank, but are {len(left)} and {len(right)}")
    batch = tuple(map(same_extent, left[:-2], right[:-2]))
    rows = same_extent(left[-2], left[-1]) if square else left[-2]
    same_extent(rows, right[-2])
    return TensorShape._of((*batch, left[-1], right[-1]))


def _square_solution_shape(matrix: Tensor, rhs: Tensor) -> TensorShape:
    return solution_shape(matrix, rhs, square=True)


def check_system(matrix: np.ndarray, rhs: np.ndarray) -> None:
    """InvalidArgumentError unless matrix and rhs are batches of the same shape with the same number of rows."""
    if np.ndim(matrix) != np.ndim(rhs) or matrix.shape[:-2] != rhs.shape[:-2]:
        raise invalid_argument("All input tensors must have the same outer dimensions: "
                               f"{shape_text(matrix)} and {shape_text(rhs)}")
    if matrix.shape[-2] != rhs.shape[-2]:
        raise invalid_argument(f"Input matrix and rhs are incompatible: {shape_text(matrix)} and {shape_text(rhs)}")


def _solve_gradients(op: Any, dy: Tensor, grad_rhs: Tensor) -> Tensor:
    """The gradient of ``matrix`` in matrix @ output = rhs, given that of ``rhs``."""
    if op.attrs["adjoint"]:
        return -matmul(op.outputs[0], grad_rhs, adjoint_b=True)
    return -matmul(grad_rhs, op.outputs[0], adjoint_b=True)


@op("MatrixSolve", "matrix: T, rhs: T -> output: T", adjoint=False, T=LAPACK_TYPES)
class MatrixSolve:
    """x with matrix @ x = rhs."""

    shape = _square_solution_shape

    def kernel(matrix, rhs, adjoint):
        _invertible(matrix, "Input matrix is not invertible.")
        check_system(matrix, rhs)
        return in_lapack(np.linalg.solve, adjoint_view(matrix) if adjoint else matrix, rhs,
                         error="Input matrix is not invertible.")

    def gradient(op, dy):
        grad_rhs = MatrixSolve(op.inputs[0], dy, adjoint=not op.attrs["adjoint"])
        return [_solve_gradients(op, dy, grad_rhs), grad_rhs]


@op("MatrixTriangularSolve", "matrix: T, rhs: T -> output: T", lower=True, adjoint=False, T=LAPACK_TYPES)
class MatrixTriangularSolve:
    """x with matrix @ x = rhs, where only one triangle of the matrix is read."""

    shape = _square_solution_shape

    def kernel(matrix, rhs, lower, adjoint):
        from scipy.linalg import solve_triangular  # slow to import
        check_square(matrix)
        check_system(matrix, rhs)
        if not np.diagonal(matrix, axis1=-2, axis2=-1).all():
            raise invalid_argument("Input matrix is not invertible.")

        def solve(triangle: np.ndarray, right: np.ndarray) -> np.ndarray:
            return solve_triangular(triangle, right, trans="C" if adjoint else "N", lower=lower, check_finite=False)
        return in_lapack(lambda a, b: each(solve, a, b), matrix, rhs, error="Input matrix is not invertible.")

    def gradient(op, dy):
        lower, adjoint = op.attrs["lower"], op.attrs["adjoint"]
        grad_rhs = MatrixTriangularSolve(op.inputs[0], dy, lower=lower, adjoint=not adjoint)
        grad = _solve_gradients(op, dy, grad_rhs)
        return [matrix_band_part(grad, -1, 0) if lower else matrix_band_part(grad, 0, -1), grad_rhs]


def adjoint(matrix: Any, name: str | None = None) -> Tensor:
    """``tf.linalg.adjoint``: the conjugate transposes of a batch of matrices."""
    with name_scope(name, "adjoint", [matrix]):
        return matrix_transpose(to_tensor(matrix, None, "matrix"), conjugate=True)


def matrix_inverse(input: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """``tf.matrix_inverse``: the inverses of square matrices."""
    return MatrixInverse(input, adjoint=adjoint, name=name)


def matrix_determinant(input: Any, name: str | None = None) -> Tensor:
    """``tf.matrix_determinant``."""
    return MatrixDeterminant(input, name=name)


def log_matrix_determinant(input: Any, name: str | None = None) -> Any:
    """``tf.linalg.slogdet``: (sign, log_abs_determinant)."""
    return LogMatrixDeterminant(input, name=name)


def logdet(matrix: Any, name: str | None = None) -> Tensor:
    """``tf.linalg.logdet``: the logarithm of the determinant of a Hermitian positive definite matrix."""
    with name_scope(name, "logdet", [matrix]):
        factor = Cholesky(matrix)
        diagonal = matrix_diag_part(factor)
        if factor.dtype.base_dtype in COMPLEX:
            diagonal = cast(diagonal, factor.dtype.real_dtype)
        return 2.0 * reduce_sum(log(diagonal), [-1])


def cholesky(input: Any, name: str | None = None) -> Tensor:
    """``tf.cholesky``: the lower triangular factor of a positive definite matrix."""
    return Cholesky(input, name=name)


def cholesky_solve(chol: Any, rhs: Any, name: str | None = None) -> Tensor:
    """``tf.cholesky_solve``: x with A x = rhs, given the Cholesky factor of A."""
    with name_scope(name, "cholesky_solve", [chol, rhs]):
        half = MatrixTriangularSolve(chol, rhs, adjoint=False, lower=True)
        return MatrixTriangularSolve(chol, half, adjoint=True, lower=True)


def matrix_solve(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """``tf.matrix_solve``: x with matrix @ x = rhs."""
    return MatrixSolve(matrix, rhs, adjoint=adjoint, name=name)


def matrix_triangular_solve(matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False,
                            name: str | None = None) -> Tensor:
    """``tf.matrix_triangular_solve``: x with matrix @ x = rhs, for a triangular matrix."""
    return MatrixTriangularSolve(matrix, rhs, lower=lower, adjoint=adjoint, name=name)
