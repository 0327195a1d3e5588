"""``tf.train.batch`` and its kin: single examples go into a queue, from which batches are taken.

One helper does the work of all of them: it makes the queue, the ops that fill it (one per thread) and the op that takes a batch. The variants differ
in the kind of the queue (in order, padded, shuffled), in where the examples come from (several threads that run one pipeline, or several
pipelines: ``join``), and in whether some examples are left out (``maybe``).
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from penstock.graph import dtypes as dt
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.shape import TensorShape, as_shape
from penstock.graph.static import constant_value
from penstock.ops.array.cast import cast
from penstock.ops.array.partition import dynamic_partition
from penstock.ops.flow.control_flow import cond
from penstock.ops.flow.misc import no_op
from penstock.ops.math.elementwise import maximum
from penstock.ops.queues.queue_classes import FIFOQueue, PaddingFIFOQueue, QueueBase, RandomShuffleQueue
from penstock.summary import summary
from penstock.train.batching_sparse import SparseStore
from penstock.train.input import QUEUES_NEED_GRAPHS
from penstock.train.queue_runner import QueueRunner, add_queue_runner

# --- the parts of a pipeline -----------------------------------------------------------------------------------------


def as_list(tensors: Any) -> list[Any]:
    """The tensors of a list, or of a dict in the order of its keys."""
    return [tensors[key] for key in sorted(tensors)] if isinstance(tensors, dict) else list(tensors)


def as_lists(tensors_list: Any) -> list[list[Any]]:
    """`as_list` of each of several, which must have the same keys if they are dicts."""
    if not tensors_list:
        raise ValueError("Expected at least one set of tensors")
    if isinstance(tensors_list[0], dict) and any(set(tensors) != set(tensors_list[0]) for tensors in tensors_list[1:]):
        raise ValueError("All dictionaries in tensors_list must have the same keys")
    return [as_list(tensors) for tensors in tensors_list]


def as_tensors(tensors: list[Any]) -> list[Any]:
    """All of them as tensors; SparseTensors as they are."""
    if not tensors:
        raise ValueError("Expected at least one tensor in batch().")
    return [tensor if isinstance(tensor, SparseTensor) else to_tensor(tensor) for tensor in tensors]


def keep_tensor(keep_input: Any, enqueue_many: bool) -> Tensor:
    """What says whether to keep an example: a scalar, or a vector for many."""
    keep = to_tensor(keep_input)
    if keep.shape.ndims is None:
        raise ValueError("`keep_input` dimensions must be known at graph construction.")
    if not enqueue_many and keep.shape.ndims == 1:
        raise ValueError("`keep_input` cannot be a vector when `enqueue_many=False`.")
    if keep.shape.ndims > 1:
        raise ValueError("`keep_input` must be 0 or 1 dimensions.")
    return keep


def common_types(lists: list[list[Tensor]]) -> list[dt.DType]:
    """The types, which must be the same in each list."""
    for other in lists[1:]:
        for mine, theirs in zip(lists[0], other):
            if mine.dtype.base_dtype is not theirs.dtype.base_dtype:
                raise TypeError(f"Expected types to be consistent: {mine.dtype.base_dtype.name} vs. {theirs.dtype.base_dtype.name}.")
    return [tensor.dtype.base_dtype for tensor in lists[0]]


def common_shapes(lists: list[list[Tensor]], shapes: Any, enqueue_many: bool) -> list[TensorShape]:
    """The shapes of one example: those that are given, or what is common to all lists."""
    if shapes is not None:
        return [as_shape(shape) for shape in shapes]
    for tensor in (tensor for tensors in lists for tensor in tensors):
        if tensor.shape.ndims is None:
            raise ValueError(f"Cannot infer Tensor's rank: {tensor}")
    common = []
    for tensors in zip(*lists):
        each = [tensor.shape.with_rank_at_least(1)[1:] if enqueue_many else tensor.shape for tensor in tensors]
        common.append(functools.reduce(TensorShape.merge_with, each))
    return common


def _enqueue(queue: QueueBase, tensors: list[Tensor], enqueue_many: bool, keep: Tensor) -> Any:
    """An op that puts examples into the queue, but only those to keep."""
    put = queue.enqueue_many if enqueue_many else queue.enqueue
    if keep.shape.ndims == 1:
        chosen = cast(keep, dt.int32)
        return put([dynamic_partition(tensor, chosen, 2)[1] for tensor in tensors])
    known = constant_value(keep)
    if known is None:
        return cond(keep, lambda: put(tensors), no_op).op
    return put(tensors) if known else no_op()


def _pipeline(lists: list[list[Any]], keep_input: Any, enqueue_many: bool, shapes: Any, threads: int,
              make_queue: Callable[[list[dt.DType], list[TensorShape]], QueueBase]) -> tuple[QueueBase, SparseStore]:
    """The queue, and the runner that fills it: one thread for each of several lists, or ``threads`` of them for a single list."""
    lists = [as_tensors(tensors) for tensors in lists]
    keep = keep_tensor(keep_input, enqueue_many)
    store = SparseStore(lists, enqueue_many, keep)
    dense = store.lists_with_handles()
    queue = make_queue(common_types(dense), common_shapes(dense, shapes, enqueue_many))
    if len(lists) == 1:
        enqueue_ops = [_enqueue(queue, dense[0], enqueue_many, keep)] * threads
    else:
        enqueue_ops = [_enqueue(queue, tensors, enqueue_many, keep) for tensors in dense]
    add_queue_runner(QueueRunner(queue, enqueue_ops))
    return queue, store


def _dequeue_batch(queue: QueueBase, store: SparseStore, batch_size: Any, smaller: bool, scope: str, like: Any) -> Any:
    """The op that takes a batch; its tensors in the form of ``like``."""
    take = queue.dequeue_up_to if smaller else queue.dequeue_many
    tensors = take(batch_size, name=scope)
    return in_form_of(like, store.with_sparse_tensors(tensors if isinstance(tensors, list) else [tensors]))


def in_form_of(like: Any, tensors: list[Any]) -> Any:
    """A dict if ``like`` is one, else a list, or a single tensor."""
    if isinstance(like, dict):
        return dict(zip(sorted(like), tensors))
    return tensors if len(tensors) > 1 else tensors[0]


def _batch(lists: list[list[Any]], like: Any, default_name: str, keep_input: Any, batch_size: Any, threads: int, capacity: int, enqueue_many: bool,
           shapes: Any, dynamic_pad: bool, smaller: bool, shared_name: str | None, name: str | None) -> Any:
    if default_graph().imperative:
        raise ValueError(QUEUES_NEED_GRAPHS)
    with name_scope(name, default_name, _scope_values(lists, keep_input)) as scope:
        kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
        queue, store = _pipeline(lists, keep_input, enqueue_many, shapes, threads,
                                 lambda dtypes, common_shapes: kind(capacity, dtypes, common_shapes, shared_name=shared_name))
        summary.scalar(f"fraction_of_{capacity}_full", cast(queue.size(), dt.float32) * (1.0 / capacity))
        return _dequeue_batch(queue, store, batch_size, smaller, scope, like)


def _shuffle_batch(lists: list[list[Any]], like: Any, default_name: str, keep_input: Any, batch_size: Any, capacity: int, min_after_dequeue: int,
                   threads: int, seed: int | None, enqueue_many: bool, shapes: Any, smaller: bool, shared_name: str | None, name: str | None) -> Any:
    with name_scope(name, default_name, _scope_values(lists, keep_input)) as scope:
        if capacity <= min_after_dequeue:
            raise ValueError(f"capacity {capacity} must be bigger than min_after_dequeue {min_after_dequeue}.")
        queue, store = _pipeline(lists, keep_input, enqueue_many, shapes, threads,
                                 lambda dtypes, common_shapes: RandomShuffleQueue(capacity, min_after_dequeue, dtypes, common_shapes, seed=seed,
                                                                          shared_name=shared_name))
        room = capacity - min_after_dequeue
        full = cast(maximum(0, queue.size() - min_after_dequeue), dt.float32) * (1.0 / room)
        summary.scalar(f"fraction_over_{min_after_dequeue}_of_{room}_full", full)
        return _dequeue_batch(queue, store, batch_size, smaller, scope, like)


def _scope_values(lists: list[list[Any]], keep_input: Any) -> list[Any]:
    return [tensor for tensors in lists for tensor in tensors if isinstance(tensor, Tensor)] + [keep_input]


# --- tf.train.* ------------------------------------------------------------------------------------------------------

def batch(tensors: Any, batch_size: Any, num_threads: int = 1, capacity: int = 32, enqueue_many: bool = False, shapes: Any = None,
          dynamic_pad: bool = False, allow_smaller_final_batch: bool = False, shared_name: str | None = None, name: str | None = None) -> Any:
    """``tf.train.batch``: batches of the examples that ``tensors`` (a list or a dictionary) give, one per run, in order.

    ``num_threads`` threads of a queue runner compute examples ahead. With ``enqueue_many`` the tensors hold several examples each; with
    ``dynamic_pad`` examples may differ in unknown extents; with ``allow_smaller_final_batch`` the last batch may be smaller.
    """
    return _batch([as_list(tensors)], tensors, "batch", True, batch_size, num_threads, capacity, enqueue_many, shapes, dynamic_pad,
                  allow_smaller_final_batch, shared_name, name)


def maybe_batch(tensors: Any, keep_input: Any, batch_size: Any, num_threads: int = 1, capacity: int = 32, enqueue_many: bool = False,
                shapes: Any = None, dynamic_pad: bool = False, allow_smaller_final_batch: bool = False, shared_name: str | None = None,
                name: str | None = None) -> Any:
    """``tf.train.maybe_batch``: as ``batch``, of those examples for which ``keep_input`` is true."""
    return _batch([as_list(tensors)], tensors, "batch", keep_input, batch_size, num_threads, capacity, enqueue_many, shapes, dynamic_pad,
                  allow_smaller_final_batch, shared_name, name)


def batch_join(tensors_list: Any, batch_size: Any, capacity: int = 32, enqueue_many: bool = False, shapes: Any = None, dynamic_pad: bool = False,
               allow_smaller_final_batch: bool = False, shared_name: str | None = None, name: str | None = None) -> Any:
    """``tf.train.batch_join``: as ``batch``, with a pipeline and a thread for each entry of ``tensors_list``."""
    return _batch(as_lists(tensors_list), tensors_list[0], "batch_join", True, batch_size, 1, capacity, enqueue_many, shapes, dynamic_pad,
                  allow_smaller_final_batch, shared_name, name)


def maybe_batch_join(tensors_list: Any, keep_input: Any, batch_size: Any, capacity: int = 32, enqueue_many: bool = False, shapes: Any = None,
                     dynamic_pad: bool = False, allow_smaller_final_batch: bool = False, shared_name: str | None = None,
                     name: str | None = None) -> Any:
    """``tf.train.maybe_batch_join``: as ``batch_join``, of those examples for which ``keep_input`` is true."""
    return _batch(as_lists(tensors_list), tensors_list[0], "batch_join", keep_input, batch_size, 1, capacity, enqueue_many, shapes, dynamic_pad,
                  allow_smaller_final_batch, shared_name, name)


def shuffle_batch(tensors: Any, batch_size: Any, capacity: int, min_after_dequeue: int, num_threads: int = 1, seed: int | None = None,
                  enqueue_many: bool = False, shapes: Any = None, allow_smaller_final_batch: bool = False, shared_name: str | None = None,
                  name: str | None = None) -> Any:
    """``tf.train.shuffle_batch``: batches of examples drawn at random from at least ``min_after_dequeue`` that wait."""
    return _shuffle_batch([as_list(tensors)], tensors, "shuffle_batch", True, batch_size, capacity, min_after_dequeue, num_threads, seed,
                          enqueue_many, shapes, allow_smaller_final_batch, shared_name, name)


def maybe_shuffle_batch(tensors: Any, batch_size: Any, capacity: int, min_after_dequeue: int, keep_input: Any, num_threads: int = 1,
                        seed: int | None = None, enqueue_many: bool = False, shapes: Any = None, allow_smaller_final_batch: bool = False,
                        shared_name: str | None = None, name: str | None = None) -> Any:
    """``tf.train.maybe_shuffle_batch``: as ``shuffle_batch``, of those examples for which ``keep_input`` is true."""
    return _shuffle_batch([as_list(tensors)], tensors, "shuffle_batch", keep_input, batch_size, capacity, min_after_dequeue, num_threads, seed,
                          enqueue_many, shapes, allow_smaller_final_batch, shared_name, name)


def shuffle_batch_join(tensors_list: Any, batch_size: Any, capacity: int, min_after_dequeue: int, seed: int | None = None,
                       enqueue_many: bool = False, shapes: Any = None, allow_smaller_final_batch: bool = False, shared_name: str | None = None,
                       name: str | None = None) -> Any:
    """``tf.train.shuffle_batch_join``: as ``shuffle_batch``, with a pipeline and a thread for each entry of ``tensors_list``."""
    return _shuffle_batch(as_lists(tensors_list), tensors_list[0], "shuffle_batch_join", True, batch_size, capacity, min_after_dequeue, 1, seed,
                          enqueue_many, shapes, allow_smaller_final_batch, shared_name, name)


def maybe_shuffle_batch_join(tensors_list: Any, batch_size: Any, capacity: int, min_after_dequeue: int, keep_input: Any, seed: int | None = None,
                             enqueue_many: bool = False, shapes: Any = None, allow_smaller_final_batch: bool = False,
                             shared_name: str | None = None, name: str | None = None) -> Any:
    """``tf.train.maybe_shuffle_batch_join``: as ``shuffle_batch_join``, of those examples for which ``keep_input`` is true."""
    return _shuffle_batch(as_lists(tensors_list), tensors_list[0], "shuffle_batch_join", keep_input, batch_size, capacity, min_after_dequeue, 1,
                          seed, enqueue_many, shapes, allow_smaller_final_batch, shared_name, name)
