"""Saver(asynchronous=True): saving beside training, from a consistent snapshot."""
from __future__ import annotations

import os
import threading

import numpy as np
import pytest

import penstock as tf
from penstock.checkpoint.data_file import DataFile
from support.process import python


@pytest.fixture
def gate(monkeypatch):
    """While this event is not set, no byte is written."""
    event, write = threading.Event(), DataFile.write

    def wait_and_write(self, data):
        assert event.wait(30)
        write(self, data)

    monkeypatch.setattr(DataFile, "write", wait_and_write)
    yield event
    event.set()


def values_in(path):
    reader = tf.train.load_checkpoint(path)
    return {name: reader.get_tensor(name).tolist() for name, _ in tf.train.list_variables(path)}


@pytest.mark.parametrize("sharded", [False, True])
@pytest.mark.parametrize("use_resource", [False, True])
def test_training_goes_on_while_a_snapshot_is_written(tmp_path, gate, sharded, use_resource):
    """Two variables are always equal between steps: so they are in the checkpoint, with the values that they had at ``save``."""
    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.Graph().as_default(), tf.Session(config=config) as sess:
        with tf.device("/cpu:0"):
            a = tf.get_variable("a", initializer=np.zeros(3), use_resource=use_resource)
        with tf.device("/cpu:1"):
            b = tf.get_variable("b", initializer=np.zeros(3), use_resource=use_resource)
            s = tf.get_variable("s", initializer=np.zeros((4, 1)), partitioner=tf.fixed_size_partitioner(2), use_resource=use_resource)
        train = tf.group(a.assign_add(np.ones(3)), b.assign_add(np.ones(3)), *[part.assign_add(np.ones((2, 1))) for part in s])
        saver = tf.train.Saver(sharded=sharded, asynchronous=True)
        sess.run(tf.global_variables_initializer())
        for _ in range(5):
            sess.run(train)
        path = saver.save(sess, str(tmp_path / "model"), global_step=5)
        for _ in range(20):
            sess.run(train)
        assert tf.train.latest_checkpoint(str(tmp_path)) is None and saver.last_checkpoints == []
        gate.set()
        saver.wait()
        assert path == str(tmp_path / "model-5") == tf.train.latest_checkpoint(str(tmp_path))
        assert saver.last_checkpoints == [path]
        assert values_in(path) == {"a": [5, 5, 5], "b": [5, 5, 5], "s": [[5]] * 4}
        assert sess.run(a).tolist() == [25, 25, 25]
        saver.restore(sess, path)
        assert sess.run(b).tolist() == [5, 5, 5]


def test_the_next_save_and_the_end_of_the_session_wait(tmp_path):
    with tf.Graph().as_default():
        v = tf.Variable(np.zeros(100_000), name="v")
        saver = tf.train.Saver(asynchronous=True, max_to_keep=2)
        with tf.Session() as sess:
            sess.run(v.initializer)
            for step in range(6):
                sess.run(v.assign_add(np.ones(100_000)))
                saver.save(sess, str(tmp_path / "model"), global_step=step)
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "model-5")
    assert sorted(name for name in os.listdir(tmp_path) if name.endswith("index")) == ["model-4.index", "model-5.index"]
    for step in (4, 5):
        assert set(values_in(str(tmp_path / f"model-{step}"))["v"]) == {step + 1.0}


def test_a_snapshot_copies_nothing(tmp_path, gate):
    """The snapshot is the variable's own array; only the first write after it makes a copy."""
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable(np.zeros(10), name="v")
        saver = tf.train.Saver(asynchronous=True)
        sess.run(v.initializer)
        ref, = [resource for key, resource in sess._backend.environment.resources._table.items() if key[1] == "v"]
        before = id(ref.value)
        saver.save(sess, str(tmp_path / "model"))
        assert id(ref.value) == before
        sess.run(v.assign_add(np.ones(10)))
        assert id(ref.value) != before
        gate.set()
    assert values_in(str(tmp_path / "model")) == {"v": [0] * 10}


@pytest.mark.parametrize("chance", ["wait", "save", "restore", "close"])
def test_errors_come_out_at_the_next_chance(tmp_path, monkeypatch, chance):
    monkeypatch.setattr(DataFile, "write", lambda self, data: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with tf.Graph().as_default():
        v = tf.Variable(1.0, name="v")
        saver, sess = tf.train.Saver(asynchronous=True), tf.Session()
        sess.run(v.initializer)
        path = saver.save(sess, str(tmp_path / "model"))
        chances = {"wait": saver.wait, "save": lambda: saver.save(sess, path), "restore": lambda: saver.restore(sess, path), "close": sess.close}
        with pytest.raises(tf.errors.ResourceExhaustedError, match="No space left"):
            chances[chance]()
        saver.wait()  # an error is told once
        sess.close()
        with pytest.raises(RuntimeError, match="closed"):
            sess.run(v)


def test_after_an_error_saving_works_again(tmp_path):
    """An uninitialized variable on the second device: what the first has put aside must not stay."""
    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.Graph().as_default(), tf.Session(config=config) as sess:
        with tf.device("/cpu:0"):
            a = tf.Variable(1.0, name="a")
        with tf.device("/cpu:1"):
            b = tf.Variable(2.0, name="b")
        saver = tf.train.Saver(asynchronous=True)
        sess.run(a.initializer)
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value b"):
            saver.save(sess, str(tmp_path / "model"))
        sess.run([a.assign(3.0), b.initializer])
        path = saver.save(sess, str(tmp_path / "model"))
        saver.wait()
        assert values_in(path) == {"a": 3.0, "b": 2.0}


def test_through_a_meta_graph(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable(7.0, name="v")
        sess.run(v.initializer)
        path = tf.train.Saver(asynchronous=True).save(sess, str(tmp_path / "model"))
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        plain = tf.train.import_meta_graph(path + ".meta")
        plain.restore(sess, path)
        saver = tf.train.Saver(saver_def=plain.as_saver_def(), asynchronous=True)
        again = saver.save(sess, str(tmp_path / "again"))
        saver.wait()
        assert values_in(again) == {"v": 7.0}
        assert {node.op for node in graph.as_graph_def().node} >= {"Stage", "Unstage", "SaveV2"}
        other = tf.train.Saver(name="other")
        with pytest.raises(ValueError, match="cannot save asynchronously"):
            tf.train.Saver(saver_def=other.as_saver_def(), asynchronous=True).save(sess, str(tmp_path / "other"))


def test_the_interpreter_waits(tmp_path):
    """A program that ends right after ``save``, and leaves its session open, has its checkpoint."""
    python("""
        import sys
        import numpy as np
        import penstock as tf
        v = tf.Variable(np.ones(3_000_000), name="v")
        sess = tf.Session()
        sess.run(v.initializer)
        tf.train.Saver(asynchronous=True).save(sess, sys.argv[1] + "/model")
    """, str(tmp_path))
    assert sum(values_in(str(tmp_path / "model"))["v"]) == 3_000_000
