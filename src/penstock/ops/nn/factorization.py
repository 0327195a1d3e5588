"""The operation of weighted alternating least squares: normal equations of the rows of a sparse matrix."""
from __future__ import annotations

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.opdef import op


@op("WALSComputePartialLhsAndRhs",
    "factors: float, factor_weights: float, unobserved_weights: float, input_weights: float, input_indices: int64, input_values: float, "
    "entry_weights: float, input_block_size: int64, input_is_transpose: bool -> partial_lhs: float, partial_rhs: float")
class WALSComputePartialLhsAndRhs:
    """Per row of a sparse matrix: the sum of w f f^T and of (w + unobserved) v f over its entries v, where f are the factors of their columns.

    An entry's weight w is the product of its row's and its column's, or given for each entry; the matrix may be given by its transpose.
    """

    gradient = None
    ranks = {"factors": 2, "factor_weights": 1, "unobserved_weights": 0, "input_weights": 1, "input_indices": 2, "input_values": 1,
             "entry_weights": 1, "input_block_size": 0, "input_is_transpose": 0}

    def shape(factors):
        size = factors.shape.as_list()[1] if factors.shape.ndims is not None else None
        return [[None, size, size], [None, size]]

    def kernel(factors, factor_weights, unobserved_weights, input_weights, input_indices, input_values, entry_weights, input_block_size,
               input_is_transpose):
        if len(input_indices) != len(input_values):
            raise invalid_argument(f"input_values' length should match the first dimension of input_indices: {len(input_values)} and "
                                   f"{len(input_indices)}")
        rows, columns = input_indices.T[::-1] if input_is_transpose else input_indices.T
        count, size = int(input_block_size), factors.shape[1]
        _check_ids("row", rows, count)
        _check_ids("column", columns, len(factors))
        weights = entry_weights if len(entry_weights) else input_weights[rows] * factor_weights[columns]
        lhs, rhs = np.zeros((count, size, size), np.float32), np.zeros((count, size), np.float32)
        order = np.argsort(rows, kind="stable")
        rows, columns, weights, values = rows[order], columns[order], weights[order], input_values[order]
        bounds = np.searchsorted(rows, np.arange(count + 1))
        for row in range(count):
            part = slice(bounds[row], bounds[row + 1])
            chosen = factors[columns[part]]
            lhs[row] = (chosen * weights[part, None]).T @ chosen
            rhs[row] = (values[part] * (weights[part] + unobserved_weights)) @ chosen
        return lhs, rhs


@op("MaskedMatmul", "a: float, b: float, mask_indices: int64, transpose_a: bool, transpose_b: bool -> prod_values: float")
class MaskedMatmul:
    """Elements of the product of two matrices: those that ``mask_indices``, rows of two, name."""

    gradient = None
    ranks = {"a": 2, "b": 2, "mask_indices": 2, "transpose_a": 0, "transpose_b": 0}

    def shape(mask_indices):
        return [mask_indices.shape[0] if mask_indices.shape.ndims is not None else None]

    def kernel(a, b, mask_indices, transpose_a, transpose_b):
        left, right = a.T if transpose_a else a, b if transpose_b else b.T
        if left.shape[1] != right.shape[1]:
            raise invalid_argument(f"The inner dimensions of a and b do not match: {left.shape[1]} and {right.shape[1]}")
        rows, columns = mask_indices.T
        _check_ids("row", rows, len(left), "mask_indices")
        _check_ids("column", columns, len(right), "mask_indices")
        return np.einsum("ij,ij->i", left[rows], right[columns])


def _check_ids(what: str, ids: np.ndarray, limit: int, name: str = "input_indices") -> None:
    if len(ids) and not (ids.min() >= 0 and ids.max() < limit):
        raise invalid_argument(f"{name}: a {what} is not in [0, {limit})")
