"""Queue runners, producers, readers and batches: input pipelines as TensorFlow 1 had them before tf.data."""
from __future__ import annotations

import contextlib
import threading

import numpy as np
import pytest

import penstock as tf

LONG = tf.RunOptions(timeout_in_ms=20000)


@contextlib.contextmanager
def running():
    """A session in which variables are initialized and queue runners work; they have ended when it is left."""
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        try:
            yield session
        finally:
            coord.request_stop()
            coord.join(threads, stop_grace_period_secs=10)


def all_of(session, fetches):
    """What a pipeline gives until its end."""
    found = []
    with contextlib.suppress(tf.errors.OutOfRangeError):
        while True:
            found.append(session.run(fetches, options=LONG))
    return found


def counter(limit):
    """A tensor that counts up."""
    return tf.count_up_to(tf.Variable(0, collections=["local_variables"]), limit)


# --- queue runners ---------------------------------------------------------------------------------------------------

def test_the_last_thread_closes_the_queue():
    queue = tf.FIFOQueue(5, tf.int32, shapes=[[]])
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(counter(10))] * 3))
    with running() as session:
        assert sorted(all_of(session, queue.dequeue())) == list(range(10))


def test_an_error_reaches_the_coordinator():
    queue = tf.FIFOQueue(5, tf.int32, shapes=[[]])
    failing = tf.py_func(lambda: 1 // 0, [], tf.int64)
    runner = tf.train.QueueRunner(queue, [queue.enqueue(tf.cast(failing, tf.int32))])
    coord = tf.train.Coordinator()
    with tf.Session() as session:
        threads = runner.create_threads(session, coord, start=True)
        with pytest.raises(tf.errors.OpError, match="ZeroDivisionError"):
            coord.join(threads, stop_grace_period_secs=10)


def test_an_error_without_a_coordinator_is_kept():
    queue = tf.FIFOQueue(5, tf.int32, shapes=[[]])
    runner = tf.train.QueueRunner(queue, [queue.enqueue(tf.cast(tf.py_func(lambda: 1 // 0, [], tf.int64), tf.int32))])
    with tf.Session() as session:
        for thread in runner.create_threads(session, start=True):
            thread.join(10)
    assert [type(error).__name__ for error in runner.exceptions_raised] == ["UnknownError"]


def test_threads_are_made_once_per_session():
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    runner = tf.train.QueueRunner(queue, [queue.enqueue(1)])
    coord = tf.train.Coordinator()
    with tf.Session() as session:
        threads = runner.create_threads(session, coord, start=True, daemon=True)
        assert [thread.name for thread in threads] == [f"QueueRunnerThread-fifo_queue-{name}" for name in ("fifo_queue_enqueue", "close_on_stop")]
        assert runner.create_threads(session, coord) == []
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=10)


def test_other_exceptions_may_end_the_input():
    queue = tf.FIFOQueue(5, tf.int32, shapes=[[]])
    x = tf.constant([1])
    runner = tf.train.QueueRunner(queue, [queue.enqueue(tf.gather(x, counter(10)))],
                                  queue_closed_exception_types=(tf.errors.InvalidArgumentError, tf.errors.OutOfRangeError))
    tf.train.add_queue_runner(runner)
    with running() as session:
        assert all_of(session, queue.dequeue()) == [1]
    with pytest.raises(TypeError, match=r"tuple of tf\.error types"):
        tf.train.QueueRunner(queue, [queue.enqueue(1)], queue_closed_exception_types=[ValueError])


def test_proto_round_trip():
    queue = tf.FIFOQueue(5, tf.int32, shapes=[[]], name="q")
    runner = tf.train.QueueRunner(queue, [queue.enqueue(1)])
    proto = runner.to_proto()
    assert (proto.queue_name, list(proto.enqueue_op_name), proto.close_op_name, proto.cancel_op_name) == ("q", ["q_enqueue"], "q_Close", "q_Close_1")
    again = tf.train.QueueRunner.from_proto(type(proto).FromString(proto.SerializeToString()))
    assert again.enqueue_ops == runner.enqueue_ops and again.name == "q"
    assert again.queue_closed_exception_types == (tf.errors.OutOfRangeError,)
    assert runner.to_proto(export_scope="elsewhere") is None


def test_start_needs_a_session():
    with pytest.raises(ValueError, match="No default session"):
        tf.train.start_queue_runners()
    with pytest.raises(TypeError, match=r"must be a `tf\.Session`"):
        tf.train.start_queue_runners(sess=3)
    with pytest.raises(ValueError, match="Must provide queue and enqueue_ops"):
        tf.train.QueueRunner()


# --- producers -------------------------------------------------------------------------------------------------------

def test_string_input_producer_in_order():
    queue = tf.train.string_input_producer(["a", "b", "c"], num_epochs=2, shuffle=False)
    with running() as session:
        assert all_of(session, queue.dequeue()) == [b"a", b"b", b"c"] * 2


def test_string_input_producer_shuffled_as_tensorflow_does():
    queue = tf.train.string_input_producer(list("abcdef"), num_epochs=2, shuffle=True, seed=1)
    with running() as session:
        found = b"".join(all_of(session, queue.dequeue()))
    assert found == b"dfaebcfecadb"  # of TensorFlow 1.15
    assert sorted(found[:6]) == sorted(found[6:]) == sorted(b"abcdef")


def test_string_input_producer_needs_strings():
    with pytest.raises(ValueError, match="non-null"):
        tf.train.string_input_producer([])
    queue = tf.train.string_input_producer(tf.placeholder_with_default(np.empty(0, object).astype(str), [None]))
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="string_input_producer requires a non-null input tensor"):
        session.run(tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)[0].enqueue_ops)
    assert queue.name == "input_producer"


def test_range_and_slices():
    queue = tf.train.range_input_producer(4, num_epochs=1, shuffle=False)
    slices = tf.train.slice_input_producer([np.arange(6).reshape(3, 2), ["x", "y", "z"]], num_epochs=1, shuffle=False)
    with running() as session:
        assert all_of(session, queue.dequeue()) == [0, 1, 2, 3]
        assert [(a.tolist(), b) for a, b in all_of(session, slices)] == [([0, 1], b"x"), ([2, 3], b"y"), ([4, 5], b"z")]


def test_limit_epochs_counts_in_a_local_variable():
    value = tf.train.limit_epochs(tf.constant(5), 2)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        assert all_of(session, value) == [5, 5]
    assert [variable.op.name for variable in tf.local_variables()] == ["limit_epochs/epochs"]


def test_match_filenames_once(tmp_path):
    for name in ("b", "a"):
        (tmp_path / name).touch()
    names = tf.train.match_filenames_once(str(tmp_path / "*"))
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        (tmp_path / "c").touch()
        assert session.run(names).tolist() == [str(tmp_path / name).encode() for name in "ab"]


def test_summaries_tell_how_full_queues_are():
    tf.train.string_input_producer(["a"], capacity=4)
    tf.train.batch([tf.constant(1)], 2, capacity=5)
    tf.train.shuffle_batch([tf.constant(1)], 2, capacity=50, min_after_dequeue=10)
    with tf.Session() as session:
        tags = [tf.Summary.FromString(session.run(summary)).value[0].tag for summary in tf.get_collection(tf.GraphKeys.SUMMARIES)]
    assert tags == ["input_producer/fraction_of_4_full", "batch/fraction_of_5_full", "shuffle_batch/fraction_over_10_of_40_full"]


# --- batches ---------------------------------------------------------------------------------------------------------

def test_batch():
    n = counter(10)
    batch = tf.train.batch({"n": n, "pair": tf.stack([n, -n])}, 4, allow_smaller_final_batch=True)
    with running() as session:
        found = all_of(session, batch)
    assert [b["n"].tolist() for b in found] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert found[2]["pair"].tolist() == [[8, -8], [9, -9]]


def test_batch_drops_the_rest():
    batch = tf.train.batch([counter(10)], 4, num_threads=2)
    with running() as session:
        assert [len(b) for b in all_of(session, batch)] == [4, 4]


def test_batch_of_many():
    n = counter(3)
    batch = tf.train.batch([tf.stack([n, n + 10])], 3, enqueue_many=True)
    with running() as session:
        assert [b.tolist() for b in all_of(session, batch)] == [[0, 10, 1], [11, 2, 12]]


def test_dynamic_padding():
    n = counter(4)
    batch = tf.train.batch([tf.range(n)], 4, dynamic_pad=True)
    assert batch.shape.as_list() == [4, None]
    with running() as session:
        assert session.run(batch, options=LONG).tolist() == [[0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 1, 2]]


def test_shuffle_batch():
    batch = tf.train.shuffle_batch([counter(100)], 10, capacity=60, min_after_dequeue=30, seed=3)
    with running() as session:
        found = np.concatenate(all_of(session, batch))
    assert sorted(found) == list(range(100)) and found.tolist() != list(range(100))


@pytest.mark.parametrize("shuffled", [False, True])
def test_join(shuffled):
    lists = [[counter(10), tf.constant("a")], [counter(10) + 100, tf.constant("b")]]
    batch = tf.train.shuffle_batch_join(lists, 5, 20, 4) if shuffled else tf.train.batch_join(lists, 5)
    with running() as session:
        found = [(int(n), word) for numbers, words in all_of(session, batch) for n, word in zip(numbers, words)]
    assert sorted(found) == [(n, b"a") for n in range(10)] + [(n + 100, b"b") for n in range(10)]


@pytest.mark.parametrize("many", [False, True])
def test_maybe_batch(many):
    n = counter(12)
    values, keep = (tf.stack([n, n + 100]), tf.equal(tf.stack([n, n + 1]) % 2, 0)) if many else (n, tf.equal(n % 3, 0))
    batch = tf.train.maybe_batch([values], keep, 2, enqueue_many=many)
    with running() as session:
        found = np.concatenate(all_of(session, batch)).tolist()
    assert found == ([n if n % 2 == 0 else n + 100 for n in range(12)] if many else [0, 3, 6, 9])


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("choose", [False, True])
def test_sparse_tensors(many, choose):
    n = counter(8)
    if many:
        sparse, dense = tf.SparseTensor([[0, 1], [1, 2]], tf.to_float(tf.stack([n, -n])), [2, 4]), tf.stack([n, -n])
        keep = tf.equal(tf.stack([n, n + 1]) % 2, 0) if choose else True
    else:
        sparse, dense = tf.SparseTensor([[1]], tf.reshape(tf.to_float(n), [1]), [4]), n
        keep = tf.equal(n % 2, 0) if choose else True
    batch = tf.train.maybe_batch({"sparse": sparse, "dense": dense}, keep, 4, enqueue_many=many)
    with running() as session:
        found = session.run(batch, options=LONG)
    assert found["sparse"].values.tolist() == found["dense"].tolist()
    assert found["sparse"].dense_shape.tolist() == [4, 4] and found["sparse"].indices[:, 0].tolist() == [0, 1, 2, 3]


def test_mistakes():
    with pytest.raises(ValueError, match="Cannot infer Tensor's rank"):
        tf.train.batch([tf.placeholder(tf.int32)], 3)
    with pytest.raises(ValueError, match="capacity 5 must be bigger than min_after_dequeue 6"):
        tf.train.shuffle_batch([tf.constant(1)], 3, 5, 6)
    with pytest.raises(TypeError, match=r"consistent: int32 vs\. float32"):
        tf.train.batch_join([[tf.constant(1)], [tf.constant(1.0)]], 3)
    with pytest.raises(ValueError, match="same keys"):
        tf.train.batch_join([{"a": tf.constant(1)}, {"b": tf.constant(1)}], 3)
    with pytest.raises(ValueError, match="cannot be a vector"):
        tf.train.maybe_batch([tf.constant(1)], tf.constant([True]), 3)


# --- readers ---------------------------------------------------------------------------------------------------------

def records_of(reader, files, up_to=None):
    queue = tf.train.string_input_producer([str(file) for file in files], num_epochs=1, shuffle=False)
    read = reader.read(queue) if up_to is None else reader.read_up_to(queue, up_to)
    with running() as session:
        found = [(key, value) for key, value in all_of(session, read)]
        counts = session.run([reader.num_records_produced(), reader.num_work_units_completed()])
    return found, counts


def test_text_lines(tmp_path):
    (tmp_path / "one").write_bytes(b"l1\nl2\r\n\nl4")
    (tmp_path / "two").write_bytes(b"header\nx\n")
    found, counts = records_of(tf.TextLineReader(skip_header_lines=1), [tmp_path / "one", tmp_path / "two"])
    assert found == [(b"%s:%d" % (str(tmp_path / name).encode(), n), text) for name, n, text in
                     (("one", 2, b"l2"), ("one", 3, b""), ("one", 4, b"l4"), ("two", 2, b"x"))]
    assert counts == [4, 2]


def test_reading_several_at_once_stops_at_the_end_of_a_file(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).write_bytes(b"a\nb\nc\n")
    found, _ = records_of(tf.TextLineReader(), [tmp_path / "one", tmp_path / "two"], up_to=2)
    assert [values.tolist() for _, values in found] == [[b"a", b"b"], [b"c"], [b"a", b"b"], [b"c"]]


def test_a_whole_file_is_all_that_is_read_at_once(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).write_bytes(name.encode())
    found, counts = records_of(tf.WholeFileReader(), [tmp_path / "one", tmp_path / "two"], up_to=5)
    assert [values.tolist() for _, values in found] == [[b"one"], [b"two"]] and counts == [2, 2]


def test_whole_files(tmp_path):
    (tmp_path / "one").write_bytes(b"all\nof it")
    found, counts = records_of(tf.WholeFileReader(), [tmp_path / "one"])
    assert found == [(str(tmp_path / "one").encode(), b"all\nof it")] and counts == [1, 1]


@pytest.mark.parametrize(("options", "records"), [
    ((2, 2, 1), [b"aa", b"bb", b"cc"]), ((4, 2, 1, 2), [b"aabb", b"bbcc"]), ((3, 2, 1), [b"aab", b"bcc"])])
def test_fixed_length(tmp_path, options, records):
    (tmp_path / "one").write_bytes(b"HHaabbccF")
    found, _ = records_of(tf.FixedLengthRecordReader(*options), [tmp_path / "one"])
    assert [value for _, value in found] == records
    assert found[1][0].endswith(b"one:1")


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
def test_tf_records(tmp_path, compression):
    options = tf.python_io.TFRecordOptions(compression)
    with tf.python_io.TFRecordWriter(str(tmp_path / "one"), options) as writer:
        writer.write(b"hello")
        writer.write(b"world!")
    found, _ = records_of(tf.TFRecordReader(options=options), [tmp_path / "one"])
    assert [(key.split(b":")[-1], value) for key, value in found] == [(b"0", b"hello"), (b"21", b"world!")]


def test_a_reader_that_fails_reports_it(tmp_path):
    (tmp_path / "bad").write_bytes(b"no record at all")
    with pytest.raises(tf.errors.DataLossError, match="corrupted record at 0"):
        records_of(tf.TFRecordReader(), [tmp_path / "bad"])
    tf.reset_default_graph()
    with pytest.raises(tf.errors.NotFoundError, match="none; No such file"):
        records_of(tf.TextLineReader(), [tmp_path / "none"])


def test_state_of_a_reader():
    reader, queue = tf.IdentityReader(), tf.FIFOQueue(5, tf.string, shapes=[[]])
    state, text = reader.serialize_state(), tf.placeholder(tf.string, [])
    with tf.Session() as session:
        session.run(queue.enqueue_many([["w", "x"]]))
        assert session.run(reader.read(queue)) == (b"w", b"w")
        saved = session.run(state)
        assert saved == b'\x08\x01\x10\x01\x18\x01"\x01w'  # of TensorFlow 1.15
        session.run(reader.reset())
        assert session.run(reader.num_records_produced()) == 0
        session.run(reader.restore_state(text), {text: saved})
        assert session.run(reader.num_records_produced()) == 1
        with pytest.raises(tf.errors.UnimplementedError, match="Reader SerializeState"):
            session.run(tf.TextLineReader().serialize_state())


def test_two_steps_of_one_reader_take_turns():
    reader, queue = tf.IdentityReader(), tf.FIFOQueue(100, tf.string, shapes=[[]])
    read, found = reader.read(queue), []
    with tf.Session() as session:
        session.run(queue.enqueue_many([[str(i) for i in range(40)]]))
        threads = [threading.Thread(target=lambda: found.extend(session.run(read, options=LONG).value for _ in range(10))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
    assert sorted(map(int, found)) == list(range(40))
