"""Attention mechanisms: scores of a query against the steps of a memory, as weights."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.graph import dtypes as dt
from penstock.graph import nest
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.scopes import control_dependencies, name_scope
from penstock.ops.array.array import sequence_mask
from penstock.ops.array.fill import one_hot, ones, ones_like
from penstock.ops.array.pack import concat
from penstock.ops.array.select import where
from penstock.ops.array.shape_ops import expand_dims, reshape, shape, squeeze
from penstock.ops.flow.checks import assert_positive
from penstock.ops.linalg.matmul import matmul
from penstock.ops.math.argmax import argmax
from penstock.ops.math.elementwise import square
from penstock.ops.math.powers import rsqrt
from penstock.ops.math.reduce import reduce_sum
from penstock.ops.math.trigonometry import tanh
from penstock.ops.nn.softmax import softmax
from penstock.rnn.cell import zero_state_tensors
from penstock.rnn.dense import Projection
from penstock.variables.initializers import Constant, Ones, Zeros
from penstock.variables.scope import get_variable, variable_scope

ProbabilityFunction = Callable[[Any], Any]


class AttentionMechanism:
    """``tf.contrib.seq2seq.AttentionMechanism``: called with a query and a state, it gives weights over the memory, and the next state."""

    @property
    def alignments_size(self) -> Any:
        """How many steps the memory has."""
        raise NotImplementedError

    @property
    def state_size(self) -> Any:
        """The size of the state."""
        raise NotImplementedError


class BaseAttention(AttentionMechanism):
    """A memory with keys, to which queries are compared, and values, of which the attention is made."""

    def __init__(self, query_layer: Any, memory: Any, probability_fn: Callable[[Any, Any], Any], memory_sequence_length: Any = None,
                 memory_layer: Any = None, check_inner_dims_defined: bool = True, score_mask_value: Any = None,
                 custom_key_value_fn: Callable[..., Any] | None = None, name: str | None = None) -> None:
        self._query_layer, self._memory_layer = query_layer, memory_layer
        self.dtype = dt.as_dtype(memory_layer.dtype if memory_layer is not None else query_layer.dtype)
        if not callable(probability_fn):
            raise TypeError(f"probability_fn must be callable, saw type: {type(probability_fn).__name__}")
        if score_mask_value is None:
            score_mask_value = np.array(-np.inf, self.dtype.np)[()]
        with name_scope(name, "BaseAttentionMechanismInit", nest.flatten(memory)):
            lengths = None if memory_sequence_length is None else to_tensor(memory_sequence_length, name="memory_sequence_length")
            self._probability_fn: Callable[[Any, Any], Any] = lambda score, previous: probability_fn(
                _masked_score(score, lengths, score_mask_value), previous)
            self._values = _prepared_memory(memory, lengths, check_inner_dims_defined)
            self._keys = self._values if memory_layer is None else memory_layer(self._values)
            if custom_key_value_fn is not None:
                self._keys, self._values = custom_key_value_fn(self._keys, self._values)
            batch, steps = self._keys.shape.as_list()[:2]
            self._batch_size = shape(self._keys)[0] if batch is None else batch
            self._alignments_size = shape(self._keys)[1] if steps is None else steps

    @property
    def memory_layer(self) -> Any:
        """What makes keys of values."""
        return self._memory_layer

    @property
    def query_layer(self) -> Any:
        """What a query goes through."""
        return self._query_layer

    @property
    def values(self) -> Any:
        """The memory, with zeros past the ends of its sequences."""
        return self._values

    @property
    def keys(self) -> Any:
        """What queries are compared to."""
        return self._keys

    @property
    def batch_size(self) -> Any:
        """How many sequences the memory has."""
        return self._batch_size

    @property
    def alignments_size(self) -> Any:
        """How many steps the memory has."""
        return self._alignments_size

    @property
    def state_size(self) -> Any:
        """The state is the last alignments."""
        return self._alignments_size

    def initial_alignments(self, batch_size: Any, dtype: Any) -> Tensor:
        """The weights before the first step: zeros."""
        return zero_state_tensors(self._alignments_size, batch_size, dtype)

    def initial_state(self, batch_size: Any, dtype: Any) -> Tensor:
        """The state before the first step."""
        return self.initial_alignments(batch_size, dtype)

    def _alignments(self, score: Any, state: Any) -> tuple[Any, Any]:
        alignments = self._probability_fn(score, state)
        return alignments, alignments


def _prepared_memory(memory: Any, lengths: Tensor | None, check_inner: bool) -> Any:
    """The memory with zeros past the ends of its sequences."""
    memory = nest.map_structure(lambda item: to_tensor(item, name="memory"), memory)
    if check_inner:
        for item in nest.flatten(memory):
            if not item.shape[2:].is_fully_defined():
                raise ValueError(f"Expected memory {item.name} to have fully defined inner dims, but saw shape: {item.shape}")
    if lengths is None:
        return memory
    first = nest.flatten(memory)[0]
    mask = sequence_mask(lengths, maxlen=shape(first)[1], dtype=first.dtype)

    def masked(item: Tensor) -> Tensor:
        rank = len(item.shape.as_list())
        return item * reshape(mask, concat((shape(mask), ones(rank - 2, dt.int32)), 0))

    return nest.map_structure(masked, memory)


def _masked_score(score: Any, lengths: Tensor | None, value: Any) -> Any:
    if lengths is None:
        return score
    with control_dependencies([assert_positive(lengths, message="All values in memory_sequence_length must greater than zero.")]):
        return where(sequence_mask(lengths, maxlen=shape(score)[1]), score, value * ones_like(score))


def luong_score(query: Any, keys: Any, scale: Any) -> Any:
    """The inner products of a query with the keys."""
    depth, key_units = query.shape.as_list()[-1], keys.shape.as_list()[-1]
    if depth != key_units:
        raise ValueError(f"Incompatible or unknown inner dimensions between query and keys.  Query ({query}) has units: {depth}.  Keys ({keys}) "
                         f"have units: {key_units}.  Perhaps you need to set num_units to the keys' dimension ({key_units})?")
    score = squeeze(matmul(expand_dims(query, 1), keys, transpose_b=True), [1])
    return score if scale is None else scale * score


def bahdanau_score(query: Any, keys: Any, vector: Any, gain: Any = None, bias: Any = None) -> Any:
    """v tanh(key + query), with v normalized if there are a gain and a bias."""
    query = expand_dims(query, 1)
    if gain is None or bias is None:
        return reduce_sum(vector * tanh(keys + query), [2])
    normed = gain * vector * rsqrt(reduce_sum(square(vector)))
    return reduce_sum(normed * tanh(keys + query + bias), [2])


class LuongAttention(BaseAttention):
    """``tf.contrib.seq2seq.LuongAttention``: multiplicative (Luong et al. 2015), with ``scale`` also weighted."""

    def __init__(self, num_units: int, memory: Any, memory_sequence_length: Any = None, scale: bool = False, probability_fn: Any = None,
                 score_mask_value: Any = None, dtype: Any = None, custom_key_value_fn: Any = None, name: str = "LuongAttention") -> None:
        function: ProbabilityFunction = probability_fn or softmax
        super().__init__(None, memory, lambda score, _: function(score), memory_sequence_length,
                         Projection(num_units, "memory_layer", dtype or dt.float32), True, score_mask_value, custom_key_value_fn, name)
        self._num_units, self._scale, self._name = num_units, scale, name

    def _score(self, query: Any) -> Any:
        gain = get_variable("attention_g", dtype=query.dtype.base_dtype, initializer=Ones(), shape=()) if self._scale else None
        return luong_score(query, self._keys, gain)

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        """(weights, next state)."""
        with variable_scope(None, "luong_attention", [query]):
            score = self._score(query)
        return self._alignments(score, state)


class BahdanauAttention(BaseAttention):
    """``tf.contrib.seq2seq.BahdanauAttention``: additive (Bahdanau et al. 2015), with ``normalize`` weight-normalized."""

    def __init__(self, num_units: int, memory: Any, memory_sequence_length: Any = None, normalize: bool = False, probability_fn: Any = None,
                 score_mask_value: Any = None, dtype: Any = None, custom_key_value_fn: Any = None, name: str = "BahdanauAttention") -> None:
        function: ProbabilityFunction = probability_fn or softmax
        dtype = dtype or dt.float32
        super().__init__(Projection(num_units, "query_layer", dtype), memory, lambda score, _: function(score), memory_sequence_length,
                         Projection(num_units, "memory_layer", dtype), True, score_mask_value, custom_key_value_fn, name)
        self._num_units, self._normalize, self._name = num_units, normalize, name

    def _score(self, query: Any) -> Any:
        dtype, units = query.dtype.base_dtype, self._num_units
        processed = self._query_layer(query) if self._query_layer else query
        vector = get_variable("attention_v", [units], dtype=dtype)
        if not self._normalize:
            return bahdanau_score(processed, self._keys, vector)
        gain = get_variable("attention_g", dtype=dtype, initializer=Constant(math.sqrt(1.0 / units)), shape=())
        bias = get_variable("attention_b", [units], dtype=dtype, initializer=Zeros())
        return bahdanau_score(processed, self._keys, vector, gain, bias)

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        """(weights, next state)."""
        with variable_scope(None, "bahdanau_attention", [query]):
            score = self._score(query)
        return self._alignments(score, state)


def hardmax(logits: Any, name: str | None = None) -> Tensor:
    """``tf.contrib.seq2seq.hardmax``: 1 at the largest element along the last axis, 0 elsewhere."""
    with name_scope(name, "Hardmax", [logits]):
        logits = to_tensor(logits, name="logits")
        depth = logits.shape.as_list()[-1]
        return one_hot(argmax(logits, -1), shape(logits)[-1] if depth is None else depth, dtype=logits.dtype)
