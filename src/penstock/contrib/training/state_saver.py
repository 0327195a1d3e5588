"""``tf.contrib.training.SequenceQueueingStateSaver``: long sequences cut into segments, whose states are carried from one segment to the next.

A barrier holds the segments. All of a segment but its state is inserted when its sequence is read; the state of the first is inserted with it, the
state of any other by the step that has computed the segment before. So a segment is complete, and can be taken, when its predecessor is done. A queue
of tokens bounds how many sequences are under way.
"""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf
from penstock.graph.dtypes import string
from penstock.ops.queues.barrier import Barrier
from penstock.ops.queues.queue_classes import FIFOQueue
from penstock.ops.text.strings import as_string, string_join

_FACTS = {"length": tf.int32, "total_length": tf.int32, "next_key": string, "sequence": tf.int32, "sequence_count": tf.int32}
_TOKEN = 21051976  # what stands for a sequence in the queue; its value is never looked at


class NextQueuedSequenceBatch:
    """The segments of one step: their sequences, context and states, and ``save_state``, which hands states to the segments that follow."""

    def __init__(self, state_saver: SequenceQueueingStateSaver) -> None:
        self._saver = state_saver
        with tf.colocate_with(state_saver.capacity_queue.queue_ref):
            taken = state_saver.barrier.take_many(state_saver.batch_size, state_saver.allow_small_batch, name="BarrierTakeMany")
            self._index, self._key = taken.indices, taken.keys
            values = dict(zip(state_saver.components, taken.values))
            self._facts = {name: values["fact", name] for name in _FACTS}
            self._context = {name: value for (kind, name), value in values.items() if kind == "context"}
            self._sequences = {name: value for (kind, name), value in values.items() if kind == "sequence"}
            self._batch_size = tf.squeeze(tf.shape(self._facts["length"]))
            self._is_last = self._facts["sequence"] + 1 >= self._facts["sequence_count"]
            finished = tf.reduce_sum(tf.cast(self._is_last, tf.int32))
            with tf.control_dependencies([state_saver.capacity_queue.dequeue_many(finished)]):
                self._states = {name: tf.identity(value) for (kind, name), value in values.items() if kind == "state"}

    total_length = property(lambda self: self._facts["total_length"], doc="int32 [batch]: how long the whole sequences are, without padding.")
    length = property(lambda self: self._facts["length"], doc="int32 [batch]: how many steps of each segment are not padding.")
    batch_size = property(lambda self: self._batch_size, doc="int32: how many segments there are; fewer than asked for at the end.")
    insertion_index = property(lambda self: self._index, doc="int64 [batch]: when each segment's key was first inserted.")
    key = property(lambda self: self._key, doc="string [batch]: '00000_of_00003:key' for the first of three segments.")
    next_key = property(lambda self: self._facts["next_key"], doc="string [batch]: the keys of the segments that follow; 'STOP:key' after the last.")
    sequence = property(lambda self: self._facts["sequence"], doc="int32 [batch]: the number of each segment in its sequence.")
    sequence_count = property(lambda self: self._facts["sequence_count"], doc="int32 [batch]: of how many segments each sequence is made.")
    context = property(lambda self: self._context, doc="{name: tensor [batch, ...]}: what belongs to whole sequences.")
    sequences = property(lambda self: self._sequences, doc="{name: tensor [batch, num_unroll, ...]}: the segments.")

    def state(self, state_name: str) -> tf.Tensor:
        """The states [batch, ...] with which the segments begin."""
        return self._states[state_name]

    def save_state(self, state_name: str, value: Any, name: str | None = None) -> Any:
        """An operation that gives the states after this step to the segments that follow. It must run in every step, for every state."""
        if state_name not in self._states:
            raise KeyError(f"state was not declared: {state_name}")
        with tf.name_scope(name, "InputQueueingStateSaver_SaveState", [value]), tf.colocate_with(self._saver.capacity_queue.queue_ref):
            goes_on = tf.reshape(tf.where_v2(tf.logical_not(self._is_last)), [-1])
            keys = tf.gather(self.next_key, goes_on)
            value = _with_shape_of(tf.identity(value, name=f"convert_{state_name}"), self._states[state_name])
            return self._saver.barrier.insert_many(self._saver.component("state", state_name), keys, tf.gather(value, goes_on),
                                                   name=f"BarrierInsertState_{state_name}")


