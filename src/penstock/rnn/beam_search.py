"""BeamSearchDecoder: keeps the best ``beam_width`` sequences of each example while decoding."""
from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from penstock.graph import dtypes as dt
from penstock.graph import nest
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.shape import TensorShape
from penstock.graph.static import constant_value
from penstock.ops.array.array import sequence_mask
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import one_hot, zeros
from penstock.ops.array.gather import gather_nd
from penstock.ops.array.pack import concat, stack
from penstock.ops.array.permute import tile, transpose
from penstock.ops.array.select import where
from penstock.ops.array.sequences import range as range_
from penstock.ops.array.shape_ops import expand_dims, reshape, shape, size
from penstock.ops.flow.control_flow import cond
from penstock.ops.flow.tensor_array_class import TensorArray
from penstock.ops.math.reduce import reduce_all, reduce_max
from penstock.ops.nn.gather_tree import gather_tree
from penstock.rnn.basic_decoder import output_size_of
from penstock.rnn.beam_step import BeamSearchDecoderOutput, BeamSearchDecoderState, BeamStep, attention_probs
from penstock.rnn.cell import assert_like_rnncell
from penstock.rnn.decoder import Decoder
from penstock.rnn.helpers import embedding_function

FinalBeamSearchDecoderOutput = namedtuple(
    "FinalBeamSearchDecoderOutput", ("predicted_ids", "beam_search_decoder_output"))


def tile_batch(t: Any, multiplier: int, name: str | None = None) -> Any:
    """``tf.contrib.seq2seq.tile_batch``: each example ``multiplier`` times, one after the other; for a structure of tensors."""
    with name_scope(name, "tile_batch", [item for item in nest.flatten(t) if isinstance(item, Tensor)]):
        return nest.map_structure(lambda item: _tile_batch(item, multiplier), t)


def _tile_batch(t: Any, multiplier: int) -> Tensor:
    t = to_tensor(t, name="t")
    if t.shape.ndims is None:
        raise ValueError("t must have statically known rank")
    extents = shape(t)
    tiled = tile(expand_dims(t, 1), [1, multiplier] + [1] * (t.shape.ndims - 1))
    result = reshape(tiled, concat(([extents[0] * multiplier], extents[1:]), 0))
    batch = t.shape.as_list()[0]
    result.set_shape(TensorShape([None if batch is None else batch * multiplier]).concatenate(t.shape[1:]))
    return result


