"""Python's operators on tensors: ``x + y``, ``-x``, ``x < y``, ... with TensorFlow's names for the nodes they make.

``==`` stays identity, as in TensorFlow 1: tensors are keys of feed dictionaries.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.graph.composite import SparseTensor
from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import float32, string
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.graph.opdef import OpDef
from penstock.graph.scopes import name_scope
from penstock.ops.common import FLOATS
from penstock.ops.linalg.matmul import matmul
from penstock.ops.math.compare import Greater, GreaterEqual, Less, LessEqual, LogicalAnd, LogicalNot, LogicalOr, logical_xor
from penstock.ops.math.division import FloorDiv, FloorMod, true_divide
from penstock.ops.math.elementwise import Add, AddV2, Mul, Neg, RealDiv, Sub, abs
from penstock.ops.math.powers import Pow


def _add(x: Tensor, y: Tensor, name: str) -> Tensor:
    return (Add if x.dtype.base_dtype is string else AddV2)(x, y, name=name)  # AddV2 does not join strings


def _multiply(x: Tensor, y: Any, name: str) -> Any:
    if not isinstance(y, SparseTensor):
        return Mul(x, y, name=name)
    return y * x  # a SparseTensor says itself how it is multiplied


# method -> (name of its node, what it calls); the reflected method of "__add__" is "__radd__"
OperatorTable = dict[str, tuple[str, Callable[..., Any]]]
BINARY: OperatorTable = {
    "__add__": ("add", _add), "__sub__": ("sub", Sub), "__mul__": ("mul", _multiply), "__pow__": ("pow", Pow),
    "__truediv__": ("truediv", true_divide), "__div__": ("div", true_divide), "__floordiv__": ("floordiv", FloorDiv),
    "__mod__": ("mod", FloorMod), "__matmul__": ("matmul", matmul), "__and__": ("and", LogicalAnd),
    "__or__": ("or", LogicalOr), "__xor__": ("xor", logical_xor)}
COMPARISONS: OperatorTable = {
    "__lt__": ("Less", Less), "__le__": ("LessEqual", LessEqual), "__gt__": ("Greater", Greater),
    "__ge__": ("GreaterEqual", GreaterEqual)}
# What they call for floats, which need no preparation: most nodes of most graphs are made here.
PLAIN: dict[Any, Any] = {_add: AddV2, _multiply: Mul, true_divide: RealDiv}
UNARY: dict[str, Callable[..., Any]] = {"__neg__": Neg, "__abs__": abs, "__invert__": LogicalNot}


_NONE: dict[str, Any] = {}  # no attributes
_FLOATS = (float32, *(FLOATS - {float32}))  # the usual one first: this is asked at every call


def _forward(method: str, name: str, function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    reflected = f"__r{method[2:]}"
    plain = PLAIN.get(function, function)
    is_op = type(plain) is OpDef

    def operator(x: Any, y: Any) -> Any:
        kind = type(y)
        is_plain = kind is float or kind is int or isinstance(y, Tensor)
        if (is_plain or getattr(y, "imperative", False)) and isinstance(x, Tensor) and x._dtype in _FLOATS:
            graph = default_graph()
            if is_op and graph.imperative:
                return graph.call(plain, (x, y if is_plain else to_tensor(y)), _NONE, name)  # to_tensor: of a variable
            if is_plain:
                return plain(x, y, name=name)
        with name_scope(None, name, [x, y]) as scope:
            x = to_tensor(x, None, "x")
            if not isinstance(y, (Tensor, SparseTensor)):
                try:
                    y = to_tensor(y, None, "y", preferred=x.dtype.base_dtype)
                except TypeError:
                    if hasattr(type(y), reflected):
                        return NotImplemented  # the other side may know better
                    raise
            return function(x, y, name=scope)
    return operator


def _reflected_operator(name: str, function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    def operator(y: Any, x: Any) -> Any:
        with name_scope(None, name, [x, y]) as scope:
            y = to_tensor(y, None, "y")
            return function(to_tensor(x, y.dtype.base_dtype, "x"), y, name=scope)
    return operator


def _unary(function: Callable[..., Any]) -> Callable[[Any], Any]:
    return lambda x: function(x)


def _set_method(cls: type, method: str, function: Callable[..., Any]) -> None:
    function.__name__ = method
    function.__qualname__ = f"{cls.__name__}.{method}"
    setattr(cls, method, function)


def install(cls: type) -> None:
    """Gives ``cls`` (Tensor, or a class that converts to one) the operators."""
    for method, (name, function) in BINARY.items():
        _set_method(cls, method, _forward(method, name, function))
        _set_method(cls, f"__r{method[2:]}", _reflected_operator(name, function))
    for method, (name, function) in COMPARISONS.items():
        _set_method(cls, method, _forward(method, name, function))
    for method, function in UNARY.items():
        _set_method(cls, method, _unary(function))


install(Tensor)
# For libraries that give their own classes the operators of tensors; ``__getitem__`` is installed by array/indexing.py.
Tensor.OVERLOADABLE_OPERATORS = {*BINARY, *(f"__r{method[2:]}" for method in BINARY), *COMPARISONS, *UNARY,  # type: ignore[attr-defined]
                                 "__getitem__", "__eq__", "__ne__"}
