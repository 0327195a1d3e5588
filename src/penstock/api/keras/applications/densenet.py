"""``tf.keras.applications.densenet``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.keras.applications.densenet": "DenseNet121 DenseNet169 DenseNet201",
    "penstock.keras.applications.imagenet": "decode_predictions preprocess_input=preprocess_torch",
}
publish(__name__, TABLE)
