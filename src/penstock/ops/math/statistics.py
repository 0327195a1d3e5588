"""Composed reductions: log-sum-exp, variance, standard deviation, counts."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.graph import dtypes
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import zeros_like
from penstock.ops.array.passing import stop_gradient
from penstock.ops.array.select import where
from penstock.ops.array.shape_ops import reshape, shape
from penstock.ops.constant import constant
from penstock.ops.math.compare import IsFinite, NotEqual
from penstock.ops.math.elementwise import Add, Sub, square
from penstock.ops.math.powers import exp, log, sqrt
from penstock.ops.math.reduce import Mean, Sum, old_arguments, reduce_by, reduce_max


def reduce_logsumexp(input_tensor: Any, axis: Any = None, keepdims: Any = None, name: str | None = None,
                     reduction_indices: Any = None, keep_dims: Any = None) -> Tensor:
    """``tf.reduce_logsumexp``: log(sum(exp(x))) over ``axis``, without overflow.

    >>> reduce_logsumexp([[0.0, 0.0]], axis=1).shape
    TensorShape([Dimension(1)])
    """
    keepdims, axis = old_arguments(keepdims, keep_dims, axis, reduction_indices)
    input_tensor = to_tensor(input_tensor)
    with name_scope(name, "ReduceLogSumExp", [input_tensor]):
        largest = reduce_max(input_tensor, axis, keepdims=True)
        largest = stop_gradient(where(IsFinite(largest), largest, zeros_like(largest)))
        result = log(reduce_by(Sum, exp(Sub(input_tensor, largest)), axis, keepdims))
        if not keepdims:
            largest = reshape(largest, shape(result))
        return Add(result, largest)


def reduce_variance(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """``tf.math.reduce_variance``: the mean of the squared distances from the mean."""
    with name_scope(name or "reduce_variance", None, [input_tensor]):
        return reduce_by(Mean, square(Sub(input_tensor, reduce_by(Mean, input_tensor, axis, True))), axis, keepdims)


def reduce_std(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """``tf.math.reduce_std``: the square root of the variance."""
    with name_scope(name or "reduce_std", None, [input_tensor]):
        return sqrt(reduce_variance(input_tensor, axis, keepdims))


def count_nonzero(input_tensor: Any = None, axis: Any = None, keepdims: Any = None, dtype: Any = dtypes.int64,
                  name: str | None = None, reduction_indices: Any = None, keep_dims: Any = None, input: Any = None) -> Tensor:
    """``tf.count_nonzero``: how many elements over ``axis`` are not 0, False or the empty string."""
    keepdims, axis = old_arguments(keepdims, keep_dims, axis, reduction_indices)
    input_tensor = input if input_tensor is None else input_tensor
    if isinstance(input_tensor, SparseTensor):
        input_tensor = input_tensor.values
    with name_scope(name, "count_nonzero", [input_tensor]):
        x = to_tensor(input_tensor)
        zero = constant(np.array(b"" if x.dtype is dtypes.string else 0).astype(x.dtype.np), x.dtype.base_dtype, name="zeros")
        counted = reduce_by(Sum, cast(NotEqual(x, zero), dtypes.int64), axis, keepdims)
        return cast(counted, dtype)
