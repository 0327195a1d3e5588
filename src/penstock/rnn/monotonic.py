"""Monotonic attention (Raffel et al. 2017): it moves over the memory from left to right, and never back."""
from __future__ import annotations

import functools
from typing import Any

import numpy as np

from penstock.graph import dtypes as dt
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import one_hot, ones, zeros
from penstock.ops.array.pack import concat
from penstock.ops.array.permute import transpose
from penstock.ops.array.shape_ops import reshape, shape
from penstock.ops.flow.functional_loops import scan
from penstock.ops.math.clip import clip_by_value
from penstock.ops.math.cumulative import cumprod, cumsum
from penstock.ops.math.powers import exp, log
from penstock.ops.math.trigonometry import sigmoid
from penstock.ops.random.random import random_normal
from penstock.rnn.attention import BahdanauAttention, BaseAttention, LuongAttention
from penstock.rnn.dense import Projection
from penstock.variables.initializers import Constant
from penstock.variables.scope import get_variable, variable_scope


def safe_cumprod(x: Any, *args: Any, **kwargs: Any) -> Tensor:
    """``tf.contrib.seq2seq.safe_cumprod``: a cumulative product by logarithms, which neither overflows nor has infinite gradients."""
    with name_scope(None, "SafeCumprod", [x]):
        x = to_tensor(x, name="x")
        tiny = np.finfo(x.dtype.as_numpy_dtype).tiny
        return exp(cumsum(log(clip_by_value(x, tiny, 1)), *args, **kwargs))


def monotonic_attention(p_choose_i: Any, previous_attention: Any, mode: str) -> Tensor:
    """``tf.contrib.seq2seq.monotonic_attention``: the weights after a step, given the probability to stop at each place.

    "recursive" is exact and slow, "parallel" faster and less accurate, "hard" for probabilities of 0 and 1.
    """
    p_choose_i = to_tensor(p_choose_i, name="p_choose_i")
    previous_attention = to_tensor(previous_attention, name="previous_attention")
    if mode == "recursive":
        batch = p_choose_i.shape.as_list()[0]
        batch = shape(p_choose_i)[0] if batch is None else batch
        passed = concat([ones((batch, 1), p_choose_i.dtype), 1 - p_choose_i[:, :-1]], 1)
        return p_choose_i * transpose(scan(lambda x, yz: reshape(yz[0] * x + yz[1], (batch,)), [transpose(passed), transpose(previous_attention)],
                                           zeros((batch,), p_choose_i.dtype)))
    if mode == "parallel":
        passed = safe_cumprod(1 - p_choose_i, axis=1, exclusive=True)
        return p_choose_i * passed * cumsum(previous_attention / clip_by_value(passed, 1e-10, 1.0), axis=1)
    if mode == "hard":
        p_choose_i *= cumsum(previous_attention, axis=1)
        return p_choose_i * cumprod(1 - p_choose_i, axis=1, exclusive=True)
    raise ValueError("mode must be 'recursive', 'parallel', or 'hard'.")


def _probability(score: Any, previous: Any, noise: float, mode: str, seed: Any) -> Tensor:
    if noise > 0:  # pushes the probabilities towards 0 and 1 in training
        score += noise * random_normal(shape(score), dtype=score.dtype, seed=seed)
    chosen = cast(score > 0, score.dtype) if mode == "hard" else sigmoid(score)
    return monotonic_attention(chosen, previous, mode)


class _Monotonic(BaseAttention):
    """What both monotonic mechanisms share."""

    _score_bias_init: float

    def initial_alignments(self, batch_size: Any, dtype: Any) -> Tensor:
        """All weight on the first place."""
        return one_hot(zeros((batch_size,), dtype=dt.int32), self._alignments_size, dtype=dtype)

    def _add_bias(self, score: Any, query: Any) -> Any:
        return score + get_variable("attention_score_bias", dtype=query.dtype.base_dtype, initializer=Constant(self._score_bias_init), shape=())


class BahdanauMonotonicAttention(_Monotonic, BahdanauAttention):
    """``tf.contrib.seq2seq.BahdanauMonotonicAttention``."""

    def __init__(self, num_units: int, memory: Any, memory_sequence_length: Any = None, normalize: bool = False, score_mask_value: Any = None,
                 sigmoid_noise: float = 0.0, sigmoid_noise_seed: Any = None, score_bias_init: float = 0.0, mode: str = "parallel", dtype: Any = None,
                 name: str = "BahdanauMonotonicAttention") -> None:
        dtype = dtype or dt.float32
        BaseAttention.__init__(self, Projection(num_units, "query_layer", dtype), memory,
                               functools.partial(_probability, noise=sigmoid_noise, mode=mode, seed=sigmoid_noise_seed), memory_sequence_length,
                               Projection(num_units, "memory_layer", dtype), True, score_mask_value, None, name)
        self._num_units, self._normalize, self._score_bias_init = num_units, normalize, score_bias_init

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        """(weights, next state)."""
        with variable_scope(None, "bahdanau_monotonic_attention", [query]):
            score = self._add_bias(self._score(query), query)
        return self._alignments(score, state)


class LuongMonotonicAttention(_Monotonic, LuongAttention):
    """``tf.contrib.seq2seq.LuongMonotonicAttention``."""

    def __init__(self, num_units: int, memory: Any, memory_sequence_length: Any = None, scale: bool = False, score_mask_value: Any = None,
                 sigmoid_noise: float = 0.0, sigmoid_noise_seed: Any = None, score_bias_init: float = 0.0, mode: str = "parallel", dtype: Any = None,
                 name: str = "LuongMonotonicAttention") -> None:
        BaseAttention.__init__(self, None, memory, functools.partial(_probability, noise=sigmoid_noise, mode=mode, seed=sigmoid_noise_seed),
                               memory_sequence_length, Projection(num_units, "memory_layer", dtype or dt.float32), True, score_mask_value, None, name)
        self._num_units, self._scale, self._score_bias_init = num_units, scale, score_bias_init

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        """(weights, next state)."""
        with variable_scope(None, "luong_monotonic_attention", [query]):
            score = self._add_bias(self._score(query), query)
        return self._alignments(score, state)
