"""``prefetch_queue``: a queue that computes tensors ahead of the steps that need them."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes
from penstock.graph.scopes import name_scope
from penstock.ops.array.cast import cast
from penstock.ops.queues.queue_classes import FIFOQueue, PaddingFIFOQueue
from penstock.summary import summary
from penstock.train.queue_runner import QueueRunner, add_queue_runner


def prefetch_queue(tensors: Any, capacity: int = 8, num_threads: int = 1, dynamic_pad: bool = False, shared_name: str | None = None,
                   name: str | None = None) -> Any:
    """A queue that ``num_threads`` threads keep full of tensors, which are given in a list or in a dict."""
    names = sorted(tensors) if isinstance(tensors, dict) else None
    listed = [tensors[key] for key in names] if names is not None else list(tensors)
    with name_scope(name, "prefetch_queue", listed):
        queue = (PaddingFIFOQueue if dynamic_pad else FIFOQueue)(
            capacity=capacity, dtypes=[tensor.dtype for tensor in listed], shapes=[tensor.shape for tensor in listed], names=names,
            shared_name=shared_name)
        add_queue_runner(QueueRunner(queue, [queue.enqueue(tensors)] * num_threads))
        summary.scalar(f"fraction_of_{capacity}_full", cast(queue.size(), dtypes.float32) * (1.0 / capacity))
        return queue
