"""Readers: the records of files whose names come from a queue."""
from __future__ import annotations

import threading

import pytest

import penstock as tf
from support.queue_runners import all_of, running
from support.threads import LONG


def records_of(reader, files, up_to=None):
    queue = tf.train.string_input_producer([str(file) for file in files], num_epochs=1, shuffle=False)
    read = reader.read(queue) if up_to is None else reader.read_up_to(queue, up_to)
    with running() as session:
        records = [(key, value) for key, value in all_of(session, read)]
        counts = session.run([reader.num_records_produced(), reader.num_work_units_completed()])
    return records, counts


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


def test_readers_read_from_queues_alone():
    """A resource of another kind is refused before it is asked for names of files."""
    table = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1)
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="a reader needs a queue, not a"):
        session.run(tf.raw_ops.FakeQueue(resource=table.resource_handle))
