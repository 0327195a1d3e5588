"""``tf.keras.callbacks``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.keras.callbacks.base": "BaseLogger Callback History ProgbarLogger",
    "penstock.keras.callbacks.stopping": "EarlyStopping LearningRateScheduler ModelCheckpoint ReduceLROnPlateau TerminateOnNaN",
    "penstock.keras.callbacks.logs": "CSVLogger LambdaCallback RemoteMonitor",
    "penstock.keras.callbacks.tensorboard": "TensorBoard",
}
publish(__name__, TABLE)
