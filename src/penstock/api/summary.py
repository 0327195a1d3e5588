"""``tf.summary``: what a program tells TensorBoard."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "tensorboard.compat.proto.event_pb2": "Event SessionLog TaggedRunMetadata",
    "tensorboard.compat.proto.summary_pb2": "Summary SummaryDescription",
    "penstock.summary.summary": "scalar histogram image audio text tensor_summary merge merge_all",
    "penstock.summary.descriptions": "get_summary_description",
    "penstock.summary.file_writer": "FileWriter FileWriterCache",
}
publish(__name__, TABLE)
