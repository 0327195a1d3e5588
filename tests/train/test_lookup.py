"""Lookup tables: filled once, or changed by steps."""
from __future__ import annotations

import threading

import numpy as np
import pytest

import penstock as tf
from support.tables import run

L = tf.contrib.lookup


# --- tables that are filled once -------------------------------------------------------------------------------------

def test_hash_table():
    table = L.HashTable(L.KeyValueTensorInitializer(["a", "b"], [1, 2], tf.string, tf.int64), -1)
    found, size = table.lookup(tf.constant([["a"], ["z"]])), table.size()
    assert found.shape.as_list() == [2, 1] and table.name == "hash_table"
    with tf.Session() as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match=r"Table not initialized\."):
            session.run(found)
        assert session.run(size) == 0
        session.run(tf.tables_initializer())
        session.run(table.init)  # again: the same entries
        assert session.run(found).tolist() == [[1], [-1]] and session.run(size) == 2
        assert [array.tolist() for array in session.run(table.export())] == [[b"a", b"b"], [1, 2]]


@pytest.mark.parametrize(("keys", "values"), [([1, 2], [0.5, 1.5]), ([1, 2], ["x", "y"]), ([0.5, 1.5], [1, 2]), ([1, 2], [True, False])])
def test_types(keys, values):
    default = {"U": "none", "b": False}.get(np.asarray(values).dtype.kind, 0)
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), default)
    found = run(table.lookup(tf.constant(keys[::-1])))
    assert found.tolist() == [value.encode() if isinstance(value, str) else value for value in values[::-1]]


def test_sparse_keys_give_sparse_values():
    table = L.HashTable(L.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1)
    found = run(table.lookup(tf.SparseTensor([[0, 1], [2, 0]], ["b", "z"], [3, 2])))
    assert found.values.tolist() == [2, -1] and found.dense_shape.tolist() == [3, 2]


def test_conflicting_entries():
    L.HashTable(L.KeyValueTensorInitializer(["a", "a"], [1, 2]), -1)
    with tf.Session() as session, pytest.raises(tf.errors.FailedPreconditionError, match="Key a has 1 and trying to add value 2"):
        session.run(tf.tables_initializer())


def test_other_entries_after_the_first():
    keys = tf.placeholder_with_default(["a", "b"], [2])
    table = L.HashTable(L.KeyValueTensorInitializer(keys, [1, 2]), -1)
    with tf.Session() as session:
        session.run(table.init)
        with pytest.raises(tf.errors.FailedPreconditionError, match="already initialized with different data"):
            session.run(table.init, {keys: ["a", "c"]})


def test_wrong_types():
    table = L.HashTable(L.KeyValueTensorInitializer(["a"], [1]), -1)
    with pytest.raises(TypeError, match=r"Keys must be dtype <dtype: 'string'>, got <dtype: 'int32'>"):
        table.lookup(tf.constant([1]))
    with pytest.raises(ValueError, match="wrong dtype"):
        tf.raw_ops.LookupTableFindV2(table_handle=table.resource_handle, keys=["a"], default_value=1.5)


def test_tables_initializer_without_tables():
    assert tf.tables_initializer().type == "NoOp" and tf.tables_initializer(name="other").name == "other"


# --- from files ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("text", "value_index", "error", "message"), [
    ("a\t1\nb\n", 1, tf.errors.InvalidArgumentError, r"Invalid number of columns in .* line 1 \(b\) : expected 1 got 1"),
    ("a\tx\n", 1, tf.errors.InvalidArgumentError, r"Field x in line 0 is not a valid int64\."),
    ("a\t99999999999999999999\n", 1, tf.errors.InvalidArgumentError, r"Field 9+ in line 0 is not a valid int64\."),
    ("a\n\nb\n", -1, tf.errors.InvalidArgumentError, r"Invalid content in .*: empty line found, line 1"),
    ("a\nb\na\n", -1, tf.errors.FailedPreconditionError, "Key a has 0 and trying to add value 2"),
    (None, -1, tf.errors.NotFoundError, "No such file")])
def test_bad_files(tmp_path, text, value_index, error, message):
    path = tmp_path / "file"
    if text is not None:
        path.write_text(text)
    L.HashTable(L.TextFileInitializer(str(path), tf.string, 0, tf.int64, value_index), -1)
    with tf.Session() as session, pytest.raises(error, match=message):
        session.run(tf.tables_initializer())


def test_columns(tmp_path):
    (tmp_path / "file").write_text("a,1,x\nb,2,y\r\n")
    table = L.HashTable(L.TextFileInitializer(str(tmp_path / "file"), tf.string, 2, tf.int64, 1, delimiter=","), -1)
    assert run(table.lookup(tf.constant(["y", "x", "b"]))).tolist() == [2, 1, -1]


def test_vocabulary_size(vocabulary):
    table = L.index_table_from_file(vocabulary, vocab_size=2)
    assert run([table.lookup(tf.constant(["lake", "palmer"])), table.size()])[0].tolist() == [1, -1]
    L.index_table_from_file(vocabulary, vocab_size=5)
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=r"Invalid vocab_size in .*: expected 5 but got 3"):
        session.run(tf.tables_initializer())


def test_files_are_assets(vocabulary):
    L.index_table_from_file(vocabulary)
    assert [tensor.op.name for tensor in tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS)] == ["string_to_index/hash_table/asset_path"]


# --- tables that steps change ----------------------------------------------------------------------------------------

