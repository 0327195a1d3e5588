"""Methods and conversions of arrays that NumPy 2 removed: ``array.tostring()``, ``float(np.array([1.0]))``, ``'%d' % array``, ``if array``; and how
numbers are shown."""
from __future__ import annotations

from collections.abc import Callable
from inspect import isgetsetdescriptor
from typing import Any

import numpy as np

from penstock.cli.era.c_types import add_methods


def _tostring(self: Any, order: str = "C") -> bytes:
    """What ``tobytes`` is today."""
    return self.tobytes(order)


def _itemset(self: np.ndarray, *args: Any) -> None:
    """Sets the item at an index: ``array.itemset(3, value)``, ``array.itemset((0, 1), value)``."""
    if len(args) == 1:
        self[...] = args[0]
    elif isinstance(args[0], tuple):
        self[args[0]] = args[1]
    else:
        self.flat[args[0]] = args[1]


def _newbyteorder(self: np.ndarray, new_order: str = "S") -> np.ndarray:
    """The same bytes, taken for numbers of another byte order."""
    return self.view(self.dtype.newbyteorder(new_order))


def _ptp(self: np.ndarray, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """The largest minus the smallest value."""
    return np.ptp(self, axis, out, keepdims)


def _of_one_element(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``float`` of an array of any rank that has one element."""
    def of_one(self: np.ndarray) -> Any:
        return convert(self.reshape(()) if self.ndim and self.size == 1 else self)

    return of_one


def _is_true(self: np.ndarray) -> bool:
    """An empty array is False."""
    return bool(self.size) and _BOOL(self)


_BOOL = np.ndarray.__bool__
_METHODS: dict[str, Any] = {"tostring": _tostring, "itemset": _itemset, "newbyteorder": _newbyteorder, "ptp": _ptp}
_CONVERSIONS = {"__int__": _of_one_element(np.ndarray.__int__), "__float__": _of_one_element(np.ndarray.__float__), "__bool__": _is_true}


def restore() -> list[str]:
    """Gives arrays what they had; returns the names that were added."""
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        np.set_printoptions(legacy="1.25")  # type: ignore[arg-type]  # print([loss]) gives [0.5], not [np.float32(0.5)]
    add_methods(np.ndarray, _CONVERSIONS, replace=True)
    only_explained = {name: method for name, method in _METHODS.items() if isgetsetdescriptor(getattr(np.ndarray, name, None))}  # NumPy 2.0 to 2.2
    return (add_methods(np.ndarray, only_explained, replace=True) + add_methods(np.ndarray, _METHODS)
            + add_methods(np.generic, {"tostring": _tostring}))
