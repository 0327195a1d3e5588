"""One step of a beam search: all continuations of all beams are scored, and the best ones become the beams."""
from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from penstock.graph import dtypes as dt
from penstock.graph import nest
from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.shape import TensorShape
from penstock.graph.static import constant_value
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import fill, one_hot, ones_like
from penstock.ops.array.gather import gather
from penstock.ops.array.pack import concat
from penstock.ops.array.permute import tile
from penstock.ops.array.select import where
from penstock.ops.array.sequences import range as range_
from penstock.ops.array.shape_ops import expand_dims, reshape, shape
from penstock.ops.array.sorting import top_k
from penstock.ops.flow.tensor_array_class import TensorArray
from penstock.ops.math.compare import equal, logical_not, logical_or
from penstock.ops.math.division import div, floordiv, mod
from penstock.ops.math.elementwise import minimum
from penstock.ops.math.powers import log
from penstock.ops.math.reduce import reduce_mean, reduce_sum
from penstock.ops.nn.softmax import log_softmax
from penstock.rnn.attention_wrapper import AttentionWrapperState

BeamSearchDecoderState = namedtuple(
    "BeamSearchDecoderState", ("cell_state", "log_probs", "finished", "lengths", "accumulated_attention_probs"), defaults=((),))
BeamSearchDecoderOutput = namedtuple("BeamSearchDecoderOutput", ("scores", "predicted_ids", "parent_ids"))


class BeamStep:
    """The step for one decoder. Tensors are [batch, beam, ...]."""

    def __init__(self, batch_size: Any, beam_width: int, end_token: Tensor, length_penalty_weight: Any, coverage_penalty_weight: Any) -> None:
        self._batch, self._width, self._end = batch_size, beam_width, end_token
        self._length_weight, self._coverage_weight = length_penalty_weight, coverage_penalty_weight
        known = constant_value(batch_size)
        self._known_batch = None if known is None else int(known)

    def __call__(self, logits: Any, next_cell_state: Any, before: BeamSearchDecoderState) -> tuple[BeamSearchDecoderOutput, BeamSearchDecoderState]:
        """(what the step gives, the state after it)."""
        known_words = logits.shape.as_list()[-1]
        words = shape(logits)[-1] if known_words is None else known_words
        running = logical_not(before.finished)
        total = expand_dims(before.log_probs, 2) + mask_probs(log_softmax(logits), self._end, before.finished)
        attention = self._accumulated_attention(next_cell_state, before, running)
        scores = self._scores(total, self._candidate_lengths(words, running, before.lengths), before.finished, attention)
        best, chosen = top_k(reshape(scores, [self._batch, -1]), k=to_tensor(self._width, dtype=dt.int32))
        best.set_shape([self._known_batch, self._width])
        chosen.set_shape([self._known_batch, self._width])
        log_probs = self._gather(chosen, total, self._width * words, [-1], "next_beam_probs")
        ids = cast(mod(chosen, words, name="next_beam_word_ids"), dt.int32)
        with default_graph().counting_as(4 if known_words is None else 5):  # TensorFlow divides as floats
            parents = cast(floordiv(chosen, words), dt.int32, name="next_beam_parent_ids")
        was_finished = self._gather(parents, before.finished, self._width, [-1])
        lengths = self._gather(parents, before.lengths, self._width, [-1]) + cast(logical_not(was_finished), dt.int64)
        state = BeamSearchDecoderState(
            cell_state=nest.map_structure(lambda part: self._gathered_state(parents, part), next_cell_state), log_probs=log_probs,
            finished=logical_or(was_finished, equal(ids, self._end), name="next_beam_finished"), lengths=lengths,
            accumulated_attention_probs=() if attention is None else self._gather(parents, attention, self._width, self._whole()))
        return BeamSearchDecoderOutput(scores=best, predicted_ids=ids, parent_ids=parents), state

    def _candidate_lengths(self, words: Any, running: Tensor, lengths: Tensor) -> Tensor:
        """How long each continuation would be: the end token does not count."""
        added = one_hot(fill([self._batch, self._width], self._end), words, on_value=np.int64(0), off_value=np.int64(1), dtype=dt.int64)
        return added * expand_dims(cast(running, dt.int64), 2) + expand_dims(lengths, 2)

    def _accumulated_attention(self, next_cell_state: Any, before: BeamSearchDecoderState, running: Tensor) -> Any:
        attention = attention_probs(next_cell_state, self._coverage_weight)
        if attention is None:
            return None
        return before.accumulated_attention_probs + attention * expand_dims(cast(running, dt.float32), 2)

    def _scores(self, log_probs: Tensor, lengths: Tensor, finished: Tensor, attention: Any) -> Tensor:
        """Log probabilities, divided by the length penalty; finished beams also pay for what they did not attend to (Wu et al. 2016)."""
        scores = log_probs / cast(length_penalty(lengths, self._length_weight), log_probs.dtype)
        weight = to_tensor(self._coverage_weight, name="coverage_penalty_weight")
        if weight.shape.ndims != 0:
            raise ValueError("coverage_penalty_weight should be a scalar, but saw shape: %s" % weight.shape)
        if constant_value(weight) == 0.0:
            return scores
        if attention is None:
            raise ValueError("accumulated_attention_probs must be provided for coverage penalty.")
        attention = where(equal(attention, 0.0), ones_like(attention), attention)
        penalty = reduce_sum(log(minimum(attention, 1.0)), 2) * cast(finished, dt.float32)
        return scores + expand_dims(penalty * weight, 2)

    def _gather(self, indices: Tensor, source: Tensor, range_size: Any, gather_shape: list[Any], name: str | None = None) -> Tensor:
        """Per sequence of the batch the entries (or rows, as ``gather_shape`` says) of ``source`` at ``indices``."""
        with name_scope(name, "tensor_gather_helper"):
            offsets = expand_dims(range_(self._batch) * range_size, 1)
            gathered = gather(reshape(source, gather_shape), reshape(indices + offsets, [-1]))
            result = reshape(gathered, shape(source)[:1 + len(gather_shape)], name="output")
            result.set_shape(TensorShape([self._known_batch]).concatenate(source.shape[1:1 + len(gather_shape)]))
            return result

    def _whole(self) -> list[Any]:
        return [self._batch * self._width, -1]

    def _gathered_state(self, parents: Tensor, part: Any) -> Any:
        """Parts of a state without beams stay as they are. (The shape is computed for these too: seeds count it.)"""
        whole = self._whole()
        if isinstance(part, TensorArray) or part.shape.ndims < 2:
            return part
        if part.shape.ndims <= 3:
            return self._gather(parents, part, self._width, whole)
        with name_scope("tensor_gather_helper"):  # TensorFlow knows vectors only
            offsets = expand_dims(range_(self._batch) * self._width, 1)
            gathered = gather(reshape(part, whole), reshape(parents + offsets, [-1]))
            result = reshape(gathered, shape(part), name="output")
            result.set_shape(part.shape)
            return result


