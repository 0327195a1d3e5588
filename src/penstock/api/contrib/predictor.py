"""``tf.contrib.predictor``: a SavedModel as a function."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {"penstock.contrib.predictor": "from_saved_model"}
publish(__name__, TABLE, missing="from_contrib_estimator from_estimator")
