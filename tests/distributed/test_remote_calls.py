"""RemoteCall to the devices of other tasks: values and errors of TensorFlow 1.15, and what happens when a call ends early."""
from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import penstock as tf
from penstock.imperative.defined_function import Defun
from support.cluster import PATIENCE, LocalCluster, Processes

pytestmark = pytest.mark.process
TASK = "/job:worker/replica:0/task:%d"
CPU = TASK + "/device:CPU:0"


@pytest.fixture
def cluster():
    return LocalCluster({"worker": 3})


@pytest.fixture
def session(cluster):
    session = cluster.session(TASK % 0)
    yield session
    session.close()


def call(f, *arguments, types=(tf.float32,)):
    """A call of a function from task 0, and the placeholder that says where."""
    target = tf.placeholder(tf.string, [])
    with tf.device("/job:worker/task:0/cpu:0"):
        results = tf.raw_ops.RemoteCall(target=target, args=list(arguments), f=f, Tout=list(types))
    return target, results


@Defun(tf.float32, tf.float32)
def both(a, b):
    return a * b, a + b


def both_results(target=CPU % 1):
    where, results = call(both, tf.constant(3.0), tf.constant([2.0, 4.0]), types=(tf.float32, tf.float32))
    return results, {where: target}


@pytest.mark.parametrize("target", [CPU % 0, CPU % 1, CPU % 2, "/job:worker/task:2/cpu:0", "/cpu:0", ""])
def test_a_function_runs_on_the_task_that_the_step_names(session, target):
    product, total = session.run(*both_results(target))
    np.testing.assert_array_equal(product, [6.0, 12.0])
    np.testing.assert_array_equal(total, [5.0, 7.0])


def test_a_function_is_registered_once_and_forgotten_with_the_session(cluster, session):
    results, feeds = both_results()
    session.run(results, feeds)
    cluster.network.counts.clear()
    session.run(results, feeds)
    assert cluster.network.counts == {"RunStep": 1, "RunGraph": 1}
    there = cluster.workers[TASK % 1]
    assert there._graphs
    session.close()
    end = time.monotonic() + PATIENCE
    while there._graphs and time.monotonic() < end:
        time.sleep(0.01)
    assert not there._graphs and not there._sessions


def test_text_loops_and_functions_that_name_devices(session):
    with tf.device("/job:worker/task:0/cpu:0"):  # TensorFlow does not look at the devices inside of the function
        @Defun(tf.string)
        def twice(text):
            with tf.device("/job:worker/task:2/cpu:0"):
                return tf.strings.join([text, text])

    @Defun(tf.float32)
    def eightfold(x):
        return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2.0), [0, x])[1]

    where, [text] = call(twice, tf.constant(["x", "yz"]), types=[tf.string])
    assert session.run(text, {where: CPU % 1}).tolist() == [b"xx", b"yzyz"]
    where, [number] = call(eightfold, tf.constant(3.0))
    assert session.run(number, {where: CPU % 2}) == 24.0


def test_an_iterator_of_another_task_is_advanced_there(session):
    with tf.device("/job:worker/task:1/cpu:0"):
        iterator = tf.data.Dataset.from_tensor_slices([10, 20]).make_initializable_iterator()
        handle = iterator.string_handle()

    @Defun(tf.string)
    def following(handle):
        return tf.data.Iterator.from_string_handle(handle, tf.int32, []).get_next()

    where, [element] = call(following, handle, types=[tf.int32])
    session.run(iterator.initializer)
    assert [session.run(element, {where: CPU % 1}) for _ in range(2)] == [10, 20]
    with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
        session.run(element, {where: CPU % 1})
    with pytest.raises(tf.errors.InvalidArgumentError, match=f'iterator on device "{CPU % 2}" from handle defined on device "{CPU % 1}"'):
        session.run(element, {where: CPU % 2})


@pytest.mark.parametrize("target, words", [
    (CPU % 5, f"Could not find worker with target: {CPU % 5} Available workers: {TASK % 0}, {TASK % 1}, {TASK % 2}"),
    ("/job:other/task:0/cpu:0", "Could not find worker with target: /job:other/replica:0/task:0/device:CPU:0"),
    (TASK % 1 + "/cpu:9", f"{TASK % 1}/device:CPU:9 unknown device."), (TASK % 0 + "/cpu:9", f"{TASK % 0}/device:CPU:9 unknown device."),
    (TASK % 1 + "/gpu:0", f"{TASK % 1}/device:GPU:0 unknown device."), ("nonsense", "Could not parse nonsense into a device specification")])
def test_targets_that_are_not_there(session, target, words):
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        session.run(*both_results(target))


def test_an_error_there_is_the_step_s_error(session):
    @Defun(tf.float32)
    def checked(x):
        with tf.control_dependencies([tf.Assert(x > 100.0, [x])]):
            return tf.identity(x)

    where, [result] = call(checked, tf.constant(3.0))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"assertion failed: \[3\]"):
        session.run(result, {where: CPU % 1})


def test_there_is_no_gradient():
    x = tf.constant(3.0)
    with pytest.raises(LookupError, match="No gradient defined for operation 'RemoteCall'"):
        tf.gradients(call(both, x, x, types=(tf.float32, tf.float32))[1][0], x)


# --- calls that end early --------------------------------------------------------------------------------------------

@Defun(tf.float32)
def waiting(x):
    return x + tf.FIFOQueue(1, tf.float32, shared_name="never_filled").dequeue()


def test_a_call_that_waits_ends_with_its_step(cluster):
    where, [result] = call(waiting, tf.constant(3.0))
    hasty = cluster.session(TASK % 0, config=tf.ConfigProto(operation_timeout_in_ms=300))
    with pytest.raises(tf.errors.DeadlineExceededError):
        hasty.run(result, {where: CPU % 1})
    steps, end = cluster.workers[TASK % 1].steps, time.monotonic() + PATIENCE
    while len(steps) and time.monotonic() < end:
        time.sleep(0.01)
    assert not len(steps)  # it does not wait there any more
    hasty.close()


def test_a_call_to_a_task_that_dies(cluster, session):
    where, [result] = call(waiting, tf.constant(3.0))
    session.run(*both_results())
    errors = []

    def run():
        try:
            session.run(result, {where: CPU % 1})
        except tf.errors.OpError as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    steps, end = cluster.workers[TASK % 1].steps, time.monotonic() + PATIENCE
    while not len(steps) and time.monotonic() < end:
        time.sleep(0.01)
    cluster.kill(TASK % 1)
    thread.join(PATIENCE)
    assert [type(error) for error in errors] == [tf.errors.UnavailableError] and TASK % 1 in errors[0].message
    cluster.start(TASK % 1)  # it does not know the functions any more
    np.testing.assert_array_equal(session.run(*both_results())[0], [6.0, 12.0])


@pytest.mark.cluster
def test_over_processes():
    with Processes(worker=2) as processes, tf.Session(processes.target("worker", 0)) as session:
        product, total = session.run(*both_results())
    np.testing.assert_array_equal(product, [6.0, 12.0])
    np.testing.assert_array_equal(total, [5.0, 7.0])
