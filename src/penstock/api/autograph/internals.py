"""The compiler inside TensorFlow's AutoGraph (``tensorflow.python.autograph.pyct`` and its kin), which libraries import and seldom use.

Penstock rewrites functions in another way (`penstock.autograph`), so there is nothing to map to: the names exist, and their use says so.
"""
from __future__ import annotations

from typing import Any

_REASON = ("AutoGraph's own compiler ({}) is not part of Penstock, which rewrites functions in another way. tf.function and "
           "tf.autograph.to_graph work; what builds on TensorFlow's syntax trees (auto-batching of tensorflow-probability, for example) does not.")


class Base:
    """``transformer.Base``: a base class that cannot be used."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(_REASON.format("transformer.Base"))


def __getattr__(name: str) -> Any:
    if name.startswith("__") or name.isupper():  # of a module: no table of the API, for one
        raise AttributeError(name)

    def explain(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(_REASON.format(name))

    return explain
