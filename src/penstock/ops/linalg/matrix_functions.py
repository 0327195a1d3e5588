"""Functions of matrices: exponential, logarithm, square root, norms, pseudo-inverse and rank."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.scopes import name_scope
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import zeros_like
from penstock.ops.array.pack import concat
from penstock.ops.array.permute import transpose
from penstock.ops.array.select import where_v2
from penstock.ops.array.shape_ops import expand_dims, reshape, squeeze
from penstock.ops.array.shape_ops import shape as shape_op
from penstock.ops.common import COMPLEX, REAL, shape_text
from penstock.ops.linalg.decompositions import svd
from penstock.ops.linalg.diag import eye
from penstock.ops.linalg.linalg import LAPACK_TYPES, MatrixSolve, adjoint, each, in_lapack
from penstock.ops.linalg.matmul import matmul
from penstock.ops.linalg.matrix_shape import check_square, square_like
from penstock.ops.math.compare import greater
from penstock.ops.math.complex import conj
from penstock.ops.math.elementwise import abs as abs_op
from penstock.ops.math.powers import pow as pow_op
from penstock.ops.math.powers import sqrt
from penstock.ops.math.reduce import reduce_max, reduce_sum
from penstock.platform.deprecation import older_argument


@op("MatrixExponential", "input: T -> output: T", T=LAPACK_TYPES)
class MatrixExponential:
    """The exponentials of square matrices, I + A + A²/2 + ..."""

    shape = square_like("input")

    def kernel(input):
        from scipy.linalg import expm  # slow to import
        check_square(input)
        return in_lapack(expm, input, error="The exponential does not exist.") if input.size else input.copy()

    def gradient(op, dy):
        # exp [[Aᴴ, ȳ], [0, Aᴴ]] has the gradient in its upper right block
        a = adjoint(op.inputs[0])
        upper, lower = concat([a, dy], axis=-1), concat([zeros_like(a), a], axis=-1)
        side = shape_op(op.inputs[0])[-1]
        result = MatrixExponential(concat([upper, lower], axis=-2))[..., :side, side:]
        result.set_shape(op.inputs[0].shape)
        return result


@op("MatrixSquareRoot", "input: T -> output: T", T=LAPACK_TYPES)
class MatrixSquareRoot:
    """x with x @ x = input, for matrices without eigenvalues on the negative real axis."""

    shape = square_like("input")

    def kernel(input):
        from scipy.linalg import sqrtm  # slow to import
        check_square(input)

        def root(a: np.ndarray) -> np.ndarray:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that there is no good root is said by NaNs in it
                result = sqrtm(a)
            return np.full_like(a, np.nan) if np.iscomplexobj(result) and not np.iscomplexobj(a) else result  # no real root

        return in_lapack(lambda a: each(root, a), input, error="The square root does not exist.")

    def gradient(op, dy):
        # x̄ solves xᴴ ā + ā xᴴ = ȳ, a linear system in the elements of ā
        root = op.outputs[0]
        side = root.shape.extents[-1] if root.shape.extents else None
        if side is None:
            raise NotImplementedError("MatrixSquareRoot has a gradient only for a static number of rows")
        identity = eye(side, dtype=root.dtype.base_dtype)
        system = _kronecker(adjoint(root), identity, side) + _kronecker(identity, conj(root), side)
        batch = shape_op(root)[:-2]
        flat = reshape(dy, concat([batch, [side * side, 1]], axis=0))
        return reshape(MatrixSolve(system, flat), shape_op(root))


def _kronecker(a: Tensor, b: Tensor, side: int) -> Tensor:
    """The Kronecker products of two batches of square matrices with this side."""
    product = expand_dims(expand_dims(a, -1), -3) * expand_dims(expand_dims(b, -2), -4)
    return reshape(product, concat([shape_op(product)[:-4], [side * side, side * side]], axis=0))


@op("MatrixLogarithm", "input: T -> output: T", T=COMPLEX)
class MatrixLogarithm:
    """The principal logarithms of square matrices."""

    shape = square_like("input")

    def kernel(input):
        from scipy.linalg import logm  # slow to import
        check_square(input)

        def logarithm(a: np.ndarray) -> np.ndarray:
            if not np.isfinite(a).all():
                return np.full_like(a, np.nan)  # logm does not end on some infinite matrices
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about the last digits
                return logm(a)

        # In double precision: logm warns about the accuracy of single precision.
        return in_lapack(lambda a: each(logarithm, a.astype(np.complex128)), input, error="The logarithm does not exist.")

    gradient = None


@op("Cross", "a: T, b: T -> product: T", T=REAL)
class Cross:
    """The cross products of vectors of length 3."""

    def shape(a, b):
        full = a.shape.merge_with(b.shape)
        if full.extents is not None and (not full.extents or full.extents[-1] not in (3, None)):
            raise ValueError(f"Cross products need vectors of length 3 in the last dimension, not shape {full}")
        return full

    def kernel(a, b):
        if a.shape != b.shape or a.shape[-1:] != (3,):
            raise invalid_argument("Cross products need vectors of length 3, both of the same shape: "
                                   f"{shape_text(a)} and {shape_text(b)}")
        (a0, a1, a2), (b0, b1, b2) = np.moveaxis(a, -1, 0), np.moveaxis(b, -1, 0)
        return np.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axis=-1)

    def gradient(op, dy):
        a, b = op.inputs
        return [Cross(b, dy), Cross(dy, a)]


def cross(a: Any, b: Any, name: str | None = None) -> Tensor:
    """``tf.cross``: the cross products of vectors of length 3."""
    return Cross(a, b, name=name)


def matrix_exponential(input: Any, name: str | None = None) -> Tensor:
    """``tf.linalg.expm``: the exponentials of square matrices."""
    return MatrixExponential(input, name=name or "matrix_exponential")


def matrix_square_root(input: Any, name: str | None = None) -> Tensor:
    """``tf.linalg.sqrtm``: x with x @ x = input."""
    return MatrixSquareRoot(input, name=name)


def matrix_logarithm(input: Any, name: str | None = None) -> Tensor:
    """``tf.linalg.logm``: the logarithms of complex square matrices."""
    return MatrixLogarithm(input, name=name)


def norm(tensor: Any, ord: Any = "euclidean", axis: Any = None, keepdims: Any = None, name: str | None = None,
         keep_dims: Any = None) -> Tensor:
    """``tf.norm``: norms of vectors (one axis, or None for all elements) or matrices (two axes).

    ``ord`` is "euclidean" (the Frobenius norm of a matrix), "fro", 1, 2, np.inf, or a positive number for vectors.
    """
    keepdims = bool(older_argument("keepdims", keepdims, "keep_dims", keep_dims))
    axes = tuple(axis) if isinstance(axis, (list, tuple)) else axis
    is_matrix = isinstance(axes, tuple) and len(axes) == 2
    if isinstance(axes, tuple) and len(axes) not in (1, 2):
        raise ValueError(f"'axis' must be None, an integer, or a tuple of 2 unique integers, got {axis}")
    if is_matrix and axes[0] == axes[1]:
        raise ValueError(f"'axis' must be None, an integer, or a tuple of 2 unique integers, got {axis}")
    allowed = ["euclidean", "fro", 1, 2, np.inf] if is_matrix else ["euclidean", 1, 2, np.inf]
    positive = not is_matrix and isinstance(ord, (int, float, np.number)) and ord > 0
    if ord not in allowed and not positive:
        kind = "matrix" if is_matrix else "vector"
        raise ValueError(f"'ord' must be a supported {kind} norm in {allowed}, got {ord}")
    with name_scope(name, "norm", [tensor]):
        tensor = to_tensor(tensor)
        result = _matrix_norm(tensor, ord, axes) if is_matrix else _vector_norm(tensor, ord, axes)
        return result if keepdims else squeeze(result, axis=axes)


def _vector_norm(x: Tensor, order: Any, axis: Any) -> Tensor:
    if order in ("euclidean", 2):
        return _euclidean(x, axis)
    if order == 1:
        return reduce_sum(abs_op(x), axis, keepdims=True)
    if order == np.inf:
        return reduce_max(abs_op(x), axis, keepdims=True)
    return pow_op(reduce_sum(pow_op(abs_op(x), order), axis, keepdims=True), 1.0 / order)


def _matrix_norm(x: Tensor, order: Any, axes: tuple[int, int]) -> Tensor:
    if order in ("euclidean", "fro"):
        return _euclidean(x, axes)
    if order == 2:
        return _spectral(x, axes)
    summed, compared = axes if order == 1 else axes[::-1]
    return reduce_max(reduce_sum(abs_op(x), summed, keepdims=True), compared, keepdims=True)


def _euclidean(x: Tensor, axes: Any) -> Tensor:
    if x.dtype.base_dtype in COMPLEX:
        x = x * conj(x)
    else:
        x = x * x
    return sqrt(reduce_sum(x, axes, keepdims=True))


def _spectral(x: Tensor, axes: tuple[int, int]) -> Tensor:
    """The largest singular values of the matrices that lie in two axes."""
    rank = x.shape.ndims
    if rank is None:
        raise ValueError("the 2-norm of matrices needs a tensor of known rank")
    rows, columns = (axis % rank for axis in axes)
    order = [axis for axis in range(rank) if axis not in (rows, columns)] + [rows, columns]
    back = [order.index(axis) for axis in range(rank)]
    largest = reduce_max(svd(transpose(x, order), compute_uv=False), -1, keepdims=True)
    return transpose(expand_dims(largest, -1), back)


def pinv(a: Any, rcond: Any = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """``tf.linalg.pinv``: the Moore-Penrose pseudo-inverses; singular values up to ``rcond`` times the largest are zero."""
    with name_scope(name or "pinv", None, [a]):
        a = to_tensor(a, None, "a")
        if rcond is None:
            rows, columns = a.shape.as_list()[-2:]
            rcond = 10.0 * max(rows, columns) * np.finfo(a.dtype.base_dtype.np).eps
        s, u, v = svd(a, full_matrices=False, compute_uv=True)
        limit = to_tensor(rcond, s.dtype.base_dtype, "rcond") * reduce_max(s, -1)
        s = where_v2(greater(s, expand_dims(limit, -1)), s, to_tensor(np.inf, s.dtype.base_dtype))
        scaled = v / cast(expand_dims(s, -2), v.dtype.base_dtype)
        return matmul(scaled, u, adjoint_b=True)


def matrix_rank(a: Any, tol: Any = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """``tf.linalg.matrix_rank``: how many singular values are larger than ``tol``."""
    with name_scope(name or "matrix_rank", None, [a]):
        a = to_tensor(a, None, "a")
        s = svd(a, compute_uv=False)
        if tol is None:
            epsilon = np.finfo(a.dtype.base_dtype.np).eps
            tol = float(epsilon * max(a.shape.as_list()[-2:])) * reduce_max(s, -1, keepdims=True)
        return reduce_sum(cast(greater(s, tol), dt.int32), -1)


def normalize(tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """``tf.linalg.normalize``: (tensor / its norm, the norm)."""
    with name_scope(name, "normalize", [tensor]):
        tensor = to_tensor(tensor, None, "tensor")
        length = cast(norm(tensor, ord, axis=axis, keepdims=True), tensor.dtype.base_dtype)
        return tensor / length, length
