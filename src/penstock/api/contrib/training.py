"""``tf.contrib.training``: placement strategies for parameter servers, and more."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.train.device_setter": "GreedyLoadBalancingStrategy RandomStrategy byte_size_load_fn",
}
publish(__name__, TABLE)
