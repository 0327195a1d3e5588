"""``tf.contrib.crf``: linear-chain conditional random fields: scores of sequences of tags, their normalizer, and the best sequence.

``inputs`` are unary scores, [batch, time, tags]; ``transition_params`` the scores of tag after tag, [tags, tags].
"""
from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.rnn.cell import RNNCell
from penstock.rnn.dynamic import dynamic_rnn


def _by_length(inputs: tf.Tensor, one_step: Callable[[], Any], more_steps: Callable[[], Any]) -> Any:
    """What ``one_step`` returns if sequences have one step, else what ``more_steps`` does."""
    return tf.smart_cond(tf.equal(tf.dimension_value(inputs.shape[1]) or tf.shape(inputs)[1], 1), one_step, more_steps)


def _none_if_empty(scores: tf.Tensor, sequence_lengths: tf.Tensor) -> tf.Tensor:
    return tf.where(tf.less_equal(sequence_lengths, 0), tf.zeros_like(scores), scores)


# --- scores ----------------------------------------------------------------------------------------------------------


def crf_sequence_score(inputs: tf.Tensor, tag_indices: tf.Tensor, sequence_lengths: tf.Tensor, transition_params: Any) -> tf.Tensor:
    """``tf.contrib.crf.crf_sequence_score``: the unnormalized score of each sequence of tags."""
    def one_step() -> tf.Tensor:
        batch = tf.shape(inputs, out_type=tag_indices.dtype)[0]
        examples = tf.reshape(tf.range(batch, dtype=tag_indices.dtype), [-1, 1])
        scores = tf.gather_nd(tf.squeeze(inputs, [1]), tf.concat([examples, tag_indices], axis=1))
        return _none_if_empty(scores, sequence_lengths)

    def more_steps() -> tf.Tensor:
        unary = crf_unary_score(tag_indices, sequence_lengths, inputs)
        return unary + crf_binary_score(tag_indices, sequence_lengths, transition_params)

    return _by_length(inputs, one_step, more_steps)


def crf_multitag_sequence_score(inputs: tf.Tensor, tag_bitmap: tf.Tensor, sequence_lengths: tf.Tensor, transition_params: Any) -> tf.Tensor:
    """``tf.contrib.crf.crf_multitag_sequence_score``: the score of all sequences whose tags are allowed at each step."""
    def allowed() -> tf.Tensor:
        return tf.where(tag_bitmap, inputs, tf.fill(tf.shape(inputs), float("-inf")))

    return _by_length(inputs, lambda: tf.reduce_logsumexp(allowed(), axis=[1, 2], keepdims=False),
                      lambda: crf_log_norm(allowed(), sequence_lengths, transition_params))


def crf_unary_score(tag_indices: tf.Tensor, sequence_lengths: tf.Tensor, inputs: tf.Tensor) -> tf.Tensor:
    """``tf.contrib.crf.crf_unary_score``: the sum of the scores of the tags."""
    batch, steps, tags = (tf.shape(inputs)[axis] for axis in builtins.range(3))
    offsets = tf.expand_dims(tf.range(batch) * steps * tags, 1) + tf.expand_dims(tf.range(steps) * tags, 0)
    if tag_indices.dtype == tf.int64:
        offsets = tf.cast(offsets, tf.int64)
    scores = tf.reshape(tf.gather(tf.reshape(inputs, [-1]), tf.reshape(offsets + tag_indices, [-1])), [batch, steps])
    masks = tf.sequence_mask(sequence_lengths, maxlen=tf.shape(tag_indices)[1], dtype=tf.float32)
    return tf.reduce_sum(scores * masks, 1)


def crf_binary_score(tag_indices: tf.Tensor, sequence_lengths: tf.Tensor, transition_params: Any) -> tf.Tensor:
    """``tf.contrib.crf.crf_binary_score``: the sum of the scores of the transitions."""
    tags = transition_params.shape[0]
    count = tf.shape(tag_indices)[1] - 1
    first, second = tf.slice_(tag_indices, [0, 0], [-1, count]), tf.slice_(tag_indices, [0, 1], [-1, count])
    scores = tf.gather(tf.reshape(transition_params, [-1]), first * tags + second)
    masks = tf.sequence_mask(sequence_lengths, maxlen=tf.shape(tag_indices)[1], dtype=tf.float32)
    return tf.reduce_sum(scores * tf.slice_(masks, [0, 1], [-1, -1]), 1)


def crf_log_norm(inputs: tf.Tensor, sequence_lengths: tf.Tensor, transition_params: Any) -> tf.Tensor:
    """``tf.contrib.crf.crf_log_norm``: the logarithm of the sum over all sequences, by the forward algorithm."""
    first = tf.squeeze(tf.slice_(inputs, [0, 0, 0], [-1, 1, -1]), [1])

    def one_step() -> tf.Tensor:
        return _none_if_empty(tf.reduce_logsumexp(first, [1]), sequence_lengths)

    def more_steps() -> tf.Tensor:
        rest = tf.slice_(inputs, [0, 1, 0], [-1, -1, -1])
        _, alphas = dynamic_rnn(cell=CrfForwardRnnCell(transition_params), inputs=rest, sequence_length=_less_one(sequence_lengths),
                                initial_state=first, dtype=tf.float32)
        return _none_if_empty(tf.reduce_logsumexp(alphas, [1]), sequence_lengths)

    return _by_length(inputs, one_step, more_steps)


def _less_one(sequence_lengths: tf.Tensor) -> tf.Tensor:
    return tf.maximum(tf.constant(0, dtype=sequence_lengths.dtype), sequence_lengths - 1)


