"""All-reduce: every worker gives tensors, and every worker gets their mean (or sum), without a parameter server.

The workers stand in a ring. All tensors are laid end to end and cut into as many chunks as there are workers. In the first half of the way round
each worker adds what it has to the chunk that comes from the left and hands it on to the right: then each chunk is complete at one worker. In the
second half the complete chunks go round. A worker sends and receives each byte about twice, however many workers there are; and since each chunk is
added up once, in one order, all workers get the same bits.

It is made of ordinary operations. What a worker hands on goes into a queue on its own task; its neighbour takes it from there. So tensors travel as
all tensors of a step do, and a worker whose neighbour dies sees that at once. Each chunk carries a tag, (epoch, round, phase): if a worker was
restarted the tags differ, and the step ends with AbortedError. ``train/allreduce.py`` has the optimizer that uses this, and the hook that starts a
new epoch.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.graph import dtypes
from penstock.graph.convert import to_tensor
from penstock.graph.keys import GraphKeys
from penstock.graph.node import Operation, Tensor
from penstock.graph.scopes import control_dependencies, device, name_scope
from penstock.ops.array.pack import concat
from penstock.ops.array.shape_ops import reshape, shape, size
from penstock.ops.constant import identity
from penstock.ops.flow.misc import group
from penstock.ops.queues.queue_classes import FIFOQueue
from penstock.ops.queues.tags import ENDED, CheckTag
from penstock.variables.assign import assign
from penstock.variables.variable import Variable


def allreduce(tensors: Sequence[Any], worker: int, workers: int, job: str = "worker", reduction: str = "mean",
              name: str = "allreduce") -> list[Tensor]:
    """The mean (or sum) of these tensors over all workers of a job; every worker must run this in its step.

    ``worker`` is the index of the worker that builds this graph, ``workers`` how many there are. All of them must build it alike: tensors of the same
    shapes in the same order, under the same name.

        total = allreduce([tf.constant(1.0)], worker=task, workers=3, reduction="sum")    # [3.0], on each of three workers
    """
    return Ring(worker, workers, job, name).allreduce(tensors, reduction)


class Ring:
    """The way round the workers, as one of them sees it; ``tasks`` are the devices of all."""

    def __init__(self, worker: int, workers: int, job: str = "worker", name: str = "allreduce", tasks: Sequence[str] | None = None) -> None:
        """``tasks``: the devices of all workers, if they are not those of one job."""
        if not 0 <= worker < workers:
            raise ValueError(f"worker must be one of the {workers} workers, 0 to {workers - 1}; got {worker}")
        self.worker, self.workers = worker, workers
        self.tasks = list(tasks) if tasks is not None else [f"/job:{job}/task:{task}" for task in range(workers)]
        with name_scope(name) as self.scope, device(self.tasks[worker]):
            # (epoch, round): in which round of which epoch this worker is.
            self.state = Variable([0, 0], dtype=dtypes.int64, trainable=False, collections=[GraphKeys.LOCAL_VARIABLES], name="state")
        self._queues: dict[dtypes.DType, list[FIFOQueue]] = {}

    def allreduce(self, tensors: Sequence[Any], reduction: str = "mean") -> list[Tensor]:
        """The mean or sum of tensors over all workers. Call it once."""
        if reduction not in ("mean", "sum"):
            raise ValueError(f"reduction must be 'mean' or 'sum', not {reduction!r}")
        if self._queues:
            raise ValueError("a Ring goes round once per step: give all tensors to one call, or make another Ring")
        given = [to_tensor(tensor) for tensor in tensors]
        with name_scope(self.scope), device(self.tasks[self.worker]):
            if self.workers == 1:
                return [identity(tensor) for tensor in given]
            tag = identity(self.state + 0)  # type: ignore[operator]  # a copy: what it is at the start of the step
            reduced: dict[int, Tensor] = {}
            for dtype in dict.fromkeys(tensor.dtype.base_dtype for tensor in given):
                places = [place for place, tensor in enumerate(given) if tensor.dtype.base_dtype is dtype]
                vector = concat([reshape(given[place], [-1]) for place in places], 0)
                vector = self._go_round(vector, dtype, tag, reduction)
                reduced.update(zip(places, _cut(vector, [given[place] for place in places])))
            with control_dependencies(list(reduced.values())):
                counted = assign(self.state, tag + [0, 1])
            with control_dependencies([counted]):
                return [identity(reduced[place]) for place in range(len(given))]

    # --- the way round -----------------------------------------------------------------------------------------------

    def _go_round(self, vector: Tensor, dtype: dtypes.DType, tag: Tensor, reduction: str) -> Tensor:
        count, me = self.workers, self.worker
        length = vector.shape.extent(0)
        whole: Any = size(vector) if length is None else length
        bounds = [whole * part // count for part in range(count + 1)]
        chunks = [vector[bounds[part]:bounds[part + 1]] for part in range(count)]
        link = _Link(self._make_queues(dtype), me, tag)
        for phase in range(count - 1):  # chunks are added up
            coming = (me - phase - 1) % count
            chunks[coming] = link.exchange(chunks[(me - phase) % count], phase) + chunks[coming]
        complete = (me + 1) % count
        if reduction == "mean":
            chunks[complete] = chunks[complete] / count if dtype.is_floating or dtype.is_complex else chunks[complete] // count
        for phase in range(count - 1):  # complete chunks are handed on
            chunks[(me - phase) % count] = link.exchange(chunks[(me + 1 - phase) % count], count - 1 + phase)
        with control_dependencies([link.sent]):
            return concat(chunks, 0)

    def _make_queues(self, dtype: dtypes.DType) -> list[FIFOQueue]:
        """One queue per worker, on its task: what it hands on."""
        queues = []
        for task, where in enumerate(self.tasks):
            with device(where):
                name = f"queue_{dtype.name}_{task}"
                queues.append(FIFOQueue(-1, [dtypes.int64, dtype], name=name, shared_name=self.scope + name))
        self._queues[dtype] = queues
        return queues

    # --- for the hook ------------------------------------------------------------------------------------------------

    def interrupt(self, ended: bool = False) -> Operation:
        """An op that wakes the neighbour, if it waits for this worker: its step ends, or, if this one has ``ended``, its loop."""
        tag = [ENDED if ended else 0, 0, -1]
        with device(self.tasks[self.worker]):
            return group(*[queues[self.worker].enqueue((tag, to_tensor([], dtype))) for dtype, queues in self._queues.items()])

    def left_over(self, worker: int) -> list[tuple[Tensor, Operation]]:
        """For each queue of a worker: how many items wait in it, and an op that takes one away."""
        with device(self.tasks[worker]):
            return [(queues[worker].size(), queues[worker].dequeue()[0].op) for queues in self._queues.values()]


class _Link:
    """One worker's two neighbours: hands chunks to the right, takes them from the left, in order."""

    def __init__(self, queues: list[FIFOQueue], worker: int, tag: Tensor) -> None:
        self._own, self._left, self._tag = queues[worker], queues[worker - 1], tag
        self.sent: Any = tag.op
        self._taken: Any = tag.op

    def exchange(self, chunk: Tensor, phase: int) -> Tensor:
        """Hands a chunk on; returns the one that comes."""
        tag = concat([self._tag, [phase]], 0)
        with control_dependencies([self.sent]):
            self.sent = self._own.enqueue((tag, chunk))
        with control_dependencies([self._taken]), device(self._left.queue_ref.device):
            received_tag, value = self._left.dequeue()
        self._taken = value.op
        value.set_shape([None])
        return CheckTag(value, received_tag, tag)


def _cut(vector: Tensor, likes: Sequence[Tensor]) -> list[Tensor]:
    """A vector cut into tensors with the shapes of these."""
    pieces: list[Tensor] = []
    start: Any = 0
    for like in likes:
        end = start + (like.shape.num_elements() if like.shape.is_fully_defined() else size(like))
        piece = reshape(vector[start:end], like.shape if like.shape.is_fully_defined() else shape(like))
        piece.set_shape(like.shape)
        pieces.append(piece)
        start = end
    return pieces
