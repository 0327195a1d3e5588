"""``tf.keras``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.keras.engine.input_layer": "Input",
    "penstock.keras.models": "Model Sequential",
}
publish(__name__, TABLE, "activations backend callbacks constraints datasets estimator experimental initializers layers losses metrics models "
        "optimizers preprocessing regularizers utils wrappers",
        "applications mixed_precision")
