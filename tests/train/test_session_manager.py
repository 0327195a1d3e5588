"""Sessions whose variables have values: restored, initialized, or waited for."""
from __future__ import annotations

import threading
import time

import pytest

import penstock as tf
from penstock.train.session_manager import not_ready


def manager(**arguments):
    return tf.train.SessionManager(ready_op=tf.report_uninitialized_variables(), **arguments)


def test_initializes_without_a_checkpoint_and_restores_with_one(tmp_path):
    v = tf.Variable(1.0, name="v")
    change, initialize, saver, manages = v.assign(7.0), tf.global_variables_initializer(), tf.train.Saver(), manager()
    with manages.prepare_session("", init_op=initialize, saver=saver, checkpoint_dir=str(tmp_path)) as session:
        assert session.run(v) == 1.0
        session.run(change)
        saver.save(session, str(tmp_path / "model"))
    with manages.prepare_session("", init_op=initialize, saver=saver, checkpoint_dir=str(tmp_path)) as session:
        assert session.run(v) == 7.0
    session, restored = manages.recover_session("", saver=saver, checkpoint_dir=str(tmp_path))
    assert restored and session.run(v) == 7.0
    session.close()
    with pytest.raises(ValueError, match="both"):
        manages.prepare_session("", init_op=initialize, saver=saver, checkpoint_dir=str(tmp_path), checkpoint_filename_with_path="x")


def test_nothing_to_recover_from(tmp_path):
    tf.Variable(1.0)
    session, restored = manager().recover_session("", saver=tf.train.Saver(), checkpoint_dir=str(tmp_path))
    assert not restored
    session.close()


def test_what_is_missing_is_named():
    v, w = tf.Variable(1.0, name="v"), tf.Variable(1.0, name="w")
    manages = manager(local_init_op=tf.no_op(), ready_for_local_init_op=tf.report_uninitialized_variables([v]))
    with pytest.raises(RuntimeError, match=r"did not make model ready for local_init.*Variables not initialized: v"):
        manages.prepare_session("", init_op=w.initializer)
    with pytest.raises(RuntimeError, match=r"did not make model ready\..*Variables not initialized: w"):
        manages.prepare_session("", init_op=v.initializer)
    with pytest.raises(RuntimeError, match="no init_op or init_fn or local_init_op"):
        manager().prepare_session("")


def test_old_ready_ops():
    v = tf.Variable([1.0])
    ranks, nothing = tf.assert_variables_initialized(), tf.no_op()
    with tf.Session() as session:
        assert "uninitialized" in not_ready(ranks, session)
        session.run(v.initializer)
        assert not_ready(ranks, session) is None and not_ready(nothing, session) is None and not_ready(None, session) is None


def test_a_worker_waits_for_the_chief():
    server = tf.train.Server.create_local_server()
    with tf.device("/job:local/task:0"):
        v = tf.Variable(3.0)
    manages = manager(recovery_wait_secs=0.2)

    def initialize():
        time.sleep(0.4)
        with tf.Session(server.target, graph=v.graph) as session:
            session.run(v.initializer)

    chief = threading.Thread(target=initialize)
    chief.start()
    with manages.wait_for_session(server.target, max_wait_secs=30) as session:
        assert session.run(v) == 3.0
    chief.join()
    server.stop()


def test_a_worker_does_not_wait_for_ever():
    tf.Variable(3.0, name="never")
    started = time.monotonic()
    with pytest.raises(tf.errors.DeadlineExceededError, match=r"not ready after waiting 1 secs.*never"):
        manager().wait_for_session("", max_wait_secs=1)
    assert time.monotonic() - started < 10
