"""``tf.keras.applications.vgg16``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.keras.applications.vgg": "VGG16",
    "penstock.keras.applications.imagenet": "decode_predictions preprocess_input=preprocess_caffe",
}
publish(__name__, TABLE)
