"""Datasets: structures, functions and what they capture, caches, windows, errors in arguments."""
from __future__ import annotations

import collections
import math
import time

import numpy as np
import pytest

import penstock as tf
from support.pipelines import drain, listed

Dataset, experimental = tf.data.Dataset, tf.data.experimental
Point = collections.namedtuple("Point", "x y")


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


# --- structures ------------------------------------------------------------------------------------------------------

def test_namedtuples_and_dicts_keep_their_form():
    points = Dataset.from_tensor_slices(Point([1, 2], ["a", "b"])).map(lambda p: {"second": p.y, "first": Point(p.x, p.x * 2)})
    assert points.output_types == {"second": tf.string, "first": Point(tf.int32, tf.int32)}
    assert listed(points) == [{"second": b"a", "first": Point(1, 2)}, {"second": b"b", "first": Point(2, 4)}]


def test_an_ordered_dict_stays_one():
    element = collections.OrderedDict([("z", [1, 2]), ("a", [3, 4])])
    (first, _) = listed(Dataset.from_tensor_slices(element))
    assert list(first) == ["z", "a"] and first == {"z": 1, "a": 3}


def test_only_a_plain_tuple_is_unpacked():
    pairs = Dataset.from_tensor_slices(([1, 2], {"a": [3, 4]}))
    assert listed(pairs.map(lambda n, d: n + d["a"])) == [4, 6]
    assert listed(Dataset.from_tensor_slices(Point([1], [2])).map(lambda p: p.x + p.y)) == [3]
    with pytest.raises(TypeError):
        pairs.map(lambda one: one)


def test_sparse_tensors_are_elements():
    sparse = tf.SparseTensor([[0, 0], [1, 1], [2, 0]], [1.0, 2.0, 3.0], [3, 2])
    dataset = Dataset.from_tensor_slices({"s": sparse, "n": [1, 2, 3]})
    assert dataset.output_classes == {"s": tf.SparseTensor, "n": tf.Tensor}
    assert dataset.output_shapes["s"].as_list() == [2]
    batches = listed(dataset.batch(2))
    assert batches[0]["s"].dense_shape.tolist() == [2, 2] and batches[0]["s"].indices.tolist() == [[0, 0], [1, 1]]
    assert batches[1]["s"].values.tolist() == [3.0]
    dense = dataset.shuffle(3, seed=1).map(lambda d: tf.sparse_tensor_to_dense(d["s"]))
    assert sorted(listed(dense)) == [[0.0, 2.0], [1.0, 0.0], [3.0, 0.0]]
    rows = listed(Dataset.from_tensors((sparse, [1, 2, 3])).unbatch())
    assert [row[0].values.tolist() for row in rows] == [[1.0], [2.0], [3.0]] and [row[1] for row in rows] == [1, 2, 3]


def test_rows_of_a_sparse_tensor():
    rows = listed(Dataset.from_sparse_tensor_slices(tf.SparseTensor([[0, 1], [2, 0], [2, 1]], [1, 2, 3], [3, 2])))
    assert [tuple(part.tolist() for part in row) for row in rows] == [([[1]], [1], [2]), ([], [], [2]), ([[0], [1]], [2, 3], [2])]


def test_sparse_through_iterators():
    value = tf.SparseTensorValue(np.array([[0]]), np.array([5]), np.array([3]))
    dataset = Dataset.from_tensors(value).repeat(2)
    iterator = tf.data.Iterator.from_structure(dataset.output_types, dataset.output_shapes, output_classes=dataset.output_classes)
    with tf.Session() as sess:
        sess.run(iterator.make_initializer(dataset))
        assert [found.values.tolist() for found in drain(sess, iterator.get_next())] == [[5], [5]]


def test_windows_are_datasets():
    windows = Dataset.from_tensor_slices((np.arange(5), np.arange(5) * 10)).window(2, drop_remainder=True)
    sums = windows.flat_map(lambda a, b: Dataset.zip((a.batch(2), b.batch(2)))).map(lambda a, b: a + b)
    assert listed(sums) == [[0, 11], [22, 33]]


def test_strings_and_empty_elements():
    assert listed(Dataset.from_tensor_slices(["a", "", "ü"]).batch(2)) == [[b"a", b""], ["ü".encode()]]
    assert listed(Dataset.from_tensor_slices(np.zeros((2, 0))).batch(2)) == [[[], []]]
    assert listed(Dataset.from_tensor_slices(np.zeros((0, 3)))) == []


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


