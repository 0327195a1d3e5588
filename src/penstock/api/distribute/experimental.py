"""``tf.distribute.experimental``: strategies with parameter servers, or with variables on one device."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.train.strategies": "CentralStorageStrategy",
    "penstock.train.worker_strategies": "MultiWorkerMirroredStrategy ParameterServerStrategy",
    "penstock.train.cross_device_ops": "CollectiveCommunication",
    "penstock.api.explained": "TPUStrategy",
}
publish(__name__, TABLE)
