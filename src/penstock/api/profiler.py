"""``tf.profiler``: parameters, float operations, times and memory of a graph."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.debug.profile.profiler": "profile advise Profiler",
    "penstock.debug.profile.log": "write_op_log",
    "penstock.debug.profile.options": "ProfileOptionBuilder",
    "penstock.debug.profile.protos": "AdviceProto GraphNodeProto MultiGraphNodeProto OpLogProto",
}
publish(__name__, TABLE)
