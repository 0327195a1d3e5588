"""Devices, control dependencies and colocation: what ``with`` blocks say of the ops made inside."""
from __future__ import annotations

import contextlib

import pytest

import penstock as tf


def device_of(*scopes):
    """The device of an op made inside these nested scopes."""
    if not scopes:
        return tf.constant(0).device
    with tf.device(scopes[0]):
        return device_of(*scopes[1:])


@pytest.mark.parametrize("scopes, device", [
    ([], ""),
    (["/cpu:0"], "/device:CPU:0"),
    (["/gpu:1"], "/device:GPU:1"),
    (["/device:CPU:0"], "/device:CPU:0"),
    (["/job:ps/task:1"], "/job:ps/task:1"),
    (["/job:ps", "/cpu:0"], "/job:ps/device:CPU:0"),
    (["/cpu:0", "/job:ps"], "/job:ps/device:CPU:0"),
    (["/cpu:0", "/gpu:1"], "/device:GPU:1"),
    (["/job:ps/task:1", "/task:2"], "/job:ps/task:2"),
    (["/job:ps/task:1", "/job:worker"], "/job:worker/task:1"),
    (["/job:ps", None], ""),
    (["/job:ps", None, "/cpu:0"], "/device:CPU:0"),
    (["/job:ps", ""], "/job:ps"),
    (["/job:a/replica:1/task:2/device:GPU:3"], "/job:a/replica:1/task:2/device:GPU:3"),
])
def test_device_scopes_merge(scopes, device):
    assert device_of(*scopes) == device


def test_device_spec_as_scope():
    assert device_of(tf.DeviceSpec(job="ps", task=3)) == "/job:ps/task:3"


def test_device_function_sees_the_op():
    seen = []

    def choose(op):
        seen.append((op.type, op.name))
        return "/device:CPU:1"

    with tf.device(choose):
        assert tf.constant(0, name="c").device == "/device:CPU:1"
    assert seen == [("Const", "c")]


def test_device_function_inside_and_outside():
    assert device_of("/job:ps", lambda op: "/cpu:1") == "/job:ps/device:CPU:1"
    assert device_of(lambda op: "/job:ps", "/cpu:1") == "/job:ps"
    assert device_of(lambda op: op.device + "/task:5", "/job:ps") == "/job:ps/task:5"


@pytest.mark.parametrize("text", ["/job", "nothing", "/cpu:x"])
def test_invalid_device_names(text):
    with pytest.raises(ValueError):
        with tf.device(text):
            tf.constant(0)


@pytest.mark.parametrize("text, canonical", [
    ("/job:ps/replica:0/task:1/cpu:0", "/job:ps/replica:0/task:1/device:CPU:0"),
    ("/gpu:*", "/device:GPU:*"),
    ("/device:FPGA:3", "/device:FPGA:3"),
    ("", ""),
])
def test_device_spec_round_trip(text, canonical):
    assert tf.DeviceSpec.from_string(text).to_string() == canonical


def test_device_spec_parts():
    spec = tf.DeviceSpec.from_string("/job:ps/task:1/gpu:2")
    assert (spec.job, spec.replica, spec.task, spec.device_type, spec.device_index) == ("ps", None, 1, "GPU", 2)


def test_control_dependencies():
    a, b = tf.constant(0, name="a"), tf.constant(0, name="b")
    with tf.control_dependencies([a, b.op]):
        c = tf.constant(0)
        with tf.control_dependencies([c]):
            d = tf.constant(0)
    assert c.op.control_inputs == [a.op, b.op]
    assert set(d.op.control_inputs) == {c.op} or set(d.op.control_inputs) == {a.op, b.op, c.op}
    assert tf.constant(0).op.control_inputs == []


def test_nested_control_dependencies_are_pruned():
    a = tf.constant(0, name="a")
    with tf.control_dependencies([a]):
        b = tf.constant(0, name="b")
        c = tf.identity(b, name="c")
    assert b.op.control_inputs == [a.op]
    assert c.op.control_inputs == []  # b waits for a already


def test_control_dependency_that_is_an_input():
    a = tf.constant(0)
    with tf.control_dependencies([a]):
        assert tf.identity(a).op.control_inputs == []


def test_control_dependencies_none_forgets():
    a = tf.constant(0)
    with tf.control_dependencies([a]):
        with tf.control_dependencies(None):
            assert tf.constant(0).op.control_inputs == []
            with tf.control_dependencies([a]):
                assert tf.constant(0).op.control_inputs == [a.op]
        assert tf.constant(0).op.control_inputs == [a.op]


def test_control_dependencies_by_name_and_of_wrong_things():
    a = tf.constant(0, name="a")
    with tf.control_dependencies(["a"]):
        assert tf.constant(0).op.control_inputs == [a.op]
    with pytest.raises(TypeError):
        with tf.control_dependencies([3]):
            pass


