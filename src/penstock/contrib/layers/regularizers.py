"""Regularizers of ``tf.contrib.layers``: functions of weights whose value is a penalty, or None."""
from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

from penstock.graph.convert import to_tensor
from penstock.graph.keys import GraphKeys
from penstock.graph.scopes import add_to_collection, get_collection, name_scope
from penstock.ops.constant import constant
from penstock.ops.math.add_n import add_n
from penstock.ops.math.elementwise import abs, multiply
from penstock.ops.math.reduce import reduce_sum
from penstock.ops.nn.nn_ops import l2_loss
from penstock.platform import logging

Regularizer = Callable[[Any], Any]


def _check_scale(scale: Any, name: str = "scale") -> None:
    if isinstance(scale, numbers.Integral):
        raise ValueError(f"{name} cannot be an integer: {scale}")
    if isinstance(scale, numbers.Real) and scale < 0.0:
        raise ValueError(f"Setting a scale less than 0 on a regularizer: {scale:g}.")


def _make_regularizer(scale: Any, scope: str | None, default_name: str, penalty: Callable[[Any], Any], name: str) -> Regularizer:
    _check_scale(scale)
    if isinstance(scale, numbers.Real) and scale == 0.0:
        logging.info("Scale of 0 disables regularizer.")
        return lambda _: None

    def regularizer(weights: Any) -> Any:
        with name_scope(scope, default_name, [weights]) as full_name:
            factor = to_tensor(scale, dtype=weights.dtype.base_dtype, name="scale")
            return multiply(factor, penalty(weights), name=full_name)

    regularizer.__name__ = regularizer.__qualname__ = name
    return regularizer


def l1_regularizer(scale: Any, scope: str | None = None) -> Regularizer:
    """``scale`` times the sum of the absolute values."""
    return _make_regularizer(scale, scope, "l1_regularizer", lambda weights: reduce_sum(abs(weights)), "l1")


def l2_regularizer(scale: Any, scope: str | None = None) -> Regularizer:
    """``scale`` times half the sum of the squares."""
    return _make_regularizer(scale, scope, "l2_regularizer", l2_loss, "l2")


def l1_l2_regularizer(scale_l1: Any = 1.0, scale_l2: Any = 1.0, scope: str | None = None) -> Regularizer | None:
    """Both."""
    for name, scale in (("scale_l1", scale_l1), ("scale_l2", scale_l2)):
        if isinstance(scale, numbers.Integral):
            raise ValueError(f"{name} cannot be an integer: {scale}")
    scope = scope or "l1_l2_regularizer"
    if scale_l1 == 0.0:
        return l2_regularizer(scale_l2, scope)
    if scale_l2 == 0.0:
        return l1_regularizer(scale_l1, scope)
    return sum_regularizer([l1_regularizer(scale_l1), l2_regularizer(scale_l2)], scope=scope)


def sum_regularizer(regularizer_list: Any, scope: str | None = None) -> Regularizer | None:
    """The sum of several; None if there are none."""
    regularizers = [each for each in regularizer_list if each is not None]
    if not regularizers:
        return None

    def sum_reg(weights: Any) -> Any:
        with name_scope(scope, "sum_regularizer", [weights]) as name:
            penalties = [each for each in (regularizer(weights) for regularizer in regularizers) if each is not None]
            return add_n(penalties, name=name) if penalties else None
    return sum_reg


def apply_regularization(regularizer: Regularizer, weights_list: Any = None) -> Any:
    """The sum of the penalties of all weights, which is also added to the regularization losses."""
    weights_list = weights_list or get_collection(GraphKeys.WEIGHTS)
    if not weights_list:
        raise ValueError("No weights to regularize.")
    with name_scope("get_regularization_penalty", values=weights_list) as scope:
        penalties = [regularizer(weights) for weights in weights_list]
        penalties = [constant(0.0) if each is None else each for each in penalties]
        for each in penalties:
            if each.shape.ndims != 0:
                raise ValueError(f"regularizer must return a scalar Tensor instead of a Tensor with rank {each.shape.ndims}.")
        total = add_n(penalties, name=scope)
        add_to_collection(GraphKeys.REGULARIZATION_LOSSES, total)
        return total
