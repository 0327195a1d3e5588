"""``tf.profiler``: parameters, float operations, times and memory of a graph."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.debug.profiler": "profile advise Profiler write_op_log",
    "penstock.debug.profile_options": "ProfileOptionBuilder",
    "penstock.debug.profile_protos": "GraphNodeProto MultiGraphNodeProto OpLogProto",
}
publish(__name__, TABLE)
