"""Shapes of sparse tensors that are checked in the step."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes as dt
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import to_tensor
from penstock.graph.static import constant_value
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import ones_like
from penstock.ops.array.shape_ops import shape as shape_op
from penstock.ops.constant import identity
from penstock.ops.flow.checks import assert_equal, assert_less_equal
from penstock.ops.flow.misc import with_dependencies
from penstock.ops.math.elementwise import maximum
from penstock.ops.math.reduce import reduce_max
from penstock.ops.sparse.sparse import as_sparse


def sparse_reset_shape(sp_input: Any, new_shape: Any = None) -> SparseTensor:
    """``tf.sparse_reset_shape``: the same entries in a larger tensor, or in the smallest that holds them."""
    sparse = as_sparse(sp_input)
    indices, values, shape = identity(sparse.indices), identity(sparse.values), identity(sparse.dense_shape)
    if new_shape is None:
        return SparseTensor(indices, values, maximum(to_tensor(0, dt.int64), reduce_max(indices, 0) + ones_like(shape)))
    wanted = cast(to_tensor(new_shape), dt.int64)
    rank, new_rank = shape.shape.extents[0], wanted.shape.with_rank(1).extents[0]
    if rank is not None and new_rank is not None and rank != new_rank:
        raise ValueError(f"new_shape has {new_rank} dimensions, the sparse tensor {rank}")
    known, extents = sparse.shape, constant_value(wanted)
    if not known.is_fully_defined() or extents is None:
        wanted = with_dependencies([assert_equal(shape_op(shape), shape_op(wanted))], wanted)
        wanted = with_dependencies([assert_less_equal(shape, wanted)], wanted)
        return SparseTensor(indices, values, wanted)
    if any(new < old for new, old in zip(extents, known.as_list())):
        raise ValueError(f"Requested new_shape should have dimension sizes >= sp_input.shape.  Found new_shape ({extents.tolist()}), "
                         f"sp_input.shape ({known}).")
    return SparseTensor(indices, values, extents)
