"""Accumulators, barriers, critical sections, staging areas and stacks."""
from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import penstock as tf
from penstock.ops.queues.barrier import Barrier
from penstock.ops.queues.staging_classes import MapStagingArea

SHORT = tf.RunOptions(timeout_in_ms=50)
LONG = tf.RunOptions(timeout_in_ms=20000)


def in_threads(*functions):
    """Runs functions at once; raises the first error."""
    errors = []

    def guard(function):
        try:
            function()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=guard, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive(), "a thread is stuck"
    if errors:
        raise errors[0]


# --- accumulators ----------------------------------------------------------------------------------------------------

def test_dense_accumulator():
    acc = tf.ConditionalAccumulator(tf.float32, shape=[2])
    gradient, step = tf.placeholder(tf.float32), tf.placeholder(tf.int64, [])
    apply, count, take = acc.apply_grad(gradient, local_step=step), acc.num_accumulated(), acc.take_grad(2)
    assert take.shape.as_list() == [2]
    with tf.Session() as session:
        session.run(apply, {gradient: [1.0, 2.0], step: 0})
        with pytest.raises(tf.errors.DeadlineExceededError, match=r"ConditionalAccumulator '_\d+_conditional_accumulator'"):
            session.run(take, options=SHORT)
        for value in ([3.0, 4.0], [5.0, 6.0]):
            session.run(apply, {gradient: value, step: 0})
        assert session.run(count) == 3
        assert session.run(take).tolist() == [3, 4]  # the mean of all, not of the required ones alone
        session.run(apply, {gradient: [1.0, 2.0], step: 0})  # too old now
        assert session.run(count) == 0
        session.run(apply, {gradient: [1.0, 2.0], step: 1})
        session.run(acc.set_global_step(7))
        session.run(apply, {gradient: [1.0, 2.0], step: 6})
        assert session.run(count) == 1
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Shape mismatch: expected \[2\], got \[3\]"):
            session.run(apply, {gradient: [1.0, 2.0, 3.0], step: 9})
        with pytest.raises(tf.errors.InvalidArgumentError, match="num_required must be positive, but was 0"):
            session.run(acc.take_grad(0))


def test_sum_instead_of_mean():
    acc = tf.ConditionalAccumulator(tf.float64, reduction_type="SUM")
    with tf.Session() as session:
        for _ in range(3):
            session.run(acc.apply_grad(tf.constant([1.0, 2.0], tf.float64)))
        assert session.run(acc.take_grad(3)).tolist() == [3, 6]
    with pytest.raises(ValueError, match="reduction_type"):
        tf.ConditionalAccumulator(tf.float32, reduction_type="MAX")


def test_sparse_accumulator():
    acc = tf.SparseConditionalAccumulator(tf.float32, shape=[5, 2])
    slices = tf.IndexedSlices(tf.constant([[1.0, 1.0], [2.0, 2.0]]), tf.constant([1, 3], tf.int64), tf.constant([5, 2], tf.int64))
    with tf.Session() as session:
        session.run(acc.apply_indexed_slices_grad(slices))
        session.run(acc.apply_grad([0, 3], [[10.0, 10.0], [4.0, 4.0]]))
        taken = session.run(acc.take_indexed_slices_grad(2))
        assert taken.indices.tolist() == [0, 1, 3] and taken.dense_shape.tolist() == [5, 2]
        assert taken.values.tolist() == [[10, 10], [1, 1], [3, 3]]  # a row's mean is over the gradients that have it
        for gradient, message in (
                (([0, 7], [[1.0, 1.0], [1.0, 1.0]]), "index of slice 1 exceeded limits of shape; index is 7 exceeded 5"),
                (([0], [[1.0, 1.0, 1.0]]), "expected values dim 1 to be 2, got 3"),
                (([0, 1, 2], [[1.0, 1.0]]), "Expected 3 non-empty input values, got 1"),
                (([0], [[1.0, 1.0]], [9, 2]), "expected shape dim 0 to be 5, got 9")):
            with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                session.run(acc.apply_grad(*gradient, local_step=5))
        assert session.run(acc.num_accumulated()) == 0


def test_gradients_of_many_threads_are_all_counted():
    acc = tf.ConditionalAccumulator(tf.int64, shape=[], reduction_type="SUM")
    apply, take = acc.apply_grad(tf.constant(1, tf.int64), local_step=10**6), acc.take_grad(80)
    with tf.Session() as session:
        in_threads(*[lambda: [session.run(apply) for _ in range(10)]] * 8)
        assert session.run(take, options=LONG) == 80


# --- barriers --------------------------------------------------------------------------------------------------------

