"""``tf.assert_*`` and ``tf.debugging``: checks of values, ranks, types and shapes.

What is known while the graph is built is checked at once and raises there; the rest becomes an Assert operation.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from penstock.errors import InvalidArgumentError
from penstock.graph import dtypes as dt
from penstock.graph.composite import IndexedSlices, SparseTensor
from penstock.graph.convert import to_tensor
from penstock.graph.node import Operation, Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.static import constant_value
from penstock.ops.array.shape_ops import reshape
from penstock.ops.flow.misc import Assert, no_op
from penstock.ops.math import compare
from penstock.ops.math.reduce import reduce_all

Check = Callable[..., Any]
_SHOWN = 3  # elements of a tensor in messages of imperative style


def _fail_if_known_false(condition: bool, data: list[Any]) -> None:
    if not condition:
        raise InvalidArgumentError(None, None, "\n".join(_text(item) for item in data))


def _text(item: Any) -> str:
    if not isinstance(item, Tensor):
        return str(item)
    value = constant_value(item)
    if item.imperative and value is not None:
        return str([*[str(each) for each in np.ravel(value)[:_SHOWN]], *["..."] * (np.size(value) > _SHOWN)])
    return str(item if value is None else value)


def _what(tensor: Tensor) -> str:
    """What messages call a tensor: its name in a graph; values have none."""
    return f"shape={tensor.shape} dtype={tensor.dtype.name}" if tensor.imperative else str(tensor.name)


def _values_that_differ(symbol: str, x: np.ndarray, y: np.ndarray, holds: np.ndarray, count: int) -> str:
    """Imperative style: the first elements for which a comparison does not hold."""
    lines = [f"Condition x {symbol} y did not hold."]
    if x.shape == y.shape and x.ndim:
        places = np.argwhere(~holds)[:count]
        chosen = tuple(places.T)
        lines += [f"Indices of first {len(places)} different values:", str(places), "Corresponding x values:", str(x[chosen]),
                  "Corresponding y values:", str(y[chosen])]
    for name, values in (("x", x), ("y", y)):
        first = np.ravel(values)[:count]
        lines += [f"First {len(first)} elements of {name}:", str(first)]
    return "\n".join(lines)


def _comparison_check(symbol: str, default_name: str, node: Callable[..., Tensor], static: Callable[..., Any]) -> Check:
    """A check of two tensors, element by element."""

    def check(x: Any, y: Any, data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Any:
        with name_scope(name, default_name, [x, y, data]):
            x, y = to_tensor(x, None, "x"), to_tensor(y, None, "y")
            known = constant_value(x), constant_value(y)
            if data is None and x.imperative and known[0] is not None and known[1] is not None:
                holds = np.asarray(static(*known), bool)
                data = [] if holds.all() else [_values_that_differ(symbol, np.asarray(known[0]), np.asarray(known[1]), holds, summarize or _SHOWN)]
            elif data is None:
                data = [f"Condition x {symbol} y did not hold element-wise:", f"x ({x.name}) = ", x, f"y ({y.name}) = ", y]
            if message is not None:
                data = [message, *data]
            condition = reduce_all(node(x, y))
            if known[0] is not None and known[1] is not None:
                _fail_if_known_false(bool(np.all(static(*known))), data)
                if x.imperative:
                    return None
            return Assert(condition, data, summarize=summarize)

    return _with_name(check, default_name, f"an operation that fails unless ``x {symbol} y`` holds for all elements.")


def _with_name(check: Check, name: str, summary: str) -> Check:
    check.__name__ = check.__qualname__ = name
    check.__doc__ = f"``tf.{name}``: {summary}"
    return check


_equal = _comparison_check("==", "assert_equal", compare.equal, np.equal)
assert_none_equal = _comparison_check("!=", "assert_none_equal", compare.not_equal, np.not_equal)
assert_less = _comparison_check("<", "assert_less", compare.less, np.less)
assert_less_equal = _comparison_check("<=", "assert_less_equal", compare.less_equal, np.less_equal)
assert_greater = _comparison_check(">", "assert_greater", compare.greater, np.greater)
assert_greater_equal = _comparison_check(">=", "assert_greater_equal", compare.greater_equal, np.greater_equal)


def assert_equal(x: Any, y: Any, data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """``tf.assert_equal``: an operation that fails unless ``x == y`` holds for all elements."""
    with name_scope(name, "assert_equal", [x, y, data]):
        if x is y:
            return no_op()
    return _equal(x, y, data, summarize, message, name)


def _sign_check(default_name: str, symbol: str, check: Callable[[Any, Any], Any]) -> Check:
    """A check of one tensor against zero; ``check`` takes (x, zero) and returns the comparison with its arguments in order."""

    def of(x: Any, data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
        with name_scope(name, default_name, [x, data]):
            x = to_tensor(x, None, "x")
            if data is None:
                data = [message or "", f"Condition x {symbol} 0 did not hold element-wise:", f"x ({_what(x)}) = ", x]
            compared, left, right = check(x, to_tensor(np.zeros((), x.dtype.base_dtype.np)))
            return compared(left, right, data=data, summarize=summarize)

    return _with_name(of, default_name, f"an operation that fails unless ``x {symbol} 0`` holds for all elements.")


assert_positive = _sign_check("assert_positive", ">", lambda x, zero: (assert_less, zero, x))
assert_negative = _sign_check("assert_negative", "<", lambda x, zero: (assert_less, x, zero))
assert_non_negative = _sign_check("assert_non_negative", ">=", lambda x, zero: (assert_less_equal, zero, x))
assert_non_positive = _sign_check("assert_non_positive", "<=", lambda x, zero: (assert_less_equal, x, zero))


def assert_near(x: Any, y: Any, rtol: Any = None, atol: Any = None, data: Any = None, summarize: int | None = None, message: str | None = None,
                name: str | None = None) -> Operation:
    """``tf.assert_near``: an operation that fails unless ``|x - y| <= atol + rtol * |y|``; both tolerances default to ten times the precision."""
    with name_scope(name, "assert_near", [x, y, rtol, atol, data]):
        x = to_tensor(x, None, "x")
        y = to_tensor(y, x.dtype.base_dtype, "y")
        eps = float(np.finfo(x.dtype.base_dtype.np).eps) * 10 if x.dtype.base_dtype is not dt.bfloat16 else 0.078125
        rtol = to_tensor(eps if rtol is None else rtol, x.dtype.base_dtype, "rtol")
        atol = to_tensor(eps if atol is None else atol, x.dtype.base_dtype, "atol")
        if data is None:
            data = [message or "", f"x and y not equal to tolerance rtol = {rtol!s}, atol = {atol!s}", f"x ({_what(x)}) = ", x,
                    f"y ({_what(y)}) = ", y]
        tolerance = atol + rtol * abs(y)
        return Assert(reduce_all(compare.less(abs(x - y), tolerance)), data, summarize=summarize)


def _holds_for_neighbours(x: Any, order: Callable[..., Tensor], default_name: str, name: str | None) -> Tensor:
    """Whether ``order`` (earlier, later) holds for all neighbours in ``x``, flattened."""
    with name_scope(name, default_name, [x]):
        flat = reshape(to_tensor(x), [-1])
        return reduce_all(order(flat[:-1], flat[1:]))


def is_non_decreasing(x: Any, name: str | None = None) -> Tensor:
    """``tf.is_non_decreasing``: True if no element, in row-major order, is smaller than the one before it."""
    return _holds_for_neighbours(x, compare.less_equal, "is_non_decreasing", name)


def is_strictly_increasing(x: Any, name: str | None = None) -> Tensor:
    """``tf.is_strictly_increasing``: True if every element, in row-major order, is larger than the one before it."""
    return _holds_for_neighbours(x, compare.less, "is_strictly_increasing", name)


# --- types -----------------------------------------------------------------------------------------------------------

def assert_type(tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None) -> Operation:
    """``tf.assert_type``: TypeError, now, unless the tensor has this type."""
    with name_scope(name, "assert_type", [tensor]):
        tensor = tensor if isinstance(tensor, SparseTensor) else to_tensor(tensor, None, "tensor")
        if tensor.dtype.base_dtype is not dt.as_dtype(tf_type).base_dtype:
            what = " tensor" if getattr(tensor, "imperative", False) else f"  {getattr(tensor, 'name', tensor)}"
            raise TypeError(f"{message or ''}{what} must be of type {dt.as_dtype(tf_type)}")
        return no_op("statically_determined_correct_type")


def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> Operation:
    """``tf.assert_integer``: TypeError, now, unless ``x`` has an integer type."""
    with name_scope(name, "assert_integer", [x]):
        x = to_tensor(x, None, "x")
        if not x.dtype.is_integer:
            raise TypeError(f"{message or ''}  Expected \"x\" to be integer type.  Found: {'tensor' if x.imperative else x.name} of dtype {x.dtype}")
        return no_op("statically_determined_was_integer")


def is_numeric_tensor(tensor: Any) -> bool:
    """``tf.is_numeric_tensor``: True for tensors of numbers."""
    return isinstance(tensor, (Tensor, SparseTensor, IndexedSlices)) and (
        tensor.dtype.is_floating or tensor.dtype.is_integer or tensor.dtype.is_complex or tensor.dtype.is_quantized)


def assert_same_float_dtype(tensors: Iterable[Any] | None = None, dtype: Any = None) -> dt.DType:
    """``tf.assert_same_float_dtype``: the type that all ``tensors`` but None have; ValueError if they differ or it is not a float type."""
    expected = None if dtype is None else dt.as_dtype(dtype).base_dtype
    first = None
    for tensor in tensors or ():
        if tensor is None:
            continue
        given = tensor.dtype.base_dtype
        if expected is None:
            expected, first = given, tensor
        elif given is not expected:
            origin = "" if first is None else f" as {first.name}"
            raise ValueError(f"{tensor.name}, type={given}, must be of the same type ({expected}){origin}.")
    expected = expected or dt.float32
    if not expected.is_floating:
        raise ValueError(f"Expected floating point type, got {expected}.")
    return expected


def assert_proper_iterable(values: Any) -> None:
    """``tf.assert_proper_iterable``: TypeError unless ``values`` is a list, tuple or the like; strings, arrays and tensors are not."""
    if isinstance(values, (Tensor, SparseTensor, IndexedSlices, np.ndarray, str, bytes)):
        raise TypeError(f"Expected argument \"values\" to be a \"proper\" iterable.  Found: {type(values)}")
    if not hasattr(values, "__iter__"):
        raise TypeError(f"Expected argument \"values\" to be iterable.  Found: {type(values)}")
