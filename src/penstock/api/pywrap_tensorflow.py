"""``tensorflow.pywrap_tensorflow``: what programs take from TensorFlow's C++ side."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.checkpoint.contents": "CheckpointReader NewCheckpointReader=new_checkpoint_reader",
    "penstock.summary.events_writer": "EventsWriter",
    "penstock.api.inside_util": "EqualGraphDefWrapper=equal_graph_def",
}
publish(__name__, TABLE)
