"""A device kind that the package has never heard of: placed, cut, copied to and from, with variables, checkpoints, control flow and errors."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock import errors
from penstock.program import devices
from penstock.testing.local_devices import list_local_devices
from support.toy import Box, Toy

TOY, HOST = "/job:localhost/replica:0/task:0/device:TOY:0", "/job:localhost/replica:0/task:0/device:CPU:0"


@pytest.fixture
def toy():
    kind = Toy(lacks={"Tanh", "ResourceApplyAdam"})
    devices.register(kind)
    yield kind
    if kind in devices.kinds():
        devices.unregister("TOY")


def ran_on(session, fetches, feed_dict=None):
    """{node: device} of a step."""
    metadata = tf.RunMetadata()
    session.run(fetches, feed_dict, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
    return {node.node_name: stats.device for stats in metadata.step_stats.dev_stats for node in stats.node_stats}


# --- the registry ----------------------------------------------------------------------------------------------------

def test_devices_are_listed(toy):
    with tf.Session(graph=tf.Graph(), config=tf.ConfigProto(device_count={"TOY": 2})) as session:
        found = [(device.name, device.device_type, device.memory_limit_bytes) for device in session.list_devices()]
    assert found == [(HOST, "CPU", 256 << 20), (TOY, "TOY", 1 << 20), (TOY[:-1] + "1", "TOY", 1 << 20)]
    assert [(device.name, device.device_type) for device in list_local_devices()] == [("/device:CPU:0", "CPU"), ("/device:TOY:0", "TOY")]


def test_a_kind_can_have_no_devices(toy):
    with tf.Session(graph=tf.Graph(), config=tf.ConfigProto(device_count={"TOY": 0})) as session:
        assert [device.device_type for device in session.list_devices()] == ["CPU"]


def test_names_are_registered_once(toy):
    with pytest.raises(errors.AlreadyExistsError, match="TOY"):
        devices.register(Toy())
    with pytest.raises(errors.InvalidArgumentError, match=r"no device kind WARP.*there is .*TOY"):
        devices.unregister("WARP")


# --- values ----------------------------------------------------------------------------------------------------------

def test_values_stay_in_the_memory_of_the_device(toy):
    x = tf.placeholder(tf.float32, [2])
    with tf.device("/device:TOY:0"):
        y = tf.add(tf.multiply(x, x, name="square"), x, name="sum")
        z = tf.exp(y, name="z")
    with tf.Session() as session:
        for _ in range(3):  # the first step is planned in another way than later ones
            np.testing.assert_array_equal(session.run(y, {x: [1, 2]}), [2, 6])
            assert toy.copies() == (1, 1)
        session.run([y, z, y + 1.0], {x: [1, 2]})
        assert toy.copies() == (1, 2)  # y once, for the caller and for the host's sum
        where = ran_on(session, z, {x: [1, 2]})
    assert where["square"] == where["sum"] == where["z"] == TOY


def test_the_host_and_two_toys_work_together(toy):
    a = tf.constant([1.0, 2.0])
    with tf.device("/device:TOY:0"):
        b = a + 1.0
    with tf.device("/device:TOY:1"):
        c = b * b
    d = c - a
    with tf.Session(config=tf.ConfigProto(device_count={"TOY": 2})) as session:
        assert session.run(d).tolist() == [3, 7] and session.run([b, c, d])[0].tolist() == [2, 3]
        toy.copies(0), toy.copies(1)
        session.run(d)
        assert toy.copies(0) == (1, 1) and toy.copies(1) == (1, 1)


def test_control_edges_between_devices(toy):
    """They need no kernel of the device, and nothing is copied."""
    toy.lacks.add("Const")
    v = tf.Variable([1.0], use_resource=True)
    with tf.device("/device:TOY:0"):
        w = tf.get_variable("w", [1], initializer=tf.zeros_initializer(), use_resource=True)
        assign = w.assign(v)
    with tf.control_dependencies([assign]):
        after = v.assign_add([1.0])
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        session.run(v.initializer)
        toy.copies()
        assert session.run(after).tolist() == [2.0] and toy.copies() == (1, 0)
        assert session.run([assign, after])[0].tolist() == [2.0]


@pytest.mark.parametrize("mode", ["background", "eager"])
def test_native_code_of_the_host_beside_the_device(toy, mode):
    x = tf.placeholder(tf.float32, [64])
    before = tf.nn.relu(x * 2.0 + 1.0)
    with tf.device("/device:TOY:0"):
        there = before * before + 1.0
        looped = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y + y), [0, there])[1]
    after = tf.sqrt(looped * 2.0) - x
    fed = np.linspace(-1, 1, 64, dtype=np.float32)
    expected = np.sqrt((np.maximum(fed * 2 + 1, 0) ** 2 + 1) * 16) - fed
    previous = tf.config.get_compiler()
    tf.config.set_compiler(mode)
    try:
        with tf.Session() as session:
            for _ in range(6):
                toy.copies()
                np.testing.assert_allclose(session.run(after, {x: fed}), expected, rtol=1e-6)
                assert toy.copies() == (1, 5)  # four conditions, the result
    finally:
        tf.config.set_compiler(previous)


def test_placement_is_logged(toy, caplog):
    with tf.device("/device:TOY:0"):
        y = tf.add(tf.constant(1.0), 1.0, name="y")
    with caplog.at_level("INFO"), tf.Session(config=tf.ConfigProto(log_device_placement=True)) as session:
        session.run(y)
    assert f"y: (Add): {TOY}" in [record.getMessage() for record in caplog.records]


def test_the_caller_does_not_share_memory_with_the_device(toy):
    x = tf.placeholder(tf.float32, [2])
    with tf.device("/device:TOY:0"):
        v = tf.Variable([0.0, 0.0], use_resource=True)
        same, assign = tf.identity(x), v.assign(x)
    with tf.Session() as session:
        fed = np.ones(2, np.float32)
        kept = session.run([same, assign.op], {x: fed})[0]
        fed[:] = 5
        assert kept.tolist() == [1, 1] and session.run(v).tolist() == [1, 1]


def test_strings_and_handles_stay_on_the_host(toy):
    with tf.device("/device:TOY:0"):
        x = tf.constant([1.0, 2.0])
        queue = tf.FIFOQueue(2, tf.float32)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        session.run(queue.enqueue([x[1]]))
        assert session.run([queue.dequeue(), tf.as_string(x)])[1].tolist() == [b"1.000000", b"2.000000"]


def test_a_kind_can_ask_for_host_values():
    class ShapesOnTheHost(Toy):
        def in_host_memory(self, node, argument, dtype):
            return argument == "shape" or super().in_host_memory(node, argument, dtype)

        def kernel(self, node, context):
            if node.definition.type != "Reshape":
                return super().kernel(node, context)
            return lambda tensor, shape: Box(tensor.array.reshape(np.asarray(shape)))

    devices.register(ShapesOnTheHost())
    try:
        x, shape = tf.placeholder(tf.float32, [4]), tf.placeholder(tf.int32, [2])
        with tf.device("/device:TOY:0"):
            y = tf.reshape(x, shape + shape) + 1.0
        with tf.Session() as session:
            assert session.run(y, {x: [0, 1, 2, 3], shape: [1, 1]}).tolist() == [[1, 2], [3, 4]]
    finally:
        devices.unregister("TOY")


def test_large_arrays(toy):
    """Whose memory the host's kernels would write over."""
    x = tf.placeholder(tf.float32, [None])
    with tf.device("/device:TOY:0"):
        y = tf.sqrt(tf.abs(-(x * 2.0) - 1.0))
    with tf.Session() as session:
        for _ in range(3):
            assert session.run(tf.reduce_sum(y), {x: np.zeros(1 << 18)}) == 1 << 18


