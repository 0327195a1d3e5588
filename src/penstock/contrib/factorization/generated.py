"""Functions of operations whose arguments were others in older versions of TensorFlow."""
from __future__ import annotations

from typing import Any

from penstock.ops.nn.factorization import WALSComputePartialLhsAndRhs


def wals_compute_partial_lhs_and_rhs(factors: Any, factor_weights: Any, unobserved_weights: Any, input_weights: Any, input_indices: Any,
                                     input_values: Any, entry_weights: Any, input_block_size: Any, input_is_transpose: Any = None,
                                     name: str | None = None) -> Any:
    """The normal equations of the rows of a sparse matrix. Up to TensorFlow 1.7 there were no ``entry_weights``: then eight are given."""
    if input_is_transpose is None:
        entry_weights, input_block_size, input_is_transpose = [], entry_weights, input_block_size
    return WALSComputePartialLhsAndRhs(factors, factor_weights, unobserved_weights, input_weights, input_indices, input_values, entry_weights,
                                       input_block_size, input_is_transpose, name=name)
