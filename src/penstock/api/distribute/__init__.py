"""``tf.distribute``: strategies, which train one model on several devices."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.train.strategies": "InputContext InputReplicationMode MirroredStrategy OneDeviceStrategy Strategy StrategyExtended "
                                 "experimental_set_strategy get_loss_reduction get_replica_context get_strategy has_strategy "
                                 "in_cross_replica_context",
    "penstock.train.cross_device_ops": "CrossDeviceOps HierarchicalCopyAllReduce NcclAllReduce ReduceOp ReductionToOneDevice",
    "penstock.variables.replicas": "ReplicaContext",
    "penstock.distributed.server": "Server",
}
publish(__name__, TABLE, "cluster_resolver experimental")