# --- functions -------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("use_resource", [False, True])
def test_a_captured_variable(use_resource):
    variable = tf.Variable(np.int64(10), use_resource=use_resource)
    iterator = Dataset.range(3).map(lambda x: x + variable).make_initializable_iterator()
    x = iterator.get_next()
    with tf.Session() as sess:
        sess.run(variable.initializer)
        sess.run(iterator.initializer)
        assert drain(sess, x) == [10, 11, 12]
        sess.run(variable.assign(20))
        sess.run(iterator.initializer)
        assert drain(sess, x) == [20, 21, 22]


def test_random_ops_draw_anew_for_each_element():
    tf.set_random_seed(3)
    values = listed(Dataset.range(4).map(lambda _: tf.random_uniform([], seed=1)))
    assert len(set(values)) == 4


def test_names_in_functions_do_not_touch_the_graph(graph):
    Dataset.range(3).map(lambda x: tf.multiply(x, 2, name="product"))
    assert tf.multiply(1, 2, name="product").op.name == "product"
    assert not [op.name for op in graph.get_operations() if "arg0" in op.name]


def test_collections_hold_nothing_of_functions():
    def function(x):
        tf.summary.scalar("inside", x)
        tf.add_to_collection("mine", x)
        return x
    dataset = Dataset.range(3).map(function)
    tf.summary.scalar("outside", 1.0)
    assert tf.get_collection("mine") == [] and len(tf.get_collection(tf.GraphKeys.SUMMARIES)) == 1
    with tf.Session() as sess:
        sess.run(tf.summary.merge_all())
    assert listed(dataset) == [0, 1, 2]


