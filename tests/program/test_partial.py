"""Steps that are run in parts, in this process and on a cluster: one implementation, so the same cases."""
from __future__ import annotations

import pytest

import penstock as tf
from penstock.ops.flow import primitives as p

pytestmark = pytest.mark.process


@pytest.fixture(params=["local", "grpc"])
def session(request):
    """A session of each kind."""
    server = tf.train.Server.create_local_server() if request.param == "grpc" else None
    with tf.Graph().as_default(), tf.Session(server.target if server else "") as session:
        yield session
    if server is not None:
        server.stop()


def imported(build):
    """A graph as it comes from a file, with the paper's Switch and Merge instead of an If."""
    with tf.Graph().as_default() as graph:
        build()
    tf.import_graph_def(graph.as_graph_def(), name="")


def test_branches_of_an_imported_graph(session):
    def build():
        x, taken = tf.placeholder(tf.float32, [], name="x"), tf.placeholder(tf.bool, [], name="taken")
        y = tf.cond(taken, lambda: x * 2.0, lambda: x - 1.0)
        tf.add(y, tf.placeholder(tf.float32, [], name="z"), name="sum")
        tf.identity(y, name="y")

    imported(build)
    assert {"Switch", "Merge"} <= {op.type for op in session.graph.get_operations()}
    for taken, value in ((True, 6.0), (False, 2.0)):
        handle = session.partial_run_setup(["y:0", "sum:0"], ["x:0", "taken:0", "z:0"])
        assert session.partial_run(handle, "y:0", {"x:0": 3.0, "taken:0": taken}) == value
        assert session.partial_run(handle, "sum:0", {"z:0": 10.0}) == value + 10.0


def test_primitives(session):
    x, z = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    false, true = p.Switch(x, x > 0.0)
    merged, _ = p.Merge([false - 1.0, true * 2.0])
    total = merged + z
    handle = session.partial_run_setup([merged, total], [x, z])
    assert session.partial_run(handle, merged, {x: 4.0}) == 8.0
    assert session.partial_run(handle, total, {z: 1.0}) == 9.0


def test_an_effect_happens_once(session):
    v = tf.Variable(0.0, use_resource=False)
    a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    with tf.control_dependencies([tf.assign_add(v, 1.0)]):
        first = a + 1.0
    second = first * b
    session.run(v.initializer)
    handle = session.partial_run_setup([first, second], [a, b])
    assert session.partial_run(handle, first, {a: 10.0}) == 11.0
    assert session.partial_run(handle, second, {b: 3.0}) == 33.0 and session.run(v) == 1.0


def test_devices(session):
    """Parts have devices as other steps do."""
    x, y = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    with tf.device("/cpu:7"):
        first = x + 1.0
    handle = session.partial_run_setup([first, first * y], [x, y])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot assign a device for operation"):
        session.partial_run(handle, first, {x: 1.0})


@pytest.mark.parametrize("fetch, feed, message", [("second", "y", "can't be computed from the feeds"),
                                                  ("first", "w", r"The feed w:0 was not specified in partial_run_setup\.$"),
                                                  ("other", "x", r"The fetch other:0 was not specified in partial_run_setup\.$")])
def test_mistakes(session, fetch, feed, message):
    x, y, w = (tf.placeholder(tf.float32, [], name=name) for name in "xyw")
    first = tf.add(x, 1.0, name="first")
    second = tf.multiply(first, y, name="second")
    tf.negative(w, name="other")
    handle = session.partial_run_setup([first, second], [x, y])
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        session.partial_run(handle, f"{fetch}:0", {f"{feed}:0": 1.0})


def test_a_step_without_goals(session):
    x = tf.placeholder(tf.float32, [])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Must specify at least one target to fetch or execute"):
        session.partial_run_setup([], [x])


def test_parts_one_after_the_other(session):
    x, y = tf.placeholder(tf.float32, [], name="x"), tf.placeholder(tf.float32, [], name="y")
    first = tf.add(x, 1.0)
    second = tf.multiply(first, y)
    handle = session.partial_run_setup([first, second], [x, y])
    assert session.partial_run(handle, first, {x: 1.0}) == 2.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="already been fetched"):
        session.partial_run(handle, first)
    assert session.partial_run(handle, second, {y: 10.0}) == 20.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="setup"):  # nothing is kept of a step whose last part has run
        session.partial_run(handle, second)


def test_parts_that_lack_something(session):
    x, y = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    first = tf.add(x, 1.0)
    second = tf.multiply(first, y)
    handle = session.partial_run_setup([first, second], [x, y])
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.partial_run(handle, second, {y: 1.0})
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.partial_run("no such handle", first, {x: 1.0})


def test_a_tensor_is_fed_once(session):
    x, y = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    first = tf.add(x, 1.0)
    second = tf.multiply(first, y)
    handle = session.partial_run_setup([first, second], [x, y])
    session.partial_run(handle, first, {x: 1.0})
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.partial_run(handle, second, {x: 1.0, y: 2.0})