class SequenceQueueingStateSaver:
    """Reads sequences (``prefetch_op``, in the threads of a queue runner) and hands out batches of their segments (``next_batch``)."""

    def __init__(self, batch_size: Any, num_unroll: int, input_length: Any, input_key: Any, input_sequences: Any, input_context: Any,
                 initial_states: Any, capacity: int | None = None, allow_small_batch: bool = False, name: str | None = None) -> None:
        input_key = _check_capacity(capacity, batch_size, input_key)
        self._batch_size, self._num_unroll, self._allow_small_batch = batch_size, num_unroll, allow_small_batch
        self._capacity_queue = FIFOQueue(capacity=-1 if capacity is None else capacity, dtypes=[tf.int32], shapes=[[]])
        self._prefetch_op: Any = None
        self._next_batch: NextQueuedSequenceBatch | None = None
        with tf.colocate_with(self._capacity_queue.queue_ref):
            _check_names(initial_states, "initial_states", "state name", "a dictionary")
            if not initial_states:
                raise ValueError("Empty initial states: there must be at least one state, or segments need not be kept in order")
            with tf.name_scope(name, "InputQueueingStateSaver") as scope:
                self._name = scope
                inputs = SequenceInputs(input_length, input_key, input_sequences, input_context)
                self._length, self._key, self._sequences, self._context = inputs.length, inputs.key, inputs.sequences, inputs.context
                self._states = {key: tf.convert_to_tensor(initial_states[key], name=f"state_{key}") for key in sorted(initial_states)}
                self._check_inputs()
                self.components = self._component_types()
                self._barrier = Barrier(types=[each[0] for each in self.components.values()], shapes=[each[1] for each in self.components.values()])

    def _check_inputs(self) -> None:
        for kind, tensors, start in (("state", self._states, 0), ("context", self._context, 0), ("sequence", self._sequences, 1)):
            for key, tensor in tensors.items():
                if not tensor.shape[start:].is_fully_defined():
                    ignoring = "(ignoring first dimension)" if start else ""
                    raise ValueError(f"Shape for {kind} {key} is not fully defined {ignoring}: {tensor.shape}")
        self._length, self._key = _with_rank_0(self._length), _with_rank_0(self._key)
        if self._length.dtype != tf.int32:
            raise TypeError(f"length dtype must be int32, but received: {self._length.dtype!r}")
        if self._key.dtype != string:
            raise TypeError(f"key dtype must be string, but received: {self._key.dtype!r}")
        first = next(iter(self._sequences.values()))
        padded = tf.identity(tf.shape(first)[0], name="padded_length")
        self._padded_length = _multiple_of(padded, self._num_unroll)
        self._sequences = {key: _with_length(tensor, self._padded_length, key) for key, tensor in self._sequences.items()}
        message = "Input length should be <= than length from sequences:"
        with tf.control_dependencies([tf.Assert(tf.less_equal(self._length, self._padded_length), [message, self._length, " vs. ",
                                                                                                     self._padded_length])]):
            self._length = tf.identity(self._length)

    def _component_types(self) -> dict[tuple[str, str], tuple[Any, Any]]:
        """{(kind, name): (type, shape)} of what the barrier holds per segment, in its order."""
        parts: dict[tuple[str, str], tuple[Any, Any]] = {("fact", name): (dtype, ()) for name, dtype in _FACTS.items()}
        parts |= {("sequence", key): (each.dtype, [self._num_unroll, *each.shape.as_list()[1:]]) for key, each in self._sequences.items()}
        parts |= {("context", key): (each.dtype, each.shape.as_list()) for key, each in self._context.items()}
        return parts | {("state", key): (each.dtype, each.shape.as_list()) for key, each in self._states.items()}

    def component(self, kind: str, name: str) -> int:
        """The index of a component in the barrier."""
        return list(self.components).index((kind, name))

    name = property(lambda self: self._name, doc="The scope of its operations.")
    barrier = property(lambda self: self._barrier, doc="What holds the segments.")
    batch_size = property(lambda self: self._batch_size, doc="How many segments a batch has.")
    num_unroll = property(lambda self: self._num_unroll, doc="How many steps a segment has.")
    capacity_queue = property(lambda self: self._capacity_queue, doc="Holds one token per sequence that is under way.")
    allow_small_batch = property(lambda self: self._allow_small_batch, doc="Whether the last batches may be smaller.")

    @property
    def prefetch_op(self) -> Any:
        """Reads one sequence and inserts its segments; waits while ``capacity`` sequences are under way."""
        if self._prefetch_op is None:
            with tf.name_scope(None), tf.name_scope(self._name):
                self._prefetch_op = self._create_prefetch_op()
        return self._prefetch_op

    @property
    def next_batch(self) -> NextQueuedSequenceBatch:
        """The segments of a step; always the same object."""
        if self._next_batch is None:
            self.prefetch_op  # noqa: B018  (TensorFlow names its operations before those of the batch)
            with tf.name_scope(None), tf.name_scope(self._name):
                self._next_batch = NextQueuedSequenceBatch(self)
        return self._next_batch

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Any:
        """An operation after which no sequence is taken in; segments of those that are under way still come."""
        with tf.name_scope(name, "SQSSClose", [self._prefetch_op]) as scope:
            barrier = self._barrier.close(cancel_pending_enqueues, "BarrierClose")
            queue = self._capacity_queue.close(cancel_pending_enqueues, "FIFOClose")
            return tf.group(barrier, queue, name=scope)

    def _create_prefetch_op(self) -> Any:
        count = tf.div(self._padded_length, self._num_unroll)
        sequence = tf.range(count)
        keys = string_join([as_string(sequence, width=5, fill="0"), "_of_", as_string(count, width=5, fill="0"), ":", self._key],
                           name="StringJoinCurrentKeys")
        stop = string_join(["STOP:", self._key], name="StringJoinStop")
        ones = tf.ones(tf.expand_dims(count, 0), tf.int32)
        values: dict[tuple[str, str], Any] = {
            ("fact", "sequence"): sequence,
            ("fact", "sequence_count"): count * ones,
            ("fact", "next_key"): tf.concat([keys[1:], tf.expand_dims(stop, 0)], 0, name="concat_next_keys"),
            ("fact", "length"): tf.minimum(self._num_unroll, tf.maximum(0, self._length - self._num_unroll * sequence)),
            ("fact", "total_length"): self._length * ones,
        }
        for key, each in self._context.items():
            values["context", key] = tf.tile(tf.expand_dims(each, 0), tf.concat([[count], [1] * len(each.shape)], 0), name=f"tile_context_{key}")
        for key, each in self._sequences.items():
            values["sequence", key] = tf.reshape(each, tf.concat([[count, self._num_unroll], each.shape.as_list()[1:]], 0),
                                                 name=f"reshape_sequences_{key}")
        inserts = {part: self._insert(part, keys, value) for part, value in values.items()}
        token = self._capacity_queue.enqueue((_TOKEN,))
        # The states complete the first segment. It may not be taken before its token is there.
        with tf.control_dependencies([inserts["fact", "sequence"], token]):
            states = [self._insert(("state", key), tf.stack([keys[0]]), tf.stack([each])) for key, each in self._states.items()]
        return tf.group(token, *inserts.values(), *states, name="StateSaverPrefetchGroup")

    def _insert(self, part: tuple[str, str], keys: tf.Tensor, values: tf.Tensor) -> Any:
        return self._barrier.insert_many(self.component(*part), keys, values, name=f"BarrierInsert_{part[0]}_{part[1]}")


