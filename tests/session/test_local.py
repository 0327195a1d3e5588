"""The back end of this process: the warning of a graph that grows in a loop, and steps that are used again."""
from __future__ import annotations

import contextvars
import logging

import numpy as np
import pytest

import penstock as tf
from penstock.ops.common import like


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


# --- steps that stand for the next ones ---------------------------------------------------------------------------------------------------------

def test_a_step_is_used_again_unless_something_met_it(session):
    x = tf.placeholder(tf.float32, [])
    queue = tf.FIFOQueue(1, tf.float32, shapes=[[]])
    put, take, y = queue.enqueue(x), queue.dequeue(), x + 1.0
    backend = session._backend
    for _ in range(4):
        session.run(y, {x: 1.0})
    [idle] = backend._idle
    session.run(y, {x: 1.0})
    assert backend._idle == [idle] and backend._steps == {idle}
    for _ in range(4):
        session.run(put, {x: 1.0})
        session.run(take)
    assert all(step.pristine for step in backend._idle) and backend._steps == set(backend._idle)


def test_a_step_that_fails_is_not_used_again(session):
    x = tf.placeholder(tf.float32, None)
    y = tf.reshape(x, [2])
    for _ in range(3):
        session.run(y, {x: [1.0, 2.0]})
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run(y, {x: [1.0]})
    assert not session._backend._idle and not session._backend._steps
    assert session.run(y, {x: [1.0, 2.0]}).tolist() == [1, 2]


def test_small_steps_keep_what_numpy_warns_of(session):
    """1 / 0 in a step does not warn, by any executor; the program's own setting stays."""
    x = tf.placeholder(tf.float32, [])
    y = 1.0 / x
    with np.errstate(divide="raise"):
        for _ in range(4):
            assert np.isinf(session.run(y, {x: 0.0}))
        with pytest.raises(FloatingPointError):
            np.float32(1) / np.float32(0)


def test_kernels_of_users_see_their_context_variables(session):
    asked = contextvars.ContextVar("asked", default=0.0)

    @tf.op("TestAskedNumber", "x: float -> y: float")
    class AskedNumber:
        shape = like("x")

        def kernel(x):
            return np.float32(x + asked.get())

    x = tf.placeholder(tf.float32, [])
    y = AskedNumber(x)
    for number in (1.0, 2.0, 3.0):
        asked.set(number)
        assert session.run(y, {x: 1.0}) == 1.0 + number


@pytest.mark.parametrize(("every", "after", "measured"), [(1, 0, [0, 1, 2, 3, 4, 5]), (1, 3, [3, 4, 5]), (2, 0, [1, 3, 5]), (2, 3, [4]),
                                                          (3, 1, [3]), (0, 0, [])])
def test_cost_models(every, after, measured):
    """Which of six steps TensorFlow 1.15 measures."""
    x = tf.placeholder(tf.float32, [4, 3], name="x")
    total = tf.reduce_sum(tf.matmul(x, tf.ones([3, 2]), name="product"), name="total")
    with tf.Session(config=tf.ConfigProto(graph_options=tf.GraphOptions(build_cost_model=every, build_cost_model_after=after))) as session:
        steps = [tf.RunMetadata() for _ in range(6)]
        for metadata in steps:
            session.run(total, {x: np.ones([4, 3])}, run_metadata=metadata)
        assert [number for number, step in enumerate(steps) if step.cost_graph.node] == measured
        for number in measured:
            nodes = {node.name: node for node in steps[number].cost_graph.node}
            product, = nodes["product"].output_info
            assert (product.size, [each.size for each in product.shape.dim], product.dtype) == (32, [4, 2], 1)
            assert nodes["total"].input_info[0].preceding_node == nodes["product"].id and nodes["total"].compute_cost > 0
            assert steps[number].step_stats.dev_stats