def test_barrier():
    barrier = Barrier([tf.float32, tf.int32], shapes=[[], [2]], name="B")
    take = barrier.take_many(1)
    assert [tensor.shape.as_list() for tensor in (take.indices, take.keys, *take.values)] == [[1], [1], [1], [1, 2]]
    sizes = [barrier.ready_size(), barrier.incomplete_size()]
    with tf.Session() as session:
        session.run(barrier.insert_many(0, ["k1", "k2"], [1.0, 2.0]))
        assert session.run(sizes) == [0, 2]
        session.run(barrier.insert_many(1, ["k2"], [[1, 2]]))
        assert session.run(sizes) == [1, 1]
        taken = session.run(take)
        assert taken.indices.tolist() == [-2**63] and taken.keys.tolist() == [b"k2"]
        assert [value.tolist() for value in taken.values] == [[2.0], [[1, 2]]]
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Key k1 already has a value for component 0 in barrier _\d+_B"):
            session.run(barrier.insert_many(0, ["k1"], [5.0]))
        session.run(barrier.insert_many(0, ["k3"], [5.0]))
        session.run(barrier.insert_many(1, ["k3", "k1"], [[1, 2], [3, 4]]))
        assert session.run(barrier.take_many(2)).keys.tolist() == [b"k1", b"k3"]  # in the order of their first components
        with pytest.raises(tf.errors.DeadlineExceededError, match=r"Barrier '_\d+_B'"):
            session.run(take, options=SHORT)


def test_closed_barrier():
    barrier = Barrier([tf.float32, tf.int32], shapes=[[], []], name="B")
    with tf.Session() as session:
        session.run(barrier.insert_many(0, ["k"], [5.0]))
        session.run(barrier.close())
        with pytest.raises(tf.errors.CancelledError, match="attempted to insert a brand new key: new"):
            session.run(barrier.insert_many(0, ["new"], [1.0]))
        with pytest.raises(tf.errors.OutOfRangeError, match=r"insufficient elements \(requested 2, total size 1\)"):
            session.run(barrier.take_many(2))
        session.run(barrier.insert_many(1, ["k"], [5]))  # what was begun may be completed
        assert session.run(barrier.take_many(2, allow_small_batch=True)).keys.tolist() == [b"k"]
        with pytest.raises(tf.errors.OutOfRangeError, match="total size 0"):
            session.run(barrier.take_many(1, allow_small_batch=True))
        with pytest.raises(tf.errors.CancelledError, match="already closed"):
            session.run(barrier.close())
        session.run(barrier.close(cancel_pending_enqueues=True))
        with pytest.raises(tf.errors.CancelledError, match="Pending enqueues cancelled: 1"):
            session.run(barrier.insert_many(0, ["k"], [1.0]))


def test_barrier_mistakes():
    with pytest.raises(ValueError, match="Empty tensors are not supported"):
        Barrier([tf.float32], shapes=[[0]])
    barrier = Barrier([tf.float32], shapes=[[]])
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Shape mismatch in tuple component 2. Expected \[\], got \[2\]"):
            session.run(barrier.insert_many(0, ["a"], [[1.0, 2.0]]))
        with pytest.raises(tf.errors.InvalidArgumentError, match="component ID is out of range"):
            session.run(barrier.insert_many(1, ["a"], [1.0]))


# --- critical sections -----------------------------------------------------------------------------------------------

def test_critical_section_excludes_others():
    section = tf.CriticalSection()
    inside, most = [0], [0]

    def work():
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        time.sleep(0.002)
        inside[0] -= 1
        return np.int64(1)

    one = section.execute(lambda: tf.py_func(work, [], tf.int64))
    two = section.execute(lambda: tf.py_func(work, [], tf.int64))
    with tf.Session() as session:
        in_threads(*[lambda: [session.run([one, two], options=LONG) for _ in range(5)]] * 4)
    assert most == [1]


def test_critical_section_makes_updates_whole():
    section = tf.CriticalSection(name="section")
    v = tf.get_variable("v", [], tf.int64, initializer=tf.zeros_initializer(), use_resource=True)

    def increment():
        read = v.read_value()
        with tf.control_dependencies([read]):
            return v.assign(read + 1)

    update = section.execute(increment)
    with tf.Session() as session:
        session.run(v.initializer)
        in_threads(*[lambda: [session.run(update, options=LONG) for _ in range(10)]] * 4)
        assert session.run(v) == 40


def test_a_failure_gives_the_lock_back():
    section = tf.CriticalSection()
    x = tf.placeholder(tf.float32, [])
    checked = section.execute(lambda: tf.check_numerics(x, "not a number"))
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(checked, {x: np.nan})
        assert session.run(checked, {x: 1.0}, options=LONG) == 1


