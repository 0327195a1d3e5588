"""Debug ops: what is computed of a watched tensor before it is handed on.

    DebugIdentity          the value itself
    DebugNanCount          how many of its elements are not a number
    DebugNumericSummary    14 numbers and the shape: see ``numeric_summary``

A text names an op and sets its attributes: ``DebugNumericSummary(mute_if_healthy=true; lower_bound=-100.0)``. Every op has ``gated_grpc``: the value
goes to a debug server only if that has asked for it.
"""
from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock import errors
from penstock.graph.dtypes import DType

IDENTITY = "DebugIdentity"
_FORM = re.compile(r"(\w+)(?:\((.*)\))?", re.DOTALL)


@dataclass(frozen=True)
class Watched:
    """The value of a tensor; None is a variable without one, of which type and shape are known."""

    value: Any
    dtype: DType
    shape: tuple[int, ...]


def _identity(watched: Watched) -> Any:
    return watched if watched.value is None else watched.value


def _nan_count(watched: Watched) -> np.ndarray:
    value = watched.value
    return np.array([int(np.isnan(value).sum()) if watched.dtype.is_floating and value is not None else 0], np.int64)


def numeric_summary(watched: Watched, lower_bound: float = -np.inf, upper_bound: float = np.inf, mute_if_healthy: bool = False) -> np.ndarray | None:
    """Has it a value, number of elements, NaNs, elements up to ``lower_bound``, negative, zero and positive ones between the bounds, elements from
    ``upper_bound`` on; minimum, maximum, mean and variance of the finite ones; data type, number of axes, extents.

    With ``mute_if_healthy``, None if it has a value without NaNs in which all elements are between the bounds.
    """
    flat = np.zeros(0) if watched.value is None else np.asarray(watched.value, np.float64).ravel()
    low, high = flat <= lower_bound, flat >= upper_bound
    inner = flat[~low & ~high]  # NaNs too: they compare as false
    unhealthy = [np.isnan(flat).sum(), low.sum(), high.sum()]
    if mute_if_healthy and watched.value is not None and not any(unhealthy):
        return None
    finite = flat[np.isfinite(flat)]
    statistics = [finite.min(), finite.max(), finite.mean(), finite.var()] if finite.size else [np.inf, -np.inf, np.nan, np.nan]
    return np.array([watched.value is not None, flat.size, unhealthy[0], unhealthy[1], (inner < 0).sum(), (inner == 0).sum(), (inner > 0).sum(),
                     unhealthy[2], *statistics, watched.dtype.as_datatype_enum, len(watched.shape), *watched.shape], np.float64)


@dataclass(frozen=True)
class _Kind:
    function: Callable[..., Any]
    attributes: dict[str, Callable[[str], Any]]
    takes: Callable[[DType], bool]


def _is_number(dtype: DType) -> bool:
    return dtype.is_floating or dtype.is_integer


def _boolean(text: str) -> bool:
    return {"true": True, "1": True, "false": False, "0": False}[text.lower()]


_KINDS = {
    IDENTITY: _Kind(_identity, {}, lambda dtype: True),
    "DebugNanCount": _Kind(_nan_count, {}, _is_number),
    "DebugNumericSummary": _Kind(numeric_summary, {"lower_bound": float, "upper_bound": float, "mute_if_healthy": _boolean},
                                 lambda dtype: dtype.is_bool or _is_number(dtype)),
}


class DebugOp:
    """A debug op with its attributes, made of its text; FailedPreconditionError if the text is wrong."""

    def __init__(self, text: str, tolerant: bool = False) -> None:
        self._text, self._tolerant = text, tolerant
        form = _FORM.fullmatch(text.strip())
        if form is None or form[1] not in _KINDS:
            raise self._failure(f"there is no such debug op; there are {', '.join(_KINDS)}")
        self.name, self._kind = form[1], _KINDS[form[1]]
        self._attributes = dict(self._attribute(item) for item in (form[2] or "").split(";") if item.strip())
        self.gated = self._attributes.pop("gated_grpc", False)

    def _attribute(self, item: str) -> tuple[str, Any]:
        key, _, value = (part.strip() for part in item.partition("="))
        parse = {**self._kind.attributes, "gated_grpc": _boolean}.get(key)
        if parse is None:
            raise self._failure(f"{self.name} has no attribute {key!r}; it has {', '.join([*self._kind.attributes, 'gated_grpc'])}")
        try:
            return key, parse(value)
        except (ValueError, KeyError):
            raise self._failure(f"invalid value {value!r} of attribute {key}") from None

    def __call__(self, watched: Watched, tensor: str) -> Any:
        """What is handed on of a tensor: an array; ``watched`` itself, if it has no value; None, if nothing is."""
        if not self._kind.takes(watched.dtype):
            if self._tolerant:
                return None
            raise self._failure(f"it does not take {watched.dtype.name}; tolerate_debug_op_creation_failures=True leaves such tensors out",
                                tensor)
        return self._kind.function(watched, **self._attributes)

    def _failure(self, why: str, tensor: str = "") -> errors.FailedPreconditionError:
        of = f" for tensor {tensor}" if tensor else ""
        return errors.FailedPreconditionError(None, None, f"Failed to create debug node {self._text}{of}, due to: {why}")
