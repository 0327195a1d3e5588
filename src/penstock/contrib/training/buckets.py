"""Batches of examples that belong together: ``bucket``, and ``bucket_by_sequence_length`` for sequences that need little padding.

Each bucket has a queue of its own. When one of them holds a batch, this goes on to a queue of batches, from which all are taken.
"""
from __future__ import annotations

import builtins
import itertools
from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.errors import CancelledError, OutOfRangeError
from penstock.ops.queues.queue_classes import FIFOQueue, PaddingFIFOQueue
from penstock.summary import summary
from penstock.train.batching import as_list, as_tensors, common_shapes, common_types, in_form_of, keep_tensor
from penstock.train.batching_sparse import SparseStore
from penstock.train.queue_runner import QueueRunner, add_queue_runner


def bucket(tensors: Any, which_bucket: Any, batch_size: Any, num_buckets: int, num_threads: int = 1, capacity: int = 32,
           bucket_capacities: Any = None, shapes: Any = None, dynamic_pad: bool = False, allow_smaller_final_batch: bool = False,
           keep_input: Any = True, shared_name: str | None = None, name: str | None = None) -> tuple[tf.Tensor, Any]:
    """``tf.contrib.training.bucket``: (which bucket, a batch of examples that all belong to it)."""
    sizes, capacities = _per_bucket(batch_size, capacity, bucket_capacities, num_buckets)
    with tf.name_scope(name, "bucket", as_list(tensors)):
        given = as_tensors(as_list(tensors))
        keep = keep_tensor(keep_input, enqueue_many=False)
        store = SparseStore([given], False, keep)
        dense = store.lists_with_handles()
        sizes = [tf.convert_to_tensor(each, dtype=tf.int32, name="batch_size") for each in sizes]
        known = tf.constant_value(sizes[-1])
        types, extents = common_types(dense), common_shapes(dense, shapes, enqueue_many=False)
        which_bucket = tf.convert_to_tensor(which_bucket, dtype=tf.int32, name="which_bucket")
        kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
        queues = [kind(capacity=capacities[i], dtypes=types, shapes=extents, shared_name=None if shared_name is None else f"{shared_name}_{i}",
                       name=f"bucket_queue_{i}") for i in builtins.range(num_buckets)]
        rows = None if allow_smaller_final_batch or isinstance(batch_size, (list, tuple)) or known is None else int(known)
        top = PaddingFIFOQueue(capacity=capacity, dtypes=[tf.int32, *types], name="top_queue", shared_name=shared_name,
                               shapes=[tf.TensorShape([]), *(tf.TensorShape([rows]).concatenate(each) for each in queues[0].shapes)])
        _add_runners(queues, top, sizes, dense[0], which_bucket, keep, num_threads, allow_smaller_final_batch)
        for queue in queues:
            summary.scalar(f"bucket/{queue.name}/size", tf.cast(top.size(), tf.float32))
        summary.scalar(f"bucket/{top.name}/fraction_of_{capacity}_full", tf.cast(top.size(), tf.float32) * (1.0 / capacity))
        which, *batch = top.dequeue(name="dequeue_top")
        return which, in_form_of(tensors, store.with_sparse_tensors(batch))


def _per_bucket(batch_size: Any, capacity: int, bucket_capacities: Any, num_buckets: int) -> tuple[list[Any], list[int]]:
    """Sizes of batches and capacities of queues, one per bucket."""
    if isinstance(batch_size, (list, tuple)) and len(batch_size) != num_buckets:
        raise ValueError("If batch_size is a list it must have num_buckets elements")
    sizes = list(batch_size) if isinstance(batch_size, (list, tuple)) else [batch_size] * num_buckets
    capacities = [capacity] * num_buckets if bucket_capacities is None else list(bucket_capacities)
    if len(capacities) != num_buckets:
        raise ValueError(f"The list bucket_capacities ({bucket_capacities}) must have exactly num_buckets ({num_buckets}) elements.")
    return sizes, capacities


