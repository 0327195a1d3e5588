"""``tf.keras.applications.resnet_v2``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.keras.applications.resnet": "ResNet50V2 ResNet101V2 ResNet152V2",
    "penstock.keras.applications.imagenet": "decode_predictions preprocess_input=preprocess_tf",
}
publish(__name__, TABLE)
