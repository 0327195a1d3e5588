"""QR, singular value and eigenvalue decompositions of matrices, with their gradients; matrix functions built on them.

Notation of the gradients: a bar is a gradient, ᴴ the adjoint, ∘ the elementwise product. They hold where the singular values or
eigenvalues differ from each other, and follow M. Giles, "An extended collection of matrix derivative results" (2008).
"""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.graph import dtypes as dt
from penstock.graph.attrs import types
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.shape import TensorShape, unknown_shape
from penstock.ops.array.shape_ops import expand_dims
from penstock.ops.common import COMPLEX
from penstock.ops.linalg.diag import matrix_band_part, matrix_diag, matrix_diag_part, matrix_set_diag
from penstock.ops.linalg.linalg import LAPACK_TYPES, MatrixTriangularSolve, adjoint, each, in_lapack
from penstock.ops.linalg.matmul import adjoint_view, matmul
from penstock.ops.linalg.matrix_shape import check_square, extents_of, square_shape
from penstock.ops.math.complex import real


@op("Qr", "input: T -> q: T, r: T", full_matrices=False, T=LAPACK_TYPES)
class Qr:
    """input = q @ r with orthonormal columns in q and an upper triangular r."""

    def shape(input, full_matrices):
        extents = extents_of(input)
        if extents is None:
            return [unknown_shape()] * 2
        batch, (rows, columns) = extents[:-2], extents[-2:]
        inner = rows if full_matrices else _smaller(rows, columns)
        return [TensorShape._of((*batch, rows, inner)), TensorShape._of((*batch, inner, columns))]

    def kernel(input, full_matrices):
        mode = "complete" if full_matrices else "reduced"
        return in_lapack(lambda a: tuple(np.linalg.qr(a, mode)), input, error="Qr did not succeed.")

    def gradient(op, dq, dr):
        q, r = op.outputs
        rows, columns = _static_sides(op)
        if columns > rows or (op.attrs["full_matrices"] and columns != rows):
            raise NotImplementedError("QrGrad not implemented when ncols > nrows or full_matrices is true and ncols != nrows.")
        q_dq, r_dr = matmul(q, dq, adjoint_a=True), matmul(r, dr, adjoint_b=True)
        lower = matrix_band_part(_skew(q_dq) + _skew(r_dr), -1, 0)
        return matmul(q, dr + _times_inverse_adjoint(lower, r)) + _times_inverse_adjoint(dq - matmul(q, q_dq), r)


def _smaller(rows: int | None, columns: int | None) -> int | None:
    return None if rows is None or columns is None else min(rows, columns)


def _static_sides(op: Any) -> tuple[int, int]:
    extents = op.inputs[0].shape.extents
    if extents is None or None in extents[-2:]:
        raise NotImplementedError(f"{op.type}Grad not implemented for dynamic shapes of the innermost two dimensions.")
    return extents[-2:]


def _skew(x: Tensor) -> Tensor:
    return x - adjoint(x)


def _times_inverse_adjoint(x: Tensor, r: Tensor) -> Tensor:
    """x r⁻ᴴ for an upper triangular r."""
    return adjoint(MatrixTriangularSolve(r, adjoint(x), lower=False, adjoint=False))


@op("Svd", "input: T -> s: T, u: T, v: T", compute_uv=True, full_matrices=False, T=LAPACK_TYPES)
class Svd:
    """input = u @ diag(s) @ vᴴ, the singular values in decreasing order."""

    def shape(input, compute_uv, full_matrices):
        extents = extents_of(input)
        if extents is None:
            return [unknown_shape(), unknown_shape() if compute_uv else [0], unknown_shape() if compute_uv else [0]]
        batch, (rows, columns) = extents[:-2], extents[-2:]
        inner = _smaller(rows, columns)
        if not compute_uv:
            return [TensorShape._of((*batch, inner)), [0], [0]]
        left, right = (rows, columns) if full_matrices else (inner, inner)
        return [TensorShape._of((*batch, inner)), TensorShape._of((*batch, rows, left)),
                TensorShape._of((*batch, columns, right))]

    def kernel(input, compute_uv, full_matrices):
        if not compute_uv:
            values = in_lapack(lambda a: np.linalg.svd(a, compute_uv=False), input, error="Svd did not converge.")
            return values, np.zeros(0, input.dtype), np.zeros(0, input.dtype)
        u, s, vh = in_lapack(lambda a: tuple(np.linalg.svd(a, full_matrices)), input, error="Svd did not converge.")
        return s, u, adjoint_view(vh)

    def gradient(op, ds, du, dv):
        a = op.inputs[0]
        if not op.attrs["compute_uv"]:
            _, u, v = Svd(a, compute_uv=True)
            return matmul(u, matmul(matrix_diag(ds), v, adjoint_b=True))
        rows, columns = _static_sides(op)
        if op.attrs["full_matrices"] and rows != columns:
            raise NotImplementedError("svd gradient is not implemented for full_matrices=True and matrices that are not square")
        if a.dtype.base_dtype in COMPLEX:
            raise NotImplementedError("svd gradient of the singular vectors of complex matrices is not implemented")
        return _svd_gradient(op.outputs, ds, du, dv, rows, columns)


