"""``tf.contrib.distribute``: the strategies from before ``tf.distribute``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.train.strategies": "DistributionStrategy=Strategy MirroredStrategy=ContribMirroredStrategy OneDeviceStrategy "
                                 "get_distribution_strategy=get_strategy get_loss_reduction "
                                 "get_cross_replica_context get_replica_context get_strategy require_replica_context "
                                 "has_distribution_strategy=has_strategy has_strategy in_cross_replica_context UpdateContext",
    "penstock.train.strategy_steps": "Monitor StandardInputStep StandardSingleLossStep Step",
    "penstock.train.worker_strategies": "CollectiveAllReduceStrategy ParameterServerStrategy=ContribParameterServerStrategy "
                                        "run_standard_tensorflow_server",
    "penstock.api.explained": "TPUStrategy initialize_tpu_system",
    "penstock.train.cross_device_ops": "AllReduceCrossDeviceOps CrossDeviceOps DistributeConfig MultiWorkerAllReduce "
                                       "ReductionToOneDeviceCrossDeviceOps=ReductionToOneDevice",
    "penstock.variables.replicas": "ReplicaContext",
}
publish(__name__, TABLE)
