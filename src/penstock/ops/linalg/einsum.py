"""``tf.einsum`` and ``tf.tensordot``: sums of products over named axes, composed from transpose, reshape and matmul.

A pair of operands is contracted as one batched matrix product: the labels that both have and the result keeps are the batch, the
labels that both have and the result drops are summed over, and what only one has are its rows or columns.
"""
from __future__ import annotations

import math
import re
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from penstock.graph import dtypes as dt
from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.array.gather import gather
from penstock.ops.array.pack import concat, stack
from penstock.ops.array.permute import transpose
from penstock.ops.array.select import where
from penstock.ops.array.sequences import range as range_op
from penstock.ops.array.shape_ops import expand_dims, reshape
from penstock.ops.array.shape_ops import rank as rank_op
from penstock.ops.array.shape_ops import shape as shape_op
from penstock.ops.array.unique import setdiff1d
from penstock.ops.common import canonical_axis
from penstock.ops.linalg.diag import trace
from penstock.ops.linalg.einsum_nodes import einsum_nodes
from penstock.ops.linalg.matmul import matmul
from penstock.ops.math.reduce import reduce_prod, reduce_sum


def einsum(equation: str, *inputs: Any, **kwargs: Any) -> Tensor:
    """``tf.einsum``: ``einsum("bij,bjk->bik", x, y)`` is a batched matrix product.

    >>> einsum("ij->ji", [[1.0, 2.0]]).shape.as_list()
    [2, 1]
    """
    name = kwargs.pop("name", None)
    if kwargs:
        raise TypeError(f"invalid keyword arguments for this function: {', '.join(sorted(kwargs))}")
    with name_scope(name, "einsum", list(inputs)):
        tensors = [to_tensor(value) for value in inputs]
        if re.fullmatch(r"\s*([A-Za-z])\1\s*", equation) and len(tensors) == 1:
            return trace(tensors[0])
        labels, output = _parse(equation, tensors)
        extents = [tensor.shape.as_list() if tensor.shape.ndims is not None else [None] * len(term) for tensor, term in zip(tensors, labels)]
        odd = any(sum(label in term for term in labels) > 2 for label in set("".join(labels)) - set(output))  # TensorFlow goes another way then
        with nullcontext() if odd else default_graph().counting_as(einsum_nodes(labels, extents, output)):
            return _product_of(tensors, labels, output)


def _product_of(tensors: Sequence[Tensor], labels: Sequence[str], output: str) -> Tensor:
    """The operands contracted one after the other."""
    result, kept = _sum_out(tensors[0], labels[0], set(output).union(*labels[1:]))
    for index in range(1, len(tensors)):
        needed = set(output).union(*labels[index + 1:])
        other, other_labels = _sum_out(tensors[index], labels[index], needed | set(kept))
        result, kept = _contract(result, kept, other, other_labels, needed)
    return _permute(result, kept, output)


def _parse(equation: str, tensors: Sequence[Tensor]) -> tuple[list[str], str]:
    """The labels of each operand and of the result, with ``...`` replaced by letters of their own."""
    match = re.fullmatch(r"([A-Za-z.,]+)(?:->([A-Za-z.]*))?", equation.replace(" ", ""))
    if match is None:
        raise ValueError(f"Indices have incorrect format: {equation}")
    terms, output = match.group(1).split(","), match.group(2)
    if len(terms) != len(tensors):
        raise ValueError(f"Incorrect number of arguments for equation \"{equation}\": expected {len(terms)}, "
                         f"received {len(tensors)}")
    terms, ellipsis = _expand_ellipsis(equation, terms, tensors)
    for term, tensor in zip(terms, tensors):
        if len(set(term)) != len(term):
            raise ValueError(f"Subscript not supported: an axis appears more than once: {term}")
        if tensor.shape.ndims is not None and tensor.shape.ndims != len(term):
            raise ValueError(f"Invalid number of axes in \"{equation}\": {term} for a tensor of shape {tensor.shape}")
    counts = "".join(terms)
    if output is None:
        output = ellipsis + "".join(sorted(axis for axis in set(counts) - set(ellipsis) if counts.count(axis) == 1))
    output = output.replace("...", ellipsis)
    if len(set(output)) != len(output) or set(output) - set(counts):
        raise ValueError(f"Invalid result \"{output}\" in the equation \"{equation}\": its labels must be those of operands, once each")
    return terms, output


