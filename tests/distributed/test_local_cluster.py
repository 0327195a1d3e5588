"""Masters and workers over the local transport: what is run where, how often is sent, and what happens when tasks are lost."""
from __future__ import annotations

import gc
import threading
import time
import weakref

import numpy as np
import pytest

import penstock as tf
from penstock.distributed import master_session, step_run, tenants
from penstock.distributed.messages import Message
from support.cluster import PATIENCE, LocalCluster

pytestmark = pytest.mark.process
PS, WORKER = "/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0"


@pytest.fixture
def cluster():
    return LocalCluster({"ps": 2, "worker": 2})


@pytest.fixture
def session(cluster):
    session = cluster.session(WORKER)
    yield session
    session.close()


class Call:
    """A step on a thread of its own."""

    def __init__(self, function):
        self.result = self.error = None
        self._thread = threading.Thread(target=self._work, args=(function,), daemon=True)
        self._thread.start()

    def _work(self, function):
        try:
            self.result = function()
        except BaseException as error:
            self.error = error

    def ended(self, seconds=PATIENCE):
        self._thread.join(seconds)
        return not self._thread.is_alive()


def model():
    with tf.device("/job:ps/task:0"):
        w = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="w")
    with tf.device("/job:ps/task:1"):
        b = tf.Variable([10.0, 20.0], name="b")
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    with tf.device("/job:worker/task:1"):
        y = tf.add(tf.matmul(x, w), b, name="y")
    return w, b, x, y


# --- steps -----------------------------------------------------------------------------------------------------------

def test_a_model_over_four_tasks(cluster, session):
    w, b, x, y = model()
    session.run(tf.global_variables_initializer())
    np.testing.assert_array_equal(session.run(y, {x: [[1.0, 1.0]]}), [[14.0, 26.0]])
    update = tf.assign_add(b, tf.reduce_sum(y, 0))
    got = session.run([update, {"w": w, "y": y}], {x: [[1.0, 1.0]]})
    np.testing.assert_array_equal(got[0], [24.0, 46.0])
    np.testing.assert_array_equal(got[1]["w"], [[1.0, 2.0], [3.0, 4.0]])
    assert len(cluster.workers[PS].resources) == 1 and not len(cluster.workers[WORKER].resources)


def test_a_step_is_one_message_per_task_and_parts_are_registered_once(cluster, session):
    _, _, x, y = model()
    session.run(tf.global_variables_initializer())
    session.run(y, {x: [[1.0, 1.0]]})
    cluster.network.counts.clear()
    for _ in range(5):
        session.run(y, {x: [[1.0, 1.0]]})
    assert cluster.network.counts == {"RunStep": 5, "RunGraph": 15, "RecvTensors": 10}  # ps 0, ps 1, worker 1; w and b (x comes with RunGraph)


def test_a_step_on_the_masters_task_is_one_round_trip(cluster, session):
    y = tf.constant(2.0) * tf.placeholder_with_default(3.0, [])
    session.run(y)
    cluster.network.counts.clear()
    assert session.run(y) == 6.0
    assert cluster.network.counts == {"RunStep": 1}


def test_the_graph_grows(cluster, session):
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(3.0, name="v")
    session.run(v.initializer)
    for factor in (2.0, 3.0):
        with tf.control_dependencies([v.initializer]):
            assert session.run(v * factor) == 3.0 * factor
    cluster.network.counts.clear()
    session.run(v)
    assert "ExtendSession" not in cluster.network.counts


def test_strings_and_empty_tensors_travel(session):
    with tf.device("/job:ps/task:0"):
        words = tf.constant(["a", "", "long" * 100])
        empty = tf.zeros([0, 3])
    with tf.device("/job:ps/task:1"):
        joined, same = tf.string_join([words, words]), tf.identity(empty)
    got = session.run([joined, same])
    assert got[0].tolist() == [b"aa", b"", b"long" * 200] and got[1].shape == (0, 3)


