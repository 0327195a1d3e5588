"""Products of matrices and of batches of matrices: BLAS does the work, through ``np.matmul`` on transposed views."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import types
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.properties import Extents
from penstock.graph.scopes import name_scope
from penstock.graph.shape import TensorShape, broadcast, unknown_shape
from penstock.ops.array.broadcast_gradient import reduce_to
from penstock.ops.array.cast import cast
from penstock.ops.array.shape_ops import expand_dims, squeeze
from penstock.ops.common import INDEX, INEXACT, shape_text
from penstock.ops.linalg.matrix_shape import extents_of, same_extent
from penstock.ops.math.complex import conj
from penstock.ops.precision import widen

PRODUCT_TYPES = INEXACT | INDEX
_ALONE = 1 << 19  # multiplications of a product from which on OpenBLAS uses several threads
_SMALL = 1 << 23  # those from which on they are worth it, whatever runs beside
_TILE = 8  # lines that it takes side by side; fewer at once are slow


def _extents(tensor: Tensor, swap: bool, rank: int | None = 2) -> tuple[int | None, ...] | None:
    """The extents of a matrix, or with ``rank=None`` of a batch of them, as they enter the product; None if unknown."""
    extents = tensor.shape.extents if rank is not None else extents_of(tensor)
    if extents is None:
        return None if rank is None else (None,) * rank
    if rank is not None and len(extents) != rank:
        raise ValueError(f"Shape must be rank {rank} but is rank {len(extents)}")
    return (*extents[:-2], extents[-1], extents[-2]) if swap else extents


def _matrix_shape(a: Tensor, b: Tensor, transpose_a: bool, transpose_b: bool) -> TensorShape:
    (rows, left), (right, columns) = _extents(a, transpose_a), _extents(b, transpose_b)  # type: ignore[misc]
    same_extent(left, right)
    return TensorShape._of((rows, columns))


def _batch_shape(x: Tensor, y: Tensor, adj_x: bool, adj_y: bool, joined: Callable[[TensorShape, TensorShape], TensorShape]) -> TensorShape:
    """The shape of products whose batch shape is ``joined`` from those of the factors."""
    p, q = _extents(x, adj_x, None), _extents(y, adj_y, None)
    if p is None or q is None:
        return unknown_shape()
    same_extent(p[-1], q[-2])
    return joined(TensorShape._of(p[:-2]), TensorShape._of(q[:-2])).concatenate((p[-2], q[-1]))


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """``np.matmul`` in which the small float types are summed in float32."""
    wide, other = widen(a), widen(b)
    lines = _lines_at_once(wide, other)
    product = _in_parts(wide, other, lines) if lines else np.matmul(wide, other)
    return product.astype(a.dtype, copy=False)


def _lines_at_once(a: np.ndarray, b: np.ndarray) -> int:
    """How many rows, or columns if there are more, of a small product BLAS should get at once, so that it works alone; 0 for all.

    Its threads look for work for milliseconds after a call, as those of native code do. Between two native regions a product of 256 x 64 x 128 waited
    17 ms for them beside busy processes. To tell BLAS how many threads it has would hold for the whole process, and change the bits of others.
    """
    if a.ndim != 2 or a.dtype.kind != "f" or 1 in (len(a), b.shape[1]) or not _ALONE <= len(a) * b.size < _SMALL:
        return 0
    lines = (_ALONE - 1) // min(a.size, b.size)
    return lines - lines % _TILE


def _in_parts(a: np.ndarray, b: np.ndarray, lines: int) -> np.ndarray:
    result = np.empty((len(a), b.shape[1]), a.dtype)
    by_rows = a.size >= b.size
    for start in range(0, max(result.shape), lines):
        part = slice(start, start + lines)
        np.matmul(a[part] if by_rows else a, b if by_rows else b[:, part], out=result[part] if by_rows else result[:, part])
    return result


def adjoint_view(matrix: np.ndarray) -> np.ndarray:
    """The conjugate transposes of a batch of matrices; for real ones that is a view."""
    swapped = np.swapaxes(matrix, -1, -2)
    return swapped.conj() if np.iscomplexobj(matrix) else swapped


def _matrix_product(a: np.ndarray, b: np.ndarray, transpose_a: bool, transpose_b: bool) -> np.ndarray:
    for index, factor in enumerate((a, b)):
        if np.ndim(factor) != 2:
            raise invalid_argument(f"In[{index}] is not a matrix. Instead it has shape {shape_text(factor)}")
    if a.shape[0 if transpose_a else 1] != b.shape[1 if transpose_b else 0]:
        raise invalid_argument(f"Matrix size-incompatible: In[0]: {shape_text(a)}, In[1]: {shape_text(b)}")
    return _product(a.T if transpose_a else a, b.T if transpose_b else b)


def _batch_product(x: np.ndarray, y: np.ndarray, adj_x: bool, adj_y: bool) -> np.ndarray:
    for index, factor in enumerate((x, y)):
        if np.ndim(factor) < 2:
            raise invalid_argument(f"In[{index}] ndims must be >= 2: {np.ndim(factor)}")
    p, q = adjoint_view(x) if adj_x else x, adjoint_view(y) if adj_y else y
    if p.shape[-1] != q.shape[-2]:
        raise invalid_argument(f"In[0] mismatch In[1] shape: {p.shape[-1]} vs. {q.shape[-2]}: "
                               f"{shape_text(x)} {shape_text(y)} {int(adj_x)} {int(adj_y)}")
    return _product(p, q)


def _flops(inputs, outputs):
    """Two for each element of the result and of the axis that goes away. (Batches of one input may be broadcast: the other one tells.)"""
    (a, b), (product,) = inputs, outputs
    *_, rows, columns = product.shape
    return 2 * max(a.size * columns, b.size * rows)


@op("MatMul", "a: T, b: T -> product: T", transpose_a=False, transpose_b=False, T=PRODUCT_TYPES)
class MatMul:
    """The product of two matrices, each transposed first if asked for."""

    flops = _flops
    shape = _matrix_shape

    def inner(transpose_a, transpose_b):
        return 0 if transpose_a else 1, 1 if transpose_b else 0

    def kernel(a, b, transpose_a, transpose_b):
        return _matrix_product(a, b, transpose_a, transpose_b)

    def native(emit, a, b, transpose_a, transpose_b, epilogue, into):
        return emit.contract.matmul(a, b, transpose_a, transpose_b, epilogue, into)

    def gradient(op, dy):
        a, b = (conj(tensor) for tensor in op.inputs)
        ta, tb = op.attrs["transpose_a"], op.attrs["transpose_b"]
        grad_a = MatMul(b, dy, transpose_a=tb, transpose_b=True) if ta else MatMul(dy, b, transpose_b=not tb)
        grad_b = MatMul(dy, a, transpose_a=True, transpose_b=ta) if tb else MatMul(a, dy, transpose_a=not ta)
        return [grad_a, grad_b]


def _have_one_shape(x: Tensor, y: Tensor) -> bool:
    return x.shape.is_fully_defined() and y.shape.is_fully_defined() and x.shape == y.shape


def _batch_gradient(op, dy):
    """Gradients of a batched product, before the batches are summed over broadcast axes."""
    x, y = op.inputs
    adj_x, adj_y = op.attrs["adj_x"], op.attrs["adj_y"]
    grad_x = matmul(y, dy, adjoint_a=adj_y, adjoint_b=True) if adj_x else matmul(dy, y, adjoint_b=not adj_y)
    grad_y = matmul(dy, x, adjoint_a=True, adjoint_b=adj_x) if adj_y else matmul(x, dy, adjoint_a=not adj_x)
    return [grad_x, grad_y]


@op("BatchMatMul", "x: T, y: T -> output: T", T=PRODUCT_TYPES, adj_x=False, adj_y=False)
class BatchMatMul:
    """Products of matrices in two batches of the same shape."""

    flops = _flops

    def shape(x, y, adj_x, adj_y):
        return _batch_shape(x, y, adj_x, adj_y, TensorShape.merge_with)

    def kernel(x, y, adj_x, adj_y):
        if np.shape(x)[:-2] != np.shape(y)[:-2]:
            raise invalid_argument("In[0] and In[1] must have the same batch dimensions: "
                                   f"In[0]: {shape_text(x)}, In[1]: {shape_text(y)}")
        return _batch_product(x, y, adj_x, adj_y)

    def native(emit, x, y, adj_x, adj_y):
        return emit.contract.batch_matmul(x, y, adj_x, adj_y)

    gradient = _batch_gradient


@op("BatchMatMulV2", "x: T, y: T -> output: T", T=PRODUCT_TYPES, adj_x=False, adj_y=False)
class BatchMatMulV2:
    """Products of matrices in two batches that are broadcast against each other."""

    gradient_nodes = lambda op: 2 if _have_one_shape(*op.inputs) else 17  # summed over what has been broadcast
    gradient_reads = lambda op: [*op.inputs, *([] if _have_one_shape(*op.inputs) else map(Extents, op.inputs))]
    flops = _flops

    def shape(x, y, adj_x, adj_y):
        return _batch_shape(x, y, adj_x, adj_y, broadcast)

    def kernel(x, y, adj_x, adj_y):
        try:
            np.broadcast_shapes(np.shape(x)[:-2], np.shape(y)[:-2])
        except ValueError:
            raise invalid_argument("In[0] and In[1] must have compatible batch dimensions: "
                                   f"{shape_text(x)} vs. {shape_text(y)}") from None
        return _batch_product(x, y, adj_x, adj_y)

    def native(emit, x, y, adj_x, adj_y, epilogue, into):
        return emit.contract.matmul(x, y, adj_x, adj_y, epilogue, into)

    def gradient(op, dy):
        return [reduce_to(grad, tensor) for grad, tensor in zip(_batch_gradient(op, dy), op.inputs)]


_FLOAT_OR_BFLOAT16 = types(dt.float32, dt.bfloat16, default=dt.float32)


@op("SparseMatMul", "a: Ta, b: Tb -> product: float", transpose_a=False, transpose_b=False, a_is_sparse=False,
    b_is_sparse=False, Ta=_FLOAT_OR_BFLOAT16, Tb=_FLOAT_OR_BFLOAT16)
class SparseMatMul:
    """The product of two dense matrices of which one may hold many zeros; here that is a hint that nothing follows."""

    shape = _matrix_shape

    def kernel(a, b, transpose_a, transpose_b):
        return _matrix_product(np.asarray(a, np.float32), np.asarray(b, np.float32), transpose_a, transpose_b)

    def gradient(op, dy):
        (a, b), ta, tb = op.inputs, op.attrs["transpose_a"], op.attrs["transpose_b"]
        product = SparseMatMul
        grad_a = product(b, dy, transpose_a=tb, transpose_b=True) if ta else product(dy, b, transpose_b=not tb)
        grad_b = product(dy, a, transpose_a=True, transpose_b=ta) if tb else product(a, dy, transpose_a=not ta)
        return [cast(grad_a, a.dtype.base_dtype), cast(grad_b, b.dtype.base_dtype)]


def matmul(a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False, adjoint_a: bool = False,
           adjoint_b: bool = False, a_is_sparse: bool = False, b_is_sparse: bool = False,
           name: str | None = None) -> Tensor:
    """``tf.matmul``: ``a @ b``, for matrices and for batches of matrices, whose batch dimensions broadcast.

    >>> matmul([[1.0, 2.0]], [[3.0, 4.0]], transpose_b=True).shape.as_list()
    [1, 1]
    """
    if transpose_a and adjoint_a:
        raise ValueError("Only one of transpose_a and adjoint_a can be True.")
    if transpose_b and adjoint_b:
        raise ValueError("Only one of transpose_b and adjoint_b can be True.")
    with name_scope(name, "MatMul", [a, b]) as scope:
        a, b = to_tensor(a, None, "a"), to_tensor(b, None, "b")
        if not (a_is_sparse or b_is_sparse) and not (_is_matrix(a.shape.ndims) and _is_matrix(b.shape.ndims)):
            return BatchMatMulV2(conj(a) if transpose_a else a, conj(b) if transpose_b else b,
                                 adj_x=adjoint_a or transpose_a, adj_y=adjoint_b or transpose_b, name=scope)
        a, b = conj(a) if adjoint_a else a, conj(b) if adjoint_b else b
        transposed = {"transpose_a": transpose_a or adjoint_a, "transpose_b": transpose_b or adjoint_b}
        if _wants_sparse(a, b, a_is_sparse or b_is_sparse):
            return _sparse_matmul(a, b, a_is_sparse=a_is_sparse, b_is_sparse=b_is_sparse, name=scope, **transposed)
        return MatMul(a, b, name=scope, **transposed)


def _is_matrix(rank: int | None) -> bool:
    """No batch of matrices, as far as is known; lower ranks are an error of MatMul's."""
    return rank is not None and rank <= 2


