"""``tf.contrib.distribute``: the strategies from before ``tf.distribute``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.train.strategies": "CollectiveAllReduceStrategy DistributionStrategy=Strategy MirroredStrategy=ContribMirroredStrategy "
                                 "OneDeviceStrategy ParameterServerStrategy=ContribParameterServerStrategy "
                                 "get_distribution_strategy=get_strategy get_loss_reduction "
                                 "get_replica_context get_strategy has_distribution_strategy=has_strategy has_strategy in_cross_replica_context",
    "penstock.train.cross_device_ops": "AllReduceCrossDeviceOps CrossDeviceOps DistributeConfig "
                                       "ReductionToOneDeviceCrossDeviceOps=ReductionToOneDevice",
    "penstock.variables.replicas": "ReplicaContext",
}
MISSING = ("Monitor MultiWorkerAllReduce StandardInputStep StandardSingleLossStep Step TPUStrategy initialize_tpu_system "
           "run_standard_tensorflow_server")
publish(__name__, TABLE, missing=MISSING)
