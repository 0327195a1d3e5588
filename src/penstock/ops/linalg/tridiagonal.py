"""Matrices with three diagonals: products with them, and systems of equations in time that is linear in their size.

The diagonals stand in three rows of the matrix's length, the one above first; the last element of that row, and the first of the one below, are not
used. (In TensorFlow's ``compact`` format; the public functions take two others.)
"""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import raw_ops
from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import complex64, complex128, float32, float64
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.ops.array.pack import stack
from penstock.ops.array.permute import matrix_transpose
from penstock.ops.common import INEXACT
from penstock.ops.linalg.diag import matrix_diag_part

_SOLVED = frozenset([float32, float64, complex64, complex128])


def _adjoint_diagonals(above: Tensor, main: Tensor, below: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Those of the conjugate transpose: what is above is below, one place further."""
    above, main, below = (raw_ops.Conj(each) if each.dtype.is_complex else each for each in (above, main, below))
    return raw_ops.Roll(below, [-1], [-1]), main, raw_ops.Roll(above, [1], [-1])


def _outer_diagonals(left: Tensor, right: Tensor) -> list[Tensor]:
    """Of the matrix ``left @ adjoint(right)``, the three diagonals."""
    right = raw_ops.Conj(right) if right.dtype.is_complex else right
    above, below = left * raw_ops.Roll(right, [-1], [-2]), left * raw_ops.Roll(right, [1], [-2])
    return [raw_ops.Sum(each, [-1]) for each in (above, left * right, below)]


def _without_unused(above: Tensor, main: Tensor, below: Tensor) -> list[Tensor]:
    zeros = raw_ops.ZerosLike(main)[..., :1]
    return [raw_ops.ConcatV2([above[..., :-1], zeros], -1), main, raw_ops.ConcatV2([zeros, below[..., 1:]], -1)]


@op("TridiagonalMatMul", "superdiag: T, maindiag: T, subdiag: T, rhs: T -> output: T", T=INEXACT & _SOLVED)
class TridiagonalMatMul:
    """The product of a matrix, of which the three diagonals are given as rows [..., 1, M], and [..., M, N]."""

    def shape(rhs):
        return rhs.shape.with_rank_at_least(2)

    def kernel(superdiag, maindiag, subdiag, rhs):
        for diagonal in (superdiag, maindiag, subdiag):
            if diagonal.shape != (*rhs.shape[:-2], 1, rhs.shape[-2]):
                raise invalid_argument(f"a diagonal must be a row of {rhs.shape[-2]} elements for each matrix; it has the shape "
                                       f"{list(diagonal.shape)}, the right side {list(rhs.shape)}")
        above, main, below = (np.swapaxes(each, -1, -2) for each in (superdiag, maindiag, subdiag))
        result = main * rhs
        result[..., :-1, :] += above[..., :-1, :] * rhs[..., 1:, :]
        result[..., 1:, :] += below[..., 1:, :] * rhs[..., :-1, :]
        return result

    def gradient(op, dy):
        *rows, rhs = op.inputs
        diagonals = _without_unused(*_outer_diagonals(dy, rhs))
        return [*(raw_ops.ExpandDims(each, -2) for each in diagonals), TridiagonalMatMul(*_adjoint_diagonals(*rows), rhs=dy)]


@op("TridiagonalSolve", "diagonals: T, rhs: T -> output: T", T=_SOLVED, partial_pivoting=True)
class TridiagonalSolve:
    """x of A x = b, where the three diagonals of A are rows of [..., 3, M], and b is [..., M, K]."""

    def shape(rhs):
        return rhs.shape.with_rank_at_least(2)

    def kernel(diagonals, rhs, partial_pivoting):
        if diagonals.shape != (*rhs.shape[:-2], 3, rhs.shape[-2]):
            raise invalid_argument(f"Expected three diagonals of {rhs.shape[-2]} elements for each matrix; they have the shape "
                                   f"{list(diagonals.shape)}, the right side {list(rhs.shape)}")
        return _solve(np.moveaxis(diagonals, (-2, -1), (0, 1)), np.moveaxis(rhs, -2, 0), partial_pivoting)

    def gradient(op, dy):
        above, main, below = (op.inputs[0][..., row, :] for row in range(3))
        d_rhs = TridiagonalSolve(stack(_adjoint_diagonals(above, main, below), -2), dy, partial_pivoting=op.attrs["partial_pivoting"])
        diagonals = _without_unused(*_outer_diagonals(d_rhs, op.outputs[0]))
        return [-stack(diagonals, -2), d_rhs]


def _solve(diagonals: np.ndarray, rhs: np.ndarray, pivoting: bool) -> np.ndarray:
    """Gaussian elimination, row by row for all matrices at once. Where rows are swapped, a second diagonal above comes up."""
    size = len(rhs)
    above, main, below, right = diagonals[0].copy(), diagonals[1].copy(), diagonals[2], rhs.copy()
    second = np.zeros_like(above)
    if size:
        above[-1] = 0
    for row in range(size - 1):
        lower = [below[row + 1].copy(), main[row + 1].copy(), above[row + 1].copy(), right[row + 1].copy()]
        upper = [main[row].copy(), above[row].copy(), second[row].copy(), right[row].copy()]
        if pivoting:
            swap = np.abs(lower[0]) > np.abs(upper[0])
            for index, (one, other) in enumerate(zip(upper, lower)):
                chosen = swap[..., None] if index == 3 else swap
                upper[index], lower[index] = np.where(chosen, other, one), np.where(chosen, one, other)
        if not np.all(upper[0]):
            raise invalid_argument("The first element of diagonal is zero, or a pivot became zero: the matrix cannot be inverted"
                                   if pivoting else "A pivot is zero: try partial_pivoting")
        main[row], above[row], second[row], right[row] = upper
        factor = lower[0] / upper[0]
        main[row + 1], above[row + 1] = lower[1] - factor * upper[1], lower[2] - factor * upper[2]
        right[row + 1] = lower[3] - factor[..., None] * upper[3]
    if size and not np.all(main[-1]):
        raise invalid_argument("The last element of diagonal is zero after the elimination: the matrix cannot be inverted")
    for row in reversed(range(size)):
        if row + 1 < size:
            right[row] -= above[row][..., None] * right[row + 1]
        if row + 2 < size:
            right[row] -= second[row][..., None] * right[row + 2]
        right[row] /= main[row][..., None]
    return np.moveaxis(right, 0, -2)


# --- public functions ------------------------------------------------------------------------------------------------


def _rows(diagonals: Any, layout: str) -> Tensor:
    """The diagonals above, on and below the main one, in three rows of the same length."""
    if layout == "compact":
        return to_tensor(diagonals, name="diagonals")
    if layout == "sequence":
        if not isinstance(diagonals, (tuple, list)) or len(diagonals) != 3:
            raise ValueError("Expected diagonals to be a sequence of length 3.")
        above, main, below = map(to_tensor, diagonals)
        return stack([_filled_up(above, main, before=False), main, _filled_up(below, main, before=True)], -2)
    if layout == "matrix":
        matrix = to_tensor(diagonals, name="diagonals")
        main, above, below = map(matrix_diag_part, (matrix, matrix[..., :-1, 1:], matrix[..., 1:, :-1]))
        return stack([_with_zero(above, before=False), main, _with_zero(below, before=True)], -2)
    raise ValueError(f"Unrecognized diagonals_format: {layout}. It is 'compact', 'sequence' or 'matrix'.")


def _filled_up(diagonal: Tensor, main: Tensor, before: bool) -> Tensor:
    """A diagonal in a row of the main one's length: it may be given without the element that is not used."""
    known, length = diagonal.shape.extent(-1), main.shape.extent(-1)
    return diagonal if None in (known, length) or known == length else _with_zero(diagonal, before)


def _with_zero(diagonal: Tensor, before: bool) -> Tensor:
    zero = raw_ops.ZerosLike(diagonal)[..., :1]
    return raw_ops.ConcatV2([zero, diagonal] if before else [diagonal, zero], -1)


def tridiagonal_solve(diagonals: Any, rhs: Any, diagonals_format: str = "compact", transpose_rhs: bool = False, conjugate_rhs: bool = False,
                      name: str | None = None, partial_pivoting: bool = True) -> Tensor:
    """``tf.linalg.tridiagonal_solve``: x of A x = b; ``rhs`` is a vector or a matrix for each A."""
    rows, rhs = _rows(diagonals, diagonals_format), to_tensor(rhs, name="rhs")
    is_vector = rhs.shape.ndims == rows.shape.ndims - 1
    if is_vector:
        rhs = raw_ops.ExpandDims(rhs, -1)
    elif transpose_rhs:
        rhs = matrix_transpose(rhs)
    rhs = raw_ops.Conj(rhs) if conjugate_rhs and rhs.dtype.is_complex else rhs
    result = TridiagonalSolve(rows, rhs, partial_pivoting=partial_pivoting, name=name)
    if is_vector:
        return raw_ops.Squeeze(result, squeeze_dims=[-1])
    return matrix_transpose(result) if transpose_rhs else result


def tridiagonal_matmul(diagonals: Any, rhs: Any, diagonals_format: str = "compact", name: str | None = None) -> Tensor:
    """``tf.linalg.tridiagonal_matmul``: A x; ``rhs`` has a matrix for each A."""
    rows = _rows(diagonals, diagonals_format)
    return TridiagonalMatMul(*(rows[..., row:row + 1, :] for row in range(3)), rhs=to_tensor(rhs, name="rhs"), name=name)
