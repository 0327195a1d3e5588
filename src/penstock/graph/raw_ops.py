"""Every registered op by its type: ``raw_ops.Sum(x, axes)`` is the OpDef ``Sum`` of ``ops/math/reduce.py``.

An op imports what stands below its file. What stands above it takes from here, as gradients often must: Tile only arranges elements, but its
gradient is a sum. The name is looked up when the gradient is built, which loads the op if need be. ``tests/graph/test_raw_ops.py`` checks that
every name that the package takes from here is the type of an op.
"""
from __future__ import annotations

from penstock.graph.opdef import REGISTRY, OpDef


def __getattr__(op_type: str) -> OpDef:
    try:
        return REGISTRY[op_type]
    except KeyError:
        raise AttributeError(f"there is no op of type '{op_type}'") from None
