"""tf.variable_creator_scope."""
from __future__ import annotations

import penstock as tf


def test_creator_may_return_its_own_kind():
    def resources(next_creator, **kwargs):
        kwargs["use_resource"] = True
        return next_creator(**kwargs)

    with tf.variable_creator_scope(resources):
        assert tf.Variable(1.0).op.type == "VarHandleOp"
    assert tf.Variable(1.0).op.type == "VariableV2"
