"""``tf.Module``: names, and what is found among attributes."""
from __future__ import annotations

import pytest

import penstock as tf
from support.imperative import imperative


class Pair(tf.Module):
    def __init__(self, name=None):
        super().__init__(name)
        self.b = tf.Variable(1.0, name="b")
        self.a = [tf.Variable(2.0, name="a", trainable=False), {"inner": Inner()}]
        self.again = self.b


class Inner(tf.Module):
    def __init__(self):
        super().__init__()
        self.w = tf.Variable(3.0, name="w")

    @tf.Module.with_name_scope
    def __call__(self):
        return tf.identity(self.w, name="out")


@pytest.mark.graph
def test_variables_and_modules_are_found_once_in_the_order_of_attributes():
    pair = Pair()
    inner = pair.a[1]["inner"]
    assert pair.variables == (pair.a[0], pair.b, inner.w)
    assert pair.trainable_variables == (pair.b, inner.w)
    assert pair.submodules == (inner,)
    assert list(pair._flatten(predicate=lambda value: value is inner, with_path=True)) == [(("a", 1, "inner"), inner)]


@pytest.mark.graph
def test_names():
    assert Pair().name == "pair"
    inner = Inner()
    assert inner().op.name == "inner_1/out"  # Pair has the first
    assert inner().op.name == "inner_1/out_1"
    with pytest.raises(ValueError, match="not a valid module name"):
        Pair("a b")


@pytest.mark.process
def test_layers_are_modules():
    with imperative():
        pair = Pair()
        pair.dense = tf.keras.layers.Dense(1)
        pair.dense(tf.ones([1, 2]))
        assert pair.dense in pair.submodules and pair.dense.submodules == ()
        assert [variable.shape.as_list() for variable in pair.variables] == [[], [], [], [2, 1], [1]]


@pytest.mark.process
def test_a_checkpoint_finds_what_is_set_later(tmp_path):
    with imperative():
        saved = Inner()
        saved.w.assign(7.0)
        path = tf.train.Checkpoint(module=saved).save(str(tmp_path / "model"))
        root = tf.train.Checkpoint()
        status = root.restore(path)
        root.module = tf.Module()
        root.module.w = tf.Variable(0.0, use_resource=True)
        assert root.module.w.numpy() == 7.0
        status.assert_consumed()
