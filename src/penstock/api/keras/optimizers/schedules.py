"""``tf.keras.optimizers.schedules``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.keras.optimizers.schedules": "ExponentialDecay InverseTimeDecay LearningRateSchedule PiecewiseConstantDecay PolynomialDecay "
                                           "deserialize serialize",
}
publish(__name__, TABLE)
