"""Sessions: life and death, defaults, callables, threads."""
from __future__ import annotations

import threading

import pytest

import penstock as tf

# --- life ------------------------------------------------------------------------------------------------------------

def test_a_step_that_begins_while_its_session_is_closed_ends():
    queue = tf.FIFOQueue(1, tf.float32)
    value = queue.dequeue()
    session = tf.Session()
    plan = session._backend._plan_for

    def closing(*args, **options):
        found = plan(*args, **options)
        session.close()  # as another thread may, at this moment
        return found

    session._backend._plan_for = closing
    with pytest.raises(tf.errors.CancelledError, match="Session has been closed: the step was cancelled"):
        session.run(value)


def test_closed_session():
    with tf.Graph().as_default():
        a = tf.constant(0)
        running = tf.Session()
        running.close()
        running.close()
        with pytest.raises(RuntimeError):
            running.run(a)


def test_empty_graph(session):
    with pytest.raises(RuntimeError):
        session.run([])


def test_default_session():
    with tf.Graph().as_default():
        a = tf.constant(3)
        assert tf.get_default_session() is None
        with tf.Session() as running:
            assert tf.get_default_session() is running
            assert a.eval() == 3
            assert a.op.run() is None
        assert tf.get_default_session() is None
        with pytest.raises(ValueError):
            a.eval()


def test_session_makes_its_graph_the_default():
    graph = tf.Graph()
    with tf.Session(graph=graph) as running:
        assert tf.get_default_graph() is graph is running.graph
    assert tf.get_default_graph() is not graph


def test_as_default_keeps_it_open():
    with tf.Graph().as_default():
        a = tf.constant(1)
        running = tf.Session()
        with running.as_default():
            assert a.eval() == 1
        assert running.run(a) == 1
        running.close()


def test_eval_in_a_session_of_another_graph(session):
    with tf.Graph().as_default():
        other = tf.constant(1)
    with pytest.raises(ValueError):
        other.eval(session=session)


def test_eval_with_feeds(session):
    x = tf.placeholder(tf.float32)
    assert tf.identity(x).eval({x: 2.0}) == 2.0
    assert tf.identity(x).eval(feed_dict={x: 3.0}, session=session) == 3.0


def test_interactive_session():
    with tf.Graph().as_default():
        a = tf.constant(4)
        running = tf.InteractiveSession()
        assert a.eval() == 4
        running.close()
        assert tf.get_default_session() is None


def test_wrong_arguments():
    for arguments in ({"graph": "text"}, {"config": "text"}):
        with pytest.raises(TypeError):
            tf.Session(**arguments)


def test_two_sessions_have_their_own_variables():
    with tf.Graph().as_default():
        v = tf.Variable(1.0)
        grow = v.assign_add(1.0)
        with tf.Session() as one, tf.Session() as two:
            one.run(v.initializer)
            two.run(v.initializer)
            one.run(grow)
            assert (one.run(v), two.run(v)) == (2.0, 1.0)


def test_graph_may_grow_between_runs(session):
    a = tf.constant(1.0)
    assert session.run(a) == 1.0
    b = tf.identity(a)
    assert session.run(b) == 1.0


def test_uninitialized_variable(session):
    v = tf.Variable(1.0, name="v")
    with pytest.raises(tf.errors.FailedPreconditionError) as caught:
        session.run(v)
    assert "Attempting to use uninitialized value v" in str(caught.value)


def test_list_devices(session):
    tf.constant(0)
    device = session.list_devices()[0]
    assert device.name == "/job:localhost/replica:0/task:0/device:CPU:0" and device.device_type == "CPU"


# --- callables and partial runs --------------------------------------------------------------------------------------

def test_make_callable(session):
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    call = session.make_callable([tf.identity(x), tf.identity(y)], [x, y])
    assert call(1.0, 2.0) == [1.0, 2.0]
    assert call(3.0, 4.0) == [3.0, 4.0]
    assert session.make_callable(tf.constant(5))() == 5
    assert session.make_callable({"a": tf.constant(5)})() == {"a": 5}
    assert session.make_callable(tf.constant(5).op)() is None


def test_make_callable_with_wrong_arguments(session):
    x = tf.placeholder(tf.float32)
    with pytest.raises(TypeError):
        session.make_callable(x, x)
    call = session.make_callable(tf.identity(x), [x])
    with pytest.raises(Exception):
        call()


# --- threads ---------------------------------------------------------------------------------------------------------

def test_threads_share_a_session(session):
    x = tf.placeholder(tf.float32)
    y = tf.multiply(x, 2.0)
    results, failures = [], []

    def work(number):
        try:
            for _ in range(30):
                results.append(session.run(y, {x: float(number)}) == 2.0 * number)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and len(results) == 120 and all(results)


def test_concurrent_increments_with_a_lock_are_not_lost(session):
    v = tf.Variable(0, use_resource=False)
    grow = tf.assign_add(v, 1, use_locking=True)
    session.run(v.initializer)

    def work():
        for _ in range(50):
            session.run(grow.op)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert session.run(v) == 200


def test_waiting_for_a_fed_placeholder():
    x = tf.placeholder(tf.float32, [])
    with tf.control_dependencies([x]):
        y = tf.constant(3.0)
    with tf.Session() as session:
        assert session.run(y, {x: 1.0}) == 3
        with pytest.raises(tf.errors.InvalidArgumentError, match="must feed a value"):
            session.run(y)
