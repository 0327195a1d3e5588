"""``tf.distribute.experimental``: strategies with parameter servers, or with variables on one device."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.train.strategies": "CentralStorageStrategy MultiWorkerMirroredStrategy ParameterServerStrategy",
    "penstock.train.cross_device_ops": "CollectiveCommunication",
}
publish(__name__, TABLE, missing="TPUStrategy")
