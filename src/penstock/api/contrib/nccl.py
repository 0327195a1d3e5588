"""``tf.contrib.nccl``: reductions over devices, by sums of CPUs in the place of NCCL's."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {"penstock.contrib.nccl": "all_max all_min all_prod all_sum broadcast reduce_sum",
                         "penstock.api.contrib.nccl:": "ops python nccl_ops"}
publish(__name__, TABLE)