def _wants_sparse(a: Tensor, b: Tensor, hinted: bool) -> bool:
    """SparseMatMul takes what is hinted to be sparse, and the mixed products of float32 and bfloat16."""
    first, second = a.dtype.base_dtype, b.dtype.base_dtype
    return (hinted or first is not second) and {first, second} <= {dt.float32, dt.bfloat16}


def _sparse_matmul(a: Tensor, b: Tensor, **attributes: Any) -> Tensor:
    product = SparseMatMul(a, b, **attributes)
    if a.dtype.base_dtype is b.dtype.base_dtype is dt.bfloat16:
        return cast(product, dt.bfloat16)
    return product


def sparse_matmul(a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False, a_is_sparse: bool = False,
                  b_is_sparse: bool = False, name: str | None = None) -> Tensor:
    """``tf.sparse_matmul``: the product of two dense matrices with many zeros, in float32."""
    return SparseMatMul(a, b, transpose_a=transpose_a, transpose_b=transpose_b, a_is_sparse=a_is_sparse,
                        b_is_sparse=b_is_sparse, name=name)


def batch_matmul(x: Any, y: Any, adj_x: bool = False, adj_y: bool = False, name: str | None = None) -> Tensor:
    """``tf.batch_matmul``, the old name of ``tf.matmul`` for batches."""
    return BatchMatMulV2(x, y, adj_x=adj_x, adj_y=adj_y, name=name)


def matvec(a: Any, b: Any, transpose_a: bool = False, adjoint_a: bool = False, a_is_sparse: bool = False,
           b_is_sparse: bool = False, name: str | None = None) -> Tensor:
    """``tf.linalg.matvec``: matrix times vector, batched."""
    with name_scope(name, "MatVec", [a, b]):
        product = matmul(a, expand_dims(b, axis=-1), transpose_a=transpose_a, adjoint_a=adjoint_a,
                         a_is_sparse=a_is_sparse, b_is_sparse=b_is_sparse)
        return squeeze(product, axis=-1)
