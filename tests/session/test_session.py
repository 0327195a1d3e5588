"""Sessions: the forms of fetches and feeds, life and death, defaults, callables, partial runs."""
from __future__ import annotations

import collections
import threading

import numpy as np
import pytest

import penstock as tf

Point = collections.namedtuple("Point", "x y")


@pytest.fixture
def session():
    """A session on a graph of its own."""
    with tf.Graph().as_default(), tf.Session() as running:
        yield running


# --- fetches ---------------------------------------------------------------------------------------------------------

def test_fetch_of_every_nest(session):
    a, b = tf.constant(1.0), tf.constant([2, 3])
    assert session.run(a) == 1.0
    assert isinstance(session.run(a), np.float32)
    assert isinstance(session.run(b), np.ndarray)
    assert session.run([a]) == [1.0]
    assert session.run((a, a)) == (1.0, 1.0)
    assert session.run({"k": a, "l": [a, (a,)]}) == {"k": 1.0, "l": [1.0, (1.0,)]}
    assert session.run(Point(a, [a])) == Point(1.0, [1.0])
    assert session.run([]) == []
    assert session.run({}) == {}
    assert session.run([[], {"x": ()}]) == [[], {"x": ()}]
    ordered = session.run(collections.OrderedDict([("z", a), ("a", a)]))
    assert isinstance(ordered, collections.OrderedDict) and list(ordered) == ["z", "a"]


def test_fetch_of_operations_and_names(session):
    a = tf.constant(1.0, name="a")
    assert session.run(a.op) is None
    assert session.run("a:0") == 1.0
    assert session.run("a") is None
    assert session.run([a.op, a, "a"]) == [None, 1.0, None]


def test_fetch_twice_gives_equal_results(session):
    a = tf.constant([1.0])
    first, second = session.run([a, a])
    assert first.tolist() == second.tolist() == [1.0]


def test_fetch_of_strings(session):
    assert session.run(tf.constant("a")) == b"a"
    assert session.run(tf.constant([["a"], ["b"]])).tolist() == [[b"a"], [b"b"]]


def test_fetch_of_sparse_values(session):
    sparse = tf.SparseTensor([[0, 1]], [5.0], [2, 2])
    value = session.run(sparse)
    assert isinstance(value, tf.SparseTensorValue)
    assert (value.indices.tolist(), value.values.tolist(), value.dense_shape.tolist()) == ([[0, 1]], [5.0], [2, 2])
    nested = session.run({"s": [sparse]})
    assert nested["s"][0].values.tolist() == [5.0]


def test_fetch_of_indexed_slices(session):
    slices = tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([3]))
    value = session.run(slices)
    assert value.values.tolist() == [[1.0]] and value.indices.tolist() == [3] and value.dense_shape is None


@pytest.mark.parametrize("fetch", [None, 3, [None], 1.5, object()])
def test_fetch_of_a_wrong_type(session, fetch):
    tf.constant(0)
    with pytest.raises(TypeError):
        session.run(fetch)


@pytest.mark.parametrize("fetch", ["nothing", "nothing:0", "a:1", "a:x"])
def test_fetch_of_an_unknown_name(session, fetch):
    tf.constant(0, name="a")
    with pytest.raises(ValueError):
        session.run(fetch)


def test_fetch_from_another_graph(session):
    tf.constant(0)
    with tf.Graph().as_default():
        other = tf.constant(0)
    with pytest.raises(ValueError):
        session.run(other)


def test_unfetchable(session):
    a = tf.constant(0)
    tf.get_default_graph().prevent_fetching(a.op)
    with pytest.raises(ValueError):
        session.run(a)


def test_results_belong_to_the_caller(session):
    a = tf.constant([1.0, 2.0])
    b = tf.identity(a)
    first = session.run([a, b])
    for value in first:
        value[:] = 9
    assert [value.tolist() for value in session.run([a, b])] == [[1, 2], [1, 2]]


def test_fed_array_is_not_shared(session):
    x = tf.placeholder(tf.float32, [2])
    array = np.zeros(2, np.float32)
    result = session.run(tf.identity(x), {x: array})
    result[0] = 5
    assert array.tolist() == [0, 0]


# --- feeds -----------------------------------------------------------------------------------------------------------

def test_feeds(session):
    x = tf.placeholder(tf.float32, [None], name="x")
    y = tf.identity(x)
    for key in (x, "x:0"):
        assert session.run(y, {key: [1, 2]}).tolist() == [1, 2]
    assert session.run(y, {x: np.array([1, 2], np.int64)}).tolist() == [1, 2]
    assert session.run(y, feed_dict={x: (3.0,)}).tolist() == [3]
    assert session.run(x, {x: [4.0]}).tolist() == [4]


def test_any_tensor_can_be_fed(session):
    a = tf.constant(1.0)
    b = tf.identity(a)
    assert session.run(tf.identity(b), {b: 5.0}) == 5.0
    assert session.run([a, b], {a: 7.0}) == [7.0, 7.0]


