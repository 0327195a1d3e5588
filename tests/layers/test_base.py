"""The Layer base: what a user's own layer can rely on, with variable scopes (tf.layers) and without (Keras's base)."""
from __future__ import annotations

import copy

import numpy as np
import pytest

import penstock as tf
from penstock.layers.base import Layer
from penstock.layers.dense import Dense, Dropout
from penstock.layers.nodes import KerasHistory


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


class Double(Layer):
    """Two dense layers, one of them in a list."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.first = Dense(3)
        self.others = [Dense(2, kernel_regularizer="l2")]

    def call(self, inputs):
        return self.others[0](self.first(inputs))


def test_sublayers_belong_to_the_layer():
    layer = Double(name="double")
    assert layer(tf.ones([1, 4])).shape.as_list() == [1, 2]
    assert [v.name for v in layer.trainable_weights] == ["double/dense/kernel:0", "double/dense/bias:0", "double/dense_1/kernel:0",
                                                         "double/dense_1/bias:0"]
    assert layer.count_params() == 4 * 3 + 3 + 3 * 2 + 2
    assert len(layer.losses) == 1 and layer.losses[0] is not layer.losses[0]  # TensorFlow 1.15 makes them anew, each time it is asked
    layer.trainable = False
    assert layer.trainable_weights == [] and len(layer.non_trainable_weights) == 4 and not layer.first.trainable


def test_a_variable_that_is_an_attribute_belongs_to_the_layer():
    layer = Layer()
    layer.scale = tf.Variable(1.0)
    layer.steps = [tf.Variable(1, trainable=False)]
    assert layer.trainable_weights == [layer.scale] and layer.non_trainable_weights == layer.steps


def test_names_of_layers_are_unique_in_a_graph():
    assert [Dense(1).name, Dense(1).name, Dense(1, name="mine").name] == ["dense", "dense_1", "mine"]
    assert [tf.layers.Dense(1).name, tf.layers.Conv2D(1, 2).name] == ["dense_2", "conv2d_1"]
    with tf.Graph().as_default():
        assert Dense(1).name == "dense"


def test_training_reaches_the_layers_inside():
    class Dropping(Layer):
        def __init__(self):
            super().__init__()
            self.drop = Dropout(0.5)

        def call(self, inputs, training=None):
            return self.drop(inputs)

    with tf.Session() as sess:
        assert sess.run(Dropping()(tf.ones([4, 4]), training=False)).tolist() == np.ones([4, 4]).tolist()
        assert set(sess.run(Dropping()(tf.ones([50, 50]), training=True)).ravel()) == {0.0, 2.0}


def test_masks_are_passed_on():
    class Needs(Layer):
        def call(self, inputs, mask=None):
            assert mask is not None
            return inputs

    x = tf.ones([1, 3])
    x._keras_mask = tf.constant([[True, False, True]])
    y = Dense(2)(x)
    assert y._keras_mask is x._keras_mask  # Dense supports masks
    Needs()(y)


def test_calls_on_tensors_with_a_history_are_recorded():
    x = tf.placeholder(tf.float32, [None, 3])
    source = Layer(name="source")
    source._add_inbound_node([], [x])
    assert x._keras_history == KerasHistory(source, 0, 0)
    layer = Dense(2)
    y = layer(x)
    assert layer.input is x and layer.output is y and layer.input_shape == (None, 3) and layer.output_shape == (None, 2)
    assert y._keras_history.layer is layer and layer.inbound_nodes[0].inbound_layers is source and source.outbound_nodes == layer.inbound_nodes
    same = Layer()
    assert same(y) is not y  # each tensor has one history


def test_a_layer_that_was_not_called_has_no_input():
    with pytest.raises(AttributeError, match="not connected"):
        _ = Dense(2).input
    with pytest.raises(AttributeError, match="never been called"):
        _ = Dense(2).output_shape
    with pytest.raises(ValueError, match="isn't built"):
        Dense(2).count_params()


def test_config_makes_the_layer_again():
    layer = Dense(3, activation="relu", kernel_initializer="he_normal", kernel_regularizer="l1", kernel_constraint="non_neg", name="d")
    again = Dense.from_config(layer.get_config())
    assert again.get_config() == layer.get_config() and again.units == 3
    assert layer.get_config()["kernel_initializer"]["class_name"] == "VarianceScaling"

    class Own(Layer):
        def __init__(self, size, **kwargs):
            super().__init__(**kwargs)

    with pytest.raises(NotImplementedError, match="must override `get_config`"):
        Own(3).get_config()


def test_weights_are_read_and_set():
    layer = Dense(2)
    layer(tf.ones([1, 3]))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        layer.set_weights([np.full([3, 2], 2.0), np.ones([2])])
        assert [value.tolist() for value in layer.get_weights()] == [[[2.0, 2.0]] * 3, [1.0, 1.0]]
        with pytest.raises(ValueError, match="weight list of length 1"):
            layer.set_weights([np.ones([2])])
        with pytest.raises(ValueError, match="not compatible"):
            layer.set_weights([np.ones([2, 2]), np.ones([2])])


def test_input_spec_must_be_one():
    layer = Layer()
    with pytest.raises(TypeError, match="must be an instance of InputSpec"):
        layer.input_spec = 3
    layer.input_spec = [tf.layers.InputSpec(ndim=2), tf.layers.InputSpec(dtype=tf.float32, axes={-1: 3}, min_ndim=1)]
    with pytest.raises(ValueError, match="expects 2 inputs"):
        layer([tf.ones([1, 1])])
    with pytest.raises(ValueError, match=r"expected axis -1 of input shape to have value 3 but received input with shape \[4\]"):
        layer([tf.ones([1, 1]), tf.ones([4])])
    with pytest.raises(ValueError, match="expected dtype=float32"):
        layer([tf.ones([1, 1]), tf.ones([3], tf.float64)])
    assert repr(layer.input_spec[0]) == "InputSpec(ndim=2)"


def test_keras_style_layers_share_nothing():
    with tf.layers.experimental.keras_style_scope():
        layers = [tf.layers.Dense(2, name="d"), tf.layers.Dense(2, name="d")]
        for layer in layers:
            layer(tf.ones([1, 3]))
        with pytest.raises(ValueError, match="reuse argument not allowed"):
            tf.layers.dense(tf.ones([1, 3]), 2, reuse=True)
    assert layers[0].kernel is not layers[1].kernel and layers[0].kernel.name != layers[1].kernel.name


def test_a_copy_has_the_same_variables():
    layer = tf.layers.Dense(2)
    layer(tf.ones([1, 3]))
    other = copy.deepcopy(layer)
    assert other.kernel is layer.kernel and other.units == 2 and other is not layer
    assert other(tf.ones([2, 3])).shape.as_list() == [2, 2] and len(tf.global_variables()) == 2


def test_call_must_return_something():
    class Nothing(tf.layers.Layer):
        def call(self, inputs):
            return None

    with pytest.raises(ValueError, match="not None"):
        Nothing()(tf.ones([1]))


def test_a_custom_getter_may_decide_what_is_trained():
    def frozen(getter, *args, **kwargs):
        return getter(*args, **{**kwargs, "trainable": False})

    layer = tf.layers.Dense(2)
    with tf.variable_scope("s", custom_getter=frozen):
        layer(tf.ones([1, 3]))
    assert layer.trainable_weights == [] and len(layer.non_trainable_weights) == 2