def _check_capacity(capacity: Any, batch_size: Any, key: Any) -> Any:
    """The key, which waits for the check if only the step knows the size of a batch."""
    if capacity is None:
        return key
    if isinstance(batch_size, tf.Tensor):
        check = tf.assert_greater_equal(tf.cast(capacity, tf.int64), tf.cast(batch_size, tf.int64), message="capacity needs to be >= batch_size.")
        with tf.control_dependencies([check]):
            return tf.identity(key)
    if capacity < batch_size:
        raise ValueError(f"capacity {capacity} needs to be >= batch_size {batch_size}")
    return key


def _check_names(tensors: Any, what: str, name: str, form: str = "a dict") -> None:
    if not isinstance(tensors, dict):
        raise TypeError(f"{what} must be {form}")
    for key in tensors:
        if not isinstance(key, str):
            raise TypeError(f"{name} must be string: {key}")
        if ":" in key:
            raise ValueError(f"{name} may not have a colon: '{key}'")


def _named_tensors(tensors: Any, kind: str) -> dict[str, tf.Tensor]:
    what = "sequences" if kind == "sequence" else kind
    _check_names(tensors, what, f"{kind} key")
    if kind == "sequence" and not tensors:
        raise ValueError("must have at least one sequence tensor")
    return {key: tf.convert_to_tensor(tensors[key], name=f"{kind}_{key}") for key in sorted(tensors)}


