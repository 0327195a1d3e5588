"""Losses with masks and weights, as functions: what models used before losses were objects."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.keras.backend.math import mean
from penstock.keras.backend.values import cast, ndim
from penstock.layers.settings import floatx
from penstock.ops.math.compare import not_equal


def weighted_masked_objective(fn: Callable[[Any, Any], Any] | None) -> Callable[..., Any] | None:
    """A function (y_true, y_pred, weights, mask) to the mean of the losses ``fn(y_true, y_pred)`` over the elements that the mask leaves."""
    if fn is None:
        return None

    def weighted(y_true: Any, y_pred: Any, weights: Any, mask: Any = None) -> Any:
        losses = fn(y_true, y_pred)
        if mask is not None:
            mask = cast(mask, floatx())
            losses = losses * mask / mean(mask)
        if weights is not None:
            losses = mean(losses, axis=list(range(ndim(weights) or 0, ndim(losses) or 0))) * weights
            losses = losses / mean(cast(not_equal(weights, 0), floatx()))
        return mean(losses)
    return weighted