def test_partial_runs(toy):
    x = tf.placeholder(tf.float32, [])
    with tf.device("/device:TOY:0"):
        y = x + 1.0
        z = y * 2.0
    with tf.Session() as session:
        handle = session.partial_run_setup([y, z], [x])
        assert session.partial_run(handle, y, {x: 1.0}) == 2.0 and session.partial_run(handle, z) == 4.0


def test_the_message_of_a_kernel_that_fails_names_the_device(toy):
    x = tf.placeholder(tf.float32)
    with tf.device("/device:TOY:0"):
        y = tf.matmul(x, x, name="product")
    with tf.Session() as session, pytest.raises(errors.InvalidArgumentError, match=r"product(?s:.)*TOY:0"):
        session.run(y, {x: np.ones((2, 3))})


# --- state -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("use_resource", [False, True])
def test_variables_live_on_the_device(toy, use_resource):
    x = tf.placeholder(tf.float32, [None, 2])
    with tf.device("/device:TOY:0"):
        w = tf.get_variable("w", initializer=tf.constant([[1.0], [-1.0]]), use_resource=use_resource)
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - 1.0))
        train = tf.train.MomentumOptimizer(0.1, 0.5).minimize(loss)
    feeds = {x: [[1.0, 0.5], [0.5, 2.0]]}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first = session.run(loss, feeds)
        for _ in range(20):
            session.run(train, feeds)
        toy.copies()
        session.run(train, feeds)
        assert toy.copies() == (1, 0)  # the batch; the variables stay
        assert session.run(loss, feeds) < first / 10 and session.run(w).shape == (2, 1)
        where = ran_on(session, train, feeds)
        assert {device for name, device in where.items() if "_send" not in name} == {TOY}


