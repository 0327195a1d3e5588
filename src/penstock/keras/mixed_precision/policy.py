"""Policies: which type layers compute in, and which type their variables have.

As in TensorFlow 1.15, the policy of all layers can only be one that infers types from the inputs; others are for single layers.
"""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes
from penstock.platform import logging
from penstock.train import loss_scale as loss_scales

_MIXED = {"mixed_float16": "float16", "mixed_bfloat16": "bfloat16"}
_SUFFIX, _DEFAULT = "_with_float32_vars", "USE_DEFAULT"


class Policy:
    """``tf.keras.mixed_precision.experimental.Policy``: named after a type, "mixed_float16", "infer", or one of these "..._with_float32_vars"."""

    def __init__(self, name: str, loss_scale: Any = _DEFAULT) -> None:
        if not isinstance(name, str):
            raise TypeError(f"'name' must be a string, but got: {name}")
        name = {"infer_float32_vars": f"infer{_SUFFIX}", f"float32{_SUFFIX}": "float32"}.get(name, name)
        self._name = name
        self._compute_dtype, self._variable_dtype = _types(name)
        scale = ("dynamic" if name == "mixed_float16" else None) if loss_scale == _DEFAULT else loss_scale
        if scale and self._compute_dtype not in (None, "float16"):
            logging.warning("Creating a Policy with a loss scale is only useful for float16 policies. You passed loss_scale=%r for policy %s. "
                            "Consider not passing any loss_scale instead.", scale, name)
        self._loss_scale = loss_scales.get(scale)

    name = property(lambda self: self._name, doc="The name that it was made with.")
    compute_dtype = property(lambda self: self._compute_dtype, doc="The type of computations; None if it is that of the inputs.")
    variable_dtype = property(lambda self: self._variable_dtype, doc="The type of variables; None if it is that of the inputs.")
    should_cast_variables = property(lambda self: self._variable_dtype != self._compute_dtype, doc="Whether variables have a type of their own.")
    loss_scale = property(lambda self: self._loss_scale, doc="A LossScale, or None.")

    def __repr__(self) -> str:
        return f'<Policy "{self._name}", loss_scale={self._loss_scale}>'


def _types(name: str) -> tuple[str | None, str | None]:
    """(the type of computations, the type of variables)."""
    if name in _MIXED:
        return _MIXED[name], "float32"
    base = name.removesuffix(_SUFFIX)
    try:
        kind = None if base == "infer" else dtypes.as_dtype(base).name
    except TypeError:
        raise ValueError(f'Cannot convert value {name} to a mixed precision Policy. Valid policies include include those in the form "<dtype>" and '
                         f'"<dtype>{_SUFFIX}", where <dtype> is the name of a dtype.') from None
    return kind, kind if base == name else "float32"


_global: list[Policy] = []  # the one that was set


def global_policy() -> Policy:
    """``tf.keras.mixed_precision.experimental.global_policy``: the policy of layers that have none of their own."""
    return _global[0] if _global else Policy("infer")


def set_policy(policy: Any) -> None:
    """``tf.keras.mixed_precision.experimental.set_policy``."""
    policy = Policy(policy) if isinstance(policy, str) else policy
    if policy is not None and policy.compute_dtype:
        raise ValueError("The global policy can only be set to a non-infer policy in TensorFlow 2")
    if policy is not None and policy.should_cast_variables:
        raise NotImplementedError(f'The policy "{policy.name}" is not supported: variables have the type of the inputs.')
    _global[:] = [] if policy is None else [policy]
