"""Scaffolds: which operations a training session gets."""
from __future__ import annotations

import pytest

import penstock as tf


def test_scaffold_takes_what_is_given_or_collected(tmp_path):
    v = tf.Variable(0.0, name="v")
    start = tf.placeholder(tf.float32, [])
    scaffold = tf.train.Scaffold(init_op=v.assign(start).op, init_feed_dict={start: 4.0})
    copy = tf.train.Scaffold(copy_from_scaffold=scaffold, saver=tf.train.Saver({"other": v}))
    with tf.train.MonitoredTrainingSession(scaffold=copy) as session:
        assert session.run(v) == 4.0
        copy.saver.save(session.raw_session(), str(tmp_path / "model"), write_meta_graph=False)
    assert tf.train.load_variable(str(tmp_path), "other") == 4.0
    assert tf.get_collection(tf.GraphKeys.READY_OP) == [copy.ready_op]
    tf.add_to_collection(tf.GraphKeys.READY_OP, tf.no_op())
    with pytest.raises(RuntimeError, match=r'More than one item in the collection "ready_op".*tf.Scaffold\(ready_op=item to use\)'):
        tf.train.Scaffold().finalize()


def test_one_checkpoint_by_name(tmp_path):
    v = tf.Variable(1.0, name="v")
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(v.initializer)
        path = saver.save(session, str(tmp_path / "a"))
        session.run(v.assign(2.0))
        saver.save(session, str(tmp_path / "b"))
    with tf.train.SingularMonitoredSession(checkpoint_filename_with_path=path) as session:
        assert session.run(v) == 1.0
