"""Products of tensors, as Keras spells them."""
from __future__ import annotations

from typing import Any

from penstock.graph.composite import SparseTensor
from penstock.ops.array.pack import concat, unstack
from penstock.ops.array.permute import transpose
from penstock.ops.array.shape_ops import expand_dims, reshape, shape, squeeze
from penstock.ops.linalg.matmul import matmul
from penstock.ops.math.elementwise import multiply
from penstock.ops.math.reduce import reduce_sum
from penstock.ops.sparse.sparse_functions import sparse_tensor_dense_matmul


def _extents(x: Any) -> tuple[Any, ...]:
    """The extents of a tensor: numbers where they are known, else tensors."""
    return tuple(size if known is None else known for known, size in zip(x.shape.as_list(), unstack(shape(x))))


def dot(x: Any, y: Any) -> Any:
    """``tf.keras.backend.dot``: the last axis of x by the last but one of y."""
    ranks = x.shape.ndims, y.shape.ndims
    if ranks[0] is not None and (ranks[0] > 2 or ranks[1] > 2):
        left, right = _extents(x), _extents(y)
        order = list(range(ranks[1]))
        order = [order.pop(-2), *order]
        flat = matmul(reshape(x, [-1, left[-1]]), reshape(transpose(y, perm=order), [right[-2], -1]))
        return reshape(flat, left[:-1] + right[:-2] + right[-1:])
    return sparse_tensor_dense_matmul(x, y) if isinstance(x, SparseTensor) else matmul(x, y)


def batch_dot(x: Any, y: Any, axes: Any = None) -> Any:
    """``tf.keras.backend.batch_dot``: products of samples, summed over one axis of each."""
    x_rank, y_rank = x.shape.ndims, y.shape.ndims
    axes = (axes, axes) if isinstance(axes, int) else [x_rank - 1, y_rank - 2] if axes is None else axes
    extra = abs(x_rank - y_rank)
    if x_rank > y_rank:
        y = reshape(y, concat([shape(y), [1] * extra], axis=0))
    elif y_rank > x_rank:
        x = reshape(x, concat([shape(x), [1] * extra], axis=0))
    if x.shape.ndims == 2 and y.shape.ndims == 2:
        same = axes[0] == axes[1]
        out = reduce_sum(multiply(x if same else transpose(x, [1, 0]), y), axes[0] if same else axes[1])
    else:
        out = matmul(x, y, adjoint_a=axes[0] != x.shape.ndims - 1, adjoint_b=axes[1] == y.shape.ndims - 1)
    if extra:
        first = x_rank + y_rank - 3 if x_rank > y_rank else x_rank - 1
        out = squeeze(out, list(range(first, first + extra)))
    return expand_dims(out, 1) if out.shape.ndims == 1 else out
