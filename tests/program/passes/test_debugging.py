"""The pass that strips assertions and prints."""
from __future__ import annotations

import numpy as np
import pytest
from tensorboard.compat.proto.rewriter_config_pb2 import RewriterConfig

import penstock as tf
from support.programs import session

pytestmark = pytest.mark.process


def test_debugging_is_stripped_if_asked_for(capfd):
    x = tf.placeholder(tf.float32, [2])
    with tf.control_dependencies([tf.Assert(tf.reduce_all(x > 0.0), [x])]):
        y = tf.Print(tf.check_numerics(x * 2.0, "not finite"), [x], "seen")
    z = tf.exp(y)
    with session() as sess, pytest.raises(tf.errors.InvalidArgumentError):
        sess.run(z, {x: [-1.0, 1.0]})
    with session(debug_stripper=RewriterConfig.ON) as sess:
        assert np.isinf(sess.run(z, {x: [-1.0, np.inf]})).any()
    assert "seen" not in capfd.readouterr().err