class SequenceInputs:
    """What belongs to a sequence, as tensors: its length and key, what it holds step by step, and what holds for all its steps."""

    def __init__(self, length: Any, key: Any, sequences: Any, context: Any) -> None:
        self.length, self.key = tf.convert_to_tensor(length, name="length"), tf.convert_to_tensor(key, name="key")
        self.sequences, self.context = _named_tensors(sequences, "sequence"), _named_tensors(context, "context")


def _rank_message(tensor: tf.Tensor, rank: tf.Tensor) -> tf.Tensor:
    return string_join([f"Rank of tensor {tensor.name} should be: ", as_string(rank), ", shape received:"])


def _with_rank_0(tensor: tf.Tensor) -> tf.Tensor:
    with tf.control_dependencies([tf.Assert(tf.equal(0, tf.rank(tensor)), [_rank_message(tensor, tf.constant(0)), tf.shape(tensor)])]):
        checked = tf.identity(tensor, name="rank_checked")
    try:
        checked.set_shape(checked.shape.with_rank(0))
    except ValueError as error:
        raise ValueError(f"Rank check failed for {tensor.name}: {error}") from None
    return checked


def _multiple_of(value: tf.Tensor, factor: int) -> tf.Tensor:
    right = tf.logical_and(tf.equal(tf.mod(value, factor), 0), tf.not_equal(value, 0))
    message = string_join([f"Tensor {value.name} should be a multiple of: {factor}, but saw value: ", as_string(value),
                           ". Consider setting pad=True."])
    with tf.control_dependencies([tf.Assert(right, [message])]):
        return tf.identity(value, name="multiple_of_checked")


def _with_length(tensor: tf.Tensor, length: tf.Tensor, key: str) -> tf.Tensor:
    own = tf.shape(tensor)[0]
    message = string_join([f"Dimension 0 of tensor labeled sorted_sequences_{key} should be: ", as_string(length),
                           ", shape received: ", as_string(own)])
    with tf.control_dependencies([tf.Assert(tf.equal(length, own), [message])]):
        return tf.identity(tensor, name=f"dims_checked_sorted_sequences_{key}")


def _with_shape_of(value: tf.Tensor, other: tf.Tensor) -> tf.Tensor:
    """The value, whose shape must be that of the other; what is known of the shape beforehand is checked at once."""
    ranks = value.shape.ndims, other.shape.ndims
    if None not in ranks and ranks[0] != ranks[1]:
        raise ValueError(f"Rank check failed for {value.name}: Shape {value.shape} must have rank {ranks[1]}")
    try:
        merged = value.shape.merge_with(other.shape)
    except ValueError as error:
        raise ValueError(f"Shape check failed for {value.name}: {error}") from None
    same_rank = tf.equal(tf.rank(value), tf.rank(other))
    with tf.control_dependencies([tf.Assert(same_rank, [_rank_message(value, tf.rank(other)), tf.shape(value)])]):
        value = tf.identity(value)
    same = tf.reduce_all(tf.equal(tf.shape(other), tf.shape(value)))
    with tf.control_dependencies([tf.Assert(same, [f"Shape of {value.name} should be", tf.shape(other), "and is", tf.shape(value)])]):
        value = tf.identity(value, name="shape_checked")
    value.set_shape(merged)
    return value
