"""Functions of a GraphDef's library: calls by name, PartitionedCall, SymbolicGradient. What TensorFlow 1.15 wrote gives its results here."""
from pathlib import Path

import numpy as np
import pytest
from tensorboard.compat.proto.graph_pb2 import GraphDef

import penstock as tf
from penstock.imperative.defined_function import Defun

pytestmark = pytest.mark.process
RECORDED = np.load(Path(__file__).parent / "data" / "functions.npz")


def read(name):
    return tf.GraphDef.FromString(RECORDED[f"{name}_graph"].tobytes())


def test_calls_of_tensorflow_run_are_differentiated_and_written_again():
    """Import, run, export, import: the values and gradients stay TensorFlow's; so do the functions."""
    graph_def = read("named")
    functions = {function.signature.name for function in graph_def.library.function}
    for _ in range(2):
        with tf.Graph().as_default() as graph, tf.Session() as session:
            tf.import_graph_def(graph_def, name="")
            x, y = graph.get_tensor_by_name("x:0"), graph.get_tensor_by_name("y:0")
            assert graph.get_operation_by_name("Outer").type == "Outer"
            results = session.run([y, "dx:0", *tf.gradients(y, x)], {x: RECORDED["x"]})
            graph_def = graph.as_graph_def()
        for result, recorded in zip(results, ("named_y", "named_dx", "named_dx")):
            np.testing.assert_allclose(result, RECORDED[recorded], rtol=1e-6)
    assert {function.signature.name for function in graph_def.library.function} >= functions
    assert [(pair.function_name, pair.gradient_func.partition("_")[0]) for pair in graph_def.library.gradient] == [("Cube", "slope")]


def test_partitioned_calls_of_tensorflow():
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.import_graph_def(read("partitioned"), name="")
        y, x = graph.get_tensor_by_name("y:0"), graph.get_tensor_by_name("x:0")
        np.testing.assert_allclose(session.run(y, {x: RECORDED["x"]}), RECORDED["partitioned_y"], rtol=1e-6)
        np.testing.assert_allclose(session.run(tf.gradients(y, x)[0], {x: RECORDED["x"]}), 3.0 + 2.0 * RECORDED["x"], rtol=1e-6)


def partitioned_call(function, *inputs):
    return tf.raw_ops.StatefulPartitionedCall(args=list(inputs), Tout=[tf.float32], f=function)[0]


def test_gradients_of_partitioned_calls_use_what_the_call_drew():
    """The mask of a dropout is drawn once; each of two calls of the function has one of its own."""
    @Defun(tf.float32, func_name="Dropped")
    def dropped(x):
        return x * tf.cast(tf.random_uniform([1000]) > 0.5, tf.float32)

    x = tf.ones([1000])
    calls = [partitioned_call(dropped, x) for _ in range(2)]
    gradients = [tf.gradients(call, x)[0] for call in calls]
    with tf.Session() as session:
        first, second, of_first, of_second = session.run([*calls, *gradients])
    np.testing.assert_array_equal(first, of_first)
    np.testing.assert_array_equal(second, of_second)
    assert 300 < np.sum(first != second) < 700


def test_functions_with_branches_and_effects():
    """What a function does happens, once, and once more for each call that is run; a gradient does not repeat it."""
    counter = tf.get_variable("counter", initializer=0.0, use_resource=True)

    @Defun(tf.float32)
    def counting(x):
        tf.assign_add(counter, 1.0)
        return tf.cond(x > 0.0, lambda: x * x, lambda: -x)

    x = tf.placeholder(tf.float32, [])
    y = counting(x)
    slope = tf.gradients(y, x, tf.constant(1.0))[0]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([y, slope], {x: 3.0}) == [9.0, 6.0] and session.run([y, slope], {x: -2.0}) == [2.0, -1.0]
        assert session.run(counter) == 2.0
        assert session.run(slope, {x: 5.0}) == 10.0 and session.run(counter) == 2.0


@pytest.mark.parametrize("noinline", [False, True])
def test_what_runs_of_a_call(noinline):
    """The operations of the function, or the call itself."""
    twice = Defun(tf.float32, func_name="Twice", noinline=noinline)(lambda x: x * 2.0)
    with tf.Graph().as_default(), tf.Session() as session:
        y = twice(tf.placeholder_with_default(3.0, []), name="here")
        second = tf.gradients(tf.gradients(twice(y) ** 2, y)[0], y)[0]
        metadata = tf.RunMetadata()
        assert session.run([y, second], options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata) == [6.0, 8.0]
    names = {stats.node_name for device in metadata.step_stats.dev_stats for stats in device.node_stats}
    assert ("here" in names) == noinline and ("here/mul" in names) != noinline


