"""Candidate samplers: which classes stand in for all of them in a sampled loss, and how often each was to be expected.

The numbers are TensorFlow's for the same seeds. A sampler reads 32-bit words from its Philox stream one by one; here a whole stretch of
words becomes classes at once, which gives the same classes because no draw depends on what was drawn before it.
"""
from __future__ import annotations

import threading
from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.attrs import BOOL, INT, Attr, count
from penstock.graph.opdef import op
from penstock.graph.seeds import get_seed
from penstock.graph.shape import TensorShape
from penstock.ops.random.philox import Philox
from penstock.ops.random.random import generator
from penstock.ops.text.files import file_error, path_of

_WORDS_PER_SAMPLE = 2048  # what a run reserves of its stream, for the draws that are rejected
_SIGNATURE = "true_classes: int64 -> sampled_candidates: int64, true_expected_count: float, sampled_expected_count: float"


class Uniform:
    """Every class of [0, range_max) alike."""

    def __init__(self, range_max: int) -> None:
        self.range_max = range_max

    def draws(self, words: np.ndarray) -> np.ndarray:
        """The classes that a stretch of the stream gives: two words are a 64-bit number."""
        return bounded(_wide(words), self.range_max).astype(np.int64)

    def probability(self, classes: np.ndarray) -> np.ndarray:
        """How probable each class is in one draw."""
        return np.full(classes.shape, 1.0 / self.range_max, np.float32)


class LogUniform(Uniform):
    """Class k with a probability of about 1 / (k + 1): for classes sorted by falling frequency."""

    def draws(self, words: np.ndarray) -> np.ndarray:
        """The classes that a stretch of the stream gives."""
        high, low = words[0::2].astype(np.uint64), words[1::2].astype(np.uint64)
        bits = np.uint64(1023 << 52) | ((high & np.uint64(0xFFFFF)) << np.uint64(32)) | low
        fractions = bits.view(np.float64) - 1.0
        return (np.exp(fractions * np.log1p(self.range_max)).astype(np.int64) - 1) % self.range_max

    def probability(self, classes: np.ndarray) -> np.ndarray:
        """How probable each class is in one draw."""
        return (np.log((classes + 2.0) / (classes + 1.0)) / np.log1p(self.range_max)).astype(np.float32)


class LearnedUnigram(Uniform):
    """Each class as often as it was a true class before (plus one)."""

    def __init__(self, range_max: int) -> None:
        super().__init__(range_max)
        self.weights = np.ones(range_max, np.int64)
        self.lock = threading.Lock()

    def draws(self, words: np.ndarray) -> np.ndarray:
        """The classes that a stretch of the stream gives."""
        ends = np.cumsum(self.weights)
        return np.searchsorted(ends, bounded(words, int(ends[-1])), side="right")

    def probability(self, classes: np.ndarray) -> np.ndarray:
        """How probable each class is in one draw."""
        return self.weights[classes].astype(np.float32) / np.float32(self.weights.sum())

    def learn(self, classes: np.ndarray) -> None:
        """Counts true classes."""
        np.add.at(self.weights, classes.reshape(-1), 1)


