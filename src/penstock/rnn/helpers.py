"""Helpers: where a decoder's inputs come from, a given sequence or what it just said."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.graph import dtypes as dt
from penstock.graph import nest
from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.shape import TensorShape, as_shape
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import zeros_like
from penstock.ops.array.permute import tile
from penstock.ops.array.shape_ops import reshape, shape, size
from penstock.ops.flow.control_flow import cond
from penstock.ops.flow.tensor_array_class import TensorArray
from penstock.ops.math.argmax import argmax
from penstock.ops.math.compare import equal
from penstock.ops.math.reduce import reduce_all
from penstock.ops.random.random import multinomial
from penstock.ops.sparse.embedding import embedding_lookup
from penstock.rnn.steps import transpose_batch_time


class Helper:
    """``tf.contrib.seq2seq.Helper``: define ``initialize``, ``sample``, ``next_inputs`` and the properties."""

    _batch_size: Any = None
    _sample_ids_shape = TensorShape([])
    _sample_ids_dtype: Any = dt.int32

    @property
    def batch_size(self) -> Any:
        """How many sequences there are."""
        if self._batch_size is None:
            raise NotImplementedError("batch_size has not been implemented")
        return self._batch_size

    @property
    def sample_ids_shape(self) -> TensorShape:
        """The shape of a sample, without the batch."""
        return self._sample_ids_shape

    @property
    def sample_ids_dtype(self) -> Any:
        """The type of a sample."""
        return self._sample_ids_dtype

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """(which sequences have ended, first inputs)."""
        raise NotImplementedError

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """A sample of the outputs."""
        raise NotImplementedError

    def next_inputs(self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None) -> tuple[Any, Any, Any]:
        """(which sequences have ended, next inputs, next state)."""
        raise NotImplementedError


class CustomHelper(Helper):
    """``tf.contrib.seq2seq.CustomHelper``: a helper made of functions."""

    def __init__(self, initialize_fn: Callable[..., Any], sample_fn: Callable[..., Any], next_inputs_fn: Callable[..., Any],
                 sample_ids_shape: Any = None, sample_ids_dtype: Any = None) -> None:
        self._initialize_fn, self._sample_fn, self._next_inputs_fn = initialize_fn, sample_fn, next_inputs_fn
        self._sample_ids_shape = as_shape(() if sample_ids_shape is None else sample_ids_shape)
        self._sample_ids_dtype = dt.as_dtype(sample_ids_dtype or dt.int32)

    @property
    def batch_size(self) -> Any:
        """Known after ``initialize``."""
        if self._batch_size is None:
            raise ValueError("batch_size accessed before initialize was called")
        return self._batch_size

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Calls the function."""
        with name_scope(name, "CustomHelperInitialize"):
            finished, inputs = self._initialize_fn()
            if self._batch_size is None:
                self._batch_size = size(finished)
        return finished, inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Calls the function."""
        with name_scope(name, "CustomHelperSample"):
            return self._sample_fn(time=time, outputs=outputs, state=state)

    def next_inputs(self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None) -> tuple[Any, Any, Any]:
        """Calls the function."""
        with name_scope(name, "CustomHelperNextInputs"):
            return self._next_inputs_fn(time=time, outputs=outputs, state=state, sample_ids=sample_ids)


def unstacked(tensor: Tensor) -> TensorArray:
    """The slices of a tensor along its first axis, to be read one by one."""
    return TensorArray(tensor.dtype, size=shape(tensor)[0], element_shape=tensor.shape[1:]).unstack(tensor)


class TrainingHelper(Helper):
    """``tf.contrib.seq2seq.TrainingHelper``: the inputs are a given sequence."""

    def __init__(self, inputs: Any, sequence_length: Any, time_major: bool = False, name: str | None = None) -> None:
        with name_scope(name, "TrainingHelper"):
            inputs = nest.map_structure(lambda item: to_tensor(item, name="inputs"), inputs)
            self._inputs = inputs
            if not time_major:
                inputs = nest.map_structure(transpose_batch_time, inputs)
            self._arrays = nest.map_structure(unstacked, inputs)
            self._sequence_length = to_tensor(sequence_length, name="sequence_length")
            if self._sequence_length.shape.ndims != 1:
                raise ValueError(f"Expected sequence_length to be a vector, but received shape: {self._sequence_length.shape}")
            self._zero_inputs = nest.map_structure(lambda item: zeros_like(item[0, :]), inputs)
            self._batch_size = size(self._sequence_length)

    @property
    def inputs(self) -> Any:
        """The inputs as given."""
        return self._inputs

    @property
    def sequence_length(self) -> Tensor:
        """The lengths."""
        return self._sequence_length

    def _read(self, finished: Tensor, time: Any) -> Any:
        return cond(reduce_all(finished), lambda: self._zero_inputs, lambda: nest.map_structure(lambda array: array.read(time), self._arrays))

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """The first inputs."""
        with name_scope(name, "TrainingHelperInitialize"):
            finished = equal(0, self._sequence_length)
            return finished, self._read(finished, 0)

    def sample(self, time: Any, outputs: Any, name: str | None = None, **unused_kwargs: Any) -> Any:
        """The most likely ids; training does not use them."""
        with name_scope(name, "TrainingHelperSample", [time, outputs]):
            return cast(argmax(outputs, axis=-1), dt.int32)

    def next_inputs(self, time: Any, outputs: Any, state: Any, name: str | None = None, **unused_kwargs: Any) -> tuple[Any, Any, Any]:
        """The next ones of the sequence."""
        with name_scope(name, "TrainingHelperNextInputs", [time]):
            following = time + 1
            finished = following >= self._sequence_length
            return finished, self._read(finished, following), state


def embedding_function(embedding: Any) -> Callable[[Any], Any]:
    """``embedding`` itself if it is a function, else the lookup in it."""
    return embedding if callable(embedding) else lambda ids: embedding_lookup(embedding, ids)


def categorical(logits: Any, seed: Any) -> Tensor:
    """One id per row of ``logits``, drawn with their probabilities. TensorFlow computes shapes before and after, which its seeds count."""
    graph = default_graph()
    graph.imply(24)
    drawn = reshape(multinomial(logits, 1, seed=seed, output_dtype=dt.int32), [-1])
    graph.imply(11)
    return drawn


def single_tensor(outputs: Any) -> Tensor:
    """``outputs`` itself; TypeError if they are not one tensor."""
    if not isinstance(outputs, Tensor):
        raise TypeError(f"Expected outputs to be a single Tensor, got: {type(outputs)}")
    return outputs


class _StartedHelper(Helper):
    """Starts all sequences with ``_start_inputs``."""

    _start_inputs: Any

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """The start inputs; no sequence has ended."""
        return tile([False], [self._batch_size]), self._start_inputs


class GreedyEmbeddingHelper(_StartedHelper):
    """``tf.contrib.seq2seq.GreedyEmbeddingHelper``: the next input is the embedding of the most likely id."""

    def __init__(self, embedding: Any, start_tokens: Any, end_token: Any) -> None:
        self._embedding_fn = embedding_function(embedding)
        self._start_tokens = to_tensor(start_tokens, dtype=dt.int32, name="start_tokens")
        self._end_token = to_tensor(end_token, dtype=dt.int32, name="end_token")
        if self._start_tokens.shape.ndims != 1:
            raise ValueError("start_tokens must be a vector")
        if self._end_token.shape.ndims != 0:
            raise ValueError("end_token must be a scalar")
        self._batch_size = size(self._start_tokens)
        self._start_inputs = self._embedding_fn(self._start_tokens)

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """The most likely ids."""
        return argmax(single_tensor(outputs), axis=-1, output_type=dt.int32)

    def next_inputs(self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None) -> tuple[Any, Any, Any]:
        """The embeddings of the ids; what follows the end token does not matter."""
        finished = equal(sample_ids, self._end_token)
        return finished, cond(reduce_all(finished), lambda: self._start_inputs, lambda: self._embedding_fn(sample_ids)), state


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """``tf.contrib.seq2seq.SampleEmbeddingHelper``: the next input is the embedding of an id drawn from the output."""

    def __init__(self, embedding: Any, start_tokens: Any, end_token: Any, softmax_temperature: Any = None, seed: Any = None) -> None:
        super().__init__(embedding, start_tokens, end_token)
        self._temperature, self._seed = softmax_temperature, seed

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Ids drawn from the output."""
        logits = single_tensor(outputs)
        return categorical(logits if self._temperature is None else logits / self._temperature, self._seed)


class InferenceHelper(_StartedHelper):
    """``tf.contrib.seq2seq.InferenceHelper``: the next input is made of the sample by a function; another one says when a sequence ends."""

    def __init__(self, sample_fn: Callable[..., Any], sample_shape: Any, sample_dtype: Any, start_inputs: Any, end_fn: Callable[..., Any],
                 next_inputs_fn: Callable[..., Any] | None = None) -> None:
        self._sample_fn, self._end_fn, self._next_inputs_fn = sample_fn, end_fn, next_inputs_fn
        self._sample_ids_shape, self._sample_ids_dtype = as_shape(sample_shape), sample_dtype
        self._start_inputs = to_tensor(start_inputs, name="start_inputs")
        self._batch_size = shape(self._start_inputs)[0]

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Calls the function."""
        return self._sample_fn(outputs)

    def next_inputs(self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None) -> tuple[Any, Any, Any]:
        """The samples, through the function if there is one."""
        following = sample_ids if self._next_inputs_fn is None else self._next_inputs_fn(sample_ids)
        return self._end_fn(sample_ids), following, state
