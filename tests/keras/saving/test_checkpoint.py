"""``tf.train.Checkpoint``: objects saved and restored, before and after their variables exist."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from support.imperative import imperative

pytestmark = pytest.mark.process


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.first, self.rest, self.scale = tf.keras.layers.Dense(3), [tf.keras.layers.Dense(2)], tf.Variable(1.0)

    def call(self, x):
        return self.rest[0](self.first(x)) * self.scale


def train(net, optimizer):
    optimizer.minimize(lambda: tf.reduce_sum(tf.square(net(tf.ones([1, 2])))))


@pytest.mark.parametrize("make", [lambda: tf.train.AdamOptimizer(0.1), lambda: tf.keras.optimizers.Adam(0.1)], ids=["train", "keras"])
def test_values_come_when_variables_are_made(tmp_path, make):
    with imperative():
        net, optimizer = Net(), make()
        saved = tf.train.Checkpoint(net=net, optimizer=optimizer)
        for _ in range(2):
            if isinstance(optimizer, tf.train.Optimizer):
                train(net, optimizer)
            else:
                with tf.GradientTape() as tape:
                    loss = tf.reduce_sum(tf.square(net(tf.ones([1, 2]))))
                optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
        path = saved.save(str(tmp_path / "ck"))
        assert path.endswith("ck-1") and tf.train.latest_checkpoint(str(tmp_path)) == path
        wanted = net(tf.ones([1, 2])).numpy()

        again, other = Net(), make()
        status = tf.train.Checkpoint(net=again, optimizer=other).restore(path)
        np.testing.assert_array_equal(again(tf.ones([1, 2])), wanted)  # its variables are made here
        with pytest.raises(AssertionError, match="Unresolved object"):
            status.assert_consumed()  # not the optimizer's yet
        for net_, optimizer_ in ((net, optimizer), (again, other)):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.square(net_(tf.ones([1, 2]))))
            optimizer_.apply_gradients(zip(tape.gradient(loss, net_.trainable_variables), net_.trainable_variables))
        np.testing.assert_array_equal(again(tf.ones([1, 2])), net(tf.ones([1, 2])))
        status.assert_consumed()


def test_what_does_not_match_is_said(tmp_path):
    with imperative():
        path = tf.train.Checkpoint(a=tf.Variable(1.0), b=tf.Variable(2.0)).save(str(tmp_path / "ck"))
        one = tf.train.Checkpoint(a=tf.Variable(0.0))
        status = one.restore(path)
        assert one.a.numpy() == 1.0
        status.assert_existing_objects_matched()
        with pytest.raises(AssertionError, match="b/"):
            status.assert_consumed()
        with pytest.raises(AssertionError, match="not assigned a value"):
            tf.train.Checkpoint(c=tf.Variable(0.0)).restore(path).assert_existing_objects_matched()
        with pytest.raises(ValueError, match="expecting a trackable object"):
            tf.train.Checkpoint(a=3)


def test_lists_and_dictionaries(tmp_path):
    with imperative():
        path = tf.train.Checkpoint(items=[tf.Variable(1.0), {"x": tf.Variable(2.0)}]).write(str(tmp_path / "ck"))
        assert sorted(name for name, _ in tf.train.list_variables(path)) == [
            "_CHECKPOINTABLE_OBJECT_GRAPH", "items/0/.ATTRIBUTES/VARIABLE_VALUE", "items/1/x/.ATTRIBUTES/VARIABLE_VALUE"]


def test_the_manager_keeps_the_newest(tmp_path):
    with imperative():
        checkpoint = tf.train.Checkpoint(v=tf.Variable(0.0))
        manager = tf.train.CheckpointManager(checkpoint, str(tmp_path), max_to_keep=2)
        for value in (1.0, 2.0, 3.0):
            checkpoint.v.assign(value)
            manager.save()
        assert [path[-6:] for path in manager.checkpoints] == ["ckpt-2", "ckpt-3"] and not tf.train.checkpoint_exists(str(tmp_path / "ckpt-1"))
        again = tf.train.CheckpointManager(checkpoint, str(tmp_path), max_to_keep=2)
        checkpoint.v.assign(9.0)
        checkpoint.restore(again.latest_checkpoint).assert_consumed()
        assert checkpoint.v.numpy() == 3.0 and checkpoint.save_counter.numpy() == 3


def test_the_manager_leaves_checkpoints_alone_that_are_not_its_own(tmp_path):
    with imperative():
        checkpoint = tf.train.Checkpoint(v=tf.Variable(0.0))
        own = checkpoint.save(str(tmp_path / "mine"))
        manager = tf.train.CheckpointManager(checkpoint, str(tmp_path), max_to_keep=1)
        assert manager.checkpoints == [] and manager.latest_checkpoint == own
        for _ in range(3):
            manager.save()
        assert tf.train.checkpoint_exists(own) and [path[-6:] for path in manager.checkpoints] == ["ckpt-4"]
        again = tf.train.CheckpointManager(checkpoint, str(tmp_path), max_to_keep=1)
        again.save()
        assert not tf.train.checkpoint_exists(str(tmp_path / "ckpt-4")) and tf.train.checkpoint_exists(own)
    assert "all_model_checkpoint_timestamps" in (tmp_path / "checkpoint").read_text() and str(tmp_path) not in (tmp_path / "checkpoint").read_text()


def test_graphs_and_checkpoints_of_saver(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", [], use_resource=True)
        session.run(v.assign(5.0))
        path = tf.train.Checkpoint(v=v).save(str(tmp_path / "ck"), session=session)
        by_name = tf.train.Saver({"v": v}).save(session, str(tmp_path / "named"))
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", [], use_resource=True)
        tf.train.Checkpoint(v=v).restore(path).assert_consumed().initialize_or_restore(session)
        assert session.run(v) == 5.0
    with imperative():
        w = tf.Variable(0.0, name="v")
        tf.train.Checkpoint(w=w).restore(by_name)
        assert w.numpy() == 5.0
