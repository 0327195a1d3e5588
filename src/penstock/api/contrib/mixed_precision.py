"""``tf.contrib.mixed_precision``: losses that are scaled up."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.contrib.mixed_precision": "ExponentialUpdateLossScaleManager FixedLossScaleManager LossScaleManager LossScaleOptimizer",
}
publish(__name__, TABLE)
