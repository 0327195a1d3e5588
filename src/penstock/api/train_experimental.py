"""``tf.train.experimental``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.train.loss_scale": "DynamicLossScale FixedLossScale LossScale",
    "penstock.train.loss_scale_optimizer": "MixedPrecisionLossScaleOptimizer",
    "penstock.keras.mixed_precision.graph_rewrite": "enable_mixed_precision_graph_rewrite disable_mixed_precision_graph_rewrite",
    "penstock.keras.saving.states": "PythonState",
}
publish(__name__, TABLE)
