"""Debuggers look at every node, stop behind some, and change values: in local sessions and on a cluster alike."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.execute.probe import AT_BAD_VALUES, EVERYWHERE, NOWHERE, Probe, replaced
from penstock.graph.export import export
from support.cluster import LocalCluster, Processes

WORKER = "/job:worker/replica:0/task:0"


class Looker(Probe):
    """Notes the nodes that it is told of, and answers with other outputs for some."""

    def __init__(self, instead=None, waits=EVERYWHERE):
        self.seen, self.instead, self.frames, self.waited, self.order = {}, instead or {}, {}, {}, []
        self._waits = waits

    @property
    def waits(self):
        return self._waits

    def tell(self, frames, device, node, outputs, waits=True):
        self.order.append(node.name)
        self.seen.setdefault(node.name, []).append((device, [np.array(value) if value is not None else None for value in outputs]))
        self.frames.setdefault(node.name, []).append(frames)
        self.waited.setdefault(node.name, []).append(waits)
        return replaced(outputs, {0: self.instead[node.name]}) if node.name in self.instead else None

    def values(self, name):
        return [float(outputs[0]) for _, outputs in self.seen[name]]


def model(ps=None, worker=None):
    with tf.device(ps):
        v = tf.get_variable("v", [2], initializer=tf.ones_initializer())
    with tf.device(worker):
        x = tf.placeholder(tf.float32, [2], name="x")
        product = tf.multiply(x, v, name="product")
        noise = tf.random_uniform([2], seed=3, name="noise")
        total = tf.add(product, noise, name="total")
    with tf.control_dependencies([tf.assign_add(v, total, name="update")]):
        done = tf.no_op("done")
    return v, x, total, done


@pytest.fixture(params=["here", "cluster"])
def session(request):
    if request.param == "here":
        model()
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            yield session
    else:
        model("/job:ps/task:0", "/job:worker/task:0")
        session = LocalCluster({"ps": 1, "worker": 1}).session(WORKER)
        session.run(tf.global_variables_initializer())
        yield session
        session.close()


@pytest.fixture
def cluster():
    session = LocalCluster({"ps": 1, "worker": 1}).session(WORKER)
    yield session
    session.close()


def named(*names):
    return [tf.get_default_graph().as_graph_element(name) for name in names]


@pytest.mark.parametrize("waits", [NOWHERE, AT_BAD_VALUES, EVERYWHERE])
def test_every_node_is_seen_once_and_runs_once(session, waits):
    v, x, total, done = named("v:0", "x:0", "total:0", "done")
    looker = Looker(waits=waits)
    [value, _] = session.run_probed([total, done], looker, {x: np.float32([1.0, 2.0])})
    assert {"product", "total", "update", "done"} <= set(looker.seen) and all(len(calls) == 1 for calls in looker.seen.values())
    assert [name for name in looker.order if name in ("v", "product", "total", "update", "done")] == ["v", "product", "total", "update", "done"]
    np.testing.assert_array_equal(looker.seen["product"][0][1][0], [1.0, 2.0])
    np.testing.assert_array_equal(looker.seen["total"][0][1][0], value)
    np.testing.assert_array_equal(session.run(v), 1.0 + value)  # updated once


@pytest.mark.parametrize("waits", [NOWHERE, EVERYWHERE])
def test_looking_changes_no_number(session, waits):
    x, total, done, first = named("x:0", "total:0", "done", "v/Assign")
    feeds = {x: np.float32([1.0, 2.0])}
    with tf.Graph().as_default(), tf.Session() as other:
        _, same_x, same_total, same_done = model()
        other.run(tf.global_variables_initializer())
        expected = [other.run([same_total, same_done], {same_x: feeds[x]})[0] for _ in range(3)]
    session.run(first)
    got = [session.run_probed([total, done], Looker(waits=waits), feeds)[0] for _ in range(2)] + [session.run([total, done], feeds)[0]]
    np.testing.assert_array_equal(got, expected)


def test_a_changed_value_is_what_later_nodes_get(session):
    v, x, total, done = named("v:0", "x:0", "total:0", "done")
    looker = Looker({"product": np.float32([10.0, 20.0]), "noise": np.float32([0.5, 0.5])})
    value, _ = session.run_probed([total, done], looker, {x: np.float32([1.0, 2.0])})
    np.testing.assert_array_equal(value, [10.5, 20.5])
    np.testing.assert_array_equal(session.run(v), [11.5, 21.5])


def test_a_changed_variable_keeps_its_value(session):
    v, x, total, done = named("v:0", "x:0", "total:0", "done")
    value, _ = session.run_probed([total, done], Looker({"v": np.float32([3.0, 3.0]), "noise": np.float32([0.0, 0.0])}), {x: np.float32([1.0, 2.0])})
    np.testing.assert_array_equal(value, [3.0, 6.0])
    np.testing.assert_array_equal(session.run(v), [6.0, 9.0])


def test_bad_values_are_waited_for(session):
    x, total = named("x:0", "total:0")
    looker = Looker({"product": np.float32([0.0, 0.0]), "noise": np.float32([7.0, 7.0])}, waits=AT_BAD_VALUES)
    value = session.run_probed(total, looker, {x: np.float32([np.inf, 1.0])})
    assert looker.waited["product"] == [True]
    if looker.waited["noise"] == [True]:  # in this process every node is waited for
        np.testing.assert_array_equal(value, [7.0, 7.0])
    else:
        np.testing.assert_array_equal(value, looker.seen["noise"][0][1][0])


# --- loops -----------------------------------------------------------------------------------------------------------

def summed(device=None):
    """1 + 2 + 3 from 10 on, with a branch in each iteration; ``device`` is where the sums are made."""
    def body(i, s):
        with tf.device(device):
            step = tf.cond(i > 1, lambda: tf.cast(i, tf.float32, name="late"), lambda: tf.constant(0.5, name="early") * 0.0, name="choice")
            return i + 1, tf.add(s, step, name="sum")

    return tf.while_loop(lambda i, s: i < 4, body, [0, 10.0])[1]


def check_loop(session, total):
    looker = Looker()
    assert session.run_probed(total, looker) == 15.0
    assert looker.values("while/sum") == [10.0, 10.0, 12.0, 15.0]
    assert [frames[-1][1] for frames in looker.frames["while/sum"]] == [0, 1, 2, 3]
    assert looker.values("while/choice/late") == [2.0, 3.0]
    assert session.run_probed(total, Looker({"while/sum": np.float32(0.0)})) == 0.0
    assert session.run(total) == 15.0  # what is not debugged is as it was
    return looker


def test_inside_of_a_loop():
    with tf.Session() as session:
        looker = check_loop(session, summed())
    assert looker.frames["while/sum"] == [(("while_body", number),) for number in range(4)]
    assert [frame[0] for frame in looker.frames["while/choice/late"]] == [("while_body", 2), ("while_body", 3)]
    assert len(looker.frames["while/Less"]) == 5 and looker.frames["while/Less"][4] == (("while_cond", 4),)


@pytest.mark.parametrize("task", ["/job:worker/task:0", "/job:ps/task:0"])
def test_inside_of_a_loop_on_a_task(cluster, task):
    with tf.device(task):
        total = summed()
    looker = check_loop(cluster, total)
    assert looker.frames["while/sum"] == [(("while_body", number),) for number in range(4)]
    assert {device for device, _ in looker.seen["while/sum"]} == {f"{task.replace('/task', '/replica:0/task')}/device:CPU:0"}


def test_inside_of_a_loop_that_spans_tasks(cluster):
    with tf.device("/job:worker/task:0"):
        total = summed("/job:ps/task:0")
    looker = check_loop(cluster, total)
    assert {device for device, _ in looker.seen["while/sum"]} == {"/job:ps/replica:0/task:0/device:CPU:0"}


@pytest.mark.parametrize("where", ["here", "cluster"])
def test_loops_of_imported_nodes(cluster, where):
    """Switch, Merge and the like, as TensorFlow writes them."""
    with tf.Graph().as_default():
        graph_def, name = export(tf.identity(summed(), name="result").graph), "result:0"
    [total] = tf.import_graph_def(graph_def, return_elements=[name], name="")
    session = tf.Session() if where == "here" else cluster
    looker = check_loop(session, total)
    assert looker.frames["while/sum"] == [(("while/while_context", number),) for number in range(4)]
    assert looker.values("while/Merge_1") == [10.0, 10.0, 10.0, 12.0, 15.0] and looker.values("while/Exit_1") == [15.0]
    if where == "here":
        session.close()


def test_many_iterations_come_in_batches(cluster):
    with tf.device("/job:ps/task:0"):
        total = tf.while_loop(lambda i, s: i < 300, lambda i, s: (i + 1, tf.add(s, 1.0, name="sum")), [0, 0.0])[1]
    looker = Looker(waits=NOWHERE)
    before = dict(cluster.remote._link._peers._transport._network.counts)
    assert cluster.run_probed(total, looker) == 300.0 and looker.values("while/sum") == list(range(1, 301))
    assert cluster.remote._link._peers._transport._network.counts["RunStep"] == before.get("RunStep", 0) + 1
    assert [frames[0][1] for frames in looker.frames["while/sum"]] == list(range(300))


def test_an_error_of_the_debugger_ends_the_step(cluster):
    class Quits(Probe):
        def tell(self, frames, device, node, outputs, waits=True):
            if node.name == "while/sum" and frames[0][1] == 1:
                raise KeyboardInterrupt

    with tf.device("/job:ps/task:0"):
        total = summed()
    with pytest.raises(KeyboardInterrupt):
        cluster.run_probed(total, Quits())
    assert cluster.run(total) == 15.0


def test_an_error_of_the_step_comes_after_what_was_computed_before(cluster):
    with tf.device("/job:ps/task:0"):
        x = tf.placeholder(tf.int32, [], name="x")
        doubled = tf.multiply(x, 2, name="doubled")
        loop = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.gather([1, 2], doubled + i, name="bad")), [0, 0])[1]
    looker = Looker(waits=NOWHERE)
    with pytest.raises(tf.errors.InvalidArgumentError, match="while/bad") as caught:
        cluster.run_probed(loop, looker, {x: np.int32(0)})
    assert looker.values("doubled") == [0.0] and looker.values("while/bad") == [1.0, 2.0]
    assert caught.value.op is not None and caught.value.op.name == "while/bad" and __file__ in caught.value.message


@pytest.mark.cluster
def test_in_processes():
    with Processes(ps=1, worker=2) as processes, tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            v = tf.get_variable("v", initializer=1.0)
            total = summed() * v
        with tf.device("/job:worker/task:1"):
            loop = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, tf.multiply(s, 2.0, name="doubled")), [0, total])[1]
        with tf.Session(processes.target("worker", 0)) as session:
            session.run(v.initializer)
            for waits in (NOWHERE, EVERYWHERE):
                looker = Looker(waits=waits)
                assert session.run_probed(loop, looker) == 120.0
                assert looker.values("while/sum") == [10.0, 10.0, 12.0, 15.0] and looker.values("while_1/doubled") == [30.0, 60.0, 120.0]
            assert session.run_probed(loop, Looker({"while_1/doubled": np.float32(1.0)})) == 1.0

            class Killer(Probe):
                def tell(self, frames, device, node, outputs, waits=True):
                    if node.name == "while/sum":
                        processes.kill("ps", 0)

            with pytest.raises((tf.errors.UnavailableError, tf.errors.AbortedError)):
                session.run_probed(loop, Killer())
