"""Least squares: overdetermined and underdetermined systems, with or without an L2 penalty."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.scopes import name_scope
from penstock.ops.array.cast import cast
from penstock.ops.linalg.diag import eye, matrix_rows
from penstock.ops.linalg.linalg import LAPACK_TYPES, Cholesky, check_system, cholesky_solve, each, in_lapack, solution_shape
from penstock.ops.linalg.matmul import adjoint_view, matmul

_NOT_POSITIVE = ("Input matrix was rank deficient or ill-conditioned. Try setting fast=False or provide a larger "
                 "l2_regularizer > 0.")


def _normal_equations(matrix: np.ndarray, rhs: np.ndarray, penalty: float) -> np.ndarray:
    """Through the Cholesky factor of the smaller of AᴴA and AAᴴ: fast, for well conditioned matrices."""
    rows, columns = matrix.shape[-2:]
    transposed = adjoint_view(matrix)
    gram = transposed @ matrix if rows >= columns else matrix @ transposed
    gram = gram + np.asarray(penalty, gram.real.dtype) * np.eye(gram.shape[-1], dtype=gram.dtype)
    np.linalg.cholesky(gram)  # raises where the matrix is not positive definite
    if rows >= columns:
        return np.linalg.solve(gram, transposed @ rhs)
    return transposed @ np.linalg.solve(gram, rhs)


@op("MatrixSolveLs", "matrix: T, rhs: T, l2_regularizer: double -> output: T", T=LAPACK_TYPES, fast=True)
class MatrixSolveLs:
    """x that minimises |matrix @ x - rhs|² + l2_regularizer |x|²; without ``fast`` the shortest of the minimisers."""

    ranks = {"l2_regularizer": 0}

    def shape(matrix, rhs):
        return solution_shape(matrix, rhs, square=False)

    def kernel(matrix, rhs, l2_regularizer, fast):
        check_system(matrix, rhs)
        if l2_regularizer < 0:
            raise invalid_argument(f"l2_regularizer must be >= 0, is {l2_regularizer}")
        if not matrix.size:
            return np.zeros((*matrix.shape[:-2], matrix.shape[-1], rhs.shape[-1]), matrix.dtype)
        if fast:
            solve = lambda a, b: _normal_equations(a, b, float(l2_regularizer))
        else:
            solve = lambda a, b: each(lambda *system: np.linalg.lstsq(*system, rcond=None)[0], a, b)
        return in_lapack(solve, matrix, rhs, error=_NOT_POSITIVE)

    def gradient(op, dy):
        if not op.attrs["fast"]:
            raise NotImplementedError("Gradient not yet implemented for fast=False")
        matrix, rhs, penalty = op.inputs
        extents = matrix.shape.extents
        if extents is None or None in extents[-2:]:
            raise ValueError("MatrixSolveLs has a gradient only for a static number of rows and columns")
        penalty = cast(penalty, matrix.dtype.base_dtype)
        over = extents[-2] >= extents[-1]
        return [*(_over if over else _under)(matrix, rhs, op.outputs[0], penalty, dy), None]


def _over(matrix, rhs, output, penalty, dy):
    """Gradients through x = (AᴴA + λI)⁻¹ Aᴴ b."""
    z = cholesky_solve(_gram_factor(matrix, penalty, first_adjoint=True), dy)
    outer = matmul(output, z, adjoint_b=True)
    symmetric = outer + matmul(z, output, adjoint_b=True)
    return -matmul(matrix, symmetric) + matmul(rhs, z, adjoint_b=True), matmul(matrix, z)


def _under(matrix, rhs, output, penalty, dy):
    """Gradients through x = Aᴴ (AAᴴ + λI)⁻¹ b."""
    factor = _gram_factor(matrix, penalty, first_adjoint=False)
    grad_rhs = cholesky_solve(factor, matmul(matrix, dy))
    solved = cholesky_solve(factor, rhs)
    through_matrix = matmul(solved, dy - matmul(matrix, grad_rhs, adjoint_a=True), adjoint_b=True)
    return through_matrix - matmul(grad_rhs, output, adjoint_b=True), grad_rhs


def _gram_factor(matrix: Tensor, penalty: Any, first_adjoint: bool) -> Tensor:
    """The Cholesky factor of AᴴA + λI (``first_adjoint``) or of AAᴴ + λI."""
    gram = matmul(matrix, matrix, adjoint_a=first_adjoint, adjoint_b=not first_adjoint)
    if isinstance(penalty, float) and penalty == 0.0:
        return Cholesky(gram)
    rows, batch = matrix_rows(gram)
    return Cholesky(gram + penalty * eye(rows, batch_shape=batch, dtype=matrix.dtype.base_dtype))


def matrix_solve_ls(matrix: Any, rhs: Any, l2_regularizer: float = 0.0, fast: bool = True,
                    name: str | None = None) -> Tensor:
    """``tf.matrix_solve_ls``: the least squares solution of matrix @ x = rhs.

    With ``fast`` and known extents it is composed from Cholesky ops, so that it can be differentiated again and again.
    """
    matrix, rhs = to_tensor(matrix, None, "matrix"), to_tensor(rhs, None, "rhs")
    extents = matrix.shape.extents
    if not fast or extents is None or None in extents[-2:]:
        return MatrixSolveLs(matrix, rhs, float(l2_regularizer), fast=fast, name=name)
    with name_scope(name, "matrix_solve_ls", [matrix, rhs]):
        over = extents[-2] >= extents[-1]
        factor = _gram_factor(matrix, float(l2_regularizer), first_adjoint=over)
        if over:
            return cholesky_solve(factor, matmul(matrix, rhs, adjoint_a=True))
        return matmul(matrix, cholesky_solve(factor, rhs), adjoint_a=True)
