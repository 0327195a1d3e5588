"""``tf.contrib.training.batch_sequences_with_states``: segments of padded sequences, read by threads, with sparse tensors among them.

A sparse sequence waits in a table, with one handle per step in its place. A sparse context becomes a sparse sequence that has its values at the first
step of each segment.
"""
from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.training.state_saver import NextQueuedSequenceBatch, SequenceQueueingStateSaver
from penstock.errors import CancelledError, OutOfRangeError
from penstock.graph.composite import SparseTensorValue
from penstock.graph.dtypes import string
from penstock.ops.sparse.sparse_functions import sparse_reshape
from penstock.ops.sparse.sparse_serialize import add_many_sparse_to_tensors_map, take_many_sparse_from_tensors_map
from penstock.ops.text.strings import as_string, string_join
from penstock.summary import summary
from penstock.train.queue_runner import QueueRunner, add_queue_runner

_CONTEXT = "_context_in_seq_"


def batch_sequences_with_states(input_key: Any, input_sequences: Any, input_context: Any, input_length: Any, initial_states: Any, num_unroll: int,
                                batch_size: Any, num_threads: int = 3, capacity: int = 1000, allow_small_batch: bool = True, pad: bool = True,
                                make_keys_unique: bool = False, make_keys_unique_seed: int | None = None,
                                name: str | None = None) -> NextQueuedSequenceBatch:
    """``tf.contrib.training.batch_sequences_with_states``: a batch of segments; ``num_threads`` threads of a queue runner read the sequences."""
    given = [*input_sequences.values(), *input_context.values(), *initial_states.values()]
    with tf.name_scope(name, "batch_sequences_with_states", given):
        sequences, context = dict(input_sequences), dict(input_context)
        if pad:
            length, sequences = _pad(sequences, num_unroll)
            input_length = length if input_length is None else input_length
        else:
            sequences = {key: _whole_segments(key, value, num_unroll) for key, value in sequences.items()}
        steps = _number_of_steps(sequences)
        for key in sorted(key for key, value in context.items() if _is_sparse(value)):
            sequences[_CONTEXT + key] = _repeat_per_segment(_sparse_tensor(context.pop(key)), steps, num_unroll)
        sequences, sparse_keys, stored = deconstruct_sparse_tensor_seq(sequences)
        if make_keys_unique:
            suffix = tf.random_uniform((), minval=0, maxval=100000000, dtype=tf.int32, seed=make_keys_unique_seed)
            input_key = string_join([input_key, as_string(suffix)])
        saver = SequenceQueueingStateSaver(
            batch_size, num_unroll, input_length=input_length, input_key=input_key,
            input_sequences=sequences, input_context=context, initial_states=initial_states, capacity=capacity, allow_small_batch=allow_small_batch)
        summary.scalar(f"queue/{saver.barrier.name}/ready_segment_batches_", tf.cast(saver.barrier.ready_size(), tf.float32))
        add_queue_runner(QueueRunner(saver, [saver.prefetch_op] * num_threads, queue_closed_exception_types=(OutOfRangeError, CancelledError)))
        batch = saver.next_batch
        reconstruct_sparse_tensor_seq(batch.sequences, sparse_keys, stored, batch_size, num_unroll)
        for key in [key for key in batch.sequences if key.startswith(_CONTEXT)]:
            batch.context[key.removeprefix(_CONTEXT)] = _first_steps(batch.sequences.pop(key))
        return batch


def _is_sparse(value: Any) -> bool:
    return isinstance(value, (tf.SparseTensor, SparseTensorValue))


def _sparse_tensor(value: Any) -> tf.SparseTensor:
    return value if isinstance(value, tf.SparseTensor) else tf.SparseTensor.from_value(value)


def _pad(sequences: Any, num_unroll: Any) -> tuple[Any, dict[str, Any]]:
    """(length, the sequences with as many steps as whole segments have)."""
    if not isinstance(num_unroll, numbers.Integral):
        raise ValueError(f"Unsupported num_unroll expected int, got: {num_unroll}")
    if not isinstance(sequences, Mapping):
        raise TypeError(f"Unsupported sequences expected dict, got: {sequences}")
    for key in sequences:
        if not isinstance(key, str):
            raise TypeError(f"Unsupported sequences key expected string, got: {key}")
    if not sequences:
        return 0, {}
    values = {key: _sparse_tensor(value) if _is_sparse(value) else tf.convert_to_tensor(value) for key, value in sorted(sequences.items())}
    length = _common_length(values)
    padded = length + tf.mod(num_unroll - tf.mod(length, num_unroll), num_unroll)
    return length, {key: _pad_to(value, padded) for key, value in values.items()}


def _common_length(values: dict[str, Any]) -> tf.Tensor:
    lengths = [tf.shape(value)[0] for value in values.values() if not _is_sparse(value)]
    if not lengths:
        return tf.reduce_max(tf.cast(tf.stack([value.dense_shape[0] for value in values.values()]), tf.int32))
    message = "All sequence lengths must match, but received lengths:"
    checks = [tf.Assert(tf.equal(each, lengths[0]), [message, tf.stack(lengths)]) for each in lengths]
    return tf.with_dependencies(checks, lengths[0])