def test_control_flow_inside_functions():
    def collatz(x):
        return tf.while_loop(lambda n, steps: n > 1, lambda n, steps: (tf.cond(tf.equal(n % 2, 0), lambda: n // 2, lambda: 3 * n + 1), steps + 1),
                             [x, 0])[1]
    assert listed(Dataset.range(1, 8).map(collatz)) == [0, 1, 7, 2, 5, 8, 16]
    assert listed(Dataset.range(1, 8).map(collatz, num_parallel_calls=3)) == [0, 1, 7, 2, 5, 8, 16]


def test_nested_functions_capture_through_levels():
    offset = tf.constant(100, tf.int64)
    nested = Dataset.range(3).flat_map(lambda x: Dataset.range(x).map(lambda y: x * 10 + y + offset))
    assert listed(nested) == [110, 120, 121]


def test_control_dependencies_of_a_function_run_first():
    counter = tf.Variable(0, use_resource=True)
    with tf.control_dependencies([counter.assign_add(1)]):
        iterator = Dataset.range(2).map(lambda x: x + 1).make_initializable_iterator()
    with tf.Session() as sess:
        sess.run(counter.initializer)
        sess.run(iterator.initializer)
        assert sess.run(counter) >= 1 and drain(sess, iterator.get_next()) == [1, 2]


def test_map_needs_a_function_and_a_result():
    with pytest.raises(TypeError, match="callable"):
        Dataset.range(3).map(3)
    with pytest.raises(TypeError, match="Unsupported return value"):
        Dataset.range(3).map(lambda x: None)


def test_the_error_names_the_op_and_the_line():
    x = Dataset.range(3).map(lambda v: tf.gather([1, 2], v + 5)).make_one_shot_iterator().get_next()
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        sess.run(x)
    assert "indices" in str(caught.value) and "test_datasets.py" in str(caught.value)


# --- generators ------------------------------------------------------------------------------------------------------

def test_a_generator_starts_anew_in_each_epoch():
    starts = []

    def numbers():
        starts.append(True)
        yield from (1, 2)

    assert listed(Dataset.from_generator(numbers, tf.int32, []).repeat(3)) == [1, 2] * 3
    assert len(starts) == 3


def test_a_generator_is_closed_when_it_is_given_up():
    open_now = [0]

    def numbers():
        open_now[0] += 1
        try:
            yield from range(100)
        finally:
            open_now[0] -= 1

    iterator = Dataset.from_generator(numbers, tf.int64, []).make_initializable_iterator()
    x = iterator.get_next()
    with tf.Session() as sess:
        for _ in range(3):
            sess.run(iterator.initializer)
            assert sess.run(x) == 0
        end = time.monotonic() + 5
        while open_now[0] > 1 and time.monotonic() < end:
            time.sleep(0.01)
        assert open_now[0] == 1


def test_an_error_in_a_generator():
    def broken():
        yield 1
        raise RuntimeError("the disk is gone")

    x = Dataset.from_generator(broken, tf.int32, []).make_one_shot_iterator().get_next()
    with tf.Session() as sess:
        assert sess.run(x) == 1
        with pytest.raises(tf.errors.UnknownError, match="the disk is gone"):
            sess.run(x)


def test_bad_generators():
    with pytest.raises(TypeError, match="callable"):
        Dataset.from_generator([1, 2], tf.int32)
    for values, shape, message in (([[1, 2]], [], "shape"), (["x"], [], "converted"), ([(1, 2)], [2, 2], "shape")):
        x = Dataset.from_generator(lambda values=values: iter(values), tf.int32, shape).make_one_shot_iterator().get_next()
        with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match=message):
            sess.run(x)


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


def test_two_writers_of_a_cache(tmp_path):
    dataset = Dataset.range(3).cache(str(tmp_path / "cache"))
    one, other = (dataset.make_initializable_iterator() for _ in range(2))
    with tf.Session() as sess:
        sess.run(one.initializer)
        sess.run(one.get_next())
        with pytest.raises(tf.errors.AlreadyExistsError, match="lockfile"):
            sess.run(other.initializer)


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


def test_rejection_resample():
    dataset = Dataset.range(4000).map(lambda x: tf.to_int32(tf.equal(x % 10, 0)))
    for initial in (None, [0.9, 0.1]):
        pairs = listed(dataset.apply(experimental.rejection_resample(lambda c: c, [0.5, 0.5], initial, seed=4)))
        assert all(found == value for found, value in pairs)
        assert math.isclose(np.mean([found for found, _ in pairs]), 0.5, abs_tol=0.07)


def test_bucket_needs_a_size_for_each_bucket():
    with pytest.raises(ValueError, match="bucket_batch_sizes"):
        experimental.bucket_by_sequence_length(lambda x: x, [1, 2], [3])


def test_bucket_to_boundary_refuses_what_is_too_long():
    dataset = Dataset.range(1, 9).map(lambda n: tf.fill([n], n)).apply(experimental.bucket_by_sequence_length(
        lambda x: tf.shape(x)[0], [3], [2, 2], pad_to_bucket_boundary=True))
    with pytest.raises(tf.errors.InvalidArgumentError, match="pad_to_bucket_boundary"):
        listed(dataset)


def test_apply_must_give_a_dataset():
    with pytest.raises(TypeError, match="must return a Dataset"):
        Dataset.range(3).apply(lambda dataset: 3)


def test_options():
    options = tf.data.Options()
    options.experimental_deterministic = False
    options.experimental_optimization.map_fusion = True
    options.experimental_distribute.auto_shard_policy = experimental.AutoShardPolicy.DATA
    dataset = Dataset.range(3).with_options(options).map(lambda x: x)
    assert dataset.options().experimental_deterministic is False and dataset.options().experimental_optimization.map_fusion
    assert listed(dataset) == [0, 1, 2]
    with pytest.raises(AttributeError):
        options.unknown = 3


def test_old_names():
    contrib = tf.contrib.data
    assert contrib.Dataset is Dataset and contrib.AUTOTUNE == -1
    pool = contrib.python.ops.threadpool.PrivateThreadPool(4, display_name="pool")
    dataset = contrib.python.ops.threadpool.override_threadpool(Dataset.range(5), pool)
    assert listed(dataset.apply(contrib.batch_and_drop_remainder(2))) == [[0, 1], [2, 3]]
    assert listed(dataset.apply(contrib.prefetch_to_device("/gpu:0"))) == [0, 1, 2, 3, 4]


def test_optionals():
    optional = experimental.get_next_as_optional(Dataset.range(1).make_one_shot_iterator())
    some, value = optional.has_value(), optional.get_value()
    with tf.Session() as sess:
        assert [list(map(int, sess.run([some, value]))), bool(sess.run(some))] == [[1, 0], False]
        with pytest.raises(tf.errors.InvalidArgumentError, match="does not have a value"):
            sess.run(value)
        made = experimental.Optional.from_value({"a": [1, 2]})
        assert sess.run(made.get_value())["a"].tolist() == [1, 2]


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