class BeamSearchDecoder(Decoder):
    """``tf.contrib.seq2seq.BeamSearchDecoder``: for inference; the initial state (and an attention's memory) come from ``tile_batch``."""

    def __init__(self, cell: Any, embedding: Any, start_tokens: Any, end_token: Any, initial_state: Any, beam_width: int, output_layer: Any = None,
                 length_penalty_weight: Any = 0.0, coverage_penalty_weight: Any = 0.0, reorder_tensor_arrays: bool = True) -> None:
        assert_like_rnncell("cell", cell)
        if output_layer is not None and not callable(output_layer):
            raise TypeError(f"output_layer must be a Layer, received: {type(output_layer)}")
        self._cell, self._output_layer, self._width, self._reorder = cell, output_layer, beam_width, reorder_tensor_arrays
        self._coverage_weight = coverage_penalty_weight
        self._embedding_fn = embedding_function(embedding)
        start_tokens = to_tensor(start_tokens, dtype=dt.int32, name="start_tokens")
        self._end = to_tensor(end_token, dtype=dt.int32, name="end_token")
        if start_tokens.shape.ndims != 1:
            raise ValueError("start_tokens must be a vector")
        if self._end.shape.ndims != 0:
            raise ValueError("end_token must be a scalar")
        self._batch_size = size(start_tokens)
        self._initial_cell_state = nest.map_structure(self._split_beams, initial_state)
        self._start_inputs = self._embedding_fn(tile(expand_dims(start_tokens, 1), [1, beam_width]))
        self._finished = one_hot(zeros([self._batch_size], dtype=dt.int32), depth=beam_width, on_value=False, off_value=True, dtype=dt.bool_)
        self._step = BeamStep(self._batch_size, beam_width, self._end, length_penalty_weight, coverage_penalty_weight)

    tracks_own_finished = True

    @property
    def batch_size(self) -> Tensor:
        """How many examples."""
        return self._batch_size

    @property
    def output_size(self) -> BeamSearchDecoderOutput:
        """A number per beam, for scores, ids and parents."""
        return BeamSearchDecoderOutput(*[TensorShape([self._width])] * 3)

    @property
    def output_dtype(self) -> BeamSearchDecoderOutput:
        """The type of the state, and int32."""
        dtype = nest.flatten(self._initial_cell_state)[0].dtype
        scores = nest.map_structure(lambda _: dtype, output_size_of(self._cell, self._output_layer))
        return BeamSearchDecoderOutput(scores=scores, predicted_ids=dt.int32, parent_ids=dt.int32)

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """One beam is alive: the others would say the same."""
        first, dtype = zeros([self._batch_size], dtype=dt.int32), nest.flatten(self._initial_cell_state)[0].dtype
        log_probs = one_hot(first, depth=self._width, on_value=to_tensor(0.0, dtype=dtype), off_value=to_tensor(-np.inf, dtype=dtype), dtype=dtype)
        attention = attention_probs(self._initial_cell_state, self._coverage_weight)
        state = BeamSearchDecoderState(cell_state=self._initial_cell_state, log_probs=log_probs, finished=self._finished,
                                       lengths=zeros([self._batch_size, self._width], dtype=dt.int64),
                                       accumulated_attention_probs=() if attention is None else attention)
        return self._finished, self._start_inputs, state

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> tuple[Any, Any, Any, Any]:
        """One step of the cell for all beams, and the choice of the next ones."""
        with name_scope(name, "BeamSearchDecoderStep"):
            outputs, cell_state = self._cell(nest.map_structure(self._merge, inputs), nest.map_structure(self._merge, state.cell_state))
            outputs = nest.map_structure(self._split_beams, outputs)
            cell_state = nest.map_structure(self._split_beams, cell_state)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            output, next_state = self._step(outputs, cell_state, state)
            next_inputs = cond(reduce_all(next_state.finished), lambda: self._start_inputs, lambda: self._embedding_fn(output.predicted_ids))
        return output, next_state, next_inputs, next_state.finished

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        """Reads the sequences off the tree of parents, the best one first."""
        longest = cast(reduce_max(final_state.lengths, axis=1), dt.int32)
        predicted = gather_tree(outputs.predicted_ids, outputs.parent_ids, max_sequence_lengths=longest, end_token=self._end)
        if self._reorder:
            final_state = final_state._replace(cell_state=nest.map_structure(
                lambda part: self._in_beam_order(part, outputs.parent_ids, final_state.lengths), final_state.cell_state))
        return FinalBeamSearchDecoderOutput(beam_search_decoder_output=outputs, predicted_ids=predicted), final_state

    def _in_beam_order(self, part: Any, parent_ids: Tensor, lengths: Tensor) -> Any:
        """The history in a TensorArray (alignments), in the order of the final beams."""
        if not isinstance(part, TensorArray) or not part.element_shape.ndims or not self._has_beams(part.element_shape):
            return part
        return gather_tree_from_array(part.stack(), parent_ids, lengths)

    def _has_beams(self, element: TensorShape) -> bool:
        """As far as it is known: elements are [batch, beam, ...], or [batch * beam, ?, ...]. TensorFlow asks for that, too."""
        batch, extents = self._known_batch(), element.as_list()
        if batch is None or extents[0] is None:
            return True
        second = extents[1] if len(extents) > 1 else None
        return extents[0] == batch * self._width and (second is None or (extents[0] == batch and second == self._width))

    # --- [batch * beam, ...] for the cell, [batch, beam, ...] for the search -----------------------------------------

    def _known_batch(self) -> int | None:
        known = constant_value(self._batch_size)
        return None if known is None else int(known)

    def _split_beams(self, t: Any) -> Any:
        if isinstance(t, TensorArray) or t.shape.ndims == 0:
            return t
        result = reshape(t, concat(([self._batch_size, self._width], shape(t)[1:]), 0))
        result.set_shape(TensorShape([self._known_batch(), self._width]).concatenate(t.shape[1:]))
        return result

    def _merge(self, t: Any) -> Any:
        if isinstance(t, TensorArray) or t.shape.ndims == 0:
            return t
        result = reshape(t, concat(([self._batch_size * self._width], shape(t)[2:]), 0))
        batch = self._known_batch()
        result.set_shape(TensorShape([None if batch is None else batch * self._width]).concatenate(t.shape[2:]))
        return result


def gather_tree_from_array(t: Tensor, parent_ids: Tensor, sequence_length: Tensor) -> Tensor:
    """What beams went through, [time, batch, beam, ...], for the final beams; past the end of a sequence it stays as it is."""
    extents, static = shape(parent_ids), parent_ids.shape.as_list()
    time, batch, width = (extents[axis] if known is None else known for axis, known in enumerate(static))
    beams = tile(reshape(range_(width), [1, 1, -1]), stack([time, batch, 1]))
    longest = cast(reduce_max(sequence_length, axis=1), dt.int32)
    ordered = gather_tree(beams, parent_ids, max_sequence_lengths=longest, end_token=width + 1)
    inside = transpose(sequence_mask(sequence_length, maxlen=time), perm=[2, 0, 1])
    ordered = where(inside, ordered, beams)
    times = tile(reshape(range_(time), [-1, 1, 1]), stack([1, batch, width]))
    examples = tile(reshape(range_(batch), [1, -1, 1]), stack([time, 1, width]))
    gathered = gather_nd(reshape(t, stack([time, batch, width, -1])), stack([times, examples, ordered], -1))
    return reshape(gathered, shape(t))
