"""Parameters that many distributions and bijections have, as properties."""
from __future__ import annotations

from penstock.contrib import prelude as tf


class HasLocationAndScale:
    """The parameters ``loc`` and ``scale``."""

    _loc: tf.Tensor
    _scale: tf.Tensor

    @property
    def loc(self) -> tf.Tensor:
        """The location."""
        return self._loc

    @property
    def scale(self) -> tf.Tensor:
        """The scale."""
        return self._scale


class HasLogits:
    """The parameters ``logits`` and ``probs``: of one event, or along the last axis of classes."""

    _logits: tf.Tensor
    _probs: tf.Tensor

    @property
    def logits(self) -> tf.Tensor:
        """Of one event log(p / (1 - p)); of classes the logarithms of the probabilities, up to a constant."""
        return self._logits

    @property
    def probs(self) -> tf.Tensor:
        """The probabilities."""
        return self._probs
