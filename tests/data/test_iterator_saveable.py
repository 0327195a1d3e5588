"""Iterators in checkpoints."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.data.iterator_saveable import restore_iterator, save_iterator
from support.pipelines import drain

Dataset, experimental = tf.data.Dataset, tf.data.experimental

_RESTORABLE = {
    "seeded": lambda: Dataset.range(60).shuffle(50, seed=2),
    "unseeded": lambda: Dataset.range(60).shuffle(50).batch(2),
    "repeated": lambda: Dataset.range(9).shuffle(50).repeat(4).prefetch(2),
    "in one order": lambda: Dataset.range(9).shuffle(9, reshuffle_each_iteration=False).repeat(4),
    "zipped": lambda: Dataset.zip((Dataset.range(30).shuffle(9), Dataset.range(30).shuffle(9))).map(lambda a, b: a * 100 + b),
    "numbers": lambda: experimental.RandomDataset().take(30),
    "kept": lambda: Dataset.range(30).cache().repeat(2),
    "nested": lambda: Dataset.range(12).interleave(lambda x: Dataset.from_tensors(x).repeat(3), cycle_length=3),
    "filtered": lambda: Dataset.range(60).filter(lambda x: tf.equal(x % 2, 0)),
}


@pytest.mark.parametrize("kind", _RESTORABLE)
def test_an_iterator_in_a_checkpoint(tmp_path, kind):
    iterator = _RESTORABLE[kind]().make_initializable_iterator()
    tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, experimental.make_saveable_from_iterator(iterator))
    x, saver = iterator.get_next(), tf.train.Saver()
    with tf.Session() as sess:
        sess.run(iterator.initializer)
        for _ in range(10):
            sess.run(x)
        path = saver.save(sess, str(tmp_path / "model"))
        wanted = np.array(drain(sess, x))
        assert len(wanted)
        for _ in range(2):  # back from the end of the data, as often as one likes
            saver.restore(sess, path)
            np.testing.assert_array_equal(drain(sess, x), wanted)
        sess.run(iterator.initializer)
        saver.restore(sess, path)
        np.testing.assert_array_equal(drain(sess, x), wanted)
        end = saver.save(sess, str(tmp_path / "end"))
    with tf.Session() as sess:
        sess.run(iterator.initializer)
        saver.restore(sess, path)
        np.testing.assert_array_equal(drain(sess, x), wanted)
        saver.restore(sess, end)
        assert drain(sess, x) == []


def test_the_place_of_an_iterator_that_has_not_started(tmp_path):
    iterator = Dataset.range(3).make_initializable_iterator()
    saver = tf.train.Saver([experimental.make_saveable_from_iterator(iterator)])
    with tf.Session() as sess:
        with pytest.raises(tf.errors.FailedPreconditionError, match=r"Save\(\) failed"):
            saver.save(sess, str(tmp_path / "model"))
        sess.run(iterator.initializer)
        path = saver.save(sess, str(tmp_path / "model"))
    with tf.Session() as sess, pytest.raises(tf.errors.FailedPreconditionError, match=r"Restore\(\) failed"):
        saver.restore(sess, path)


def test_the_way_to_a_stored_place_passes_over_what_could_not_be_made(tmp_path):
    iterator = Dataset.range(6).map(lambda v: tf.check_numerics(1.0 / (tf.to_float(v) - 1.0), "division")).make_initializable_iterator()
    x, saver = iterator.get_next(), tf.train.Saver([experimental.make_saveable_from_iterator(iterator)])
    with tf.Session() as sess:
        sess.run(iterator.initializer)
        sess.run(x)
        with pytest.raises(tf.errors.InvalidArgumentError, match="division"):
            sess.run(x)
        path = saver.save(sess, str(tmp_path / "model"))
        wanted = drain(sess, x)
        saver.restore(sess, path)
        assert drain(sess, x) == wanted and len(wanted) == 4


def test_a_place_of_another_dataset_is_refused(tmp_path):
    one, other = Dataset.range(9).shuffle(3), Dataset.zip((Dataset.range(9).shuffle(3), Dataset.range(9).shuffle(3))).map(lambda a, b: a + b)
    iterator = tf.data.Iterator.from_structure(tf.int64, [])
    start, start_other = iterator.make_initializer(one), iterator.make_initializer(other)
    saver = tf.train.Saver([experimental.make_saveable_from_iterator(iterator)])
    with tf.Session() as sess:
        sess.run(start)
        path = saver.save(sess, str(tmp_path / "model"))
        sess.run(start_other)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"2 seeds, but .* has 4"):
            saver.restore(sess, path)


def restored_elsewhere(dataset, path, taken):
    """What comes after ``taken`` elements, from an iterator in another graph that was never given the dataset."""
    with tf.Graph().as_default(), tf.Session() as sess:
        iterator = dataset().make_initializable_iterator()
        x, save = iterator.get_next(), save_iterator(iterator._iterator_resource, path)
        sess.run(iterator.initializer)
        for _ in range(taken):
            sess.run(x)
        sess.run(save)
        wanted = drain(sess, x)
        types, shapes = iterator.output_types, iterator.output_shapes
    with tf.Graph().as_default(), tf.Session() as sess:
        iterator = tf.data.Iterator.from_structure(types, shapes)
        x, restore = iterator.get_next(), restore_iterator(iterator._iterator_resource, path)
        sess.run(restore)
        return drain(sess, x), wanted


@pytest.mark.parametrize("taken", [0, 3, 12])
def test_an_iterator_that_is_saved_by_an_operation_brings_its_dataset(tmp_path, taken):
    (tmp_path / "lines").write_text("one\ntwo\nthree\n")
    pipelines = {"numbers": lambda: Dataset.range(3).repeat(4),
                 "shuffled": lambda: Dataset.zip((Dataset.range(12).shuffle(5), Dataset.from_tensor_slices(np.arange(12.0)))),
                 "lines": lambda: tf.data.TextLineDataset([str(tmp_path / "lines")] * 4),
                 "mapped": lambda: Dataset.range(24).map(lambda v: tf.to_float(v) / 2.0).batch(2)}
    for name, dataset in pipelines.items():
        given, wanted = restored_elsewhere(dataset, str(tmp_path / name), taken)
        assert len(wanted) == 12 - taken
        np.testing.assert_array_equal(given, wanted)


def test_a_dataset_with_variables_is_not_saved(tmp_path):
    factor = tf.Variable(2.0, use_resource=True)
    iterator = Dataset.range(5).map(lambda v: tf.to_float(v) * factor).make_initializable_iterator()
    x, path = iterator.get_next(), str(tmp_path / "place")
    save, restore = save_iterator(iterator._iterator_resource, path), restore_iterator(iterator._iterator_resource, path)
    with tf.Session() as sess:
        sess.run([factor.initializer, iterator.initializer])
        sess.run(x)
        sess.run(save)
        sess.run(x)
        sess.run(restore)
        assert drain(sess, x) == [2.0, 4.0, 6.0, 8.0]
    with tf.Session() as sess, pytest.raises(tf.errors.FailedPreconditionError, match=r"Restore\(\) failed"):
        sess.run(restore)
