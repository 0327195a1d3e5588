"""``tf.keras.optimizers``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.keras.optimizers.rules": "Adadelta Adagrad Adam Adamax Ftrl Nadam RMSprop SGD",
    "penstock.keras.optimizers.optimizer": "Optimizer=OptimizerV2",
    "penstock.keras.optimizers.registry": "deserialize get serialize",
}
publish(__name__, TABLE, "schedules")
