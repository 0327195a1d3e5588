"""Filling a queue with records, many at a time: what a queue runner does instead of running its op once for each.

An op that enqueues what is computed of one record, such as the one that ``tf.train.batch`` makes of ``parse_single_example(reader.read(names))``, is
run as two steps on a graph beside the user's: one reads some records, the other computes the components of all of them (``ops/data/vectorised.py``)
and enqueues these. Resources are found by the names of their nodes, so both steps use the user's reader and queues. What comes out of the queue is
the same, in the same order; only the reader is further ahead. If the second step refuses the records, the user's op gets them one by one: what comes
before a bad record is enqueued, and the error is that of the record.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.errors import AbortedError, CancelledError, DeadlineExceededError, OpError
from penstock.graph.node import Operation, Tensor
from penstock.ops.constant import constant
from penstock.ops.data.vectorised import form_for_many
from penstock.ops.queues.queue import QueueEnqueueManyV2, QueueEnqueueV2
from penstock.ops.queues.readers import ReaderReadUpToV2, ReaderReadV2
from penstock.session.backend import PLAIN
from penstock.session.fetches import Fetches
from penstock.session.local import LocalBackend
from penstock.session.observers import run_observers

_MOST = 64  # records at a time,
_SHARE = 4  # but not more than this part of what the queue holds
_ENDED = (AbortedError, CancelledError, DeadlineExceededError)  # the step, not a record, was the reason


def bulk_enqueue(session: Any, enqueue: Operation | Tensor) -> Callable[[], None] | None:
    """A function that reads some records and enqueues what ``enqueue`` would of each; None if there is no such form of it."""
    backend = getattr(session, "_backend", None)
    if not isinstance(backend, LocalBackend) or not isinstance(enqueue, Operation):
        return None
    if enqueue.definition is not QueueEnqueueV2 or enqueue._control_inputs:
        return None
    queue, *components = enqueue._inputs
    read = _reading(components)
    count = min(int(queue.op.attrs.get("capacity", 0)) // _SHARE, _MOST)
    if read is None or count < 2 or any(handle.op._inputs or handle.op._control_inputs for handle in (queue, *read._inputs)):
        return None
    form = form_for_many(read.outputs, components)
    if form is None or any(form.ragged):
        return None
    graph = form.graph
    with graph.as_default():
        copies = {handle.op: handle.op.definition.add_node(graph, handle.op.name, (), handle.op.attrs).outputs[0]
                  for handle in (queue, *read._inputs)}
        records = ReaderReadUpToV2(*[copies[handle.op] for handle in read._inputs], constant(count, "int64"))
        enqueue_many = QueueEnqueueManyV2(copies[queue.op], graph.outputs)
    return _Bulk(session, backend, Fetches(graph, list(records)), Fetches(graph, enqueue_many), graph.inputs, enqueue, read).run


def _reading(components: list[Tensor]) -> Operation | None:
    """The only op behind the components that reads records; None if there is none, or several."""
    reached: set[Operation] = set()
    waiting = [tensor.op for tensor in components]
    while waiting:
        operation = waiting.pop()
        if operation not in reached:
            reached.add(operation)
            waiting += [] if operation.definition is ReaderReadV2 else [tensor.op for tensor in operation._inputs]
    reads = [operation for operation in reached if operation.definition is ReaderReadV2]
    return reads[0] if len(reads) == 1 and not reads[0]._control_inputs else None


class _Bulk:
    def __init__(self, session: Any, backend: LocalBackend, records: Fetches, enqueue_many: Fetches, inputs: list[Tensor], enqueue: Operation,
                 read: Operation) -> None:
        self._session, self._backend, self._records, self._enqueue_many, self._inputs = session, backend, records, enqueue_many, inputs
        self._enqueue, self._read = enqueue, read

    def run(self) -> None:
        """Some records, from the reader to the queue; as the user's own op does it while runs are observed."""
        if run_observers:
            self._session.run(self._enqueue)
            return
        records = self._backend.run(self._records, {}, PLAIN)[0]
        try:
            self._backend.run(self._enqueue_many, dict(zip(self._inputs, records)), PLAIN)
        except _ENDED:
            raise
        except OpError:
            for record in zip(*records):
                self._session.run(self._enqueue, {tensor: np.asarray(part, object) for tensor, part in zip(self._read.outputs, record)})
