"""Scheduled sampling (Bengio et al. 2015): now and then the decoder's next input is not the right one, but what it just said."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.graph import dtypes as dt
from penstock.graph import nest
from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import fill
from penstock.ops.array.gather import gather_nd
from penstock.ops.array.pack import concat
from penstock.ops.array.scatter_nd import scatter_nd
from penstock.ops.array.select import where
from penstock.ops.array.shape_ops import shape
from penstock.ops.flow.control_flow import cond
from penstock.ops.math.compare import logical_not, logical_or
from penstock.ops.math.reduce import reduce_all, reduce_any
from penstock.ops.random.random import random_uniform
from penstock.rnn.helpers import TrainingHelper, categorical, embedding_function, unstacked
from penstock.rnn.steps import transpose_batch_time


def probability_tensor(sampling_probability: Any) -> Tensor:
    """One probability for all sequences, or one for each."""
    probability = to_tensor(sampling_probability, name="sampling_probability")
    if probability.shape.ndims not in (0, 1):
        raise ValueError(f"sampling_probability must be either a scalar or a vector. saw shape: {probability.shape}")
    return probability


def bernoulli(probability: Tensor, batch_size: Any, seed: Any) -> Tensor:
    """True with this probability, once per sequence. TensorFlow computes shapes before and after, which its seeds count."""
    graph = default_graph()
    graph.imply(16)
    drawn = random_uniform([batch_size], dtype=probability.dtype.base_dtype, seed=seed) < probability
    graph.imply(8)
    return drawn


def mixed(chosen: Tensor, other: Tensor, fresh: Callable[[Tensor], Any], base: Tensor) -> Tensor:
    """The rows of ``base`` at ``other``, and at ``chosen`` what ``fresh(chosen)`` gives."""
    extents = shape(base)
    return scatter_nd(indices=chosen, updates=fresh(chosen), shape=extents) + \
        scatter_nd(indices=other, updates=gather_nd(base, other), shape=extents)


class ScheduledEmbeddingTrainingHelper(TrainingHelper):
    """``tf.contrib.seq2seq.ScheduledEmbeddingTrainingHelper``: with some probability the embedding of an id drawn from the output comes next."""

    def __init__(self, inputs: Any, sequence_length: Any, embedding: Any, sampling_probability: Any, time_major: bool = False, seed: Any = None,
                 scheduling_seed: Any = None, name: str | None = None) -> None:
        with name_scope(name, "ScheduledEmbeddingSamplingWrapper"):
            self._embedding_fn = embedding_function(embedding)
            self._probability = probability_tensor(sampling_probability)
            self._seed, self._scheduling_seed = seed, scheduling_seed
            super().__init__(inputs=inputs, sequence_length=sequence_length, time_major=time_major, name=name)

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """An id where one was drawn, else -1."""
        with name_scope(name, "ScheduledEmbeddingTrainingHelperSample", [time, outputs]):
            chosen = bernoulli(self._probability, self.batch_size, self._scheduling_seed)
            return where(chosen, categorical(outputs, self._seed), fill([self.batch_size], -1))

    def next_inputs(self, time: Any, outputs: Any, state: Any, sample_ids: Any = None, name: str | None = None) -> tuple[Any, Any, Any]:
        """The right inputs, with embeddings where an id was drawn."""
        with name_scope(name, "ScheduledEmbeddingTrainingHelperNextInputs", [time, outputs]):
            finished, base, state = super().next_inputs(time, outputs, state)

            def sampled() -> Tensor:
                chosen, other = cast(where(sample_ids > -1), dt.int32), cast(where(sample_ids <= -1), dt.int32)
                return mixed(chosen, other, lambda rows: self._embedding_fn(gather_nd(sample_ids, rows)), base)

            return finished, cond(reduce_all(finished), lambda: base, sampled), state


class ScheduledOutputTrainingHelper(TrainingHelper):
    """``tf.contrib.seq2seq.ScheduledOutputTrainingHelper``: with some probability the output itself comes next."""

    def __init__(self, inputs: Any, sequence_length: Any, sampling_probability: Any, time_major: bool = False, seed: Any = None,
                 next_inputs_fn: Callable[[Any], Any] | None = None, auxiliary_inputs: Any = None, name: str | None = None) -> None:
        with name_scope(name, "ScheduledOutputTrainingHelper"):
            self._probability = probability_tensor(sampling_probability)
            self._auxiliary = None
            if auxiliary_inputs is not None:
                auxiliary_inputs = to_tensor(auxiliary_inputs)
                inputs = nest.map_structure(lambda x, y: concat((x, y), -1), to_tensor(inputs), auxiliary_inputs)
                self._auxiliary = unstacked(auxiliary_inputs if time_major else transpose_batch_time(auxiliary_inputs))
            self._seed, self._next_inputs_fn = seed, next_inputs_fn
            super().__init__(inputs=inputs, sequence_length=sequence_length, time_major=time_major, name=name)

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """1 where the output comes next, else 0."""
        with name_scope(name, "ScheduledOutputTrainingHelperSample", [time, outputs]):
            return cast(bernoulli(self._probability, self.batch_size, self._seed), dt.int32)

    def _with_auxiliary(self, values: Any, time: Any, rows: Tensor | None = None) -> Any:
        if self._auxiliary is None:
            return values
        auxiliary = self._auxiliary.read(time + 1)
        return concat((values, auxiliary if rows is None else gather_nd(auxiliary, rows)), -1)

    def next_inputs(self, time: Any, outputs: Any, state: Any, sample_ids: Any = None, name: str | None = None) -> tuple[Any, Any, Any]:
        """The right inputs, with outputs where they were chosen."""
        with name_scope(name, "ScheduledOutputTrainingHelperNextInputs", [time, outputs]):
            finished, base, state = super().next_inputs(time, outputs, state)
            sample_ids = cast(sample_ids, dt.bool_)

            def sampled() -> Tensor:
                function = self._next_inputs_fn
                if function is None:
                    return where(sample_ids, self._with_auxiliary(outputs, time), base)
                chosen, other = cast(where(sample_ids), dt.int32), cast(where(logical_not(sample_ids)), dt.int32)
                return mixed(chosen, other, lambda rows: self._with_auxiliary(function(gather_nd(outputs, rows)), time, rows), base)

            skip = logical_or(reduce_all(finished), logical_not(reduce_any(sample_ids)))
            return finished, cond(skip, lambda: base, sampled), state
