"""``tf.contrib.opt``: SciPy's optimizers, savers that swap, and that a step stays native."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.debug.explain import Explainer
from penstock.native.config import config

pytestmark = pytest.mark.process


def test_scipy_minimizes_a_function_of_all_variables():
    with tf.Graph().as_default(), tf.Session() as session:
        vector = tf.Variable([7.0, 7.0], name="vector")
        other = tf.Variable(3.0)
        loss = tf.reduce_sum(tf.square(vector - [1.0, 2.0])) + tf.square(other + 1.0)
        seen, steps = [], []
        optimizer = tf.contrib.opt.ScipyOptimizerInterface(loss, options={"maxiter": 100})
        session.run(tf.global_variables_initializer())
        optimizer.minimize(session, fetches=[loss], loss_callback=seen.append, step_callback=steps.append)
        np.testing.assert_allclose(session.run(vector), [1.0, 2.0], atol=1e-4)
        np.testing.assert_allclose(session.run(other), -1.0, atol=1e-4)
        assert seen[0] == 36.0 + 25.0 + 16.0 and len(steps) >= 1 and steps[0].shape == (3,)


def test_scipy_with_bounds_and_constraints():
    with tf.Graph().as_default(), tf.Session() as session:
        vector = tf.Variable([7.0, 7.0])
        bounded = tf.contrib.opt.ScipyOptimizerInterface(tf.reduce_sum(tf.square(vector)), var_to_bounds={vector: (1.0, [np.inf, 10.0])})
        constrained = tf.contrib.opt.ScipyOptimizerInterface(tf.reduce_sum(tf.square(vector)), equalities=[vector[1] - 2.0],
                                                             inequalities=[vector[0] - 3.0], method="SLSQP")
        session.run(tf.global_variables_initializer())
        bounded.minimize(session)
        np.testing.assert_allclose(session.run(vector), [1.0, 1.0], atol=1e-5)
        session.run(tf.global_variables_initializer())
        constrained.minimize(session)
        np.testing.assert_allclose(session.run(vector), [3.0, 2.0], atol=1e-5)


def test_arguments_that_scipy_may_not_get():
    with tf.Graph().as_default(), tf.Session() as session:
        vector = tf.Variable([7.0])
        loss = tf.reduce_sum(vector)
        session.run(tf.global_variables_initializer())
        with pytest.raises(ValueError, match="var_to_bounds"):
            tf.contrib.opt.ScipyOptimizerInterface(loss, bounds=[(0, 1)]).minimize(session)
        with pytest.raises(ValueError, match="'jac' is set automatically"):
            tf.contrib.opt.ScipyOptimizerInterface(loss, jac=False).minimize(session)
        with pytest.raises(NotImplementedError, match="_minimize"):
            tf.contrib.opt.ExternalOptimizerInterface(loss).minimize(session)


def test_a_swapping_saver_writes_averages_as_weights(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        weight = tf.Variable(1.0, name="weight")
        optimizer = tf.contrib.opt.MovingAverageOptimizer(tf.train.GradientDescentOptimizer(0.5), average_decay=0.5)
        train_op = optimizer.minimize(weight)
        saver = optimizer.swapping_saver()
        session.run(tf.global_variables_initializer())
        session.run(train_op)  # the weight becomes 0.5, its average 0.75
        path = saver.save(session, str(tmp_path / "model"))
        assert session.run(weight) == 0.5
        assert tf.train.load_variable(path, "weight") == 0.75
        saver.restore(session, path)
        assert session.run(weight) == 0.5
        with pytest.raises(ValueError, match="not part of variables to save"):
            optimizer.swapping_saver([weight])


@pytest.mark.parametrize("name", ["LazyAdamOptimizer", "AdaMaxOptimizer", "PowerSignOptimizer"])
def test_a_training_step_does_not_fall_back_to_numpy(name, monkeypatch):
    monkeypatch.setattr(config, "mode", "eager")
    with Explainer() as explainer, tf.Graph().as_default(), tf.Session() as session:
        table = tf.get_variable("table", [5, 3], use_resource=True)
        rows = tf.layers.dense(tf.gather(table, [0, 3]), 2)
        train_op = getattr(tf.contrib.opt, name)(0.1).minimize(tf.reduce_mean(tf.square(rows)))
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(train_op)
    (report,) = (each for each in explainer.reports() if each.runs > 1)
    assert report.fallbacks == []