def beam_search_step(time: Any, logits: Any, next_cell_state: Any, beam_state: BeamSearchDecoderState, batch_size: Any, beam_width: int,
                     end_token: Any, length_penalty_weight: Any, coverage_penalty_weight: Any = 0.0) -> tuple[Any, Any]:
    """TensorFlow's private function for a step: (what it gives, the state after it)."""
    step = BeamStep(to_tensor(batch_size), beam_width, to_tensor(end_token, dtype=dt.int32), length_penalty_weight, coverage_penalty_weight)
    return step(to_tensor(logits), next_cell_state, beam_state)


def attention_probs(cell_state: Any, coverage_penalty_weight: Any) -> Any:
    """The mean of the alignments in a cell's state; None if they are not asked for."""
    if isinstance(coverage_penalty_weight, (int, float)) and coverage_penalty_weight == 0.0:
        return None
    states = [cell_state] if isinstance(cell_state, AttentionWrapperState) else \
        [part for part in (cell_state if isinstance(cell_state, tuple) else ()) if isinstance(part, AttentionWrapperState)]
    layers = [_mean_alignments(state) for state in states]
    if not layers:
        raise ValueError("coverage_penalty_weight must be 0.0 if no cell is attentional.")
    return layers[0] if len(layers) == 1 else reduce_mean(concat([expand_dims(layer, -1) for layer in layers], -1), -1)


def _mean_alignments(state: AttentionWrapperState) -> Any:
    if not isinstance(state.alignments, tuple):
        return state.alignments
    return reduce_mean(concat([expand_dims(part, -1) for part in state.alignments], -1), -1)


def mask_probs(probs: Tensor, eos_token: Tensor, finished: Tensor) -> Tensor:
    """Log probabilities after which a finished beam continues with the end token, for certain."""
    words = shape(probs)[2]
    row = one_hot(eos_token, words, dtype=probs.dtype, on_value=to_tensor(0.0, dtype=probs.dtype), off_value=probs.dtype.min)
    rows = tile(reshape(row, [1, 1, -1]), concat([shape(finished), [1]], 0))
    return where(tile(expand_dims(cast(finished, dt.bool_), 2), [1, 1, words]), rows, probs)


def length_penalty(lengths: Tensor, weight: Any) -> Any:
    """((5 + length) / 6) ** weight."""
    weight = to_tensor(weight, name="penalty_factor")
    weight.set_shape(())
    if constant_value(weight) == 0:
        return 1.0
    return div((5.0 + cast(lengths, dt.float32)) ** weight, (5.0 + 1.0) ** weight)
