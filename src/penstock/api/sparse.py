"""``tf.sparse``: operations on sparse tensors."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.graph.composite": "SparseTensor SparseTensorValue",
    "penstock.ops.sparse.sparse_functions": "placeholder=sparse_placeholder to_dense=sparse_tensor_to_dense to_indicator=sparse_to_indicator "
                                     "from_dense eye=sparse_eye reorder=sparse_reorder reshape=sparse_reshape concat=sparse_concat "
                                     "split=sparse_split slice=sparse_slice fill_empty_rows=sparse_fill_empty_rows retain=sparse_retain "
                                     "merge=sparse_merge transpose=sparse_transpose mask=sparse_mask "
                                     "expand_dims=sparse_expand_dims sparse_dense_matmul=sparse_tensor_dense_matmul "
                                     "matmul=sparse_tensor_dense_matmul add=sparse_add reduce_sum=sparse_reduce_sum reduce_max=sparse_reduce_max "
                                     "reduce_sum_sparse=sparse_reduce_sum_sparse reduce_max_sparse=sparse_reduce_max_sparse "
                                     "softmax=sparse_softmax maximum=sparse_maximum minimum=sparse_minimum",
    "penstock.ops.flow.sparse_shapes": "reset_shape=sparse_reset_shape",
    "penstock.ops.queues.accumulator_classes": "SparseConditionalAccumulator",
    "penstock.ops.sparse.sparse_cross": "cross=sparse_cross cross_hashed=sparse_cross_hashed",
    "penstock.ops.math.segment_sparse": "segment_sum=sparse_segment_sum segment_mean=sparse_segment_mean segment_sqrt_n=sparse_segment_sqrt_n",
}
publish(__name__, TABLE)
