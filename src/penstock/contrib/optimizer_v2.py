"""``tf.contrib.optimizer_v2``: optimizers under the names of a second interface that came to nothing; they are those of ``tf.train``, but for one."""
from __future__ import annotations

from penstock.train.rules import RMSPropOptimizer as _RMSPropOptimizer


class RMSPropOptimizer(_RMSPropOptimizer):
    """``tf.contrib.optimizer_v2.RMSPropOptimizer``: its average of squared gradients begins at 0, not at 1, so first steps are longer."""

    slots = {**_RMSPropOptimizer.slots, "ms": ("rms", None, "")}
