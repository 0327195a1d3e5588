"""Both kinds of variables, for tests that hold for each."""
from __future__ import annotations

import pytest

import penstock as tf

KINDS = pytest.mark.parametrize("resource", [False, True], ids=["ref", "resource"])


def made(sess, value, resource, **kwargs):
    """A variable that is initialized in ``sess``."""
    variable = tf.Variable(value, use_resource=resource, **kwargs)
    sess.run(variable.initializer)
    return variable