def test_structures_and_operations():
    section = tf.CriticalSection()
    found = section.execute(lambda: (tf.constant(1.0), [tf.constant(2)]))
    with tf.Session() as session:
        assert session.run(found) == (1.0, [2])
        assert session.run(section.execute(tf.no_op)) is None


def test_critical_section_mistakes():
    one, two = tf.CriticalSection(), tf.CriticalSection()
    v = tf.get_variable("v", [], use_resource=True)
    with pytest.raises(ValueError, match="would cause deadlocks"):
        one.execute(lambda: one.execute(lambda: tf.constant(1)))
    one.execute(lambda: v.read_value())
    with pytest.raises(ValueError, match="This execution would access resources"):
        two.execute(lambda: v.read_value())


# --- staging areas ---------------------------------------------------------------------------------------------------

def test_staging_area():
    area = tf.contrib.staging.StagingArea([tf.float32, tf.int32], [[2], []], capacity=2)
    x = tf.placeholder(tf.int32, [])
    put, get, peek, size, clear = area.put([[1.0, 2.0], x]), area.get(), area.peek(0), area.size(), area.clear()
    assert [tensor.shape.as_list() for tensor in get] == [[2], []]
    with tf.Session() as session:
        for value in (1, 2):
            session.run(put, {x: value})
        with pytest.raises(tf.errors.DeadlineExceededError, match="StagingArea_put"):
            session.run(put, {x: 3}, options=SHORT)
        assert session.run(peek)[1] == 1 and [session.run(get)[1] for _ in range(2)] == [1, 2]
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(get, options=SHORT)
        session.run(put, {x: 4})
        session.run(clear)
        assert session.run(size) == 0


def test_staging_area_with_names_and_a_memory_limit():
    area = tf.contrib.staging.StagingArea([tf.float32], shapes=[[4]], names=["x"], memory_limit=20)
    put, get = area.put({"x": [1.0] * 4}), area.get()
    with tf.Session() as session:
        session.run(put)
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(put, options=SHORT)
        assert session.run(get)["x"].tolist() == [1] * 4
    small = tf.contrib.staging.StagingArea([tf.float32], memory_limit=10)
    with tf.Session() as session, pytest.raises(tf.errors.ResourceExhaustedError, match="'16' bytes"):
        session.run(small.put([[1.0] * 4]))


@pytest.mark.parametrize("ordered", [False, True])
def test_map_staging_area(ordered):
    area = MapStagingArea([tf.float32, tf.int32], [[], []], names=["x", "y"], ordered=ordered)
    sizes, get = [area.size(), area.incomplete_size()], area.get()
    with tf.Session() as session:
        session.run(area.put(3, {"x": 1.0, "y": 2}))
        session.run(area.put(1, {"x": 9.0}))
        assert session.run(sizes) == [1, 1]
        session.run(area.put(1, {"y": 8}))
        assert session.run(sizes) == [2, 0]
        assert session.run(area.peek(3)) == {"x": 1.0, "y": 2}
        assert session.run(get) == ((1, {"x": 9.0, "y": 8}) if ordered else (3, {"x": 1.0, "y": 2}))
        with pytest.raises(tf.errors.InvalidArgumentError, match="already initialized"):
            session.run(area.put(3 if ordered else 1, {"x": 1.0}))
        left = 3 if ordered else 1
        assert list(session.run(area.get(left, ["y"])[1])) == ["y"]
        assert list(session.run(area.get(left, ["x"])[1])) == ["x"]
        assert session.run(sizes) == [0, 0]


# --- stacks ----------------------------------------------------------------------------------------------------------

def test_stack():
    stack = tf.raw_ops.StackV2(max_size=2, elem_type=tf.float32)
    first = tf.raw_ops.StackPushV2(handle=stack, elem=1.0)
    with tf.control_dependencies([first]):
        second = tf.raw_ops.StackPushV2(handle=stack, elem=[2.0, 3.0])
    with tf.control_dependencies([second]):
        third, top = tf.raw_ops.StackPushV2(handle=stack, elem=1.0), tf.raw_ops.StackPopV2(handle=stack, elem_type=tf.float32)
        closed = tf.raw_ops.StackCloseV2(handle=stack)
    with tf.control_dependencies([closed]):
        late = tf.raw_ops.StackPopV2(handle=stack, elem_type=tf.float32)
    empty = tf.raw_ops.StackPopV2(handle=tf.raw_ops.StackV2(max_size=-1, elem_type=tf.float32), elem_type=tf.float32)
    with tf.Session() as session:
        assert session.run(top).tolist() == [2, 3]
        for tensor, message in ((third, r"overflowed its max_size \(2\)"), (empty, r"is empty when calling Pop\(\)"), (late, "already been closed")):
            with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                session.run(tensor)
