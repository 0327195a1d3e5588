"""``tf.keras.models``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.keras.models": "Model Sequential clone_model load_model model_from_config model_from_json model_from_yaml save_model",
}
publish(__name__, TABLE)
