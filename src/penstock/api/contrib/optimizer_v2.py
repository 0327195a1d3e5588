"""``tf.contrib.optimizer_v2``: the optimizers of ``tf.train`` once more."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.train.rules": "AdadeltaOptimizer AdagradOptimizer AdamOptimizer GradientDescentOptimizer MomentumOptimizer",
    "penstock.contrib.optimizer_v2": "RMSPropOptimizer",
}
publish(__name__, TABLE, missing="OptimizerV2")