def _expand_ellipsis(equation: str, terms: list[str], tensors: Sequence[Tensor]) -> tuple[list[str], str]:
    if "." not in equation:
        return terms, ""
    free = [letter for letter in "zyxwvutsrqponmlkjihgfedcbaZYXWVUTSRQPONMLKJIHGFEDCBA" if letter not in equation]
    counts = []
    for term, tensor in zip(terms, tensors):
        if "..." in term:
            if tensor.shape.ndims is None:
                raise ValueError("Ellipsis in an einsum equation needs a tensor of known rank")
            counts.append(tensor.shape.ndims - len(term) + 3)
        else:
            counts.append(0)
    letters = "".join(free[:max(counts)])
    expanded = [term.replace("...", letters[len(letters) - count:]) for term, count in zip(terms, counts)]
    if any("." in term for term in expanded):
        raise ValueError(f"Indices have incorrect format: {equation}")
    return expanded, letters


def _sum_out(tensor: Tensor, labels: str, needed: set[str]) -> tuple[Tensor, str]:
    """Sums over the axes that nothing else refers to."""
    axes = [axis for axis, label in enumerate(labels) if label not in needed]
    if not axes:
        return tensor, labels
    return reduce_sum(tensor, axes), "".join(label for label in labels if label in needed)


def _permute(tensor: Tensor, labels: str, wanted: str) -> Tensor:
    return tensor if labels == wanted else transpose(tensor, perm=[labels.index(label) for label in wanted])


def _contract(x: Tensor, x_labels: str, y: Tensor, y_labels: str, needed: set[str]) -> tuple[Tensor, str]:
    """The product of two operands, summed over the labels that are not needed any more; its labels in the order batch, rows, columns."""
    shared = [label for label in x_labels if label in y_labels]
    batch = "".join(label for label in shared if label in needed)
    summed = "".join(label for label in shared if label not in needed)
    rows = "".join(label for label in x_labels if label not in shared)
    columns = "".join(label for label in y_labels if label not in shared)
    if not summed:
        return _outer(x, x_labels, y, y_labels, batch + rows + columns), batch + rows + columns
    x, y = _permute(x, x_labels, batch + rows + summed), _permute(y, y_labels, batch + summed + columns)
    sizes = dict(zip(batch + rows + summed, _sizes(x))) | dict(zip(summed + columns, _sizes(y)[len(batch):]))
    left = _as_matrices(x, sizes, batch, rows, summed)
    right = _as_matrices(y, sizes, batch, summed, columns)
    product = matmul(left, right)
    if len(rows) == len(columns) == 1:
        return product, batch + rows + columns
    return reshape(product, _extents([sizes[label] for label in batch + rows + columns])), batch + rows + columns


def _outer(x: Tensor, x_labels: str, y: Tensor, y_labels: str, output: str) -> Tensor:
    """The product without a sum: both are given all axes, in the order of the result, and broadcast."""
    return _expand_labels(x, x_labels, output) * _expand_labels(y, y_labels, output)


def _expand_labels(tensor: Tensor, labels: str, output: str) -> Tensor:
    tensor = _permute(tensor, labels, "".join(label for label in output if label in labels))
    for axis, label in enumerate(output):
        if label not in labels:
            tensor = expand_dims(tensor, axis)
    return tensor


def _sizes(tensor: Tensor) -> list[Any]:
    """The extents: ints where they are known, else scalars."""
    extents = tensor.shape.as_list()
    if None not in extents:
        return extents
    dynamic = shape_op(tensor)
    return [dynamic[axis] if extent is None else extent for axis, extent in enumerate(extents)]


def _as_matrices(tensor: Tensor, sizes: dict[str, Any], batch: str, first: str, second: str) -> Tensor:
    """A tensor as a batch of matrices: the ``first`` labels are their rows, the ``second`` their columns."""
    if len(first) == len(second) == 1:
        return tensor
    return reshape(tensor, _extents([sizes[label] for label in batch] + [_product(sizes, first), _product(sizes, second)]))


def _product(sizes: dict[str, Any], labels: str) -> Any:
    result: Any = 1
    for label in labels:
        result = sizes[label] if isinstance(result, int) and result == 1 else result * sizes[label]
    return result


def _extents(sizes: list[Any]) -> Any:
    """A shape argument; at most one extent that is not known is left to reshape."""
    dynamic = [size for size in sizes if isinstance(size, Tensor)]
    if not dynamic:
        return np.array(sizes, np.int32)
    if len(dynamic) == 1 and 0 not in sizes:
        return np.array([-1 if isinstance(size, Tensor) else size for size in sizes], np.int32)
    return stack(sizes)


