"""Constraints, regularizers, initializers and activations: values, and what their configurations mean."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf

keras = tf.keras
W = np.arange(-4, 5, dtype=np.float32).reshape(3, 3)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def value(tensor):
    with tf.Session() as sess:
        return sess.run(tensor)


def test_norms_are_held():
    norms = np.linalg.norm(W, axis=0)
    np.testing.assert_allclose(np.linalg.norm(value(keras.constraints.MaxNorm(3)(tf.constant(W))), axis=0), np.minimum(norms, 3), rtol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(value(keras.constraints.UnitNorm()(tf.constant(W))), axis=0), 1, rtol=1e-5)
    halfway = keras.constraints.MinMaxNorm(0.0, 2.0, rate=0.5)
    np.testing.assert_allclose(np.linalg.norm(value(halfway(tf.constant(W))), axis=0), (norms + 2) / 2, rtol=1e-5)
    assert (value(keras.constraints.NonNeg()(tf.constant(W))) == np.maximum(W, 0)).all()


@pytest.mark.parametrize(("size", "places"), [(3, [[1, 1, 1], [1, 0, 1], [1, 1, 1]]), (4, [[3, 3, 3, 3], [3, 1, 1, 3], [3, 1, 1, 3], [3, 3, 3, 3]])])
def test_radial_constraint_makes_rings_equal(size, places):
    """The value of a ring is that of the element on the diagonal which TensorFlow takes: ``places`` has its row."""
    w = np.arange(size * size * 2, dtype=np.float32).reshape(size, size, 1, 2)
    expected = np.array([[w[place, place] for place in row] for row in places])
    assert (value(keras.constraints.RadialConstraint()(tf.constant(w))) == expected).all()
    with pytest.raises(ValueError, match="rank 4"):
        keras.constraints.RadialConstraint()(tf.constant(W))


def test_regularizers():
    assert value(keras.regularizers.l1_l2(0.5, 0.25)(tf.constant(W))) == pytest.approx(0.5 * np.abs(W).sum() + 0.25 * (W**2).sum())
    assert value(keras.regularizers.L1L2()(tf.constant(W))) == 0
    assert keras.regularizers.get("l2").get_config() == {"l1": 0.0, "l2": pytest.approx(0.01)}


@pytest.mark.parametrize(("family", "identifier"), [
    ("initializers", "he_normal"), ("initializers", "Orthogonal"), ("initializers", "uniform"), ("initializers", "glorot_normal"),
    ("constraints", "max_norm"), ("constraints", "UnitNorm"), ("regularizers", "l1"), ("initializers", "lecun_uniform")])
def test_a_config_makes_the_object_again(family, identifier):
    module = getattr(keras, family)
    made = module.get(identifier)
    again = module.deserialize(module.serialize(made))
    assert type(again) is type(made) and again.get_config() == made.get_config()
    assert module.get(made) is made and module.get(None) is None
    with pytest.raises(ValueError, match="Unknown"):
        module.get("wobble")
    with pytest.raises(ValueError, match="Could not interpret"):
        module.get(3)


def test_activations():
    x = tf.constant([-3.0, -1.0, 0.5, 9.0])
    activations = keras.activations
    assert value(activations.relu(x, alpha=0.5, max_value=4.0)).tolist() == [-1.5, -0.5, 0.5, 4.0]
    assert value(activations.relu(x, threshold=1.0)).tolist() == [0.0, 0.0, 0.0, 9.0]
    assert value(activations.relu(x, max_value=6)).tolist() == [0.0, 0.0, 0.5, 6.0]
    np.testing.assert_allclose(value(activations.hard_sigmoid(x)), [0.0, 0.3, 0.6, 1.0], rtol=1e-6)
    assert activations.get(None) is activations.linear and activations.serialize(activations.get("tanh")) == "tanh"
    np.testing.assert_allclose(value(activations.softmax(tf.ones([2, 3, 4]), axis=1)).sum(axis=1), 1, rtol=1e-6)
    with pytest.raises(ValueError, match="1D"):
        activations.softmax(x)
    with pytest.raises(TypeError, match="activation function identifier"):
        activations.get(3)


def test_colocation_with_a_variable_inside_a_branch():
    """A moving average that a branch updates is colocated with its variable, which stands in the graph around the branch."""
    variable = tf.get_variable("v", [], initializer=tf.zeros_initializer())
    flag = tf.placeholder(tf.bool, [])

    def add():
        with tf.colocate_with(variable):
            return variable.assign_add(2.0)

    result = tf.cond(flag, add, lambda: tf.identity(variable))
    with tf.Session() as sess:
        sess.run(variable.initializer)
        assert [sess.run(result, {flag: each}) for each in (True, False, True)] == [2.0, 2.0, 4.0]