def test_default_placement_and_devices_of_a_task(cluster):
    cluster.start(PS, tf.ConfigProto(device_count={"CPU": 2}))
    session = cluster.session(WORKER)
    metadata = tf.RunMetadata()
    with tf.device("/job:ps/cpu:1"):
        second = tf.constant(1.0, name="second")
    third = tf.add(second, 1.0, name="third")
    session.run(third, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
    where = {node.node_name: stats.device for stats in metadata.step_stats.dev_stats for node in stats.node_stats}
    assert where["second"] == f"{PS}/device:CPU:1" and where["third"] == f"{WORKER}/device:CPU:0"
    names = [device.name for device in session.remote.list_devices()]
    assert names == [f"{WORKER}/device:CPU:0", f"{PS}/device:CPU:0", f"{PS}/device:CPU:1", "/job:ps/replica:0/task:1/device:CPU:0",
                     "/job:worker/replica:0/task:1/device:CPU:0"]
    session.close()


def test_random_state_belongs_to_the_session(cluster):
    with tf.device("/job:ps/task:0"):
        number = tf.random_uniform([], seed=3)
    drawn = []
    for _ in range(2):
        session = cluster.session(WORKER)
        drawn.append([session.run(number) for _ in range(3)] + [session.run(number + 1.0) - 1.0])
        session.close()
    assert drawn[0] == drawn[1] and len(set(drawn[0])) == 4, "each session draws from the start, and goes on in each of its plans"


@pytest.mark.parametrize("level, runs", [("L0", True), ("L1", False)])
def test_graph_options_reach_the_workers(cluster, level, runs):
    """A step that is not to be optimised runs its nodes on the other task as they are; else a constant is folded there."""
    config = tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=tf.OptimizerOptions(
        opt_level=tf.OptimizerOptions.L0 if level == "L0" else tf.OptimizerOptions.L1)))
    with tf.device("/job:ps/task:0"):
        total = tf.multiply(tf.constant(2.0), 3.0, name="total")
        result = tf.add(tf.placeholder_with_default(1.0, []), total)
    session = cluster.session(WORKER, config=config)
    assert session.run(result) == 7
    plans = [registered.planned.plan() for registered in cluster.workers[PS]._graphs.values()]
    assert any(node.definition.type == "Mul" for plan in plans for nodes in plan.node_lists for node in nodes) is runs
    session.close()


# --- control flow ----------------------------------------------------------------------------------------------------

def test_conditionals_span_tasks(session):
    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [])

    def double():
        with tf.device("/job:ps/task:0"):
            return x * 2.0

    def negate():
        with tf.device("/job:ps/task:1"):
            return -x

    y = tf.cond(p, double, negate) + 1.0
    assert session.run(y, {p: True, x: 5.0}) == 11.0
    assert session.run(y, {p: False, x: 5.0}) == -4.0


def test_a_loop_on_one_task(session):
    with tf.device("/job:ps/task:0"):
        start = tf.Variable(1.0, name="start")
    with tf.device("/job:worker/task:1"):
        _, power = tf.while_loop(lambda i, a: i < 10, lambda i, a: (i + 1, a * 2.0), [0, start + 0.0])
    session.run(start.initializer)
    assert session.run(power) == 1024.0
    (gradient,) = tf.gradients(power, [start])  # changes the loop that was sent already
    assert session.run(gradient) == 1024.0


def test_datasets_run_where_they_are_placed(session):
    with tf.device("/job:ps/task:0"):
        dataset = tf.data.Dataset.range(6).map(lambda x: x * x).batch(2)
        iterator = dataset.make_initializable_iterator()
        squares = iterator.get_next()
    session.run(iterator.initializer)
    got = [session.run(tf.identity(squares)).tolist() for _ in range(3)]
    assert got == [[0, 1], [4, 9], [16, 25]]
    with pytest.raises(tf.errors.OutOfRangeError):
        session.run(squares)


def test_a_loop_over_tasks(session):
    """The condition is on one task, the body on two others; what goes round crosses between them in every iteration."""
    def body(i, a, b):
        with tf.device("/job:ps/task:0"):
            a = a * 2.0
        with tf.device("/job:ps/task:1"):
            b = b + a
        return i + 1, a, b

    limit = tf.placeholder(tf.int32, [])
    with tf.device("/job:worker/task:1"):
        loop = tf.while_loop(lambda i, a, b: i < limit, body, [0, 1.0, 0.0])
    for count in (0, 1, 5):
        got = session.run(loop, {limit: count})
        assert [float(value) for value in got] == [count, 2.0 ** count, 2.0 ** (count + 1) - 2.0]


