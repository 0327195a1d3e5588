"""``tf.summary.get_summary_description``: what a ``tensor_summary`` node says of itself."""
from __future__ import annotations

from typing import Any

from google.protobuf import json_format
from tensorboard.compat.proto.summary_pb2 import SummaryDescription


def get_summary_description(node_def: Any) -> SummaryDescription:
    """The description of a TensorSummary node, which stands in it as JSON."""
    if node_def.op != "TensorSummary":
        raise ValueError(f"Can't get_summary_description on {node_def.op}")
    description = SummaryDescription()
    json_format.Parse(node_def.attr["description"].s.decode() or "{}", description)
    return description
