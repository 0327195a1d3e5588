"""Decoders of ``tf.contrib.legacy_seq2seq``: over lists of tensors, one per step."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.graph import dtypes as dt
from penstock.graph import nest
from penstock.graph.convert import to_tensor
from penstock.graph.shape import TensorShape
from penstock.ops.array.fill import zeros
from penstock.ops.array.pack import concat, stack
from penstock.ops.array.passing import stop_gradient
from penstock.ops.array.shape_ops import reshape, shape
from penstock.ops.math.argmax import argmax
from penstock.ops.math.reduce import reduce_sum
from penstock.ops.math.trigonometry import tanh
from penstock.ops.nn.bias import xw_plus_b
from penstock.ops.nn.convolution import conv2d
from penstock.ops.nn.softmax import softmax
from penstock.ops.sparse.embedding import embedding_lookup
from penstock.rnn.linear import Linear
from penstock.variables.scope import get_variable, get_variable_scope, variable_scope

LoopFunction = Callable[[Any, int], Any]


def extract_argmax_and_embed(embedding: Any, output_projection: Any = None, update_embedding: bool = True) -> LoopFunction:
    """A loop function: the embedding of the most likely symbol of the last output."""
    def loop_function(previous: Any, _: int) -> Any:
        if output_projection is not None:
            previous = xw_plus_b(previous, output_projection[0], output_projection[1])
        embedded = embedding_lookup(embedding, argmax(previous, 1))
        return embedded if update_embedding else stop_gradient(embedded)
    return loop_function


def rnn_decoder(decoder_inputs: list[Any], initial_state: Any, cell: Any, loop_function: LoopFunction | None = None,
                scope: Any = None) -> tuple[list[Any], Any]:
    """``rnn_decoder``: (outputs, last state). With a loop function the input of a step is made of the output before."""
    with variable_scope(scope or "rnn_decoder"):
        state, outputs, previous = initial_state, [], None
        for i, item in enumerate(decoder_inputs):
            if loop_function is not None and previous is not None:
                with variable_scope("loop_function", reuse=True):
                    item = loop_function(previous, i)
            if i > 0:
                get_variable_scope().reuse_variables()
            output, state = cell(item, state)
            outputs.append(output)
            if loop_function is not None:
                previous = output
    return outputs, state


def embedding_rnn_decoder(decoder_inputs: list[Any], initial_state: Any, cell: Any, num_symbols: int, embedding_size: int,
                          output_projection: Any = None, feed_previous: bool = False, update_embedding_for_previous: bool = True,
                          scope: Any = None) -> tuple[list[Any], Any]:
    """``embedding_rnn_decoder``: the inputs are symbols; with ``feed_previous`` all but the first are what the decoder said before."""
    with variable_scope(scope or "embedding_rnn_decoder") as entered:
        if output_projection is not None:
            check_projection(output_projection, num_symbols, entered.dtype)
        embedding = get_variable("embedding", [num_symbols, embedding_size])
        loop_function = extract_argmax_and_embed(embedding, output_projection, update_embedding_for_previous) if feed_previous else None
        embedded = (embedding_lookup(embedding, item) for item in decoder_inputs)  # each when it is its turn, as in TensorFlow
        return rnn_decoder(embedded, initial_state, cell, loop_function=loop_function)


def check_projection(output_projection: Any, num_symbols: int, dtype: Any) -> None:
    """ValueError unless the pair (W, B) projects to the symbols."""
    weights, biases = (to_tensor(part, dtype=dt.as_dtype(dtype)) for part in output_projection)
    weights.shape.assert_is_compatible_with(TensorShape([None, num_symbols]))
    biases.shape.assert_is_compatible_with(TensorShape([num_symbols]))


class _Attention:
    """Attention heads over the states of an encoder, [batch, length, size]."""

    def __init__(self, states: Any, num_heads: int, dtype: Any) -> None:
        length, size = states.shape.as_list()[1:]
        if size is None:
            raise ValueError(f"Shape[2] of attention_states must be known: {states.shape}")
        self._length = shape(states)[1] if length is None else length
        self.size, self._heads, self._dtype = size, num_heads, dtype
        self._hidden = reshape(states, [-1, self._length, 1, size])
        self._features, self._vectors = [], []
        for head in range(num_heads):
            kernel = get_variable(f"AttnW_{head}", [1, 1, size, size], dtype=dtype)
            self._features.append(conv2d(self._hidden, kernel, [1, 1, 1, 1], "SAME"))
            self._vectors.append(get_variable(f"AttnV_{head}", [size], dtype=dtype))

    def __call__(self, query: Any) -> list[Any]:
        """What each head attends to."""
        if nest.is_sequence(query):
            query = concat(nest.flatten(query), 1)
        attended = []
        for head in range(self._heads):
            with variable_scope(f"Attention_{head}"):
                y = Linear(query, self.size, True)(query)
                y = reshape(y, [-1, 1, 1, self.size])
                score = reduce_sum(self._vectors[head] * tanh(self._features[head] + y), [2, 3])
                weights = softmax(score)
                mixed = reduce_sum(reshape(weights, [-1, self._length, 1, 1]) * self._hidden, [1, 2])
                attended.append(reshape(mixed, [-1, self.size]))
        return attended


def attention_decoder(decoder_inputs: list[Any], initial_state: Any, attention_states: Any, cell: Any, output_size: int | None = None,
                      num_heads: int = 1, loop_function: LoopFunction | None = None, dtype: Any = None, scope: Any = None,
                      initial_state_attention: bool = False) -> tuple[list[Any], Any]:
    """``attention_decoder``: a decoder that looks at ``attention_states`` with each step (Vinyals et al. 2014)."""
    _check_attention(decoder_inputs, num_heads, attention_states)
    output_size = cell.output_size if output_size is None else output_size
    with variable_scope(scope or "attention_decoder", dtype=dtype) as entered:
        dtype = dt.as_dtype(entered.dtype)
        batch = shape(decoder_inputs[0])[0]
        attention = _Attention(attention_states, num_heads, dtype)
        state, outputs, previous = initial_state, [], None
        extents = stack([batch, attention.size])
        attended = [zeros(extents, dtype=dtype) for _ in range(num_heads)]
        for item in attended:
            item.set_shape([None, attention.size])
        if initial_state_attention:
            attended = attention(initial_state)
        for i, item in enumerate(decoder_inputs):
            if i > 0:
                get_variable_scope().reuse_variables()
            if loop_function is not None and previous is not None:
                with variable_scope("loop_function", reuse=True):
                    item = loop_function(previous, i)
            depth = item.shape.with_rank(2).as_list()[1]
            if depth is None:
                raise ValueError(f"Could not infer input size from input: {item.name}")
            mixed = Linear([item, *attended], depth, True)([item, *attended])
            cell_output, state = cell(mixed, state)
            with variable_scope(get_variable_scope(), reuse=True) if i == 0 and initial_state_attention else variable_scope(get_variable_scope()):
                attended = attention(state)
            with variable_scope("AttnOutputProjection"):
                output = Linear([cell_output, *attended], output_size, True)([cell_output, *attended])
            if loop_function is not None:
                previous = output
            outputs.append(output)
    return outputs, state


def _check_attention(decoder_inputs: list[Any], num_heads: int, attention_states: Any) -> None:
    if not decoder_inputs:
        raise ValueError("Must provide at least 1 input to attention decoder.")
    if num_heads < 1:
        raise ValueError("With less than 1 heads, use a non-attention decoder.")
    if attention_states.shape.as_list()[2] is None:
        raise ValueError(f"Shape[2] of attention_states must be known: {attention_states.shape}")


def embedding_attention_decoder(decoder_inputs: list[Any], initial_state: Any, attention_states: Any, cell: Any, num_symbols: int,
                                embedding_size: int, num_heads: int = 1, output_size: int | None = None, output_projection: Any = None,
                                feed_previous: bool = False, update_embedding_for_previous: bool = True, dtype: Any = None, scope: Any = None,
                                initial_state_attention: bool = False) -> tuple[list[Any], Any]:
    """``embedding_attention_decoder``: an attention decoder whose inputs are symbols."""
    output_size = cell.output_size if output_size is None else output_size
    if output_projection is not None:
        to_tensor(output_projection[1]).shape.assert_is_compatible_with(TensorShape([num_symbols]))
    with variable_scope(scope or "embedding_attention_decoder", dtype=dtype):
        embedding = get_variable("embedding", [num_symbols, embedding_size])
        loop_function = extract_argmax_and_embed(embedding, output_projection, update_embedding_for_previous) if feed_previous else None
        embedded = [embedding_lookup(embedding, item) for item in decoder_inputs]
        return attention_decoder(embedded, initial_state, attention_states, cell, output_size=output_size, num_heads=num_heads,
                                 loop_function=loop_function, initial_state_attention=initial_state_attention)