def test_loops_in_loops_over_tasks(session):
    def outer(i, total):
        with tf.device("/job:ps/task:0"):
            inner = tf.while_loop(lambda j, s: j < i, lambda j, s: (j + 1, s + tf.cast(j, tf.float32)), [0, 0.0])[1]
        with tf.device("/job:ps/task:1"):
            total = total + inner
        return i + 1, total

    with tf.device("/job:worker/task:1"):
        _, total = tf.while_loop(lambda i, total: i < 6, outer, [0, 0.0])
    assert session.run(total) == sum(j for i in range(6) for j in range(i))


def test_a_branch_in_a_loop_over_tasks(session):
    def body(i, a):
        with tf.device("/job:ps/task:0"):
            a = tf.cond(tf.equal(i % 2, 0), lambda: a + 1.0, lambda: a * 10.0)
        return i + 1, a

    with tf.device("/job:worker/task:1"):
        _, a = tf.while_loop(lambda i, a: i < 4, body, [0, 0.0])
    assert session.run(a) == 110.0


# --- errors ----------------------------------------------------------------------------------------------------------

def test_errors_name_class_op_and_line(session):
    with tf.device("/job:ps/task:1"):
        x = tf.placeholder(tf.int32, [None], name="ids")
        bad = tf.gather([1, 2, 3], x, name="bad")
    total = tf.reduce_sum(bad)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[1\] = 7 is not in \[0, 3\)") as caught:
        session.run(total, {x: [0, 7]})
    assert caught.value.op is bad.op and "test_local_cluster.py" in caught.value.message and "task:1" in caught.value.message
    assert session.run(total, {x: [0, 1]}) == 3, "the session goes on"


def test_uninitialised_variables(session):
    _, _, x, y = model()
    with pytest.raises(tf.errors.FailedPreconditionError, match=r"uninitialized value [wb]"):
        session.run(y, {x: [[1.0, 1.0]]})


def test_devices_that_are_not_there(session):
    with tf.device("/job:ps/task:7"):
        nowhere = tf.constant(1.0, name="nowhere")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot assign a device for operation nowhere"):
        session.run(nowhere)


def test_a_deadline_ends_a_step_on_another_task(session):
    with tf.device("/job:ps/task:0"):
        never = tf.FIFOQueue(1, tf.float32, shared_name="never").dequeue()
    with pytest.raises(tf.errors.DeadlineExceededError):
        session.run(never + 1.0, options=tf.RunOptions(timeout_in_ms=200))


# --- state -----------------------------------------------------------------------------------------------------------

def test_variables_are_shared_by_name(cluster):
    sessions = []
    for task in (WORKER, "/job:worker/replica:0/task:1"):
        with tf.Graph().as_default() as graph:
            with tf.device("/job:ps/task:0"):
                v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
            sessions.append((cluster.session(task, graph), v, tf.assign_add(v, 1.0), v.initializer))
    (first, _, add, init), (second, seen, _, _) = sessions
    first.run(init)
    first.run(add)
    assert second.run(seen) == 1.0
    first.close()
    assert second.run(seen) == 1.0, "variables outlive the session that made them"
    second.close()


@pytest.mark.parametrize(("make", "shared"), [
    (lambda: tf.FIFOQueue(10, tf.float32, [[]]), False), (lambda: tf.FIFOQueue(10, tf.float32, [[]], shared_name="q"), True),
    (lambda: tf.ConditionalAccumulator(tf.float32, []), False), (lambda: tf.ConditionalAccumulator(tf.float32, [], shared_name="a"), True),
    (lambda: tf.contrib.lookup.MutableHashTable(tf.float32, tf.int64, -1, checkpoint=False), False),
    (lambda: tf.contrib.lookup.MutableHashTable(tf.float32, tf.int64, -1, name="t"), True)])
def test_what_has_no_name_to_be_shared_by_belongs_to_its_session(cluster, make, shared):
    """As in TensorFlow. Variables, and tables that are saved, are shared by the names of their nodes."""
    def one_more(session):
        value = tf.random_uniform([])
        if isinstance(thing, tf.QueueBase):
            session.run(thing.enqueue(value))
            return session.run(thing.size())
        if isinstance(thing, tf.ConditionalAccumulatorBase):
            session.run(thing.apply_grad(value))
            return session.run(thing.num_accumulated())
        session.run(thing.insert([value], tf.constant([1], tf.int64)))
        return session.run(thing.size())

    with tf.device(PS):
        thing = make()
        first, second = cluster.session(WORKER), cluster.session(WORKER)
        assert [one_more(first), one_more(first), one_more(second)] == [1, 2, 3 if shared else 1]
    for session in (first, second):
        session.close()
    until_nothing_is_known(cluster, [PS, WORKER])
    assert len(cluster.workers[PS].resources) == shared


