"""``tf.contrib.linear_optimizer``: linear models by stochastic dual coordinate ascent."""
from __future__ import annotations

from penstock.api._table import publish

HERE = "penstock.contrib.linear_optimizer"
TABLE: dict[str, str] = {
    f"{HERE}.features": "SparseFeatureColumn",
    f"{HERE}.model": "SdcaModel",
    f"{HERE}.optimizer": "SDCAOptimizer",
}
publish(__name__, TABLE)
