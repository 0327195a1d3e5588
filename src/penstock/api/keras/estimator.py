"""``tf.keras.estimator``: Keras models as estimators."""
from __future__ import annotations

from penstock.api._table import publish

publish(__name__, {"penstock.estimator.keras_models": "model_to_estimator"})
