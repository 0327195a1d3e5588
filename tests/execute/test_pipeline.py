"""The policy of first runs."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.execute import pipeline
from penstock.native.config import config
from penstock.native.table.instance import Instance

pytestmark = pytest.mark.process


@pytest.fixture
def native_runs(monkeypatch):
    """Runs of native code with a loop, in the default mode; a loop is long from the thousandth kernel on."""
    monkeypatch.setattr(config, "mode", "background")
    monkeypatch.setattr(pipeline, "_LONG", 1000)
    runs, run = [], Instance.run

    def count(self, arrays, between):
        runs.extend([1] * bool(self._table.loops))
        return run(self, arrays, between)
    monkeypatch.setattr(Instance, "run", count)
    return runs


def _loop(turns, body):
    return tf.while_loop(lambda i, x: i < turns, lambda i, x: (i + 1, body(i, x)), [0, tf.constant(1.0)])[1]


@pytest.mark.parametrize(("turns", "is_native"), [(100, False), (3000, True)])
def test_the_first_run_of_a_long_loop_is_native(turns, is_native, native_runs):
    variable = tf.Variable(0.5, use_resource=True)
    array = tf.TensorArray(tf.float32, turns)
    result = _loop(turns, lambda i, x: x * variable + 1.0)
    last = tf.while_loop(lambda i, *_: i < turns, lambda i, a: (i + 1, a.write(i, tf.to_float(i))), [0, array])[1].stack()
    with tf.Session() as session:
        session.run(variable.initializer)
        assert session.run(result) == 2.0
        assert bool(native_runs) == is_native
        native_runs.clear()
        np.testing.assert_array_equal(session.run(last), np.arange(turns, dtype=np.float32))
        assert bool(native_runs) == is_native


def test_a_first_run_that_would_be_noticed_is_not_begun_again(native_runs):
    calls = []
    count = tf.Variable(0.0, use_resource=True)
    with tf.control_dependencies([count.assign_add(1.0)]):
        updated = _loop(3000, lambda i, x: tf.identity(x))
    drawn = _loop(3000, lambda i, x: tf.random_uniform([], seed=1))
    called = _loop(3000, lambda i, x: tf.reshape(tf.py_func(lambda x: (calls.append(1), x)[1], [x], tf.float32), []))
    with tf.Session() as session:
        session.run(count.initializer)
        session.run(updated)
        assert session.run(count) == 1.0
        first = session.run(drawn)
        session.run(called)
        assert len(calls) == 3000
        assert not native_runs
    with tf.Session(config=tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=tf.OptimizerOptions(opt_level=-1)))) as session:
        assert session.run(drawn) == first
