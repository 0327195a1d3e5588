"""tf.Module: names, variables of all kinds of attributes, checkpoints; layers are modules. Golden values: ``tests/golden/cases/eager.py``."""
import pytest
from support.imperative import imperative

import penstock as tf

pytestmark = pytest.mark.process


class Scale(tf.Module):
    def __init__(self, name=None):
        super().__init__(name)
        self.factor = tf.Variable(2.0, name="factor", use_resource=True)

    @tf.Module.with_name_scope
    def __call__(self, x):
        return tf.multiply(x, self.factor, name="scaled")


class Holder(tf.Module):
    def __init__(self):
        super().__init__()
        self.parts = {2: [Scale("second")], 1: (Scale("first"),)}
        self.twice = self.parts[1]
        self.dense = tf.keras.layers.Dense(1)
        self.text, self.keys = "text", {"a": 1, 2: "b"}  # keys without an order


def test_attributes_are_found_once_and_in_the_order_of_names():
    with imperative():
        holder = Holder()
        holder.dense(tf.ones([1, 2]))
        assert [module.name for module in holder.submodules] == ["dense", "first", "second"]
        assert [variable.shape.as_list() for variable in holder.variables] == [[2, 1], [1], [], []]
        assert len(holder.trainable_variables) == 4 and isinstance(holder.dense, tf.Module)


def test_a_scope_is_entered_again_in_a_graph():
    with tf.Graph().as_default(), tf.name_scope("outer"):
        scale = Scale()
        assert [scale(tf.constant(1.0)).name for _ in range(2)] == ["outer/scale/scaled:0", "outer/scale/scaled_1:0"]


def test_a_checkpoint_finds_what_is_set_later(tmp_path):
    with imperative():
        saved = Scale()
        saved.factor.assign(7.0)
        path = tf.train.Checkpoint(module=saved).save(str(tmp_path / "model"))
        root = tf.train.Checkpoint()
        status = root.restore(path)
        root.module = tf.Module()
        root.module.factor = tf.Variable(0.0, use_resource=True)
        assert root.module.factor.numpy() == 7.0
        status.assert_consumed()