def _pad_to(value: Any, length: tf.Tensor) -> Any:
    if _is_sparse(value):
        shape = tf.concat([[tf.cast(length, tf.int64)], value.dense_shape[1:]], 0)
        return tf.SparseTensor(value.indices, value.values, shape)
    missing = tf.concat([[length - tf.shape(value)[0]], tf.shape(value)[1:]], 0)
    nothing = tf.constant("" if value.dtype == string else 0, dtype=value.dtype)
    return tf.concat([value, tf.fill(missing, nothing)], 0)


def _whole_segments(key: str, value: Any, num_unroll: int) -> Any:
    """The sequence, which must have as many steps as whole segments have, and one segment at the least."""
    sparse = _is_sparse(value)
    try:
        value = _sparse_tensor(value) if sparse else tf.convert_to_tensor(value)
    except TypeError:
        raise TypeError(f"Unsupported input_sequences expected Tensor or SparseTensor, got: {type(value)} for key: {key}") from None
    length = value.dense_shape[0] if sparse else tf.shape(value)[0]
    right = tf.logical_and(tf.equal(tf.mod(length, num_unroll), 0), tf.not_equal(length, 0))
    message = f"Sequence {key} should have a multiple of {num_unroll} steps, and not 0, but it has"
    with tf.control_dependencies([tf.Assert(right, [message, length, "Consider setting pad=True."])]):
        if not sparse:
            return tf.identity(value, name="multiple_of_checked")
        return tf.SparseTensor(*(tf.identity(part, name="multiple_of_checked") for part in (value.indices, value.values, value.dense_shape)))


def _number_of_steps(sequences: dict[str, Any]) -> tf.Tensor:
    """int64: of the padded sequences; 1 if there are none."""
    if not sequences:
        return tf.constant(1, tf.int64)
    first = next(iter(sequences.values()))
    return tf.cast(first.dense_shape[0] if _is_sparse(first) else tf.shape(first)[0], tf.int64)


def _repeat_per_segment(value: tf.SparseTensor, steps: tf.Tensor, num_unroll: int) -> tf.SparseTensor:
    """A sparse context as a sequence of ``steps``: its values stand at the first step of each segment."""
    starts = tf.range(tf.constant(0, tf.int64), steps, num_unroll)
    count, entries = tf.size(starts), tf.shape(value.indices)[0]
    times = tf.reshape(tf.tile(tf.expand_dims(starts, 1), tf.stack([1, entries])), [-1, 1])
    indices = tf.concat([times, tf.tile(value.indices, tf.stack([count, 1]))], 1)
    return tf.SparseTensor(indices, tf.tile(value.values, tf.expand_dims(count, 0)), tf.concat([[steps], value.dense_shape], 0))


def _first_steps(segments: tf.SparseTensor) -> tf.SparseTensor:
    """[batch, ...] of segments [batch, num_unroll, ...] that have values at their first step only."""
    shape = segments.dense_shape
    one_step = tf.SparseTensor(segments.indices, segments.values, tf.concat([shape[:1], [1], shape[2:]], 0))
    return sparse_reshape(one_step, tf.concat([shape[:1], shape[2:]], 0))


def deconstruct_sparse_tensor_seq(input_sequence: dict[str, Any], shared_name: str | None = None) -> tuple[dict[str, Any], Any, list[Any]]:
    """(the sequences, keys of the sparse ones, operations that store them): handles, one per step, stand for what is sparse.

    ``shared_name`` is the table that they wait in; by default each has one of its own.
    """
    keys = sorted(key for key, value in input_sequence.items() if _is_sparse(value))
    handles = {key: add_many_sparse_to_tensors_map(_sparse_tensor(input_sequence[key]), shared_name=shared_name or "") for key in keys}
    return {**input_sequence, **handles}, keys or None, [handles[key].op for key in keys]


def reconstruct_sparse_tensor_seq(sequence: dict[str, Any], sparse_tensor_keys: Any, tensor_op_list: list[Any], batch_size: Any,
                                  num_unroll: int) -> None:
    """Puts the segments [batch, num_unroll, ...] in the place of their handles [batch, num_unroll], in ``sequence``."""
    for key, stored in zip(sparse_tensor_keys or (), tensor_op_list):
        steps = take_many_sparse_from_tensors_map(stored, tf.reshape(sequence[key], [-1]))
        step = steps.indices[:, :1]
        indices = tf.concat([step // num_unroll, tf.mod(step, num_unroll), steps.indices[:, 1:]], 1)
        extents = tf.stack([tf.cast(batch_size, tf.int64), tf.constant(num_unroll, tf.int64)])
        sequence[key] = tf.SparseTensor(indices, steps.values, tf.concat([extents, steps.dense_shape[1:]], 0))
