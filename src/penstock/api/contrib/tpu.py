"""``tf.contrib.tpu``: estimators and functions of programs for TPUs, which run on CPUs."""
from __future__ import annotations

from penstock.api._table import publish

HERE = "penstock.estimator.tpu"
TABLE: dict[str, str] = {
    f"{HERE}.async_checkpoint": "AsyncCheckpointSaverHook",
    f"{HERE}.config": "InputPipelineConfig RunConfig TPUConfig",
    f"{HERE}.datasets": "StreamingFilesDataset",
    f"{HERE}.spec": "TPUEstimatorSpec",
    f"{HERE}.estimator": "ExportSavedModelApiVersion TPUEstimator export_estimator_savedmodel",
    f"{HERE}.functions": "CrossShardOptimizer batch_parallel bfloat16_scope core cross_replica_sum get_tpu_context initialize_system "
                         "outside_compilation repeat replicate rewrite shard shutdown_system while_loop",
    # What only TPUs can do says so.
    "penstock.api.explained": "DeviceAssignment InfeedQueue TPUDistributionStrategy Topology device_assignment infeed_dequeue infeed_dequeue_tuple "
                              "infeed_enqueue infeed_enqueue_tuple keras_to_tpu_model outfeed_dequeue outfeed_dequeue_tuple outfeed_enqueue "
                              "outfeed_enqueue_tuple",
    # Modules inside, which programs reach through: all names of them are here.
    "penstock.api.contrib.tpu:": "python tpu tpu_estimator tpu_config tpu_context tpu_function tpu_optimizer bfloat16 ops tpu_ops",
}
publish(__name__, TABLE, missing="profiler")
