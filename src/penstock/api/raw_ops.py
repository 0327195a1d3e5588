"""``tf.raw_ops``: every registered operation by its type, called with keyword arguments only.

Nothing else here may have a name that begins with a capital: ``Any`` is an operation.
"""
from __future__ import annotations

import typing

from penstock.api import generated
from penstock.graph import opdef


def __getattr__(name: str) -> typing.Callable[..., typing.Any]:
    definition = opdef.REGISTRY.get(name)
    if definition is None:
        raise AttributeError(f"module 'tensorflow.raw_ops' has no attribute '{name}': Penstock has no operation of this type")
    globals()[name] = function = generated.function_of(definition, name, keywords_only=True)
    return function


def __dir__() -> list[str]:
    return sorted(opdef.REGISTRY)
