"""``tf.keras.applications.inception_resnet_v2``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.keras.applications.inception": "InceptionResNetV2",
    "penstock.keras.applications.imagenet": "decode_predictions preprocess_input=preprocess_tf",
}
publish(__name__, TABLE)