def test_what_is_behind_a_feed_does_not_run(session):
    unfed = tf.placeholder(tf.float32, name="unfed")
    middle = tf.identity(unfed)
    assert session.run(tf.identity(middle), {middle: 2.0}) == 2.0


def test_feed_of_sparse_values(session):
    sparse = tf.sparse_placeholder(tf.float32)
    value = session.run(sparse, {sparse: tf.SparseTensorValue([[0, 1]], [5.0], [2, 2])})
    assert value.values.tolist() == [5.0]
    again = session.run(sparse, {sparse: ([[0, 1]], [6.0], [2, 2])})
    assert again.values.tolist() == [6.0]


def test_feed_of_strings(session):
    x = tf.placeholder(tf.string)
    y = tf.identity(x)
    assert session.run(y, {x: ["a", b"b"]}).tolist() == [b"a", b"b"]
    assert session.run(y, {x: "text"}) == b"text"
    assert session.run(y, {x: np.array(["ab", "c"])}).tolist() == [b"ab", b"c"]


@pytest.mark.parametrize("value, error", [
    ([1.0, 2.0, 3.0], ValueError), ("text", ValueError), ([[1.0, 2.0]], ValueError), (None, TypeError), ({}, TypeError),
])
def test_values_that_do_not_fit(session, value, error):
    x = tf.placeholder(tf.float32, [2])
    with pytest.raises((error, TypeError, ValueError)):
        session.run(tf.identity(x), {x: value})


def test_large_integers(session):
    x = tf.placeholder(tf.int32)
    with pytest.raises(TypeError):
        session.run(tf.identity(x), {x: 2 ** 40})


def test_tensors_cannot_be_values_of_feeds(session):
    x = tf.placeholder(tf.float32)
    with pytest.raises(TypeError):
        session.run(tf.identity(x), {x: tf.constant(1.0)})


@pytest.mark.parametrize("key", ["nothing:0", 3, "x"])
def test_keys_that_are_no_tensors(session, key):
    x = tf.placeholder(tf.float32, name="x")
    with pytest.raises(TypeError):
        session.run(tf.identity(x), {key: 1.0})


def test_unfeedable(session):
    a = tf.constant(0)
    tf.get_default_graph().prevent_feeding(a)
    with pytest.raises(ValueError):
        session.run(a, {a: 1})


def test_unfed_placeholder(session):
    x = tf.placeholder(tf.float32, [2], name="x")
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(tf.identity(x))
    assert "You must feed a value for placeholder tensor 'x' with dtype float" in str(caught.value)
    assert caught.value.error_code == tf.errors.INVALID_ARGUMENT
    assert caught.value.op.name == "x"


# --- life ------------------------------------------------------------------------------------------------------------

def test_a_step_that_begins_while_its_session_is_closed_ends():
    queue = tf.FIFOQueue(1, tf.float32)
    value = queue.dequeue()
    session = tf.Session()
    plan = session._backend._planned

    def closing(*args, **options):
        found = plan(*args, **options)
        session.close()  # as another thread may, at this moment
        return found

    session._backend._planned = closing
    with pytest.raises(tf.errors.CancelledError, match="Session has been closed"):
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


def test_results_do_not_change_with_the_variable(session):
    v = tf.Variable([1.0, 2.0])
    session.run(v.initializer)
    before = session.run(v)
    session.run(v.assign_add([1.0, 1.0]))
    assert before.tolist() == [1, 2]
    assert session.run(v).tolist() == [2, 3]
    before[:] = 0
    assert session.run(v).tolist() == [2, 3]


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


def test_partial_run(session):
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


def test_partial_run_errors(session):
    x, y = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    first = tf.add(x, 1.0)
    second = tf.multiply(first, y)
    handle = session.partial_run_setup([first, second], [x, y])
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.partial_run(handle, second, {y: 1.0})
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.partial_run("no such handle", first, {x: 1.0})


def test_partial_run_feeds_once(session):
    x, y = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    first = tf.add(x, 1.0)
    second = tf.multiply(first, y)
    handle = session.partial_run_setup([first, second], [x, y])
    session.partial_run(handle, first, {x: 1.0})
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.partial_run(handle, second, {x: 1.0, y: 2.0})


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


def test_a_feed_by_a_name_that_is_not_there():
    with tf.Session() as session, pytest.raises(TypeError, match="Cannot interpret feed_dict key as Tensor: The name 'b:0' refers to a Tensor"):
        session.run(tf.constant(1), {"b:0": 5})


def test_waiting_for_a_fed_placeholder():
    x = tf.placeholder(tf.float32, [])
    with tf.control_dependencies([x]):
        y = tf.constant(3.0)
    with tf.Session() as session:
        assert session.run(y, {x: 1.0}) == 3
        with pytest.raises(tf.errors.InvalidArgumentError, match="must feed a value"):
            session.run(y)