def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Tensor:
    """``tf.tensordot``: sums over ``axes``: their number (the last of a, the first of b), or the axes of a and the axes of b.

    >>> tensordot([[1.0, 2.0]], [[3.0], [4.0]], 1).shape.as_list()
    [1, 1]
    """
    with name_scope(name, "Tensordot", [a, b, axes]) as scope:
        a, b = to_tensor(a, None, "a"), to_tensor(b, None, "b")
        a_axes, b_axes = _axes_of(a, axes)
        a_matrix, a_free, a_static = _as_matrix(a, a_axes, columns=True)
        b_matrix, b_free, b_static = _as_matrix(b, b_axes, columns=False)
        product = matmul(a_matrix, b_matrix)
        if isinstance(a_free, list) and isinstance(b_free, list):
            return reshape(product, a_free + b_free, name=scope)
        free = [to_tensor(part, dt.int32) for part in (a_free, b_free)]
        result = reshape(product, concat(free, axis=0), name=scope)
        if a_static is not None and b_static is not None:
            result.set_shape(a_static + b_static)
        return result


def _axes_of(a: Tensor, axes: Any) -> tuple[Any, Any]:
    """The summed axes of each operand: lists of ints, or int32 vectors."""
    if isinstance(axes, Tensor):
        axes = to_tensor(axes, dt.int32, "axes")
        return axes[0], axes[1]
    if np.ndim(axes) == 0 and not isinstance(axes, (list, tuple)):
        count = int(axes)
        if count < 0:
            raise ValueError("'axes' must be at least 0.")
        rank = a.shape.ndims
        if rank is None:
            last = rank_op(a)
            return range_op(last - count, last), range_op(count)
        if count > rank:
            raise ValueError(f"'axes' must not be larger than the number of dimensions of tensor {a}.")
        return list(range(rank - count, rank)), list(range(count))
    if len(axes) != 2:
        raise ValueError("'axes' must be an integer or have length 2.")
    first, second = ([part] if isinstance(part, (int, np.integer)) else part for part in axes)
    if not isinstance(first, Tensor) and not isinstance(second, Tensor) and len(first) != len(second):
        raise ValueError(f"Different number of contraction axes 'a' and 'b', {len(first)} != {len(second)}.")
    return first, second


def _as_matrix(tensor: Tensor, axes: Any, columns: bool) -> tuple[Tensor, Any, list[int | None] | None]:
    """The tensor as a matrix whose columns (or rows) run over the summed axes; the extents of the others, and what is known of them.

    The ops are TensorFlow's, since their number decides the seeds of later ones; passes remove what need not be done.
    """
    rank = tensor.shape.ndims
    if rank is None or isinstance(axes, Tensor):
        total = rank_op(tensor)
        summed = to_tensor(axes, dt.int32, "axes")
        summed = where(summed >= 0, summed, summed + total)
        free, _ = setdiff1d(range_op(total), summed)
        return *_as_matrix_at_run_time(tensor, shape_op(tensor), free, summed, columns), None
    extents = tensor.shape.as_list()
    places = [canonical_axis(int(axis), rank) for axis in axes]
    others = [axis for axis in range(rank) if axis not in places]
    static = [extents[axis] for axis in others]
    if None in extents:
        summed, free = to_tensor(np.array(places, np.int32), name="axes"), to_tensor(np.array(others, np.int32), name="free")
        return *_as_matrix_at_run_time(tensor, shape_op(tensor), free, summed, columns), static
    sides = [math.prod(extents[axis] for axis in group) for group in (others, places)]
    transposed = transpose(tensor, perm=others + places if columns else places + others)
    return reshape(transposed, sides if columns else sides[::-1]), static, static


def _as_matrix_at_run_time(tensor: Tensor, extents: Tensor, free: Tensor, summed: Tensor, columns: bool) -> tuple[Tensor, Tensor]:
    free_extents, summed_extents = gather(extents, free), gather(extents, summed)
    sides = [reduce_prod(free_extents), reduce_prod(summed_extents)]
    order = concat([free, summed] if columns else [summed, free], axis=0)
    matrix_shape = stack(sides if columns else sides[::-1])
    return reshape(transpose(tensor, perm=order), matrix_shape), free_extents
