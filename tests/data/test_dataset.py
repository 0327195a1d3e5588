"""Datasets: descriptions, caches, shuffling, errors in arguments."""
from __future__ import annotations

import time

import numpy as np
import pytest

import penstock as tf
from support.pipelines import listed

Dataset, experimental = tf.data.Dataset, tf.data.experimental


def test_what_a_dataset_says_of_itself():
    dataset = Dataset.from_tensor_slices((np.zeros((4, 3), np.float32), [1, 2, 3, 4])).batch(2, drop_remainder=True)
    assert dataset.output_types == (tf.float32, tf.int32)
    assert [shape.as_list() for shape in dataset.output_shapes] == [[2, 3], [2]]
    assert tf.data.get_output_shapes(dataset) == dataset.output_shapes
    assert tf.data.get_output_types(dataset.make_one_shot_iterator()) == dataset.output_types
    assert tf.data.get_output_classes(dataset) == (tf.Tensor, tf.Tensor)
    assert "shapes" in repr(dataset)
    with pytest.raises(RuntimeError, match="__iter__"):
        iter(dataset)


# --- caches ----------------------------------------------------------------------------------------------------------

def _counted(calls):
    return Dataset.range(3).map(lambda v: tf.py_func(lambda value: (calls.append(int(value)), value)[1], [v], tf.int64))


def test_cache_in_memory():
    calls: list[int] = []
    assert listed(_counted(calls).cache().repeat(3)) == [0, 1, 2] * 3
    assert calls == [0, 1, 2]


def test_an_incomplete_cache_is_not_used():
    calls: list[int] = []
    assert listed(_counted(calls).cache().take(2).repeat(2)) == [0, 1, 0, 1]
    assert calls == [0, 1, 0, 1]


def test_cache_in_a_file(tmp_path):
    calls: list[int] = []
    path = str(tmp_path / "cache")
    dataset = _counted(calls).map(lambda x: (x, tf.as_string(x), tf.fill([x], 0.5))).cache(path)
    once = listed(dataset)
    assert [tuple(np.asarray(part).tolist() for part in element) for element in once] == [(0, b"0", []), (1, b"1", [0.5]), (2, b"2", [0.5, 0.5])]
    again = listed(dataset)
    assert calls == [0, 1, 2] and [element[1] for element in again] == [b"0", b"1", b"2"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["cache"]


def test_a_cache_in_a_file_is_written_by_batches(tmp_path):
    calls: list[int] = []
    dataset = _counted(calls).cache(str(tmp_path / "cache")).batch(2)
    assert listed(dataset) == listed(dataset) == [[0, 1], [2]] and calls == [0, 1, 2]


def test_two_writers_of_a_cache(tmp_path):
    dataset = Dataset.range(3).cache(str(tmp_path / "cache"))
    one, other = (dataset.make_initializable_iterator() for _ in range(2))
    with tf.Session() as sess:
        sess.run(one.initializer)
        sess.run(one.get_next())
        sess.run(other.initializer)
        with pytest.raises(tf.errors.AlreadyExistsError, match="lockfile"):
            sess.run(other.get_next())


def test_a_damaged_cache_file(tmp_path):
    dataset = Dataset.range(3).cache(str(tmp_path / "cache"))
    listed(dataset)
    data = bytearray((tmp_path / "cache").read_bytes())
    data[-3] ^= 0xFF
    (tmp_path / "cache").write_bytes(data)
    with pytest.raises(tf.errors.DataLossError):
        listed(dataset)


# --- further transformations -----------------------------------------------------------------------------------------

def test_shuffle_without_a_seed_differs_from_run_to_run():
    dataset = Dataset.range(200).shuffle(200)
    one, other = listed(dataset), listed(dataset)
    assert sorted(one) == sorted(other) == list(range(200)) and one != other


def test_shuffle_keeps_its_distance():
    values = listed(Dataset.range(300).shuffle(20, seed=1))
    assert sorted(values) == list(range(300)) and all(value < place + 20 for place, value in enumerate(values))


def test_a_huge_buffer_costs_nothing():
    assert sorted(listed(Dataset.range(5).shuffle(10**12, seed=1))) == [0, 1, 2, 3, 4]


def test_ignore_errors_does_not_ignore_a_deadline():
    slow = Dataset.range(3).map(lambda v: tf.py_func(lambda value: (time.sleep(0.6), value)[1], [v], tf.int64)).prefetch(1)
    x = slow.apply(experimental.ignore_errors()).make_one_shot_iterator().get_next()
    with tf.Session() as sess, pytest.raises(tf.errors.DeadlineExceededError):
        sess.run(x, options=tf.RunOptions(timeout_in_ms=100))


def test_apply_must_give_a_dataset():
    with pytest.raises(TypeError, match="must return a Dataset"):
        Dataset.range(3).apply(lambda dataset: 3)


def test_old_names():
    contrib = tf.contrib.data
    assert contrib.Dataset is Dataset and contrib.AUTOTUNE == -1
    pool = contrib.python.ops.threadpool.PrivateThreadPool(4, display_name="pool")
    dataset = contrib.python.ops.threadpool.override_threadpool(Dataset.range(5), pool)
    assert listed(dataset.apply(contrib.batch_and_drop_remainder(2))) == [[0, 1], [2, 3]]
    assert listed(dataset.apply(contrib.prefetch_to_device("/gpu:0"))) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(("options", "nodes"), [
    ({}, ["optimizations", "OptimizeDataset", "ModelDataset"]),
    ({"apply_default_optimizations": False}, ["ModelDataset"]),
    ({"autotune": False}, ["optimizations", "OptimizeDataset"]),
    ({"apply_default_optimizations": False, "autotune": False}, []),
])
def test_an_iterator_has_the_nodes_of_tensorflow(options, nodes):
    """As in TensorFlow 1.15.5: the seeds of random ops that are made after it, and are given none, depend on their number."""
    wanted = tf.data.Options()
    for name, value in options.items():
        setattr(wanted.experimental_optimization, name, value)
    with tf.Graph().as_default() as graph:
        Dataset.range(3).with_options(wanted).make_initializable_iterator()
        names = [op.name for op in graph.get_operations()]
    assert names == ["start", "stop", "step", "RangeDataset", *nodes, "IteratorV2", "MakeIterator", "IteratorToStringHandle"]