def test_a_variable_of_the_host_and_one_of_the_device_have_values_of_their_own(toy):
    with tf.device("/device:TOY:0"):
        there = tf.Variable([1.0], name="a", use_resource=False)
    here = tf.Variable([2.0], name="b", use_resource=False)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run([there.assign_add(here), here.assign_add(there)])
        assert not session.run(tf.report_uninitialized_variables()).size
        assert session.run(there).tolist() in ([3.0], [5.0]) and session.run(here).tolist() in ([3.0], [5.0])


def test_checkpoints_are_those_of_other_devices(toy, tmp_path):
    def build(device):
        with tf.Graph().as_default(), tf.device(device):
            v = tf.get_variable("v", initializer=tf.constant([1.0, 2.0]), use_resource=False)
            w = tf.get_variable("w", initializer=tf.constant(3.0), use_resource=True)
            bump = tf.group(v.assign_add([1.0, 1.0]), w.assign_add(1.0))
            with tf.device(None):
                return v, w, bump, tf.global_variables_initializer(), tf.train.Saver(), tf.train.Saver(sharded=True)

    for source, target, sharded in [("/device:TOY:0", "/cpu:0", False), ("/cpu:0", "/device:TOY:0", True), ("/device:TOY:0", "/device:TOY:0", True)]:
        v, w, bump, init, *savers = build(source)
        with tf.Session(graph=v.graph) as session:
            session.run(init)
            session.run(bump)
            path = savers[sharded].save(session, str(tmp_path / "model"))
        assert tf.train.load_variable(path, "v").tolist() == [2, 3]
        v, w, _, _, *savers = build(target)
        with tf.Session(graph=v.graph) as session:
            savers[sharded].restore(session, path)
            assert session.run([v, w])[0].tolist() == [2, 3] and session.run(w) == 4


def test_containers_are_cleared(toy):
    with tf.device("/device:TOY:0"):
        v = tf.Variable(1.0, use_resource=True)
    with tf.Session() as session:
        session.run(v.initializer)
        tf.Session.reset("")
        with pytest.raises(errors.FailedPreconditionError):
            session.run(v)


# --- control flow ----------------------------------------------------------------------------------------------------

def test_a_loop_with_its_body_on_the_device(toy):
    x = tf.placeholder(tf.float32, [])

    def body(i, total):
        with tf.device("/device:TOY:0"):
            return i + 1, total * x + 1.0

    _, total = tf.while_loop(lambda i, total: i < 4, body, [0, 1.0])
    gradient = tf.gradients(total, x)[0]
    with tf.Session() as session:
        for _ in range(3):
            assert session.run([total, gradient], {x: 2.0}) == [31.0, 49.0]
        assert toy.copies() > (0, 0)


def test_the_variables_of_a_loop_on_the_device_stay_there(toy):
    x = tf.placeholder(tf.float32, [2])
    with tf.device("/device:TOY:0"):
        _, y = tf.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, y + y), [0, x])
        gradient = tf.gradients(y, x)[0]
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        for _ in range(3):
            toy.copies()
            assert session.run(y, {x: [1.0, 2.0]}).tolist() == [32, 64]
            assert toy.copies() == (1, 7)  # x; six conditions, y
        assert session.run(gradient, {x: [1.0, 2.0]}).tolist() == [32, 32]


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("loop_device", ["/device:TOY:0", "/device:CPU:0"])
def test_a_loop_that_uses_a_variable_of_the_device(toy, loop_device, use_resource):
    with tf.device("/device:TOY:0"):
        v = tf.get_variable("v", initializer=tf.constant([1.0, 2.0]), use_resource=use_resource)
    with tf.device(loop_device):
        _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y + v), [0, tf.zeros([2])])
    with tf.Session() as session:
        session.run(v.initializer)
        for _ in range(3):
            assert session.run(y).tolist() == [3, 6]


@pytest.mark.parametrize("taken", [False, True])
def test_a_conditional_on_the_device(toy, taken):
    x = tf.placeholder(tf.float32, [])
    with tf.device("/device:TOY:0"):
        y = tf.cond(x > 0, lambda: x * 2.0, lambda: x - 1.0)
    with tf.Session() as session:
        for _ in range(3):
            toy.copies()
            assert session.run(y, {x: 3.0 if taken else -3.0}) == (6.0 if taken else -4.0)
            assert toy.copies() == (1, 2)  # x; the predicate, y


def test_input_pipelines_run_on_the_host(toy):
    with tf.device("/device:TOY:0"):
        values = tf.data.Dataset.range(3).map(lambda i: i * 2).make_one_shot_iterator().get_next()
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        assert [session.run(values) for _ in range(3)] == [0, 2, 4]


