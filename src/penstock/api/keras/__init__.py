"""``tf.keras``: what layers are told by name. Models and Keras's own layers are not in this version."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {}
publish(__name__, TABLE, "activations constraints initializers regularizers",
        "Input Model Sequential applications backend callbacks datasets estimator experimental layers losses metrics mixed_precision models "
        "optimizers preprocessing utils wrappers")
