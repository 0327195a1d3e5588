"""``tf.queue``: queues."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {"penstock.ops.queues.queue_classes": "FIFOQueue PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue"}
publish(__name__, TABLE)
