"""Conditionals and loops in a cluster: one that lies on one task stays an operation there, only one that spans tasks becomes nodes."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.distributed import master_session
from penstock.session.fetches import Fetches
from support.cluster import LocalCluster

pytestmark = pytest.mark.process
WORKER = "/job:worker/replica:0/task:0"


@pytest.fixture
def session():
    session = LocalCluster({"ps": 2, "worker": 2}).session(WORKER)
    yield session
    session.close()


@pytest.fixture
def parts(monkeypatch):
    """The parts of all steps that masters plan: (task, the loops and conditionals in it, has it frames?)."""
    seen, split = [], master_session.split

    def observed(program, **options):
        parts = split(program, **options)
        seen.extend((part.task.replace("/replica:0", ""), [node.definition.type for node in part.nodes if node.definition.functions], part.frames)
                    for part in parts)
        return parts

    monkeypatch.setattr(master_session, "split", observed)
    return seen


def flow(parts):
    return [part for part in parts if part[1] or part[2]]


def double(count, start=1.0):
    return tf.while_loop(lambda i, a: i < count, lambda i, a: (i + 1, a * 2.0), [0, start])[1]


def test_an_rnn_that_trains_on_ps_and_worker_has_no_frames(session, parts):
    def build(device):
        tf.set_random_seed(7)
        with tf.device(device):
            x = tf.placeholder(tf.float32, [3, 5, 4])
            outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicLSTMCell(6), x, dtype=tf.float32)
            loss = tf.reduce_mean(tf.square(outputs - 0.5))
        return x, loss, tf.train.GradientDescentOptimizer(0.5).minimize(loss)  # outside of the device scope, as programs often have it

    def train(session, x, loss, step):
        session.run(tf.global_variables_initializer())
        batch = np.linspace(-1.0, 1.0, 60, dtype=np.float32).reshape(3, 5, 4)
        return [float(session.run([loss, step], {x: batch})[0]) for _ in range(4)]

    got = train(session, *build(tf.train.replica_device_setter(ps_tasks=2, worker_device="/job:worker/task:1")))
    assert flow(parts) == [("/job:worker/task:1", ["While", "While"], False)], "the loop and its gradient, together on the worker that runs it"
    with tf.Graph().as_default(), tf.Session() as local:
        assert got == pytest.approx(train(local, *build("")), rel=1e-5) and got[3] < got[0]


def test_only_the_loop_that_spans_tasks_becomes_nodes(session, parts):
    with tf.device("/job:ps/task:1"):
        whole = double(5)

    def body(i, a):
        with tf.device("/job:ps/task:0"):
            return i + 1, a + 3.0

    spans = tf.while_loop(lambda i, a: i < 3, body, [0, 0.0])[1]
    assert session.run([whole, spans]) == [32.0, 9.0]
    assert {part[0]: part[1] for part in parts} == {"/job:ps/task:1": ["While"], "/job:ps/task:0": [], "/job:worker/task:0": []}
    del parts[:]
    assert session.run(double(3, whole)) == 256.0, "the graph has grown since"
    assert sorted(flow(parts)) == [("/job:ps/task:1", ["While"], False), ("/job:worker/task:0", ["While"], False)]
    assert session.run(spans) == 9.0


def test_a_loop_inside_of_one_that_spans_tasks_stays_whole(session, parts):
    def body(i, a):
        with tf.device("/job:ps/task:0"):
            return i + 1, double(i, a)

    total = tf.while_loop(lambda i, a: i < 4, body, [0, 1.0])[1]
    assert session.run(total) == 2.0 ** 6
    assert sorted(flow(parts)) == [("/job:ps/task:0", ["While"], True), ("/job:worker/task:0", [], True)]


def test_conditionals_stay_whole(session, parts):
    p = tf.placeholder(tf.bool, [])
    y = tf.cond(p, lambda: tf.constant(1.0), lambda: tf.cond(p, lambda: tf.constant(2.0), lambda: tf.constant(3.0)))
    assert [session.run(y, {p: True}), session.run(y, {p: False})] == [1.0, 3.0]
    assert flow(parts) == [("/job:worker/task:0", ["If"], False)]


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_loop_that_writes_to_a_variable_elsewhere(session, parts, use_resource):
    with tf.device("/job:ps/task:0"):
        v = tf.get_variable("v", initializer=0.0, use_resource=use_resource)

    def body(i):
        with tf.control_dependencies([v.assign_add(2.0)]):
            return i + 1

    loop = tf.while_loop(lambda i: i < 3, body, [0])
    session.run(v.initializer)
    session.run(loop)
    assert session.run(v) == 6.0


def test_random_numbers_in_loops_are_those_of_a_local_session(session):
    def numbers():
        tf.set_random_seed(3)
        return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a + tf.random_uniform([2], seed=5)), [0, tf.zeros([2])])[1]

    drawn = numbers()
    got = [session.run(drawn) for _ in range(2)]
    with tf.Graph().as_default(), tf.Session() as local:
        drawn = numbers()
        np.testing.assert_allclose(got, [local.run(drawn) for _ in range(2)])


def test_a_step_in_parts_over_a_loop_that_spans_tasks(session):
    x, y = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])

    def body(i, a):
        with tf.device("/job:ps/task:0"):
            return i + 1, a * 2.0

    first = tf.while_loop(lambda i, a: i < 3, body, [0, x])[1]
    second = first + y
    backend, graph = session.remote, session.graph
    handle = backend.partial_run_setup(Fetches(graph, [first, second]), [x, y])
    assert backend.partial_run(handle, Fetches(graph, [first]), {x: np.float32(1.0)}) == [8.0]
    assert backend.partial_run(handle, Fetches(graph, [second]), {y: np.float32(1.0)}) == [9.0]


def test_errors_inside_of_a_whole_loop_name_the_operation(session):
    ids = tf.placeholder(tf.int32, [])
    with tf.device("/job:ps/task:1"):
        loop = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.gather([1, 2], ids, name="bad")), [0, 0])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"while/bad") as caught:
        session.run(loop, {ids: 7})
    assert "iteration 0 of the loop" in caught.value.message


def test_an_initial_value_does_not_cost_a_step_its_native_code(session, parts):
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(2.0, name="v")
        w = tf.Variable(v.initialized_value() * 3.0, name="w")
    session.run(tf.global_variables_initializer())
    assert session.run(w) == 6.0 and not flow(parts)


def test_a_loop_dequeues_from_a_queue_of_another_task(session):
    with tf.device("/job:ps/task:0"):
        queue = tf.FIFOQueue(5, tf.float32, shapes=[()])
    with tf.device("/job:worker/task:0"):
        fill = queue.enqueue_many([[1.0, 2.0, 3.0, 4.0]])
        total = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + queue.dequeue()), [0, 0.0])[1]
    session.run(fill)
    assert session.run(total) == 6.0 and session.run(queue.size()) == 1  # nothing is taken in the iteration that does not come


def test_a_loop_reads_a_variable_of_another_task(session):
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(2.0)
    with tf.device("/job:worker/task:0"):
        total = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + v.read_value()), [0, 0.0])[1]
    session.run(v.initializer)
    assert session.run(total) == 6.0
