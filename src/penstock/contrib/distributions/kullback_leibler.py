"""The registry of Kullback-Leibler divergences: {(class of p, class of q): function}."""
from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from penstock.contrib import prelude as tf

_DIVERGENCES: dict[tuple[type, type], Callable[..., Any]] = {}


class RegisterKL:
    """``tf.distributions.RegisterKL``: ``@RegisterKL(P, Q)`` stands before ``def f(p, q, name=None)``, which gives KL(p || q)."""

    def __init__(self, dist_cls_a: type, dist_cls_b: type) -> None:
        self._key = (dist_cls_a, dist_cls_b)

    def __call__(self, kl_fn: Callable[..., Any]) -> Callable[..., Any]:
        """``kl_fn`` itself."""
        if not callable(kl_fn):
            raise TypeError(f"kl_fn must be callable, received: {kl_fn}")
        if self._key in _DIVERGENCES:
            raise ValueError(f"KL({self._key[0].__name__} || {self._key[1].__name__}) has already been registered to: {_DIVERGENCES[self._key]}")
        _DIVERGENCES[self._key] = kl_fn
        return kl_fn


def nearest_function(type_a: type, type_b: type) -> Callable[..., Any] | None:
    """The function of the pair of base classes that is nearest to the two classes."""
    bases = itertools.product(enumerate(type_a.__mro__), enumerate(type_b.__mro__))
    candidates = [(i + j, _DIVERGENCES[a, b]) for (i, a), (j, b) in bases if (a, b) in _DIVERGENCES]
    return min(candidates, key=lambda candidate: candidate[0])[1] if candidates else None


def kl_divergence(distribution_a: Any, distribution_b: Any, allow_nan_stats: bool = True, name: str | None = None) -> Any:
    """``tf.distributions.kl_divergence``: KL(a || b). Without ``allow_nan_stats`` NaN is an error when the graph runs."""
    function = nearest_function(type(distribution_a), type(distribution_b))
    if function is None:
        raise NotImplementedError(f"No KL(distribution_a || distribution_b) registered for distribution_a type {type(distribution_a).__name__} "
                                  f"and distribution_b type {type(distribution_b).__name__}")
    with tf.name_scope("KullbackLeibler"):
        divergence = function(distribution_a, distribution_b, name=name)
        if allow_nan_stats:
            return divergence
        divergence = tf.identity(divergence, name="kl")
        complaint = (f"KL calculation between {distribution_a.name} and {distribution_b.name} returned NaN values "
                     "(and was called with allow_nan_stats=False). Values:")
        no_nan = tf.Assert(tf.logical_not(tf.reduce_any(tf.is_nan(divergence))), [complaint, divergence])
        with tf.control_dependencies([no_nan]):
            return tf.identity(divergence, name="checked_kl")


def cross_entropy(ref: Any, other: Any, allow_nan_stats: bool = True, name: str | None = None) -> Any:
    """The entropy of ``ref`` and KL(ref || other)."""
    with tf.name_scope(name, "cross_entropy"):
        return ref.entropy() + kl_divergence(ref, other, allow_nan_stats=allow_nan_stats)
