"""``tf.contrib.training.FeedingQueueRunner``: threads that feed what they enqueue."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock import errors
from penstock.train.queue_runner import QueueRunner


class FeedingQueueRunner(QueueRunner):
    """As ``tf.train.QueueRunner``; each enqueue op has a function that gives the ``feed_dict`` of its next run, or None."""

    def __init__(self, queue: Any = None, enqueue_ops: Any = None, close_op: Any = None, cancel_op: Any = None, feed_fns: Any = None,
                 queue_closed_exception_types: Any = None) -> None:
        if queue_closed_exception_types is None:
            queue_closed_exception_types = (errors.OutOfRangeError, errors.CancelledError)
        super().__init__(queue, enqueue_ops, close_op, cancel_op, queue_closed_exception_types=queue_closed_exception_types)
        if feed_fns is not None and len(feed_fns) != len(self._enqueue_ops):
            raise ValueError("If feed_fns is not None, it must have the same length as enqueue_ops.")
        self._feed_fns = [None] * len(self._enqueue_ops) if feed_fns is None else list(feed_fns)

    def _enqueue_function(self, sess: Any, index: int) -> Callable[[], Any]:
        enqueue_op, feed = self._enqueue_ops[index], self._feed_fns[index]
        if feed is None:
            return super()._enqueue_function(sess, index)
        return lambda: sess.run(enqueue_op, feed_dict=feed())

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Not possible: a graph cannot hold functions of Python."""
        raise NotImplementedError(f"{type(self).__name__} does not support serialization to proto.")
