"""The back end of this process: the warning of a graph that grows in a loop."""
from __future__ import annotations

import logging

import penstock as tf


def test_a_graph_that_grows_in_a_loop_is_noticed(caplog):
    x = tf.constant(1.0)
    with tf.Session() as session, caplog.at_level(logging.WARNING, "tensorflow"):
        for _ in range(20):
            session.run(tf.identity(x))
    grown = [record for record in caplog.records if "grew" in record.getMessage()]
    assert len(grown) == 1
    assert "test_local.py" in grown[0].getMessage()


def test_a_graph_that_stays_is_not_warned_of(caplog):
    x = tf.placeholder(tf.float32)
    y = tf.identity(x)
    with tf.Session() as session, caplog.at_level(logging.WARNING, "tensorflow"):
        for number in range(50):
            session.run(y, {x: number})
    assert not caplog.records