def test_iterators_belong_to_their_sessions(cluster):
    with tf.device(PS):
        numbers = tf.data.Dataset.range(10)
        following, once = tf.data.make_initializable_iterator(numbers), tf.data.make_one_shot_iterator(numbers).get_next()
        shared = tf.data.make_initializable_iterator(numbers, shared_name="shared")
        chosen = tf.placeholder(tf.string, [])
        by_name = tf.data.Iterator.from_string_handle(chosen, numbers.output_types, numbers.output_shapes).get_next()
        mine, common = following.string_handle(), shared.string_handle()
    first, second = cluster.session(WORKER), cluster.session(WORKER)
    first.run([following.initializer, shared.initializer])
    assert [first.run(following.get_next()), first.run(once), first.run(shared.get_next())] == [0, 0, 0]
    assert [second.run(once), second.run(shared.get_next())] == [0, 1]
    with pytest.raises(tf.errors.FailedPreconditionError):
        second.run(following.get_next())
    second.run(following.initializer)
    assert [second.run(by_name, {chosen: second.run(handle)}) for handle in (mine, common)] == [0, 2]
    assert [first.run(by_name, {chosen: first.run(handle)}) for handle in (mine, common)] == [1, 3]


def test_a_graph_that_changed_keeps_its_queues(session):
    """A node that was sent is changed: all of the graph goes to the master anew, and the session is as it was."""
    with tf.device(PS):
        queue = tf.FIFOQueue(10, tf.float32, [[]])
        draw = tf.random_uniform([], seed=1)
    total = draw + 0.0
    session.run(queue.enqueue([5.0]))
    before = session.run(total)
    total.op._update_input(1, tf.constant(100.0))
    after = session.run(total)
    assert after > 100.0 and after - 100.0 != pytest.approx(before), "the random state goes on"
    assert session.run(queue.dequeue()) == 5.0


def test_isolated_sessions(cluster, session):
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(1.0, name="v")
    session.run(v.initializer)
    alone = cluster.session(WORKER, config=tf.ConfigProto(isolate_session_state=True))
    with pytest.raises(tf.errors.FailedPreconditionError):
        alone.run(v)
    alone.close()


def test_reset_clears_containers_and_ends_sessions(cluster, session):
    with tf.device("/job:ps/task:0"):
        kept = tf.Variable(1.0, name="kept")
        with tf.container("experiment"):
            cleared = tf.Variable(2.0, name="cleared")
    session.run([kept.initializer, cleared.initializer])
    from penstock.distributed.messages import Message
    session.remote._link.call(Message("ResetAll", {"containers": ["experiment"]}))
    with pytest.raises(tf.errors.AbortedError, match="not found"):
        session.run(kept)
    fresh = cluster.session(WORKER)
    assert fresh.run(kept) == 1.0
    with pytest.raises(tf.errors.FailedPreconditionError):
        fresh.run(cleared)
    fresh.close()


# --- tasks that come and go ------------------------------------------------------------------------------------------

def test_only_the_needed_tasks_have_to_be_up():
    cluster = LocalCluster({"ps": 2, "worker": 2}, start=False)
    cluster.start(WORKER)
    session = cluster.session(WORKER)
    assert session.run(tf.constant(1.0) + 1.0) == 2.0
    with tf.device("/job:ps/task:1"):
        there = tf.constant(5.0)
    waiting = Call(lambda: session.run(there))
    assert not waiting.ended(0.3)
    with pytest.raises(tf.errors.DeadlineExceededError, match=r"200 ms: .*/job:ps/replica:0/task:1"):
        session.run(there, options=tf.RunOptions(timeout_in_ms=200))
    hasty = cluster.session(WORKER, config=tf.ConfigProto(operation_timeout_in_ms=200))
    for impatient in (lambda: hasty.run(there), hasty.remote.list_devices):
        call = Call(impatient)
        assert call.ended() and isinstance(call.error, tf.errors.DeadlineExceededError)
    cluster.start("/job:ps/replica:0/task:1")
    assert waiting.ended() and waiting.result == 5.0
    session.close()


