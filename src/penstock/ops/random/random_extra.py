"""Random tensors made from others: crops, and normal numbers between given bounds."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.scopes import name_scope
from penstock.graph.seeds import get_seed
from penstock.ops.array.shape_ops import known_shape, shape
from penstock.ops.array.slicing import slice_
from penstock.ops.common import FLOATS, INDEX
from penstock.ops.flow.misc import Assert, with_dependencies
from penstock.ops.math.compare import greater_equal
from penstock.ops.math.reduce import reduce_all
from penstock.ops.random import truncated
from penstock.ops.random.random import checked_shape, generator, random_uniform, shape_tensor


def random_crop(value: Any, size: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """``tf.random_crop``: a part of ``value`` with the extents ``size``, at a random place."""
    with name_scope(name, "random_crop", [value, size]) as scope:
        value, size = to_tensor(value, None, "value"), to_tensor(size, dt.int32, "size")
        extents = shape(value)
        check = Assert(reduce_all(greater_equal(extents, size)), ["Need value.shape >= size, got ", extents, size], summarize=1000)
        limit = with_dependencies([check], extents) - size + 1
        offset = random_uniform(shape(limit), dtype=size.dtype, maxval=size.dtype.max, seed=seed) % limit
        return slice_(value, offset, size, name=scope)


@op("ParameterizedTruncatedNormal", "shape: T, means: dtype, stdevs: dtype, minvals: dtype, maxvals: dtype -> output: dtype", seed=0, seed2=0,
    dtype=FLOATS, T=INDEX)
class ParameterizedTruncatedNormal:
    """Normal numbers between bounds; the parameters are scalars, or vectors with one element per row of the output."""

    stateful = True
    gradient = None

    def shape(shape, means, stdevs, minvals, maxvals):
        for parameter in (means, stdevs, minvals, maxvals):
            parameter.shape.with_rank_at_most(1)
        return known_shape(shape)

    def kernel(shape, means, stdevs, minvals, maxvals, ctx, seed, seed2, dtype):
        extents = checked_shape(shape)
        if not extents:
            raise invalid_argument("Shape tensor must not be empty, got []")
        parameters = [_one_per_row(parameter, extents[0]) for parameter in (means, stdevs, minvals, maxvals)]
        return truncated.normal_between(generator(ctx, seed, seed2), extents, *parameters, dtype.np)


def _one_per_row(parameter: Any, rows: int) -> np.ndarray:
    parameter = np.atleast_1d(parameter)
    if parameter.ndim > 1 or len(parameter) not in (1, rows):
        raise invalid_argument(f"Input parameters must be scalar or vector of length {rows}, got shape: {list(parameter.shape)}")
    return np.broadcast_to(parameter, [rows])


def parameterized_truncated_normal(shape: Any, means: Any = 0.0, stddevs: Any = 1.0, minvals: Any = -2.0, maxvals: Any = 2.0,
                                   dtype: Any = dt.float32, seed: int | None = None, name: str | None = None) -> Tensor:
    """Normal numbers between ``minvals`` and ``maxvals``."""
    dtype = dt.as_dtype(dtype)
    with name_scope(name, "parameterized_truncated_normal", [shape, means, stddevs, minvals, maxvals]):
        shape = shape_tensor(shape)
        named = zip((means, stddevs, minvals, maxvals), ("means", "stddevs", "minvals", "maxvals"))
        parameters = [to_tensor(value, dtype, label) for value, label in named]
        seed1, seed2 = get_seed(seed)
        return ParameterizedTruncatedNormal(shape, *parameters, seed=seed1, seed2=seed2)
