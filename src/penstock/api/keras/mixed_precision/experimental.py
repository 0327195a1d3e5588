"""``tf.keras.mixed_precision.experimental``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.keras.mixed_precision.loss_scale_optimizer": "LossScaleOptimizer",
    "penstock.keras.mixed_precision.policy": "Policy global_policy set_policy",
}
publish(__name__, TABLE)
