"""``tf.create_partitioned_variables``: the parts of a partitioned variable as a plain list."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.graph import dtypes
from penstock.graph.scopes import name_scope
from penstock.variables.scope import variable_scope
from penstock.variables.store import variable_store
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
    with variable_scope(name, "PartitionedVariable", reuse=reuse) as scope, name_scope(None):
        whole = variable_store().get_variable(
            scope.name, shape if callable(initializer) else None, dtype, initializer, scope.regularizer, scope.reuse, trainable, collections,
            scope.caching_device, lambda **unused: list(slicing), use_resource=scope.use_resource, constraint=scope.constraint)
    return list(whole)
