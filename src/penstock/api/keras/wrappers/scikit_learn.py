"""``tf.keras.wrappers.scikit_learn``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {"penstock.keras.wrappers.scikit_learn": "KerasClassifier KerasRegressor"}
publish(__name__, TABLE)
