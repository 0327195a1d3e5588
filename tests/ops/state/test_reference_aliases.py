"""What TensorFlow 1.15.5 fetches of operations that hand on the buffer of a reference variable, after a write that waits for them."""
from __future__ import annotations

import pytest

import penstock as tf
from penstock.native.config import config


@pytest.mark.parametrize("mode", ["off", "eager"])
@pytest.mark.parametrize("through", [tf.identity, tf.stop_gradient, lambda v: tf.raw_ops.PreventGradient(input=v), lambda v: v.read_value(),
                                     lambda v: tf.stop_gradient(tf.identity(v))])
def test_a_later_write_is_seen_through_them(monkeypatch, through, mode):
    monkeypatch.setattr(config, "mode", mode)
    v = tf.Variable([1.0, 2.0], use_resource=False)
    seen = through(v)
    with tf.control_dependencies([seen]):
        written = tf.assign_add(v, [1.0, 1.0])
    with tf.control_dependencies([written]):
        after = seen + 0.0
    with tf.Session() as session:
        for _ in range(3):
            session.run(v.initializer)
            assert [value.tolist() for value in session.run([seen, written, after])] == [[2.0, 3.0]] * 3


def test_no_gradient_goes_through_a_stopped_reference():
    v = tf.Variable([1.0, 2.0], use_resource=False)
    assert tf.gradients(tf.reduce_sum(tf.stop_gradient(v) * 2.0), v) == [None]
    with pytest.raises(LookupError, match="explicitly disabled"):
        tf.gradients(tf.raw_ops.PreventGradient(input=v), v)
