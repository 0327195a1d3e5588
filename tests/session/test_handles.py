"""Handles of tensors that stay in a session."""
from __future__ import annotations

import gc

import numpy as np
import pytest

import penstock as tf


def kept(session, value):
    return session.run(tf.get_session_handle(value))


def test_a_value_stays(session):
    handle = kept(session, tf.constant(2) * 3)
    name, number, device = handle.handle.split(";")
    assert name == "GetSessionHandle" and int(number) > 0 and device == "/job:localhost/replica:0/task:0/device:CPU:0"
    holder, value = tf.get_session_tensor(handle.handle, tf.int32)
    assert session.run(value + 1, {holder: handle.handle}) == 7
    assert handle.eval() == 6 and str(handle) == handle.handle


def test_nests(session):
    a = tf.constant([1.0, 2.0])
    fetched = session.run({"handle": tf.get_session_handle(a), "values": [a * 2.0]})
    assert fetched["handle"].eval().tolist() == [1.0, 2.0] and fetched["values"][0].tolist() == [2.0, 4.0]
    with pytest.raises(TypeError, match="`data` must be of type Tensor"):
        tf.get_session_handle(1.0)


def test_handles_as_values_of_feeds(session):
    a, b = tf.constant(10.0), tf.constant(5.0)
    c, d = a * b, a / b
    first, second = kept(session, c), kept(session, d)
    assert session.run(c - d, {c: second, d: first}) == -48.0
    assert session.run([c, tf.identity(c)], {c: second}) == [2.0, 2.0]
    assert session.make_callable(c + 1.0, [c])(second) == 3.0


def test_deleting(session):
    handle = kept(session, tf.constant(1.0))
    other = tf.get_session_tensor(handle.handle, tf.float32)
    handle.delete()
    with pytest.raises(tf.errors.InvalidArgumentError, match="is not in the session store"):
        session.run(other[1], {other[0]: handle.handle})
    for use in (handle.eval, handle.delete, handle.get_raw_handle):
        with pytest.raises(TypeError, match="may have already been deleted"):
            use()
    raw = kept(session, tf.constant(1.0)).get_raw_handle()
    holder, delete = tf.delete_session_tensor(raw)
    session.run(delete, {holder: raw})


def test_another_type_is_refused(session):
    handle = kept(session, tf.constant(1.0))
    holder, value = tf.get_session_tensor(handle.handle, tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="is float32, not int32"):
        session.run(value, {holder: handle.handle})


def test_values_without_handles_are_deleted(session):
    handle = kept(session, tf.zeros([]))
    holder, value = tf.get_session_tensor(handle.handle, tf.float32)
    following = tf.get_session_handle(value + 1.0)
    for _ in range(100):
        handle = session.run(following, {holder: handle.handle})
    gc.collect()
    assert handle.eval() == 100.0
    assert len(session._backend.environment.private) < 25


def test_a_value_goes_to_the_device_of_its_placeholder():
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        with tf.device("/cpu:1"):
            there = session.run(tf.get_session_handle(tf.constant(3.0)))
        with tf.device("/cpu:0"):
            here = session.run(tf.get_session_handle(tf.constant(4.0)))
        holder, value = tf.get_session_tensor(here.handle, tf.float32)
        assert holder.device.endswith("CPU:0") and there.handle.endswith("CPU:1")
        assert session.run(value * 2.0, {holder: there.handle}) == 6.0


def test_variables(session):
    variable = tf.Variable(12.0, use_resource=False)
    session.run(variable.initializer)
    before = kept(session, variable.read_value())
    session.run(variable.assign_add(2.0))
    np.testing.assert_equal([before.eval(), session.run(variable)], [12.0, 14.0])
