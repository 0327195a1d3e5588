"""``tf.train``: optimizers, savers, sessions that recover, input queues."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "tensorboard.compat.proto.cluster_pb2": "ClusterDef JobDef",
    "tensorboard.compat.proto.saver_pb2": "SaverDef",
}
publish(__name__, TABLE)
