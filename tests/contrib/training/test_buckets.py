"""``tf.contrib.training``: batches by length, and examples chosen at random."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process


def _all_batches(*tensors):
    """What the tensors give until the input ends."""
    found = []
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(coord=coordinator)
        try:
            while True:
                found.append(session.run(tensors))
        except tf.errors.OutOfRangeError:
            coordinator.request_stop()
        coordinator.join(threads)
    return found


def test_sequences_of_similar_lengths_share_a_batch():
    with tf.Graph().as_default():
        length = tf.train.range_input_producer(12, num_epochs=1, shuffle=False).dequeue()
        sequence = tf.fill([length], length)
        lengths, batch = tf.contrib.training.bucket_by_sequence_length(
            length, {"x": sequence}, batch_size=2, bucket_boundaries=[3, 7], dynamic_pad=True, allow_smaller_final_batch=True)
        found = _all_batches(lengths, batch["x"])
    assert sorted(n for lengths, _ in found for n in lengths.tolist()) == list(range(12))
    for lengths, rows in found:
        assert len({np.searchsorted([3, 7], n, side="right") for n in lengths}) == 1
        assert rows.shape == (len(lengths), max(lengths))
        for n, row in zip(lengths, rows):
            assert row.tolist() == [n] * n + [0] * (max(lengths) - n)


def test_bucket_tells_which_one_it_is_and_drops_what_is_not_kept():
    with tf.Graph().as_default():
        number = tf.train.range_input_producer(20, num_epochs=1, shuffle=False).dequeue()
        which, batch = tf.contrib.training.bucket([number], number % 2, batch_size=[2, 3], num_buckets=2, keep_input=number < 12)
        assert batch.shape.as_list() == [None]
        found = _all_batches(which, batch)
    assert sorted((int(w), b.tolist()) for w, b in found) == [(0, [0, 2]), (0, [4, 6]), (0, [8, 10]), (1, [1, 3, 5]), (1, [7, 9, 11])]


@pytest.mark.parametrize(("boundaries", "error"), [([], ValueError), (3, TypeError), ([3, 3], ValueError), ([1.0, 2.0], TypeError)])
def test_boundaries_that_are_refused(boundaries, error):
    with tf.Graph().as_default(), pytest.raises(error, match=r"[Bb]ucket"):
        tf.contrib.training.bucket_by_sequence_length(3, [tf.constant([1])], 2, boundaries)


def test_stratified_samples_have_the_wanted_shares():
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        label = tf.train.range_input_producer(2000, num_epochs=1, shuffle=False).dequeue() % 2
        (values,), labels = tf.contrib.training.stratified_sample([label * 10], label, [0.2, 0.8], batch_size=50, init_probs=[0.5, 0.5])
        found = _all_batches(values, labels)
    labels = np.concatenate([labels for _, labels in found])
    assert np.array_equal(np.concatenate([values for values, _ in found]), labels * 10)
    assert 0.75 < labels.mean() < 0.85


def test_rejection_samples_are_kept_by_their_probability():
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        number = tf.train.range_input_producer(1000, num_epochs=1, shuffle=False).dequeue()
        (batch,) = tf.contrib.training.rejection_sample([number], lambda tensors: tf.cond(tensors[0] % 2 > 0, lambda: 0.3, lambda: 0.0), 10)
        found = np.concatenate([numbers for (numbers,) in _all_batches(batch)])
    assert np.all(found % 2 == 1) and 100 < len(found) < 200


def test_rows_are_repeated_at_their_rate():
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(3)
        (rows,) = tf.contrib.training.resample_at_rate([tf.range(4)], [0.0, 1.0, 5.0, 0.0])
        (weighted,), rates = tf.contrib.training.weighted_resample([tf.range(3)], tf.constant([0.0, 1.0, 3.0]), 2.0)
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        found = np.concatenate([session.run(rows) for _ in range(200)])
        assert set(found) == {1, 2} and 0.15 < np.mean(found == 1) < 0.19 and 1000 < len(found) < 1400
        rows, rates = session.run([weighted, rates])
        assert len(rows) == len(rates) and not np.any(rows == 0)
