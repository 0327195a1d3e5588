"""Elementwise functions, comparisons and reductions of ``tf.keras.backend``. Reductions of booleans count."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.graph import dtypes
from penstock.graph.convert import to_tensor
from penstock.layers import settings
from penstock.ops.array.cast import cast as cast_
from penstock.ops.math import argmax as argmax_ops
from penstock.ops.math import compare, cumulative, elementwise, powers, reduce, rounding, trigonometry
from penstock.ops.math.clip import clip_by_value
from penstock.ops.math.statistics import reduce_variance
from penstock.ops.nn.nn_ops import l2_normalize as normalize

# --- elementwise -----------------------------------------------------------------------------------------------------


def _with_signature(function: Callable[..., Any], name: str, arguments: str) -> Callable[..., Any]:
    """``function`` with Keras's name and arguments."""
    namespace: dict[str, Any] = {"function": function, "__name__": __name__}  # by its name AutoGraph knows it for a library's
    exec(f"def {name}({arguments}): return function({arguments})", namespace)
    made = namespace[name]
    made.__doc__ = f"``tf.keras.backend.{name}``."
    return made


abs = _with_signature(elementwise.abs, "abs", "x")
exp, log, sign, square = (_with_signature(function, name, "x") for name, function in (
    ("exp", powers.exp), ("log", powers.log), ("sign", elementwise.sign), ("square", elementwise.square)))
sin, cos = _with_signature(trigonometry.sin, "sin", "x"), _with_signature(trigonometry.cos, "cos", "x")
round = _with_signature(rounding.round, "round", "x")
pow = _with_signature(powers.pow, "pow", "x, a")
maximum, minimum = _with_signature(elementwise.maximum, "maximum", "x, y"), _with_signature(elementwise.minimum, "minimum", "x, y")
equal, not_equal, greater, greater_equal, less, less_equal = (
    _with_signature(getattr(compare, name), name, "x, y") for name in ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal"))


def sqrt(x: Any) -> Any:
    """``tf.keras.backend.sqrt``: negative numbers are taken for 0."""
    x = to_tensor(x)
    return powers.sqrt(clip_by_value(x, cast_(0.0, x.dtype.base_dtype), cast_(float("inf"), x.dtype.base_dtype)))


def clip(x: Any, min_value: Any, max_value: Any) -> Any:
    """``tf.keras.backend.clip``."""
    if isinstance(min_value, (int, float)) and isinstance(max_value, (int, float)) and max_value < min_value:
        max_value = min_value
    lower, upper = -float("inf") if min_value is None else min_value, float("inf") if max_value is None else max_value
    return clip_by_value(x, lower, upper)


def cumsum(x: Any, axis: int = 0) -> Any:
    """``tf.keras.backend.cumsum``."""
    return cumulative.cumsum(x, axis=axis)


def cumprod(x: Any, axis: int = 0) -> Any:
    """``tf.keras.backend.cumprod``."""
    return cumulative.cumprod(x, axis=axis)


def l2_normalize(x: Any, axis: Any = None) -> Any:
    """``tf.keras.backend.l2_normalize``."""
    return normalize(x, axis=axis)


# --- reductions ------------------------------------------------------------------------------------------------------


def _numbers(x: Any) -> Any:
    x = to_tensor(x)
    return cast_(x, settings.floatx()) if x.dtype.base_dtype == dtypes.bool_ else x


def max(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """``tf.keras.backend.max``."""
    return reduce.reduce_max(x, axis, keepdims)


def min(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """``tf.keras.backend.min``."""
    return reduce.reduce_min(x, axis, keepdims)


def sum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """``tf.keras.backend.sum``."""
    return reduce.reduce_sum(x, axis, keepdims)


def prod(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """``tf.keras.backend.prod``."""
    return reduce.reduce_prod(x, axis, keepdims)


def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """``tf.keras.backend.mean``."""
    return reduce.reduce_mean(_numbers(x), axis, keepdims)


def var(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """``tf.keras.backend.var``."""
    return reduce_variance(_numbers(x), axis=axis, keepdims=keepdims)


def std(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """``tf.keras.backend.std``."""
    return powers.sqrt(var(x, axis, keepdims))


def any(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """``tf.keras.backend.any``."""
    return reduce.reduce_any(cast_(x, dtypes.bool_), axis, keepdims)


def all(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """``tf.keras.backend.all``."""
    return reduce.reduce_all(cast_(x, dtypes.bool_), axis, keepdims)


def argmax(x: Any, axis: int = -1) -> Any:
    """``tf.keras.backend.argmax``."""
    return argmax_ops.argmax(x, axis)


def argmin(x: Any, axis: int = -1) -> Any:
    """``tf.keras.backend.argmin``."""
    return argmax_ops.argmin(x, axis)
