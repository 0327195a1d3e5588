"""``==`` and ``!=`` of tensors and variables: are they one object, or, after ``tf.enable_tensor_equality``, are their elements equal?

Elements are compared where operations give values at once, and in functions that are traced there; in a graph of its own ``==`` stays identity, as in
TensorFlow 1.15. So it does in Penstock's own code (``tensor in tensors``), whatever the program has asked for. Unlike TensorFlow's, tensors can be
elements of sets all the time: there, they are told apart by identity first.
"""
from __future__ import annotations

from sys import _getframe
from types import FrameType
from typing import Any

from penstock.graph.convert import to_tensor
from penstock.graph.function import outermost
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.ops.math.compare import Equal, NotEqual
from penstock.variables.variable import Variable

_plain = {cls: cls.__eq__ for cls in (Tensor, Variable)}


def compare_elements(switch: bool) -> None:
    """Says whether ``==`` compares elements."""
    for cls, identity in _plain.items():
        kept = cls.__hash__
        cls.__eq__ = _equal if switch else identity  # type: ignore[method-assign]
        cls.__ne__ = _not_equal if switch else object.__ne__  # type: ignore[method-assign]
        cls.__hash__ = kept  # type: ignore[method-assign]


def _equal(x: Any, y: Any) -> Any:
    return _compared(Equal, x, y) if _by_elements(_getframe(1)) else x is y


def _not_equal(x: Any, y: Any) -> Any:
    return _compared(NotEqual, x, y) if _by_elements(_getframe(1)) else x is not y


def _by_elements(caller: FrameType) -> bool:
    """Does a comparison of elements make sense where it was asked for?"""
    return str(caller.f_globals.get("__name__")).partition(".")[0] != "penstock" and outermost(default_graph()).imperative


def _compared(definition: Any, x: Any, y: Any) -> Any:
    x = to_tensor(x)
    return definition(x, y if isinstance(y, Tensor) else to_tensor(y, x.dtype.base_dtype))
