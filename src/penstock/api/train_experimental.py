"""``tf.train.experimental``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.train.loss_scale": "DynamicLossScale FixedLossScale LossScale",
    "penstock.keras.saving.states": "PythonState",
}
publish(__name__, TABLE, missing="MixedPrecisionLossScaleOptimizer disable_mixed_precision_graph_rewrite "
        "enable_mixed_precision_graph_rewrite")
