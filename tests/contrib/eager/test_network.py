"""``tfe.Network``, ``tfe.Saver``, variables by name: what programs used before Keras and object-based checkpoints."""
from __future__ import annotations

import pytest

import penstock as tf
from penstock.variables.resource_variable import ResourceVariable
from support.imperative import imperative

pytestmark = pytest.mark.process
tfe = tf.contrib.eager
ONES = tf.ones_initializer()


class Two(tfe.Network):
    def __init__(self, name=None):
        super().__init__(name=name)
        self.first = self.track_layer(tf.layers.Dense(3, name="first", kernel_initializer=ONES))
        self.second = self.track_layer(tf.layers.Dense(1, kernel_initializer=ONES))

    def call(self, inputs):
        return self.second(self.first(inputs))


def test_a_network_has_the_variables_of_its_layers():
    with imperative():
        net = Two("net")
        assert net(tf.ones([2, 2])).numpy().tolist() == [[6.0], [6.0]] and net(tf.ones([1, 2])).numpy() == 6.0
        assert [variable.name for variable in net.variables] == ["net/first/kernel:0", "net/first/bias:0", "net/dense/kernel:0", "net/dense/bias:0"]
        assert net.get_layer("first") is net.first and net.get_layer(index=1) is net.second and net.count_params() == 13
        net.trainable = False
        assert not net.trainable_weights and len(net.non_trainable_weights) == 4
        for call, error in ((lambda: net.get_layer("other"), ValueError), (net.get_layer, ValueError), (lambda: net.get_layer(index=2), ValueError),
                            (lambda: net.track_layer(3), TypeError), (lambda: net.add_variable("v", [1]), RuntimeError),
                            (lambda: Two("a/b"), ValueError), (lambda: tfe.Network()(1.0), RuntimeError)):
            with pytest.raises(error):
                call()


def test_networks_are_saved_by_the_names_in_them(tmp_path):
    with imperative():
        net, other, late = Two("net"), Two("other"), Two()
        with pytest.raises(ValueError, match="nothing to save"):
            tfe.save_network_checkpoint(net, str(tmp_path))
        net(tf.ones([1, 2]))
        other(tf.ones([1, 2]))
        net.first.kernel.assign(tf.fill([2, 3], 5.0))
        path = tfe.save_network_checkpoint(net, str(tmp_path), 7)
        assert path == str(tmp_path / "net-7")
        assert [name for name, _ in tf.train.list_variables(path)] == ["dense/bias", "dense/kernel", "first/bias", "first/kernel"]
        tfe.restore_network_checkpoint(other, path)
        tfe.restore_network_checkpoint(late, str(tmp_path))
        assert other(tf.ones([1, 2])).numpy() == late(tf.ones([1, 2])).numpy() == 30.0


def test_sequential():
    with imperative():
        net = tfe.Sequential([tf.layers.Dense(2, kernel_initializer=ONES), lambda x: x * 2.0])
        net.add(tf.layers.Dense(1, kernel_initializer=ONES))
        assert net(tf.ones([1, 2])).numpy() == 8.0 and len(net.layers) == 2
        with pytest.raises(TypeError, match="objects or callables"):
            net.add(3)


def test_savers_without_a_session(tmp_path):
    with imperative():
        a, b = tf.Variable(3.0, name="a"), tfe.Variable([1, 2], name="b")
        path = tfe.Saver([a, b]).save(str(tmp_path / "model"), global_step=3)
        assert path == str(tmp_path / "model-3") == tf.train.latest_checkpoint(str(tmp_path))
        a.assign(9.0)
        tfe.Saver({"a": a}).restore(path)
        assert a.numpy() == 3.0
        saver = tf.train.Saver([a], max_to_keep=1)
        paths = [saver.save(None, str(tmp_path / "other"), step) for step in (1, tf.Variable(2, dtype=tf.int64))]
        assert not tf.train.checkpoint_exists(paths[0]) and tf.train.checkpoint_exists(paths[1])
        missing = tf.Variable(1.0, name="missing")
        with pytest.raises(tf.errors.NotFoundError, match="missing"):
            tfe.Saver([a.assign(4.0), missing]).restore(path)
        assert a.numpy() == 4.0
        for saver_class in (tfe.Saver, tf.train.Saver):
            with pytest.raises(RuntimeError, match="must specify a list or dict"):
                saver_class(None)


def test_variables_that_are_restored_when_they_are_made(tmp_path):
    with imperative():
        path = tfe.Saver([tf.Variable([1.0, 2.0], name="v")]).save(str(tmp_path / "model"))
        with tfe.restore_variables_on_create(path):
            assert tf.get_variable("v", [2]).numpy().tolist() == [1.0, 2.0]
            assert ResourceVariable([0.0, 0.0], name="v").numpy().tolist() == [1.0, 2.0]  # by the class itself, too
            with pytest.raises(tf.errors.NotFoundError):
                tf.Variable(1.0, name="w")
        with tfe.restore_variables_on_create(path, map_func=lambda name: name[-1]):
            assert tf.Variable([0.0, 0.0], name="scope/v").numpy().tolist() == [1.0, 2.0]
        with tfe.restore_variables_on_create(None):
            assert tf.Variable(3.0).numpy() == 3.0


def test_a_store_shares_variables_by_name():
    with imperative():
        store = tfe.EagerVariableStore()
        with store.as_default():
            for _ in range(2):
                result = tf.layers.dense(tf.ones([1, 2]), 2, name="d", kernel_initializer=ONES)
            tf.get_variable("fixed", [], trainable=False)
        assert result.numpy().tolist() == [[2.0, 2.0]]
        assert [variable.name for variable in store.variables()] == ["d/bias:0", "d/kernel:0", "fixed:0"]
        assert len(store.trainable_variables()) == 2 and len(store.non_trainable_variables()) == 1
        copy = store.copy()
        store.variables()[0].assign([7.0, 7.0])
        assert copy.variables()[0].numpy().tolist() == [0.0, 0.0]


def test_other_machines_are_refused():
    with pytest.raises(tf.errors.UnimplementedError, match="this process only"):
        tfe.connect_to_remote_host("host:1")
