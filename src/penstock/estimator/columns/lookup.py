"""Rows of a table for the ids of examples, combined: what embeddings and linear models of categorical columns compute.

The general way is ``safe_embedding_lookup_sparse``. It looks up each distinct id once, so that the shapes of a step depend on its ids. Where ids are
valid by construction and the table is whole, looking up all of them needs a quarter of the operations, and their shapes stay the same from step to
step, so that they run as native code. The sums are added in the same order.
"""
from __future__ import annotations

from typing import Any

from penstock.estimator.columns.base import CategoricalColumn, IdsAndWeights
from penstock.graph.composite import SparseTensor
from penstock.graph.scopes import name_scope
from penstock.graph.static import constant_value_as_shape
from penstock.ops.array.fill import zeros_like
from penstock.ops.array.select import where
from penstock.ops.math.segment import segment_mean, segment_sum
from penstock.ops.sparse.embedding import embedding_lookup, safe_embedding_lookup_sparse
from penstock.ops.sparse.sparse_functions import sparse_fill_empty_rows
from penstock.variables.partitioned import PartitionedVariable

_COMBINED = {"sum": segment_sum, "mean": segment_mean}


def combined_rows(table: Any, column: CategoricalColumn, pair: IdsAndWeights, combiner: str, name: str, max_norm: Any = None) -> Any:
    """[batch, ..., width]; zeros for an example without ids."""
    ids, weights = pair
    parts = list(table) if isinstance(table, PartitionedVariable) else [table]
    is_matrix = ids.dense_shape.shape.extents == (2,)
    if len(parts) > 1 or weights is not None or max_norm is not None or not is_matrix or not column.ids_are_valid or combiner not in _COMBINED:
        return safe_embedding_lookup_sparse(parts, ids, weights, combiner=combiner, name=name, max_norm=max_norm)
    with name_scope(None, name, [ids.values]):
        return _all_rows(parts[0], ids, combiner)


def _all_rows(table: Any, ids: SparseTensor, combiner: str) -> Any:
    filled, is_empty = sparse_fill_empty_rows(ids, 0)
    combined = _COMBINED[combiner](embedding_lookup(table, filled.values), filled.indices[:, 0])
    result = where(is_empty, zeros_like(combined), combined)
    result.set_shape(constant_value_as_shape(ids.dense_shape)[:1].concatenate(table.shape[1:]))
    return result