class FixedUnigram(Uniform):
    """Classes in proportion to given weights, drawn by the alias method."""

    def __init__(self, weights: np.ndarray) -> None:
        super().__init__(len(weights))
        self.weights = weights.astype(np.float32)
        self.share, self.alias = _alias_table(self.weights)

    def draws(self, words: np.ndarray) -> np.ndarray:
        """The classes that a stretch of the stream gives: a fraction and a bucket each."""
        rejected = np.uint32((0xFFFFFFFF % self.range_max) + 1) if self.range_max & (self.range_max - 1) else np.uint32(0)
        pairs = words[:len(words) // 2 * 2].reshape(-1, 2)
        bad = np.flatnonzero(pairs[:, 1] < rejected)
        if len(bad):  # its fraction stays, the next word is its bucket
            return self.draws(np.delete(words, 2 * bad[0] + 1))
        fraction = ((pairs[:, 0] & np.uint32(0x7FFFFF)) | np.uint32(127 << 23)).view(np.float32) - np.float32(1.0)
        bucket = (pairs[:, 1] % np.uint32(self.range_max)).astype(np.int64)
        return np.where(fraction < self.share[bucket], bucket, self.alias[bucket])

    def probability(self, classes: np.ndarray) -> np.ndarray:
        """How probable each class is in one draw; 0 for classes without a weight."""
        known = (classes >= 0) & (classes < self.range_max)
        return np.where(known, self.weights[np.where(known, classes, 0)] / self.weights.sum(dtype=np.float32), np.float32(0))


def _wide(words: np.ndarray) -> np.ndarray:
    """Pairs of words as 64-bit numbers, the lower half first."""
    words = words[:len(words) // 2 * 2].astype(np.uint64)
    return words[0::2] | (words[1::2] << np.uint64(32))


def bounded(numbers: np.ndarray, limit: int) -> np.ndarray:
    """Random unsigned numbers as numbers below ``limit``; the few that would favour small results are dropped."""
    kind = numbers.dtype.type
    if limit & (limit - 1) == 0:
        return numbers & kind(limit - 1)
    rejected = kind(int(np.iinfo(kind).max) % limit + 1)
    return numbers[numbers >= rejected] % kind(limit)


def _alias_table(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Buckets of equal probability that hold at most two classes: (share of its own class, the other class) of each."""
    size = len(weights)
    share = weights.astype(np.float64) * size / weights.astype(np.float64).sum()
    alias = np.arange(size)
    low, high = [i for i in range(size) if share[i] < 1.0], [i for i in range(size) if share[i] >= 1.0]
    while low and high:
        small, large = low.pop(), high.pop()
        alias[small] = large
        share[large] -= 1.0 - share[small]
        (low if share[large] < 1.0 else high).append(large)
    share[low + high] = 1.0  # what is left differs from 1 by rounding
    return share.astype(np.float32), alias


def _sample(sampler: Any, stream: Philox, wanted: int, unique: bool) -> tuple[np.ndarray, int]:
    """(classes, number of draws they took)."""
    blocks = wanted
    while True:
        draws = sampler.draws(stream.blocks(blocks).reshape(-1))
        if unique:
            first = np.sort(np.unique(draws, return_index=True)[1])
            if len(first) >= wanted:
                return draws[first[:wanted]], int(first[wanted - 1]) + 1
        elif len(draws) >= wanted:
            return draws[:wanted], wanted
        blocks *= 2


def _expected_count(probability: np.ndarray, wanted: int, draws: int) -> np.ndarray:
    """How often a class was to be expected among the samples."""
    if draws == wanted:
        return probability * np.float32(wanted)
    return -np.expm1(np.float32(draws) * np.log1p(-probability))


def _candidates(sampler: Any, ctx: Any, true_classes: np.ndarray, num_sampled: int, unique: bool, seed: int, seed2: int) -> Any:
    if unique and num_sampled > sampler.range_max:
        raise invalid_argument("Sampler's range is too small.")
    stream = generator(ctx, seed, seed2).reserve(_WORDS_PER_SAMPLE * num_sampled // 4)
    classes, draws = _sample(sampler, stream, num_sampled, unique)
    counts = [_expected_count(sampler.probability(these), num_sampled, draws) for these in (true_classes, classes)]
    return classes.astype(np.int64), *counts


def _check_true(true_classes: np.ndarray, num_true: int) -> None:
    if true_classes.ndim != 2:
        raise invalid_argument("true_classes must be a matrix")
    if true_classes.shape[1] != num_true:
        raise invalid_argument(f"true_classes must have num_true columns, expected: {true_classes.shape[1]} was: {num_true}")


def _sampler_shape(true_classes, num_true, num_sampled):
    batch, columns = true_classes.shape.with_rank(2).extents
    if columns is not None and columns != num_true:
        raise ValueError(f"Dimension must be {num_true} but is {columns}")
    return [TensorShape._of((num_sampled,)), TensorShape._of((batch, num_true)), TensorShape._of((num_sampled,))]


_ATTRS = {"num_true": count(1), "num_sampled": count(1), "unique": BOOL, "range_max": count(1), "seed": 0, "seed2": 0}


@op("UniformCandidateSampler", _SIGNATURE, **_ATTRS)
class UniformCandidateSampler:
    """Classes drawn evenly from [0, range_max)."""

    stateful = True
    shape = _sampler_shape
    gradient = None

    def kernel(true_classes, ctx, num_true, num_sampled, unique, range_max, seed, seed2):
        _check_true(true_classes, num_true)
        return _candidates(Uniform(range_max), ctx, true_classes, num_sampled, unique, seed, seed2)


@op("LogUniformCandidateSampler", _SIGNATURE, **_ATTRS)
class LogUniformCandidateSampler:
    """Classes drawn from an approximately log-uniform (Zipfian) distribution over [0, range_max)."""

    stateful = True
    shape = _sampler_shape
    gradient = None

    def kernel(true_classes, ctx, num_true, num_sampled, unique, range_max, seed, seed2):
        _check_true(true_classes, num_true)
        return _candidates(LogUniform(range_max), ctx, true_classes, num_sampled, unique, seed, seed2)


def _learned_kernel(true_classes, ctx, num_true, num_sampled, unique, range_max, seed, seed2):
    _check_true(true_classes, num_true)
    if true_classes.size and not (true_classes.min() >= 0 and true_classes.max() < range_max):
        raise invalid_argument(f"true_classes must be in [0, {range_max})")
    sampler = ctx.state.get("learned") or ctx.state.setdefault("learned", LearnedUnigram(range_max))
    with sampler.lock:
        result = _candidates(sampler, ctx, true_classes, num_sampled, unique, seed, seed2)
        sampler.learn(true_classes)
    return result


@op("LearnedUnigramCandidateSampler", _SIGNATURE, **_ATTRS)
class LearnedUnigramCandidateSampler:
    """Classes drawn as often as they were true classes in earlier steps."""

    stateful = True
    shape = _sampler_shape
    gradient = None
    kernel = _learned_kernel


@op("ThreadUnsafeUnigramCandidateSampler", _SIGNATURE, **_ATTRS)
class ThreadUnsafeUnigramCandidateSampler:
    """Classes drawn as often as they were true classes in earlier steps; here as safe as its sibling."""

    stateful = True
    shape = _sampler_shape
    gradient = None
    kernel = _learned_kernel


@op("FixedUnigramCandidateSampler", _SIGNATURE, num_true=count(1), num_sampled=count(1), unique=BOOL, range_max=count(1),
    vocab_file="", distortion=1.0, num_reserved_ids=0, num_shards=Attr("int", 1, minimum=1), shard=Attr("int", 0, minimum=0),
    unigrams=Attr("list(float)", ()), seed=0, seed2=0)
class FixedUnigramCandidateSampler:
    """Classes drawn in proportion to weights from a file or a list, raised to the power ``distortion``."""

    touches = lambda attrs: "files" if attrs["vocab_file"] else ""
    stateful = True
    shape = _sampler_shape
    gradient = None

    def kernel(true_classes, ctx, num_true, num_sampled, unique, range_max, vocab_file, distortion, num_reserved_ids, num_shards,
               shard, unigrams, seed, seed2):
        _check_true(true_classes, num_true)
        sampler = ctx.state.get("fixed")
        if sampler is None:
            weights = _fixed_weights(vocab_file, unigrams, distortion, num_reserved_ids, num_shards, shard, range_max)
            if not np.isfinite(weights).all() or (unique and np.count_nonzero(weights) < num_sampled):
                raise invalid_argument(f"{num_sampled} candidates (unique: {unique}) cannot be drawn by these unigrams and distortion {distortion}")
            sampler = ctx.state["fixed"] = FixedUnigram(weights)
        return _candidates(sampler, ctx, true_classes, num_sampled, unique, seed, seed2)


def _fixed_weights(vocab_file: str, unigrams: Any, distortion: float, reserved: int, shards: int, shard: int, range_max: int) -> np.ndarray:
    """The weights of the classes of one shard; reserved classes come first and are never drawn."""
    if bool(vocab_file) == bool(unigrams):
        raise invalid_argument("Must provide either vocab_file or unigrams.")
    if reserved < 0 or shard >= shards:
        raise invalid_argument(f"num_reserved_ids must not be negative, and shard less than num_shards, got {reserved}, {shard} and {shards}")
    if vocab_file:
        unigrams = _last_column(path_of(vocab_file))
    loaded = len(range(shard, reserved + len(unigrams), shards))
    if loaded != range_max:
        raise invalid_argument(f"range is {range_max} must be equal to the number of loaded weights, {loaded}")
    weights = np.concatenate([np.zeros(reserved), np.asarray(unigrams, np.float64) ** distortion])
    return weights[shard::shards]


def _last_column(path: str) -> list[float]:
    """The numbers in the last column of a file of comma-separated values."""
    try:
        with open(path, encoding="utf-8", errors="replace") as lines:
            return [float(line.rsplit(",", 1)[-1]) for line in lines if line.strip()]
    except OSError as error:
        raise file_error(error, path) from None
    except ValueError as error:
        raise invalid_argument(f"{path}: the last column must hold weights: {error}") from None


@op("AllCandidateSampler", _SIGNATURE, num_true=count(1), num_sampled=count(1), unique=BOOL, seed=0, seed2=0)
class AllCandidateSampler:
    """All classes of [0, num_sampled), for tests."""

    stateful = True
    shape = _sampler_shape
    gradient = None

    def kernel(true_classes, num_true, num_sampled):
        _check_true(true_classes, num_true)
        return np.arange(num_sampled), np.ones(true_classes.shape, np.float32), np.ones(num_sampled, np.float32)


@op("ComputeAccidentalHits", "true_classes: int64, sampled_candidates: int64 -> indices: int32, ids: int64, weights: float",
    num_true=INT, seed=0, seed2=0)
class ComputeAccidentalHits:
    """Where a sampled class is a true class: (row, position among the samples, a weight that rules it out)."""

    ranks = {"sampled_candidates": 1}
    gradient = None

    def shape(true_classes, num_true):
        columns = true_classes.shape.with_rank(2).extents[1]
        if columns is not None and columns != num_true:
            raise ValueError(f"Dimension must be {num_true} but is {columns}")
        return [[None], [None], [None]]

    def kernel(true_classes, sampled_candidates, num_true):
        _check_true(true_classes, num_true)
        classes, last = np.unique(sampled_candidates[::-1], return_index=True)
        slot = np.minimum(np.searchsorted(classes, true_classes), max(len(classes) - 1, 0))
        hit = classes[slot] == true_classes if len(classes) else np.zeros(true_classes.shape, bool)
        rows = np.nonzero(hit)[0].astype(np.int32)
        positions = len(sampled_candidates) - 1 - last[slot[hit]] if len(classes) else np.zeros(0, np.int64)
        return rows, positions.astype(np.int64), np.full(len(rows), np.finfo(np.float32).min, np.float32)


def _public(definition: Any) -> Any:
    def sampler(true_classes: Any, num_true: int, num_sampled: int, unique: bool, range_max: int, seed: Any = None,
                name: str | None = None) -> Any:
        seed1, seed2 = get_seed(seed)
        return definition(true_classes, num_true=num_true, num_sampled=num_sampled, unique=unique, range_max=range_max, seed=seed1, seed2=seed2,
                          name=name)
    sampler.__doc__ = definition.__doc__
    return sampler


uniform_candidate_sampler = _public(UniformCandidateSampler)
log_uniform_candidate_sampler = _public(LogUniformCandidateSampler)
learned_unigram_candidate_sampler = _public(LearnedUnigramCandidateSampler)



def fixed_unigram_candidate_sampler(true_classes: Any, num_true: int, num_sampled: int, unique: bool, range_max: int,
                                    vocab_file: str = "", distortion: float = 1.0, num_reserved_ids: int = 0, num_shards: int = 1,
                                    shard: int = 0, unigrams: Any = (), seed: Any = None, name: str | None = None) -> Any:
    """``tf.nn.fixed_unigram_candidate_sampler``: classes drawn in proportion to weights from a file or a list."""
    seed1, seed2 = get_seed(seed)
    return FixedUnigramCandidateSampler(
        true_classes, num_true=num_true, num_sampled=num_sampled, unique=unique, range_max=range_max, vocab_file=vocab_file,
        distortion=distortion, num_reserved_ids=num_reserved_ids, num_shards=num_shards, shard=shard, unigrams=unigrams, seed=seed1,
        seed2=seed2, name=name)


def all_candidate_sampler(true_classes: Any, num_true: int, num_sampled: int, unique: bool, seed: Any = None,
                          name: str | None = None) -> Any:
    """``tf.nn.all_candidate_sampler``: every class, for tests."""
    seed1, seed2 = get_seed(seed)
    return AllCandidateSampler(true_classes, num_true=num_true, num_sampled=num_sampled, unique=unique, seed=seed1, seed2=seed2, name=name)


def compute_accidental_hits(true_classes: Any, sampled_candidates: Any, num_true: int, seed: Any = None,
                            name: str | None = None) -> Any:
    """``tf.nn.compute_accidental_hits``: (indices, ids, weights) of the samples that are true classes."""
    seed1, seed2 = get_seed(seed)
    return ComputeAccidentalHits(true_classes, sampled_candidates, num_true=num_true, seed=seed1, seed2=seed2, name=name)
