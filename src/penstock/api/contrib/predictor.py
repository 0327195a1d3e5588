"""``tf.contrib.predictor``: a SavedModel, or the model of an estimator, as a function."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {"penstock.contrib.predictor": "from_contrib_estimator from_estimator from_saved_model"}
publish(__name__, TABLE)
