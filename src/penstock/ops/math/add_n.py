"""Sums of many tensors of one shape, or of many lists of tensors."""
from __future__ import annotations

import functools
from typing import Any

import numpy as np

from penstock.graph.attrs import SHAPE, count
from penstock.graph.composite import IndexedSlices
from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import variant
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.shape import unknown_shape
from penstock.ops.common import NUMERIC
from penstock.ops.constant import identity
from penstock.ops.demands import check_same_shape, merged


def _add_lists(one: Any, other: Any) -> Any:
    """The sum of two lists of gradients (see ``ops/flow/tensor_list.py``), element by element from their ends.

    A shorter list counts as filled up with zeros.
    """
    cells = []
    while one and other:
        (one, mine), (other, theirs) = one, other
        cells.append(_add_lists(mine, theirs) if isinstance(mine, tuple) else mine + theirs)
    total = one or other
    for tensor in reversed(cells):
        total = (total, tensor)
    return total


def _total(inputs):
    check_same_shape(*inputs)
    result = np.array(inputs[0])
    for array in inputs[1:]:
        result += array
    return result


def _lower_total(b, inputs):
    total = inputs[0]
    for value in inputs[1:]:
        total = b.add(total, value)
    return total


@op("AddN", "inputs: N * T -> sum: T", N=count(1), T=NUMERIC | {variant})
class AddN:
    """The sum of tensors of one shape."""

    elementwise = commutative = sums = True
    epilogue = "add"

    def shape(inputs):
        return merged(inputs)

    def kernel(inputs):
        return functools.reduce(_add_lists, inputs) if isinstance(inputs[0], tuple) else _total(inputs)

    lower = _lower_total

    def gradient(op, dy):
        return [dy] * len(op.inputs)


@op("AccumulateNV2", "inputs: N * T -> sum: T", N=count(1), T=NUMERIC, shape=SHAPE)
class AccumulateNV2:
    """The sum of tensors of a shape that is known beforehand."""

    elementwise = commutative = sums = True
    epilogue = "add"

    def shape(inputs, shape):
        return merged(inputs).merge_with(shape)

    def kernel(inputs):
        return _total(inputs)

    lower = _lower_total

    def gradient(op, dy):
        return [dy] * len(op.inputs)


def _check_summands(inputs: Any) -> list[Any]:
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise ValueError("inputs must be a list of at least one Tensor/IndexedSlices with the same dtype and shape")
    first = next((x for x in inputs if isinstance(x, Tensor)), None)
    dtype = None if first is None else first.dtype.base_dtype
    return [x if isinstance(x, (Tensor, IndexedSlices)) else to_tensor(x, dtype) for x in inputs]


def add_n(inputs: Any, name: str | None = None) -> Tensor:
    """``tf.add_n``: the sum of a list of tensors of one shape."""
    inputs = [to_tensor(x) for x in _check_summands(inputs)]
    if len(inputs) > 1:
        return AddN(inputs, name=name)
    return identity(inputs[0], name) if name else inputs[0]


def accumulate_n(inputs: Any, shape: Any = None, tensor_dtype: Any = None, name: str | None = None) -> Tensor:
    """``tf.accumulate_n``: the sum of a list of tensors, of which ``shape`` says more than they do themselves."""
    inputs = [to_tensor(x) for x in _check_summands(inputs)]
    dtype = inputs[0].dtype.base_dtype
    if any(x.dtype.base_dtype is not dtype for x in inputs) or (tensor_dtype is not None and dtype != tensor_dtype):
        raise TypeError(f"accumulate_n needs tensors of one type, tensor_dtype: {tensor_dtype or dtype}, not "
                        f"{[x.dtype.name for x in inputs]}")
    known = unknown_shape() if shape is None else unknown_shape().merge_with(shape)
    known = known.merge_with(merged(inputs))
    if len(inputs) > 1:
        return AccumulateNV2(inputs, shape=known, name=name)
    return identity(inputs[0], name) if name else inputs[0]