def test_calls_on_a_server():
    """A session on a server tells it of the functions, and of those that are added later."""
    server = tf.train.Server.create_local_server()
    inner = Defun(tf.float32, func_name="Inner")(lambda x: tf.exp(x))
    outer = Defun(tf.float32, func_name="Outer")(lambda x: inner(x) + 1.0)
    with tf.Graph().as_default(), tf.Session(server.target) as session:
        x = tf.constant(0.0)
        y = outer(x)
        assert session.run(y) == 2.0
        branching = Defun(tf.float32, func_name="Branching")(lambda x: tf.cond(x > 0.0, lambda: inner(x), lambda: -x))
        assert session.run([branching(x), branching(x + 1.0)]) == [0.0, np.exp(np.float32(1.0))]
        assert session.run([inner(x), *tf.gradients(outer(x), x)]) == [1.0, 1.0]
    server.stop()


def test_names_and_missing_functions():
    with tf.Graph().as_default():
        Defun(tf.float32, func_name="Same")(lambda x: x + 1.0)(1.0)
        Defun(tf.float32, func_name="Same")(lambda x: x + 1.0)(1.0)  # does the same
        with pytest.raises(ValueError, match="Cannot add function 'Same' because a different function"):
            Defun(tf.float32, func_name="Same")(lambda x: x + 2.0)(1.0)
        missing = partitioned_call("Nowhere", tf.constant(1.0))
        with tf.Session() as session, pytest.raises(tf.errors.NotFoundError, match="Function Nowhere is not defined"):
            session.run(missing)
    recursive = GraphDef()
    function = recursive.library.function.add()
    function.signature.name = "Endless"
    function.signature.output_arg.add(name="y", type=1)
    function.node_def.add(name="again", op="Endless")
    function.ret["y"] = "again:y:0"
    recursive.node.add(name="call", op="Endless")
    with tf.Graph().as_default(), pytest.raises(ValueError, match="'Endless' cannot be called"):
        tf.import_graph_def(recursive)


def test_calls_on_a_device_that_is_fed():
    @Defun(tf.float32)
    def double(x):
        return 2.0 * x

    device = tf.placeholder(tf.string, [])
    (doubled,) = tf.raw_ops.RemoteCall(target=device, args=[tf.constant(3.0)], Tout=[tf.float32], f=double)
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        for name in ("/cpu:1", "/job:localhost/replica:0/task:0/device:CPU:0"):
            assert session.run(doubled, {device: name}) == 6.0
        with pytest.raises(tf.errors.InternalError, match=r"don't support instantiating functions on device: .*task:1/device:CPU:0"):
            session.run(doubled, {device: "/job:localhost/replica:0/task:1/cpu:0"})


def test_a_call_on_another_device_finds_the_iterators_of_that_device_only():
    with tf.device("/cpu:1"):
        handle = tf.data.Dataset.range(3).make_one_shot_iterator().string_handle()

    @Defun(tf.string)
    def element(text):
        return tf.data.Iterator.from_string_handle(text, tf.int64, []).get_next()

    device = tf.placeholder(tf.string, [])
    with tf.device("/cpu:0"):  # that of the call, not of the function
        (there,) = tf.raw_ops.RemoteCall(target=device, args=[handle], Tout=[tf.int64], f=element)
        here = tf.data.Iterator.from_string_handle(handle, tf.int64, []).get_next()
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        assert session.run(there, {device: "/cpu:1"}) == 0
        for fetch, feeds in ((there, {device: "/cpu:0"}), (here, {})):
            with pytest.raises(tf.errors.InvalidArgumentError, match=r'on device ".*:0" from handle defined on device ".*:1"'):
                session.run(fetch, feeds)
        assert session.run(there, {device: "/cpu:1"}) == 1


def test_functions_keep_the_device_around_their_definition():
    with tf.device("/cpu:1"):
        @Defun(tf.float32)
        def placed(x):
            return tf.exp(x)

    @Defun(tf.float32)
    def free(x):
        return tf.exp(x)

    with tf.device("/cpu:0"):
        for function, device in ((placed, "/device:CPU:1"), (free, "")):
            function(1.0)
            (node,) = [node for node in function.definition.node_def if node.op == "Exp"]
            assert node.device == device
