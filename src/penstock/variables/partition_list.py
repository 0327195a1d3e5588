"""``tf.create_partitioned_variables``: the parts of a partitioned variable as a plain list."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.graph import dtypes
from penstock.graph.shape import as_shape
from penstock.variables.partitioned import check_partitions
from penstock.variables.scope import get_variable, variable_scope
from penstock.variables.variable import Variable


def create_partitioned_variables(shape: Sequence[int], slicing: Sequence[int], initializer: Any, dtype: Any = dtypes.float32,
                                 trainable: bool = True, collections: Any = None, name: str | None = None,
                                 reuse: Any = None) -> list[Variable]:
    """``tf.create_partitioned_variables``: variables that together have ``shape``, ``slicing[i]`` of them along axis i."""
    if len(shape) != len(slicing):
        raise ValueError("The 'shape' and 'slicing' of a partitioned Variable must have the length: "
                         f"shape: {list(shape)}, slicing: {list(slicing)}")
    if len(shape) < 1:
        raise ValueError(f"A partitioned Variable must have rank at least 1: shape: {list(shape)}")
    check_partitions(list(slicing), as_shape(shape))
    with variable_scope(name, "PartitionedVariable", reuse=reuse):
        whole = get_variable("part" if name is None else name, shape=shape if callable(initializer) else None, dtype=dtype,
                             initializer=initializer, trainable=trainable, collections=collections,
                             partitioner=lambda **unused: list(slicing))
        return list(whole)
