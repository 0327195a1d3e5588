"""Batches that are asked for as such: the same elements, in the same order, with the same errors as one by one."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock import errors
from penstock.ops.data import dataset_core, dataset_shuffle

pytestmark = pytest.mark.process
Dataset = tf.data.Dataset


def everything(build, vectorise=True):
    """All elements of a dataset and the errors between them; ``vectorise`` off: functions are called, and orders drawn, for each element."""
    with tf.Graph().as_default(), tf.Session() as session, pytest.MonkeyPatch.context() as patch:
        if not vectorise:
            patch.setattr(dataset_core.BoundFunction, "vectorised", lambda self: None)
            patch.setattr(dataset_shuffle, "_are_uniform", lambda types, shapes: False)
        iterator = build().make_initializable_iterator()
        element = iterator.get_next()
        session.run(tf.tables_initializer())
        session.run(iterator.initializer)
        found = []
        while len(found) < 100:
            try:
                found.append(plain(session.run(element)))
            except errors.OutOfRangeError:
                return found
            except errors.OpError as error:
                found.append((type(error).__name__, error.message.splitlines()[0]))
        raise AssertionError("it does not end")


def plain(value):
    if isinstance(value, (tuple, list)):
        return [plain(each) for each in value]
    return (str(value.dtype), value.tolist())


ROWS = np.arange(60, dtype=np.float32).reshape(10, 3, 2)
LINES = [b"1,a", b"2,b", b"x,c", b"4,d", b"5,e", b"6,f"]

def vocabulary(lines):
    """The numbers of the words of lines."""
    table = tf.contrib.lookup.index_table_from_tensor(["a", "b", "c"], num_oov_buckets=2)
    return Dataset.from_tensor_slices(lines).map(lambda line: table.lookup(tf.string_split([line]).values))


SAME = {
    "elementwise": lambda: Dataset.range(10).map(lambda x: tf.cast(x, tf.float32) * 2.0 + 1.0).batch(4),
    "parallel": lambda: Dataset.range(10).map(lambda x: tf.exp(tf.cast(x, tf.float32)), num_parallel_calls=3).batch(4),
    "ranks": lambda: Dataset.from_tensor_slices((ROWS, np.arange(10, dtype=np.float32))).map(lambda x, y: x * y + [10.0, 20.0]).batch(3),
    "inner": lambda: Dataset.from_tensor_slices((ROWS, ROWS[:, 0])).map(lambda x, y: x - y).batch(4, drop_remainder=True),
    "constant result": lambda: Dataset.range(5).map(lambda x: (x, tf.constant(1))).batch(2),
    "captured": lambda: (lambda outer: Dataset.range(5).map(lambda x: tf.cast(x, tf.float32) + outer).batch(2))(tf.constant(3.0)),
    "order": lambda: Dataset.range(20).skip(3).take(9).repeat(2).map(lambda x: x * x).batch(5),
    "slices": lambda: Dataset.from_tensor_slices(ROWS).take(7).repeat(3).batch(4),
    "shuffled slices": lambda: Dataset.from_tensor_slices((ROWS, np.arange(10))).shuffle(4, seed=3).repeat(2).batch(6),
    "repeated, then shuffled": lambda: Dataset.range(10).repeat(3).shuffle(4, seed=3).batch(7),
    "shuffled, then repeated": lambda: Dataset.range(700).shuffle(300, seed=3).repeat(2).batch(64),
    "a buffer of one": lambda: Dataset.range(5).shuffle(1, seed=3).batch(2),
    "a buffer that is never full": lambda: Dataset.range(5).shuffle(50, seed=3).repeat(3).batch(4),
    "shuffled words": lambda: Dataset.from_tensor_slices([b"a", b"b", b"c"]).repeat(4).shuffle(5, seed=1).map(
        lambda x: tf.string_to_hash_bucket_fast(x, 99)).batch(4),
    "negative range": lambda: Dataset.range(10, 0, -3).batch(3),
    "flat map": lambda: Dataset.range(4).flat_map(lambda x: Dataset.range(x)).map(lambda x: x + 1).batch(4),
    "csv with a bad line": lambda: Dataset.from_tensor_slices(LINES).map(lambda line: tuple(tf.decode_csv(line, [[0], [""]]))).batch(4),
    "bad line at the end": lambda: Dataset.from_tensor_slices(LINES[:3]).map(lambda line: tuple(tf.decode_csv(line, [[0], [""]]))).batch(2),
    "text": lambda: Dataset.from_tensor_slices(LINES).map(lambda line: tf.string_to_hash_bucket_fast(line, 5)).batch(4),
    "words": lambda: Dataset.from_tensor_slices([b"a b", b"", b"c a"]).map(lambda line: tf.string_split([line]).values).padded_batch(2, [None], ""),
    "vocabulary": lambda: vocabulary([b"a b z", b"", b"b", b"y x b a"]).padded_batch(3, [None], tf.constant(-7, tf.int64)),
    "vocabulary, stacked": lambda: vocabulary([b"a b", b"b z", b"b"]).batch(2),
    "words, too long": lambda: vocabulary([b"a b z", b"a"]).padded_batch(1, [2]),
    "words and places": lambda: Dataset.from_tensor_slices([b"a b", b"c"]).map(lambda line: tf.string_split([line]).indices).padded_batch(2, [3, 2]),
    "interleaved": lambda: Dataset.range(4).interleave(lambda x: Dataset.range(x, x + 6), 3, 4).batch(5),
    "interleaved in threads": lambda: Dataset.range(4).interleave(lambda x: Dataset.range(x, x + 6).map(lambda y: y * x), 3, 4, 2).batch(5),
    "shapes that differ": lambda: Dataset.range(4).map(lambda x: tf.range(x)).batch(2),
    "random": lambda: Dataset.range(4).map(lambda x: tf.random_uniform([], seed=1)).batch(4),
}


@pytest.mark.parametrize("name", SAME)
def test_same_with_and_without(name):
    assert everything(SAME[name]) == everything(SAME[name], vectorise=False)


def test_functions_with_a_form_for_many_are_called_once_for_a_batch(monkeypatch):
    calls = []
    plain_call = dataset_core.BoundFunction.__call__
    monkeypatch.setattr(dataset_core.BoundFunction, "__call__", lambda self, *element: calls.append(1) or plain_call(self, *element))
    everything(lambda: Dataset.from_tensor_slices(np.arange(10)).map(lambda x: x + 1).batch(4))
    assert not calls
    everything(lambda: Dataset.from_tensor_slices(np.arange(10)).map(lambda x: x + tf.random_uniform([], 0, 2, tf.int64)).batch(4))
    assert len(calls) == 10


def test_elements_after_a_bad_one_are_not_lost():
    build = lambda: Dataset.from_tensor_slices(LINES).map(lambda line: tuple(tf.decode_csv(line, [[0], [""]]))).batch(2)
    found = everything(build)
    assert found[0] == [("int32", [1, 2]), ("object", [b"a", b"b"])]
    assert found[1][0] == "InvalidArgumentError" and "not a valid int32: x" in found[1][1]
    assert found[2] == [("int32", [4, 5]), ("object", [b"d", b"e"])]


def test_results_are_not_parts_of_the_source():
    source = np.zeros((4, 2))
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(tf.float64, [4, 2])
        iterator = Dataset.from_tensor_slices(fed).batch(2).make_initializable_iterator()
        session.run(iterator.initializer, {fed: source})
        session.run(iterator.get_next())[:] = 7
    assert not source.any()


def test_files_are_read_on_into_the_next(tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.txt").write_bytes(b"".join(b"%d-%d\n" % (number, line) for line in range(number + 2)))
    names = [str(tmp_path / f"{number}.txt") for number in range(3)]
    found = everything(lambda: tf.data.TextLineDataset(names).batch(4))
    assert [line for _, batch in found for line in batch] == [b"%d-%d" % (number, line) for number in range(3) for line in range(number + 2)]
    assert [len(batch) for _, batch in found] == [4, 4, 1]


def test_a_dataset_that_is_made_again_is_still_read_in_blocks(monkeypatch, tmp_path):
    """Each initialization of an iterator makes a dataset with seeds again."""
    path, made = str(tmp_path / "records"), []
    with tf.python_io.TFRecordWriter(path) as writer:
        for number in range(20):
            writer.write(b"%d" % number)
    blocks = dataset_shuffle._ShuffledBlocks
    monkeypatch.setattr(dataset_shuffle, "_ShuffledBlocks", lambda *arguments: made.append(1) or blocks(*arguments))
    with tf.Graph().as_default(), tf.Session() as session:
        iterator = tf.data.TFRecordDataset(path).shuffle(30, seed=1).batch(20).make_initializable_iterator()
        for times in range(1, 4):
            session.run(iterator.initializer)
            assert sorted(map(int, session.run(iterator.get_next()))) == list(range(20))
            assert len(made) == times


def test_large_batches_that_were_dropped_are_the_memory_of_later_ones_and_held_ones_stay():
    def batches(keep):
        with tf.Graph().as_default(), tf.Session() as session:
            arrays = lambda: (np.full([300, 1000], number, np.float32) for number in range(40))
            element = Dataset.from_generator(arrays, tf.float32, [300, 1000]).batch(4).make_one_shot_iterator().get_next()
            addresses, kept = set(), []
            for number in range(10):
                batch = session.run(element)
                assert (batch == np.arange(4 * number, 4 * number + 4)[:, None, None]).all()
                addresses.add(batch.__array_interface__["data"][0])
                if keep(number):
                    kept.append((number, batch[1]))
            assert all((row == 4 * number + 1).all() for number, row in kept)
            return len(addresses)

    assert batches(lambda number: True) == 10
    assert batches(lambda number: False) <= 4
    assert batches(lambda number: number % 2 == 0) >= 5