def _add_runners(queues: list[Any], top: Any, sizes: list[Any], tensors: list[Any], which_bucket: tf.Tensor, keep: tf.Tensor, threads: int,
                 smaller: bool) -> None:
    def enqueue() -> Any:
        puts = [tf.cond(tf.equal(which_bucket, i), lambda queue=queue: queue.enqueue(tensors), tf.no_op) for i, queue in enumerate(queues)]
        return tf.group(*puts, name="group_enqueues")

    to_buckets = tf.smart_cond(keep, enqueue, tf.no_op)
    to_top = []
    for i, (queue, size) in enumerate(zip(queues, sizes)):
        batch = (queue.dequeue_up_to if smaller else queue.dequeue_many)(size, name=f"read_bucket_{i}")
        to_top.append(top.enqueue([tf.constant(i), *(batch if isinstance(batch, (list, tuple)) else [batch])], name=f"enqueue_from_bucket_{i}"))
    ends = (OutOfRangeError, CancelledError)
    add_queue_runner(QueueRunner(queues[0], to_top, close_op=top.close(), cancel_op=top.close(cancel_pending_enqueues=True),
                                 queue_closed_exception_types=ends))
    add_queue_runner(QueueRunner(top, [to_buckets] * threads, close_op=tf.group(*(queue.close() for queue in queues)),
                                 cancel_op=tf.group(*(queue.close(cancel_pending_enqueues=True) for queue in queues)),
                                 queue_closed_exception_types=ends))


def bucket_by_sequence_length(input_length: Any, tensors: Any, batch_size: Any, bucket_boundaries: Any, num_threads: int = 1, capacity: int = 32,
                              bucket_capacities: Any = None, shapes: Any = None, dynamic_pad: bool = False,
                              allow_smaller_final_batch: bool = False, keep_input: Any = True, shared_name: str | None = None,
                              name: str | None = None) -> tuple[tf.Tensor, Any]:
    """``tf.contrib.training.bucket_by_sequence_length``: (lengths, a batch of sequences whose lengths lie between two boundaries)."""
    _check_boundaries(bucket_boundaries)
    given = as_list(tensors)
    with tf.name_scope(name, "bucket_by_sequence_length", [input_length, *given]):
        input_length = tf.convert_to_tensor(input_length, dtype=tf.int32, name="input_length")
        limits = np.iinfo(np.int32)
        least, most = [limits.min, *bucket_boundaries], [*bucket_boundaries, limits.max]
        fits = tf.logical_and(tf.less_equal(least, input_length), tf.less(input_length, most))
        which = tf.cast(tf.reduce_min(tf.where_v2(fits)), tf.int32)
        shapes = None if shapes is None else [tf.TensorShape([]), *shapes]
        _, (lengths, *batch) = bucket(
            [input_length, *given], which, batch_size, len(bucket_boundaries) + 1, num_threads=num_threads, capacity=capacity,
            bucket_capacities=bucket_capacities, shapes=shapes, dynamic_pad=dynamic_pad, allow_smaller_final_batch=allow_smaller_final_batch,
            keep_input=keep_input, shared_name=shared_name)
        return lengths, dict(zip(sorted(tensors), batch)) if isinstance(tensors, dict) else batch


def _check_boundaries(boundaries: Any) -> None:
    if not isinstance(boundaries, (list, tuple)):
        raise TypeError(f"bucket_boundaries must be a list or tuple, but received: {boundaries}")
    if not boundaries:
        raise ValueError("bucket_boundaries must not be empty")
    for first, second in itertools.pairwise(boundaries):
        if not isinstance(first, int) or not isinstance(second, int):
            raise TypeError(f"bucket boundaries must be integers, but saw: {first} and {second}")
        if first >= second:
            raise ValueError(f"Buckets must contain sequential increasing lengths, but saw: {first} before {second}")