def test_colocation():
    with tf.device("/cpu:1"):
        a = tf.constant(0, name="a")
    with tf.colocate_with(a):
        b = tf.constant(0, name="b")
    assert b.device == "/device:CPU:1"
    assert b.op.colocation_groups() == [b"loc:@a"]
    assert a.op.colocation_groups() == [b"loc:@a"]
    assert b.op.get_attr("_class") == [b"loc:@a"]


def test_colocation_ignores_device_scopes():
    with tf.device("/cpu:1"):
        a = tf.constant(0, name="a")
    with tf.device("/gpu:0"), tf.colocate_with(a.op):
        assert tf.constant(0).device == "/device:CPU:1"


def test_colocation_nests_and_can_be_forgotten():
    a, b = tf.constant(0, name="a"), tf.constant(0, name="b")
    with tf.colocate_with(a.op), tf.colocate_with(b.op):
        assert tf.constant(0).op.colocation_groups() == [b"loc:@a", b"loc:@b"]
    with tf.colocate_with(a.op), tf.colocate_with(b.op, ignore_existing=True):
        assert tf.constant(0).op.colocation_groups() == [b"loc:@b"]


@pytest.mark.parametrize(("blocks", "constant", "variable"), [
    (["@a", "@b"], "/job:a", "/job:a"),
    (["@b", "@a"], "/job:b/task:1", "/job:b/task:1"),
    (["@n", "@a"], "/job:a", "/job:a"),
    (["@a", "@n"], "/job:a", "/job:a"),
    (["@b", "!a", "@c"], "/job:a", "/job:a"),
    (["@a", "@c", "/job:x"], "/job:a", "/job:a"),
    (["@n", "/job:x"], "/job:x", "/job:x"),
    (["/job:x", "@n"], "", "/job:x"),
    (["/job:x", "!"], "", "/job:x"),
    (["/job:x", "@n", "/cpu:1"], "/device:CPU:1", "/device:CPU:1"),
    (["@n", "/job:x", "@n"], "", ""),
    (["ps", "!"], "", "/job:ps/task:0"),
    (["ps", "@a"], "/job:a", "/job:a"),
    (["/job:y/task:2", "ps", "@n"], "", "/job:ps/task:0"),
    (["@n", "/job:y/task:2", "ps"], "/job:worker/task:2", "/job:ps/task:0"),
])
def test_devices_of_nested_colocation(blocks, constant, variable):
    """As in TensorFlow 1.15: the outer block wins, and what is colocated sees no device block around that, unless it is a variable."""
    for name, device in (("a", "/job:a"), ("b", "/job:b/task:1"), ("c", "/cpu:3"), ("n", None)):
        with tf.device(device):
            tf.constant(0, name=name)
    graph = tf.get_default_graph()
    with contextlib.ExitStack() as stack:
        for block in blocks:  # @ colocates, ! forgets outer blocks
            if block[0] in "@!":
                op = graph.get_operation_by_name(block[1:]) if block[1:] else None
                stack.enter_context(tf.colocate_with(op, ignore_existing=block[0] == "!"))
            else:
                stack.enter_context(tf.device(tf.train.replica_device_setter(ps_tasks=2) if block == "ps" else block))
        assert [tf.constant(0).device, tf.Variable(0).device] == [constant, variable]


def test_container():
    with tf.container("box"):
        inside = tf.get_default_graph()._container
    assert inside == "box"


def test_libraries_ask_where_they_are():
    """As Keras 2 does: an object other than an op is told its device."""
    class Capture:
        device = None

        def _set_device(self, device):
            self.device = device

    def ask():
        captured = Capture()
        tf.get_default_graph()._apply_device_functions(captured)
        return captured.device and (captured.device.job, captured.device.device_type, captured.device.device_index)
    with tf.Graph().as_default():
        assert ask() is None
        with tf.device("/job:ps"), tf.device("/gpu:1"):
            assert ask() == ("ps", "GPU", 1)
            with tf.device(None):
                assert ask() is None
            with tf.device(lambda op: "/cpu:3"):
                assert ask() == ("ps", "CPU", 3), "what is inside counts, names outside complete it"


def test_colocation_with_a_resource_variable_names_its_handle():
    table = tf.get_variable("table", [4, 3], use_resource=True)
    with tf.colocate_with(table):
        inside = tf.constant(1.0)
    assert inside.op.colocation_groups() == [b"loc:@table"]
    tf.nn.embedding_lookup(table, [1, 2], name="rows")
    assert tf.get_default_graph().get_operation_by_name("rows").colocation_groups() == [b"loc:@table"]
