"""``tf.raw_ops``: every registered operation by its type, called with keyword arguments only."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.graph.opdef import REGISTRY


def __getattr__(name: str) -> Callable[..., Any]:
    definition = REGISTRY.get(name)
    if definition is None:
        raise AttributeError(f"module 'tensorflow.raw_ops' has no attribute '{name}': Penstock has no operation of this type")

    def raw_op(**arguments: Any) -> Any:
        return definition(**arguments)

    raw_op.__name__ = raw_op.__qualname__ = name
    raw_op.__doc__ = definition.__doc__
    globals()[name] = raw_op
    return raw_op


def __dir__() -> list[str]:
    return sorted(REGISTRY)
