"""Losses of replicas, as shares of the mean over the whole batch. Numbers without a strategy: TensorFlow 1.15's."""
from __future__ import annotations

import pytest

import penstock as tf

pytestmark = pytest.mark.process


def test_one_replica():
    with tf.Graph().as_default(), tf.Session() as session:
        loss = tf.constant([1.0, 2.0, 3.0])
        assert session.run(tf.nn.compute_average_loss(loss, global_batch_size=6)) == 1.0
        assert session.run(tf.nn.compute_average_loss(loss)) == 2.0
        assert session.run(tf.nn.compute_average_loss(loss, sample_weight=[1.0, 0.0, 1.0], global_batch_size=2)) == 2.0
        assert session.run(tf.nn.scale_regularization_loss(tf.constant([1.0, 3.0]))) == 4.0


def test_shares_of_replicas_add_up():
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
        with strategy.scope():
            def replica():
                return tf.nn.compute_average_loss(tf.constant([1.0, 2.0])), tf.nn.scale_regularization_loss(tf.constant(3.0))
            totals = [strategy.reduce(tf.distribute.ReduceOp.SUM, each, axis=None) for each in strategy.experimental_run_v2(replica)]
            assert session.run(totals) == [1.5, 3.0]
            with pytest.raises(RuntimeError, match="cross replica context"):
                tf.nn.compute_average_loss([1.0])