def paper_loop(back_edge):
    """A loop of the paper's nodes on the device, with its NextIterations on ``back_edge``."""
    with tf.Graph().as_default() as built:
        x = tf.placeholder(tf.float32, [2], name="x")
        with tf.device("/device:TOY:0"):
            _, y = tf.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, y + y), [0, x])
        tf.identity(y, name="y")
        graph_def = built.as_graph_def()
    assert "Merge" in {node.op for node in graph_def.node}
    for node in graph_def.node:
        if node.op == "NextIteration":
            node.device = back_edge
    tf.import_graph_def(graph_def, name="")


@pytest.mark.parametrize("back_edge", ["/device:TOY:0", "/device:CPU:0"])
def test_frames_on_the_device(toy, back_edge):
    """What goes round stays there; the condition comes out each time."""
    paper_loop(back_edge)
    with tf.Session() as session:
        for _ in range(2):
            toy.copies()
            assert session.run("y:0", {"x:0": [1.0, 2.0]}).tolist() == [32, 64]
            assert toy.copies() == (1, 7)  # x; six conditions, y
            assert TOY in ran_on(session, "y:0", {"x:0": [1.0, 2.0]}).values()  # by another plan of the same program


# --- placement -------------------------------------------------------------------------------------------------------

def test_no_kernel_there(toy):
    with tf.device("/device:TOY:0"):
        y = tf.tanh(tf.constant(0.0), name="y")
    with tf.Session() as session, pytest.raises(errors.InvalidArgumentError, match=(
            "Cannot assign a device for operation y: Could not satisfy explicit device specification '/device:TOY:0' because no supported kernel for "
            "TOY devices is available: Tanh")):
        session.run(y)


def test_soft_placement_of_what_has_no_kernel_there(toy):
    with tf.device("/device:TOY:0"):
        x = tf.add(tf.constant(0.0), 0.0, name="x")
        y = tf.tanh(x, name="y")
        z = tf.add(y, 1.0, name="z")
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        where = ran_on(session, z)
        assert (where["x"], where["y"], where["z"]) == (TOY, HOST, TOY)
        assert session.run(z) == 1.0


def test_a_group_goes_where_all_of_it_can_run(toy):
    with tf.device("/device:TOY:0"):
        v = tf.Variable(1.0, use_resource=True, name="v")
        train = tf.train.AdamOptimizer(0.1).minimize(v * v)
    with tf.Session() as session, pytest.raises(errors.InvalidArgumentError, match="ResourceApplyAdam has none, and these share a device"):
        session.run(train)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        session.run(tf.global_variables_initializer())
        assert ran_on(session, train)["Adam/update_v/ResourceApplyAdam"] == HOST
        assert session.run(v) < 1.0


def test_unknown_kinds(toy):
    with tf.device("/device:WARP:0"):
        y = tf.constant(1.0, name="y")
    with tf.Session() as session, pytest.raises(errors.InvalidArgumentError, match=(
            r"operation y: Operation was explicitly assigned to /device:WARP:0 but available devices are \[ .*CPU:0, .*TOY:0 \]")):
        session.run(y)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        assert ran_on(session, y)["y"] == HOST


def test_a_kind_that_is_removed(toy):
    with tf.device("/device:TOY:0"):
        y, z = tf.constant(1.0) + 1.0, tf.constant(1.0) + 2.0
    with tf.Session() as session:
        for _ in range(2):
            assert session.run(y) == 2.0
        devices.unregister("TOY")
        assert session.run(y) == 2.0
        with pytest.raises(errors.InvalidArgumentError, match="no device kind TOY in this process"):
            session.run(z)
    with tf.Session() as session, pytest.raises(errors.InvalidArgumentError, match="available devices are"):
        session.run(y)


def test_a_kind_of_higher_priority_gets_what_has_no_device():
    kind = Toy(lacks={"Tanh"}, priority=100)
    devices.register(kind)
    try:
        x = tf.placeholder(tf.float32, [2])
        v = tf.Variable([1.0, 1.0], use_resource=False)
        y = tf.add(tf.tanh(x, name="y"), v, name="z")
        with tf.Session() as session:
            session.run(v.initializer)
            where = ran_on(session, y, {x: [0.0, 0.0]})
            assert (where["y"], where["z"]) == (HOST, TOY)
            for _ in range(3):
                assert session.run(y, {x: [0.0, 0.0]}).tolist() == [1, 1]
            words = tf.string_join([tf.as_string(x), "!"])
            assert session.run(words, {x: [0.0, 1.0]}).tolist() == [b"0.000000!", b"1.000000!"]
    finally:
        devices.unregister("TOY")


def test_boxes_are_not_arrays():
    """What the other tests rely on: a value that was not copied out is of no use to NumPy."""
    with pytest.raises(TypeError):
        np.add(Box(1.0), 1.0)
