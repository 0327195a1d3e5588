"""Models of ``tf.contrib.legacy_seq2seq``: an encoder and a decoder over lists of tensors."""
from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from penstock.graph import dtypes as dt
from penstock.graph import nest
from penstock.graph.node import Tensor
from penstock.ops.array.pack import concat
from penstock.ops.array.shape_ops import reshape
from penstock.ops.flow.control_flow import cond
from penstock.ops.sparse.embedding import embedding_lookup
from penstock.rnn.legacy_decoders import (
    LoopFunction,
    check_projection,
    embedding_attention_decoder,
    embedding_rnn_decoder,
    extract_argmax_and_embed,
    rnn_decoder,
)
from penstock.rnn.projections import EmbeddingWrapper, OutputProjectionWrapper
from penstock.rnn.static import static_rnn
from penstock.variables.scope import get_variable, get_variable_scope, variable_scope


def basic_rnn_seq2seq(encoder_inputs: list[Any], decoder_inputs: list[Any], cell: Any, dtype: Any = dt.float32,
                      scope: Any = None) -> tuple[list[Any], Any]:
    """``basic_rnn_seq2seq``: the encoder's last state is the decoder's first one; each has variables of its own."""
    with variable_scope(scope or "basic_rnn_seq2seq"):
        _, state = static_rnn(copy.deepcopy(cell), encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, cell)


def tied_rnn_seq2seq(encoder_inputs: list[Any], decoder_inputs: list[Any], cell: Any, loop_function: LoopFunction | None = None,
                     dtype: Any = dt.float32, scope: Any = None) -> tuple[list[Any], Any]:
    """``tied_rnn_seq2seq``: as ``basic_rnn_seq2seq``, with the same variables in both."""
    with variable_scope("combined_tied_rnn_seq2seq"):
        entered = scope or "tied_rnn_seq2seq"
        _, state = static_rnn(cell, encoder_inputs, dtype=dtype, scope=entered)
        get_variable_scope().reuse_variables()
        return rnn_decoder(decoder_inputs, state, cell, loop_function=loop_function, scope=entered)


def _either(feed_previous: Any, decode: Callable[[bool], tuple[list[Any], Any]], outputs: int) -> tuple[list[Any], Any]:
    """The decoder in the mode that a bool says; a tensor of one chooses when it runs."""
    if isinstance(feed_previous, bool):
        return decode(feed_previous)
    structure: list[Any] = []

    def branch(feeding: bool) -> list[Any]:
        with variable_scope(get_variable_scope(), reuse=None if feeding else True):
            decoded, state = decode(feeding)
            structure.append(state)
            return decoded + nest.flatten(state)

    flat = cond(feed_previous, lambda: branch(True), lambda: branch(False))
    return list(flat[:outputs]), nest.pack_sequence_as(structure[0], flat[outputs:])


def embedding_rnn_seq2seq(encoder_inputs: list[Any], decoder_inputs: list[Any], cell: Any, num_encoder_symbols: int, num_decoder_symbols: int,
                          embedding_size: int, output_projection: Any = None, feed_previous: Any = False, dtype: Any = None,
                          scope: Any = None) -> tuple[list[Any], Any]:
    """``embedding_rnn_seq2seq``: from symbols to symbols."""
    with variable_scope(scope or "embedding_rnn_seq2seq") as entered:
        entered.set_dtype(dt.as_dtype(dtype or entered.dtype))
        encoder = EmbeddingWrapper(copy.deepcopy(cell), embedding_classes=num_encoder_symbols, embedding_size=embedding_size)
        _, state = static_rnn(encoder, encoder_inputs, dtype=entered.dtype)
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)

        def decode(feeding: bool) -> tuple[list[Any], Any]:
            return embedding_rnn_decoder(decoder_inputs, state, cell, num_decoder_symbols, embedding_size, output_projection=output_projection,
                                         feed_previous=feeding, update_embedding_for_previous=isinstance(feed_previous, bool))

        return _either(feed_previous, decode, len(decoder_inputs))


