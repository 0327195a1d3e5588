"""``tf.tpu``: functions of programs for TPUs, which run on CPUs."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.estimator.tpu.functions": "CrossShardOptimizer batch_parallel bfloat16_scope core cross_replica_sum initialize_system "
                                        "outside_compilation replicate rewrite shard shutdown_system",
}
publish(__name__, TABLE, submodules="experimental")
