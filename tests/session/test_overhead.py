"""What a step costs does not depend on what else is in the graph: counted in function calls, which no other program on the machine can disturb."""
from __future__ import annotations

import gc
import sys

import pytest

import penstock as tf

pytestmark = pytest.mark.process


def calls(run):
    """How many functions are called, Python's own included; what other tests have left is not cleaned up meanwhile."""
    count = 0
    gc.collect()
    gc.disable()

    def see(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(see)
    try:
        run()
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


def counted(others):
    """The calls of the first, the second and the tenth run of three operations beside ``others``, and of a new step after the graph has grown."""
    with tf.Graph().as_default(), tf.Session() as session:
        other = tf.placeholder(tf.float32, [])
        for _ in range(others):
            other = tf.negative(other)
        x = tf.placeholder(tf.float32, [])
        y = x * 2.0 + 1.0
        found = [calls(lambda: session.run(y, {x: 1.0})) for _ in range(10)]
        tf.negative(other)
        z = x * 3.0
        return found[0], found[1], found[9], calls(lambda: session.run(z, {x: 1.0}))


def test_a_large_graph_costs_a_step_nothing():
    counted(10)  # imports, caches
    small, large = counted(10), counted(20_000)
    assert large == pytest.approx(small, abs=5)
