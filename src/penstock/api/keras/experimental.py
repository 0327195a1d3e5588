"""``tf.keras.experimental``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.keras.optimizers.schedules": "CosineDecay CosineDecayRestarts LinearCosineDecay NoisyLinearCosineDecay",
    "penstock.keras.layers.cells": "PeepholeLSTMCell",
    "penstock.keras.saving.saved_model": "export_saved_model load_from_saved_model",
    "penstock.keras.premade": "LinearModel WideDeepModel",
    "penstock.estimator.columns.features_layer": "SequenceFeatures",
    "penstock.keras.utils.data": "terminate_keras_multiprocessing_pools",
}
publish(__name__, TABLE)
