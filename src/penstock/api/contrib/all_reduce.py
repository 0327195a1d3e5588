"""``tf.contrib.all_reduce``: reductions over the tensors of several devices."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.contrib.all_reduce": "build_nccl_all_reduce build_nccl_then_recursive_hd build_nccl_then_ring build_nccl_then_shuffle "
                                   "build_recursive_hd_all_reduce build_ring_all_reduce build_shuffle_all_reduce build_shuffle_then_ring "
                                   "build_shuffle_then_shuffle",
    # Modules inside, which programs reach through: all names of them are here.
    "penstock.api.contrib.all_reduce:": "python all_reduce",
}
publish(__name__, TABLE)