def test_mutable_table():
    table = L.MutableHashTable(tf.string, tf.int64, -1)
    insert, remove, found = table.insert(["a", "b"], [1, 2]), table.remove(["a"]), table.lookup([["a", "z"]])
    with tf.Session() as session:
        assert session.run(found).tolist() == [[-1, -1]]
        session.run(insert)
        assert session.run(found).tolist() == [[1, -1]]
        session.run(remove)
        assert [array.tolist() for array in session.run(table.export())] == [[b"b"], [2]] and session.run(table.size()) == 1
        keys, values = tf.placeholder(tf.string), tf.placeholder(tf.int64)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Expected shape \[2\] for value, got \[1\]"):
            session.run(table.insert(keys, values), {keys: ["a", "b"], values: [1]})


def test_mutable_table_of_vectors():
    table = L.MutableHashTable(tf.int64, tf.float32, [-1.0, -2.0])
    insert, found = table.insert([3, 4], [[1.0, 2.0], [3.0, 4.0]]), table.lookup([[3, 9]])
    assert found.shape.as_list() == [1, 2, 2]
    with tf.Session() as session:
        session.run(insert)
        assert session.run(found).tolist() == [[[1, 2], [-1, -2]]]
        assert session.run(table.export())[1].tolist() == [[1, 2], [3, 4]]


def test_dense_table():
    table = L.MutableDenseHashTable(tf.int64, tf.float32, [-1.0, -2.0], empty_key=[0, 0], deleted_key=[-1, -1], initial_num_buckets=4)
    found = table.lookup([[3, 4], [5, 5]])
    assert found.shape.as_list() == [2, 2]
    with tf.Session() as session:
        session.run(table.insert([[3, 4]], [[1.0, 2.0]]))
        assert session.run(found).tolist() == [[1, 2], [-1, -2]]
        for key, name in (([0, 0], "empty_key"), ([-1, -1], "deleted_key")):
            with pytest.raises(tf.errors.InvalidArgumentError, match=f"Using the {name} as a table key is not allowed"):
                session.run(table.insert([key], [[1.0, 2.0]]))
        assert [array.tolist() for array in session.run(table.export())] == [[[3, 4]] + 3 * [[0, 0]], [[1, 2]] + 3 * [[0, 0]]]  # all places
        session.run(table.insert([[5, 6], [5, 7], [5, 8]], np.ones([3, 2])))
        assert len(session.run(table.export())[0]) == 8  # there are twice as many when 4 of 4 are wanted
        session.run(table.erase([[5, 6], [5, 7], [5, 8]]))
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Expected key shape \[1,2\] got \[1,2,2\]"):
            session.run(table.lookup([[[3, 4], [5, 5]]]))
        session.run(table.erase([[3, 4]]))
        assert session.run(table.size()) == 0
        with pytest.raises(tf.errors.InvalidArgumentError, match="power of 2, got: 3"):
            session.run(L.MutableDenseHashTable(tf.int64, tf.int64, -1, 0, -2, initial_num_buckets=3).size())
        with pytest.raises(tf.errors.InvalidArgumentError, match="cannot be equal"):
            session.run(L.MutableDenseHashTable(tf.int64, tf.int64, -1, 0, 0).size())


def test_import_replaces_the_entries():
    table = L.MutableHashTable(tf.string, tf.int64, -1)
    with tf.Session() as session:
        session.run(table.insert(["a"], [1]))
        session.run(tf.raw_ops.LookupTableImportV2(table_handle=table.resource_handle, keys=["q"], values=np.array([3])))
        assert [array.tolist() for array in session.run(table.export())] == [[b"q"], [3]]


def test_mutable_tables_are_saved(tmp_path):
    def build():
        return L.MutableHashTable(tf.string, tf.int64, -1, name="words"), tf.Variable(1.0, name="v")

    with tf.Graph().as_default(), tf.Session() as session:
        table, v = build()
        session.run([table.insert(["a", "b"], [1, 2]), v.initializer])
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
    with tf.Graph().as_default(), tf.Session() as session:
        table, _ = build()
        tf.train.Saver().restore(session, path)
        assert session.run(table.lookup(["b", "a", "c"])).tolist() == [2, 1, -1]


def test_many_threads_insert():
    table = L.MutableHashTable(tf.int64, tf.int64, -1)
    keys = tf.placeholder(tf.int64, [None])
    insert, found = table.insert(keys, keys * 2), table.lookup(keys)
    with tf.Session() as session:
        threads = [threading.Thread(target=lambda i=i: [session.run(insert, {keys: np.arange(i, 400, 8)}) for _ in range(5)]) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert session.run(found, {keys: np.arange(400)}).tolist() == [2 * key for key in range(400)]


def test_shapes_inside_of_loops_and_branches():
    table = tf.contrib.lookup.MutableHashTable(tf.int64, tf.int64, -1)
    fill = table.insert(np.array([0, 1, 2]), np.array([4, 5, 6]))
    total = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + table.lookup(i)), [np.int64(0), np.int64(0)])[1]
    chosen = tf.cond(tf.constant(True), lambda: table.lookup(tf.constant([1, 2], tf.int64)), lambda: tf.constant([0, 0], tf.int64))
    assert chosen.shape.as_list() == [2]
    with tf.Session() as session:
        session.run(fill)
        assert session.run(total) == 15 and session.run(chosen).tolist() == [5, 6]
