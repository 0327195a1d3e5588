"""Updates stand where their gradients are made, and no node sees a variable change earlier than the program says."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from support.programs import nodes_after, only

pytestmark = pytest.mark.process
EARLY = only(updates=True)


def names_after(fetches, feeds=(), targets=()):
    return [node.name for node in nodes_after(fetches, feeds, EARLY, targets)]


def made_by(node):
    return made_by(node.inputs[0][0]) if node.definition.type == "Identity" else node


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("optimizer", [tf.train.GradientDescentOptimizer, tf.train.AdamOptimizer])
def test_gradients_do_not_wait_for_each_other(optimizer, resource):
    with tf.Graph().as_default():
        x = value = tf.placeholder(tf.float32, [4, 8])
        for layer in range(5):
            value = tf.tanh(tf.matmul(value, tf.get_variable(f"w{layer}", [8, 8], use_resource=resource)))
        train = optimizer(0.1).minimize(tf.reduce_sum(value))
        nodes = nodes_after([], [x], EARLY, [train])
    waiting, most = set(), 0
    for node in nodes:
        waiting -= {made_by(producer) for producer, _ in node.inputs if node.definition.updates}
        waiting |= {node} if node.definition.type == "MatMul" and node.attrs["transpose_a"] else set()
        most = max(most, len(waiting))
    assert most == 1 and not waiting


def test_scaled_gradients_go_with_their_updates():
    with tf.Graph().as_default():
        first, second = tf.Variable([1.0, 2.0]), tf.Variable([3.0, 4.0])
        gradients = tf.gradients(tf.reduce_sum(tf.exp(first) * tf.sin(second)), [first, second])
        scaled = [tf.multiply(gradient, 0.5, name=f"scaled{index}") for index, gradient in enumerate(gradients)]
        updates = [tf.assign_sub(variable, gradient).op for variable, gradient in zip((first, second), scaled)]
        names = names_after([], (), updates)
    assert [name for name in names if name.startswith(("scaled", "AssignSub")) and "/" not in name] in (
        ["scaled0", "AssignSub", "scaled1", "AssignSub_1"], ["scaled1", "AssignSub_1", "scaled0", "AssignSub"])


def test_who_reads_before_the_update_still_does():
    with tf.Graph().as_default(), tf.Session() as session:
        plain, handle = tf.Variable([1.0]), tf.get_variable("handle", initializer=[1.0], use_resource=True)
        amount = tf.constant([5.0])
        before = [plain + 0.5, handle.read_value() + 0.5]
        updates = [tf.assign_add(plain, amount), handle.assign_add(amount)]
        with tf.control_dependencies(updates):
            after = [tf.add(plain, 0.25), handle.read_value() + 0.25]
        again = tf.assign_add(plain, 2.0 * amount)
        session.run(tf.global_variables_initializer())
        found = session.run([before, after, again])
    np.testing.assert_array_equal(np.ravel(found[0]), [1.5, 1.5])
    np.testing.assert_array_equal(np.ravel(found[1]), [6.25, 6.25])
    np.testing.assert_array_equal(found[2], [16.0])


def test_a_function_that_sees_the_variable_is_waited_for():
    with tf.Graph().as_default():
        variable = tf.get_variable("v", initializer=1.0, use_resource=True)
        chosen = tf.cond(tf.equal(variable, 1.0), lambda: variable + 1.0, lambda: variable - 1.0, name="chosen")
        update = variable.assign_add(2.0)
        names = names_after([chosen], (), [update.op if hasattr(update, "op") else update])
    assert max(position for position, name in enumerate(names) if "AssignAdd" in name) > next(
        position for position, name in enumerate(names) if name.startswith("chosen"))