def crf_log_likelihood(inputs: tf.Tensor, tag_indices: tf.Tensor, sequence_lengths: tf.Tensor, transition_params: Any = None) -> tuple[Any, Any]:
    """``tf.contrib.crf.crf_log_likelihood``: of sequences of tags; and the transitions, which are made if they are not given."""
    if transition_params is None:
        tags = tf.dimension_value(inputs.shape[2])
        transition_params = tf.get_variable("transitions", [tags, tags])
    score = crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params)
    return score - crf_log_norm(inputs, sequence_lengths, transition_params), transition_params


# --- cells -----------------------------------------------------------------------------------------------------------


class _TagCell(RNNCell):
    """A step over all tags."""

    def __init__(self, transition_params: Any) -> None:
        super().__init__()
        self._transition_params = tf.expand_dims(transition_params, 0)
        self._num_tags = tf.dimension_value(transition_params.shape[0])

    @property
    def state_size(self) -> int:
        """The number of tags."""
        return self._num_tags

    @property
    def output_size(self) -> int:
        """The number of tags."""
        return self._num_tags


class CrfForwardRnnCell(_TagCell):
    """``tf.contrib.crf.CrfForwardRnnCell``: a step of the forward algorithm."""

    def __call__(self, inputs: tf.Tensor, state: tf.Tensor, scope: Any = None) -> tuple[tf.Tensor, tf.Tensor]:
        """The log of the sum over all sequences that end in each tag."""
        alphas = inputs + tf.reduce_logsumexp(tf.expand_dims(state, 2) + self._transition_params, [1])
        return alphas, alphas


class CrfDecodeForwardRnnCell(_TagCell):
    """``tf.contrib.crf.CrfDecodeForwardRnnCell``: a step of the Viterbi algorithm."""

    def __call__(self, inputs: tf.Tensor, state: tf.Tensor, scope: Any = None) -> tuple[tf.Tensor, tf.Tensor]:
        """(the best tag before each tag, the score of the best sequence that ends in each tag)."""
        scores = tf.expand_dims(state, 2) + self._transition_params
        best = inputs + tf.reduce_max(scores, [1])
        return tf.cast(tf.argmax(scores, 1), tf.int32), best


class CrfDecodeBackwardRnnCell(RNNCell):
    """``tf.contrib.crf.CrfDecodeBackwardRnnCell``: a step back along the best tags before."""

    def __init__(self, num_tags: int) -> None:
        super().__init__()
        self._num_tags = num_tags

    @property
    def state_size(self) -> int:
        """One tag."""
        return 1

    @property
    def output_size(self) -> int:
        """One tag."""
        return 1

    def __call__(self, inputs: tf.Tensor, state: tf.Tensor, scope: Any = None) -> tuple[tf.Tensor, tf.Tensor]:
        """The tag before."""
        places = tf.stack([tf.range(tf.shape(inputs)[0]), tf.squeeze(state, axis=[1])], axis=1)
        tags = tf.expand_dims(tf.gather_nd(inputs, places), axis=-1)
        return tags, tags


# --- the best sequence -----------------------------------------------------------------------------------------------


def viterbi_decode(score: np.ndarray, transition_params: np.ndarray) -> tuple[list[Any], Any]:
    """``tf.contrib.crf.viterbi_decode``: (best tags, their score) of one sequence, in NumPy."""
    trellis = np.zeros_like(score)
    before = np.zeros_like(score, dtype=np.int32)
    trellis[0] = score[0]
    for step in builtins.range(1, score.shape[0]):
        candidates = np.expand_dims(trellis[step - 1], 1) + transition_params
        trellis[step], before[step] = score[step] + np.max(candidates, 0), np.argmax(candidates, 0)
    tags = [np.argmax(trellis[-1])]
    for pointers in before[:0:-1]:
        tags.append(pointers[tags[-1]])
    return tags[::-1], np.max(trellis[-1])


def crf_decode(potentials: tf.Tensor, transition_params: Any, sequence_length: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """``tf.contrib.crf.crf_decode``: (best tags, their scores) of a batch; tags behind the end of a sequence mean nothing."""
    def one_step() -> tuple[tf.Tensor, tf.Tensor]:
        scores = tf.squeeze(potentials, [1])
        return tf.cast(tf.expand_dims(tf.argmax(scores, axis=1), 1), tf.int32), tf.reduce_max(scores, axis=1)

    def more_steps() -> tuple[tf.Tensor, tf.Tensor]:
        first = tf.squeeze(tf.slice_(potentials, [0, 0, 0], [-1, 1, -1]), axis=[1])
        rest, length = tf.slice_(potentials, [0, 1, 0], [-1, -1, -1]), _less_one(sequence_length)
        before, scores = dynamic_rnn(CrfDecodeForwardRnnCell(transition_params), inputs=rest, sequence_length=length, initial_state=first,
                                     dtype=tf.int32)
        last = tf.expand_dims(tf.cast(tf.argmax(scores, axis=1), tf.int32), axis=-1)
        cell = CrfDecodeBackwardRnnCell(tf.dimension_value(potentials.shape[2]))
        tags, _ = dynamic_rnn(cell, inputs=tf.reverse_sequence(before, length, seq_axis=1), sequence_length=length, initial_state=last,
                              dtype=tf.int32)
        tags = tf.concat([last, tf.squeeze(tags, axis=[2])], axis=1)
        return tf.reverse_sequence(tags, sequence_length, seq_axis=1), tf.reduce_max(scores, axis=1)

    return _by_length(potentials, one_step, more_steps)