def test_device_filters():
    cluster = LocalCluster({"ps": 1, "worker": 3}, start=False)
    for task in (PS, WORKER):
        cluster.start(task)
    session = cluster.session(WORKER, config=tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:0"]))
    assert [device.name for device in session.remote.list_devices()] == [f"{WORKER}/device:CPU:0", f"{PS}/device:CPU:0"]
    with tf.device("/job:worker/task:2"):
        hidden = tf.constant(1.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="available devices"):
        session.run(hidden)
    session.close()


def blocked_step(cluster, session):
    """A step of three tasks that waits at a queue on ps 0, and runs on both ps: a task that is lost earlier may still be starting."""
    with tf.device("/job:ps/task:0"):
        value = tf.FIFOQueue(1, tf.float32, shared_name="never").dequeue(name="wait")
    with tf.device("/job:ps/task:1"):
        doubled = value * 2.0
    step, deadline = Call(lambda: session.run(doubled + 1.0)), time.monotonic() + PATIENCE
    while not all(len(cluster.workers[task].steps) for task in (PS, "/job:ps/replica:0/task:1")):
        assert time.monotonic() < deadline, "the step does not begin"
        time.sleep(0.01)
    assert not step.ended(0.1)
    return step


@pytest.mark.parametrize("task", [PS, "/job:ps/replica:0/task:1"])
def test_a_lost_task_ends_the_step_and_is_named(cluster, session, task):
    step = blocked_step(cluster, session)
    started = time.monotonic()
    cluster.kill(task)
    assert step.ended() and time.monotonic() - started < 8.0
    assert isinstance(step.error, tf.errors.UnavailableError) and task in step.error.message
    others = [name for name in cluster.workers if name != task]
    assert all(not len(cluster.workers[name].steps) for name in others), "a part goes on"
    assert session.run(tf.constant(1.0) * 2.0) == 2.0


def test_a_lost_task_is_told_while_the_master_is_busy(cluster, session, monkeypatch):
    """The master's own part cannot be interrupted: it compiles, on a crowded machine."""
    busy, worker = threading.Event(), cluster.workers[WORKER]
    run = worker.run
    monkeypatch.setattr(step_run, "PATIENCE", 0.1)
    monkeypatch.setattr(worker, "run", lambda *arguments: busy.wait(3 * PATIENCE) and run(*arguments))
    step = blocked_step(cluster, session)
    cluster.kill(PS)
    assert step.ended() and isinstance(step.error, tf.errors.UnavailableError) and PS in step.error.message
    busy.set()


def test_a_lost_master_ends_its_parts(cluster, session):
    step = blocked_step(cluster, session)
    cluster.kill(WORKER)
    assert step.ended() and isinstance(step.error, tf.errors.UnavailableError)
    deadline = time.monotonic() + PATIENCE
    while any(len(cluster.workers[task].steps) for task in (PS, "/job:ps/replica:0/task:1")):
        assert time.monotonic() < deadline, "a part waits for a master that is gone"
        time.sleep(0.02)


def test_closing_a_session_cancels_its_steps(cluster):
    session = cluster.session(WORKER)
    step = blocked_step(cluster, session)
    session.close()
    assert step.ended() and isinstance(step.error, tf.errors.CancelledError)


def test_variables_of_a_restarted_task_are_lost_and_said_to_be(cluster, session):
    w, _, x, y = model()
    session.run(tf.global_variables_initializer())
    session.run(y, {x: [[1.0, 1.0]]})
    cluster.kill(PS)
    with pytest.raises(tf.errors.UnavailableError, match=PS):
        session.run(y, {x: [[1.0, 1.0]]})
    cluster.start(PS)
    with pytest.raises((tf.errors.FailedPreconditionError, tf.errors.AbortedError)):
        session.run(y, {x: [[1.0, 1.0]]})
    with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value w"):
        session.run(y, {x: [[1.0, 1.0]]})
    session.run(w.initializer)
    np.testing.assert_array_equal(session.run(y, {x: [[1.0, 1.0]]}), [[14.0, 26.0]])


def test_a_quick_restart_is_noticed_too(cluster, session):
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(1.0, name="v")
    session.run(v.initializer)
    assert session.run(v) == 1.0
    cluster.kill(PS)
    cluster.start(PS)
    with pytest.raises(tf.errors.AbortedError, match=r"restarted.*lost"):
        session.run(v)
    with pytest.raises(tf.errors.FailedPreconditionError):
        session.run(v)


def test_a_restarted_master_does_not_know_its_sessions(cluster, session):
    one = tf.constant(1.0)
    session.run(one)
    cluster.kill(WORKER)
    with pytest.raises(tf.errors.UnavailableError, match=WORKER):
        session.run(one)
    cluster.start(WORKER)
    with pytest.raises(tf.errors.AbortedError, match="not found"):
        session.run(one)
    again = cluster.session(WORKER)
    assert again.run(one) == 1.0
    again.close()


def test_a_reset_reaches_all_that_are_there():
    cluster = LocalCluster({"ps": 2, "worker": 1})
    with tf.device("/job:ps/task:1"):
        v = tf.Variable(1.0)
    cluster.session(WORKER).run(v.initializer)
    cluster.kill(PS)
    with pytest.raises(tf.errors.UnavailableError, match=PS):
        cluster.session(WORKER).remote._link.call(Message("ResetAll", {"containers": []}))
    with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
        cluster.session(WORKER).run(v)


# --- nothing is left of sessions that are over -----------------------------------------------------------------------

def known_parts(cluster):
    """How many parts each task knows, and of how many sessions it keeps something."""
    return {task: (len(worker._graphs), len(worker._sessions)) for task, worker in cluster.workers.items()}


def until_nothing_is_known(cluster, tasks):
    deadline = time.monotonic() + PATIENCE
    while any(known_parts(cluster)[task] != (0, 0) for task in tasks):
        assert time.monotonic() < deadline, known_parts(cluster)
        time.sleep(0.02)


def test_a_session_that_lost_a_task_leaves_nothing_on_the_others(cluster):
    session = cluster.session(WORKER)
    _, _, x, y = model()
    session.run(tf.global_variables_initializer())
    session.run(y, {x: [[1.0, 1.0]]})
    cluster.kill(PS)
    with pytest.raises(tf.errors.UnavailableError):
        session.run(y, {x: [[1.0, 1.0]]})
    session.close()
    until_nothing_is_known(cluster, [task for task in cluster.workers if task != PS])


def test_the_parts_of_a_lost_master_are_forgotten_in_the_end(cluster, session):
    _, _, x, y = model()
    other = cluster.session("/job:worker/replica:0/task:1")
    for each in (session, other):
        each.run(tf.global_variables_initializer())
        each.run(y, {x: [[1.0, 1.0]]})
    ps = cluster.workers[PS]
    assert len(ps._sessions) == 2
    cluster.kill(WORKER)
    now = time.monotonic()
    ps.end_forgotten(now + tenants.LEASE - 5.0)
    assert len(ps._sessions) == 2, "it may only have been cut off"
    ps.end_forgotten(now + tenants.LEASE + 5.0)
    assert len(ps._sessions) == 1 and known_parts(cluster)[PS][0], "the other master is still there"
    np.testing.assert_array_equal(other.run(y, {x: [[1.0, 1.0]]}), [[14.0, 26.0]])
    other.close()
    until_nothing_is_known(cluster, [PS])


def test_a_master_that_was_cut_off_keeps_its_parts(cluster, session):
    _, _, x, y = model()
    session.run(tf.global_variables_initializer())
    session.run(y, {x: [[1.0, 1.0]]})
    for connection in list(cluster.network._connections.values()):
        connection.cut(tf.errors.UnavailableError(None, None, "cut"))
    cluster.network._connections.clear()
    np.testing.assert_array_equal(session.run(y, {x: [[1.0, 1.0]]}), [[14.0, 26.0]])
    cluster.workers[PS].end_forgotten(time.monotonic() + tenants.LEASE + 5.0)
    np.testing.assert_array_equal(session.run(y, {x: [[1.0, 1.0]]}), [[14.0, 26.0]])


def test_a_step_that_is_over_needs_no_garbage_collector(cluster, session, monkeypatch):
    """Its tensors may lie in shared memory, which the other side waits to use again."""
    seen = []

    class Watched(master_session.StepRun):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            seen.append(weakref.ref(self))

    monkeypatch.setattr(master_session, "StepRun", Watched)
    _, _, x, y = model()
    session.run(tf.global_variables_initializer())
    gc.disable()
    try:
        session.run(y, {x: [[1.0, 1.0]]})
        deadline = time.monotonic() + 5.0
        while seen[-1]() is not None and time.monotonic() < deadline:
            time.sleep(0.02)
        assert seen[-1]() is None
    finally:
        gc.enable()
