"""``tf.config.threading``: how many threads steps may have."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.native.config": "get_intra_op_parallelism_threads=get_threads set_intra_op_parallelism_threads=set_threads",
}
publish(__name__, TABLE, missing="get_inter_op_parallelism_threads set_inter_op_parallelism_threads")
