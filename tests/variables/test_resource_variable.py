"""What only resource variables have."""
from __future__ import annotations

import pytest

import penstock as tf
from support.variables import made


def test_no_augmented_assignment_to_resources(sess):
    v = made(sess, 1.0, True)
    with pytest.raises(RuntimeError, match="assign_add"):
        v += 1.0


def test_resource_handle_knows_its_type(sess):
    v = tf.Variable([1.0], use_resource=True)
    with pytest.raises(ValueError, match="wrong dtype"):
        tf.raw_ops.AssignVariableOp(resource=v.handle, value=tf.constant([1]))
    with pytest.raises(ValueError, match="Shapes"):
        v.assign([1.0, 2.0])


def test_destroyed_resource(sess):
    v = made(sess, 1.0, True)
    sess.run(tf.raw_ops.DestroyResourceOp(resource=v.handle))
    with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
        sess.run(v.read_value())
    sess.run(v.initializer)
    assert sess.run(v) == 1


def test_resource_variables_by_default(sess):
    assert not tf.resource_variables_enabled()
    tf.enable_resource_variables()
    try:
        assert tf.Variable(1.0).op.type == tf.get_variable("g", []).op.type == "VarHandleOp"
    finally:
        tf.disable_resource_variables()
    assert tf.Variable(1.0).op.type == "VariableV2"