def embedding_tied_rnn_seq2seq(encoder_inputs: list[Any], decoder_inputs: list[Any], cell: Any, num_symbols: int, embedding_size: int,
                               num_decoder_symbols: int | None = None, output_projection: Any = None, feed_previous: Any = False,
                               dtype: Any = None, scope: Any = None) -> tuple[list[Any], Any]:
    """``embedding_tied_rnn_seq2seq``: symbols of one vocabulary, one embedding and one cell for both."""
    with variable_scope(scope or "embedding_tied_rnn_seq2seq", dtype=dtype) as entered:
        dtype = dt.as_dtype(entered.dtype)
        if output_projection is not None:
            check_projection(output_projection, num_symbols, dtype)
        embedding = get_variable("embedding", [num_symbols, embedding_size], dtype=dtype)
        encoded = [embedding_lookup(embedding, item) for item in encoder_inputs]
        decoded = [embedding_lookup(embedding, item) for item in decoder_inputs]
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_symbols if num_decoder_symbols is None else num_decoder_symbols)

        def decode(feeding: bool) -> tuple[list[Any], Any]:
            update = not isinstance(feed_previous, Tensor)
            loop_function = extract_argmax_and_embed(embedding, output_projection, update) if feeding else None
            return tied_rnn_seq2seq(encoded, decoded, cell, loop_function=loop_function, dtype=dtype)

        return _either(feed_previous, decode, len(decoder_inputs))


def embedding_attention_seq2seq(encoder_inputs: list[Any], decoder_inputs: list[Any], cell: Any, num_encoder_symbols: int, num_decoder_symbols: int,
                                embedding_size: int, num_heads: int = 1, output_projection: Any = None, feed_previous: Any = False,
                                dtype: Any = None, scope: Any = None, initial_state_attention: bool = False) -> tuple[list[Any], Any]:
    """``embedding_attention_seq2seq``: from symbols to symbols, with attention to the encoder's outputs."""
    with variable_scope(scope or "embedding_attention_seq2seq", dtype=dtype) as entered:
        dtype = dt.as_dtype(entered.dtype)
        encoder = EmbeddingWrapper(copy.deepcopy(cell), embedding_classes=num_encoder_symbols, embedding_size=embedding_size)
        encoded, state = static_rnn(encoder, encoder_inputs, dtype=dtype)
        attention_states = concat([reshape(item, [-1, 1, cell.output_size]) for item in encoded], 1)
        output_size = None
        if output_projection is None:
            cell, output_size = OutputProjectionWrapper(cell, num_decoder_symbols), num_decoder_symbols

        def decode(feeding: bool) -> tuple[list[Any], Any]:
            return embedding_attention_decoder(
                decoder_inputs, state, attention_states, cell, num_decoder_symbols, embedding_size, num_heads=num_heads, output_size=output_size,
                output_projection=output_projection, feed_previous=feeding, update_embedding_for_previous=isinstance(feed_previous, bool),
                initial_state_attention=initial_state_attention)

        return _either(feed_previous, decode, len(decoder_inputs))


def one2many_rnn_seq2seq(encoder_inputs: list[Any], decoder_inputs_dict: dict[str, list[Any]], enc_cell: Any, dec_cells_dict: dict[str, Any],
                         num_encoder_symbols: int, num_decoder_symbols_dict: dict[str, int], embedding_size: int, feed_previous: Any = False,
                         dtype: Any = None, scope: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
    """``one2many_rnn_seq2seq``: one encoder, several decoders by name."""
    outputs, states = {}, {}
    with variable_scope(scope or "one2many_rnn_seq2seq", dtype=dtype) as entered:
        dtype = dt.as_dtype(entered.dtype)
        encoder = EmbeddingWrapper(enc_cell, embedding_classes=num_encoder_symbols, embedding_size=embedding_size)
        _, state = static_rnn(encoder, encoder_inputs, dtype=dtype)
        for name, decoder_inputs in decoder_inputs_dict.items():
            symbols = num_decoder_symbols_dict[name]
            with variable_scope(f"one2many_decoder_{name}"):
                cell = OutputProjectionWrapper(dec_cells_dict[name], symbols)
                decode = _decoder(decoder_inputs, state, cell, symbols, embedding_size)
                outputs[name], states[name] = _either(feed_previous, decode, len(decoder_inputs))
    return outputs, states


def _decoder(decoder_inputs: list[Any], state: Any, cell: Any, symbols: int, embedding_size: int) -> Callable[[bool], tuple[list[Any], Any]]:
    return lambda feeding: embedding_rnn_decoder(decoder_inputs, state, cell, symbols, embedding_size, feed_previous=feeding)