def _svd_gradient(outputs: Any, ds: Tensor, du: Tensor, dv: Tensor, rows: int, columns: int) -> Tensor:
    """ā = u (s̄ + (F∘skew(uᴴū)) s + s (F∘skew(vᴴv̄))) vᴴ, and what ū and v̄ say outside the spaces that u and v span."""
    s, u, v = outputs
    square = s * s
    differences = _reciprocal_differences(square)
    across, down = expand_dims(s, -2), expand_dims(s, -1)  # multiply the columns, the rows of a matrix by s
    u_du, v_dv = matmul(u, du, adjoint_a=True), matmul(v, dv, adjoint_a=True)
    middle = matrix_diag(ds) + differences * _skew(u_du) * across + down * (differences * _skew(v_dv))
    grad = matmul(matmul(u, middle), v, adjoint_b=True)
    if rows > columns:
        grad = grad + matmul((du - matmul(u, u_du)) / across, v, adjoint_b=True)
    if columns > rows:
        grad = grad + matmul(u / across, dv - matmul(v, v_dv), adjoint_b=True)
    return grad


def _reciprocal_differences(values: Tensor) -> Tensor:
    """F with Fᵢⱼ = 1 / (valuesⱼ - valuesᵢ), and zeros on the diagonal."""
    differences = expand_dims(values, -2) - expand_dims(values, -1)
    one = values * 0 + 1
    return matrix_set_diag(1 / matrix_set_diag(differences, one), values * 0)


@op("SelfAdjointEigV2", "input: T -> e: T, v: T", compute_v=True, T=LAPACK_TYPES)
class SelfAdjointEigV2:
    """Eigenvalues, in increasing order, and eigenvectors of self-adjoint matrices; only the lower triangle is read."""

    def shape(input, compute_v):
        full = square_shape(input)
        values = unknown_shape() if full.ndims is None else full[:-1]
        return [values, full if compute_v else [0]]

    def kernel(input, compute_v):
        check_square(input)
        error = "Self-adjoint eigen decomposition was not successful. The input might not be valid."
        if compute_v:
            return in_lapack(lambda a: tuple(np.linalg.eigh(a)), input, error=error)
        return in_lapack(np.linalg.eigvalsh, input, error=error), np.zeros(0, input.dtype)

    def gradient(op, de, dv):
        if op.attrs["compute_v"]:
            e, v = op.outputs
            middle = matrix_diag(de) + _reciprocal_differences(e) * matmul(v, dv, adjoint_a=True)
        else:
            _, v = SelfAdjointEigV2(op.inputs[0])
            middle = matrix_diag(de)
        grad = matmul(v, matmul(middle, v, adjoint_b=True))
        # the forward op reads the lower triangle alone, so the upper one's share belongs to it
        lower = matrix_band_part(grad + adjoint(grad), -1, 0)
        return matrix_set_diag(lower, 0.5 * matrix_diag_part(lower))


@op("Lu", "input: T -> lu: T, p: output_idx_type", T=LAPACK_TYPES, output_idx_type=types(dt.int32, dt.int64, default=dt.int32))
class Lu:
    """The triangular factors of row-permuted square matrices, in one matrix, and the permutation of the rows."""

    def shape(input):
        full = square_shape(input)
        return [full, unknown_shape() if full.ndims is None else full[:-1]]

    def kernel(input, output_idx_type):
        check_square(input)
        batch, side = input.shape[:-2], input.shape[-1]
        if not input.size:
            return input, np.zeros((*batch, side), output_idx_type.np)
        factors = in_lapack(lambda a: each(_factors_with_order, a), input, error="Input is not invertible.")
        order = factors[..., side].real.astype(output_idx_type.np)
        return factors[..., :side].reshape(input.shape), order.reshape((*batch, side))

    gradient = None


def _factors_with_order(matrix: np.ndarray) -> np.ndarray:
    """L and U in one matrix, with one more column that holds where each row came from."""
    from scipy.linalg import get_lapack_funcs  # slow to import
    factorize, = get_lapack_funcs(("getrf",), (matrix,))  # lu_factor would warn where this says it is singular
    factors, swaps, _ = factorize(matrix)
    if not np.diagonal(factors).all():
        raise np.linalg.LinAlgError("singular")
    order = np.arange(len(matrix))
    for row, other in enumerate(swaps):
        order[[row, other]] = order[[other, row]]
    return np.concatenate([factors, order[:, None].astype(matrix.dtype)], axis=1)


def qr(input: Any, full_matrices: bool = False, name: str | None = None) -> Any:
    """``tf.qr``: (q, r) with input = q @ r."""
    return Qr(input, full_matrices=full_matrices, name=name)


def svd(tensor: Any, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None) -> Any:
    """``tf.svd``: (s, u, v) with tensor = u @ diag(s) @ adjoint(v); only s if ``compute_uv`` is False."""
    s, u, v = Svd(tensor, compute_uv=compute_uv, full_matrices=full_matrices, name=name)
    if s.dtype.base_dtype in COMPLEX:
        s = real(s)
    return (s, u, v) if compute_uv else s


def self_adjoint_eig(tensor: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """``tf.self_adjoint_eig``: (eigenvalues, eigenvectors) of self-adjoint matrices."""
    e, v = SelfAdjointEigV2(tensor, compute_v=True, name=name)
    return e, v


def self_adjoint_eigvals(tensor: Any, name: str | None = None) -> Tensor:
    """``tf.self_adjoint_eigvals``: the eigenvalues of self-adjoint matrices."""
    return SelfAdjointEigV2(tensor, compute_v=False, name=name)[0]


def lu(input: Any, output_idx_type: Any = dt.int32, name: str | None = None) -> Any:
    """``tf.linalg.lu``: (lu, p), the factors in one matrix and the permutation of the rows."""
    return Lu(input, output_idx_type=output_idx_type, name=name)
