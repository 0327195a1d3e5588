"""``tf.contrib.tpu``: estimators and functions of programs for TPUs, which run on CPUs."""
from __future__ import annotations

from penstock.api._table import publish

HERE = "penstock.estimator.tpu"
TABLE: dict[str, str] = {
    f"{HERE}.config": "InputPipelineConfig RunConfig TPUConfig",
    f"{HERE}.spec": "TPUEstimatorSpec",
    f"{HERE}.estimator": "ExportSavedModelApiVersion TPUEstimator",
    f"{HERE}.functions": "CrossShardOptimizer batch_parallel bfloat16_scope cross_replica_sum initialize_system repeat rewrite shutdown_system "
                         "while_loop",
    # Modules inside, which programs reach through: all names of them are here.
    "penstock.api.contrib.tpu:": "python tpu tpu_estimator tpu_config tpu_optimizer bfloat16",
}
MISSING = (
    "AsyncCheckpointSaverHook DeviceAssignment InfeedQueue StreamingFilesDataset TPUDistributionStrategy Topology core device_assignment "
    "infeed_dequeue infeed_dequeue_tuple infeed_enqueue infeed_enqueue_tuple keras_to_tpu_model outfeed_dequeue outfeed_dequeue_tuple "
    "outfeed_enqueue_tuple outside_compilation profiler replicate shard"
)
publish(__name__, TABLE, missing=MISSING)
