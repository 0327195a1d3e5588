"""Candidate samplers from step to step: their streams go on, and the learned one learns. Wanted values are from TensorFlow 1.15."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process

TRUE = np.array([[1], [5], [3]])
UNIGRAMS = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]


def two_steps(build):
    """What two steps give under the graph-level seed 7."""
    with tf.Graph().as_default():
        tf.set_random_seed(7)
        result = build()
        with tf.Session() as session:
            return session.run(result), session.run(result)


@pytest.mark.parametrize(("sampler", "unique", "first", "second"), [
    (tf.nn.uniform_candidate_sampler, False, [1, 8, 2, 2, 8, 0], [1, 4, 9, 8, 1, 7]),
    (tf.nn.uniform_candidate_sampler, True, [1, 8, 2, 0, 6, 9], [1, 4, 9, 8, 7, 6]),
    (tf.nn.log_uniform_candidate_sampler, False, [0, 2, 9, 0, 1, 5], [8, 2, 0, 1, 8, 5]),
    (tf.nn.log_uniform_candidate_sampler, True, [0, 2, 9, 1, 5, 3], [8, 2, 0, 1, 5, 7]),
    (tf.nn.learned_unigram_candidate_sampler, False, [3, 8, 0, 8, 2, 0], [8, 5, 7, 0, 5, 6]),
    (tf.nn.learned_unigram_candidate_sampler, True, [3, 8, 0, 2, 6, 4], [8, 5, 7, 0, 6, 4]),
])
def test_stream_goes_on(sampler, unique, first, second):
    steps = two_steps(lambda: sampler(TRUE, 1, 6, unique, 10, seed=3))
    assert [step.sampled_candidates.tolist() for step in steps] == [first, second]


@pytest.mark.parametrize(("unique", "first", "second"), [
    (False, [8, 8, 7, 6, 9, 1], [1, 8, 6, 9, 9, 6]), (True, [8, 7, 6, 9, 1, 5], [1, 8, 6, 9, 5, 4])])
def test_fixed_unigram_stream(unique, first, second):
    steps = two_steps(lambda: tf.nn.fixed_unigram_candidate_sampler(TRUE, 1, 6, unique, 10, unigrams=UNIGRAMS, seed=3))
    assert [step.sampled_candidates.tolist() for step in steps] == [first, second]


def test_learned_counts():
    before, after = two_steps(lambda: tf.nn.learned_unigram_candidate_sampler(TRUE, 1, 6, False, 10, seed=3))
    np.testing.assert_allclose(before.true_expected_count, [[0.6]] * 3, rtol=1e-6)
    np.testing.assert_allclose(after.true_expected_count, [[6 * 2 / 13]] * 3, rtol=1e-6)


def test_vocabulary_file(tmp_path):
    path = tmp_path / "vocabulary.csv"
    path.write_text("".join(f"word{number},{weight}\n" for number, weight in enumerate(UNIGRAMS)))
    from_file, from_list = (two_steps(lambda given=given: tf.nn.fixed_unigram_candidate_sampler(TRUE, 1, 6, False, 10, seed=3, **given))[0]
                            for given in ({"vocab_file": str(path)}, {"unigrams": UNIGRAMS}))
    assert from_file.sampled_candidates.tolist() == from_list.sampled_candidates.tolist()


def test_shards_split_the_classes():
    halves = [two_steps(lambda shard=shard: tf.nn.fixed_unigram_candidate_sampler(
        np.array([[0]]), 1, 5, True, 5, unigrams=UNIGRAMS, num_shards=2, shard=shard, seed=3))[0] for shard in (0, 1)]
    assert [sorted(half.sampled_candidates.tolist()) for half in halves] == [[0, 1, 2, 3, 4]] * 2
    assert halves[0].true_expected_count < halves[1].true_expected_count  # class 0 of shard 0 weighs 1, of shard 1 it weighs 2
