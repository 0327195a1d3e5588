"""``tf.keras``."""
from __future__ import annotations

from penstock.api._table import publish

__version__ = "2.2.4-tf"  # the version of Keras's API that TensorFlow 1.15 has
TABLE: dict[str, str] = {
    "penstock.keras.engine.input_layer": "Input",
    "penstock.keras.models": "Model Sequential",
}
publish(__name__, TABLE, "activations applications backend callbacks constraints datasets estimator experimental initializers layers losses metrics "
        "mixed_precision models optimizers preprocessing regularizers utils wrappers")
