"""``tf.contrib.saved_model``: Keras models as SavedModels, before ``tf.keras.experimental`` had that."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.keras.saving.saved_model": "load_keras_model=load_from_saved_model save_keras_model=export_saved_model",
}
publish(__name__, TABLE)
