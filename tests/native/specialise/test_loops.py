"""Loops, branches, lists and arrays of tensors as native code, against the same programs run by NumPy."""
from __future__ import annotations

import random
from contextlib import contextmanager

import numpy as np
import pytest

import penstock as tf
from penstock.graph import nest
from penstock.graph.opdef import lookup
from penstock.native.config import config
from penstock.native.table import arena
from penstock.native.table.instance import Instance

pytestmark = pytest.mark.process
RNG = np.random.RandomState(0)


@pytest.fixture(autouse=True)
def guards(monkeypatch):
    """Buffers share nothing, and what is written behind one is seen. What a test feeds does not depend on the tests before it."""
    RNG.seed(0)
    monkeypatch.setattr(arena, "GUARD", 64)
    run = Instance.run

    def checked(self, arrays, between):
        failed = run(self, arrays, between)
        assert not self.overrun()
        return failed
    monkeypatch.setattr(Instance, "run", checked)


@pytest.fixture
def python_loops(monkeypatch):
    """The loops that NumPy ran, by name."""
    found = []
    definition = lookup("While")
    kernel = definition.kernel

    def counted(ctx, input, cond, body):
        found.append(ctx.node.name)
        return kernel(ctx, input, cond, body)
    monkeypatch.setattr(definition, "kernel", counted)
    return found


@contextmanager
def by_numpy():
    mode, config.mode = config.mode, "off"
    try:
        yield
    finally:
        config.mode = mode


def numbers(*shape):
    return RNG.uniform(-1, 1, shape).astype(np.float32)


def check(build, *feeds, rtol=2e-4):
    """Builds, and compares both ways of running twice: what a first step leaves must not change the second."""
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(3)
        inputs = [tf.placeholder(value.dtype, [None] * value.ndim) for value in feeds]
        fetches = [tensor for tensor in nest.flatten(build(*inputs)) if tensor is not None]
        start, found = [], []
        for compiled in (False, True):
            with tf.Session(graph=graph) as session:
                if compiled:
                    session.run([variable.assign(value) for variable, value in zip(tf.global_variables(), start)])
                else:
                    session.run(tf.global_variables_initializer())
                    start = session.run(tf.global_variables())
                feed = dict(zip(inputs, feeds))
                if compiled:
                    found.append([session.run(fetches, feed) for _ in range(2)])
                else:
                    with by_numpy():
                        found.append([session.run(fetches, feed) for _ in range(2)])
    for wanted, got in zip(*found):
        for one, other in zip(wanted, got):
            assert one.dtype == other.dtype and one.shape == other.shape
            np.testing.assert_allclose(other, one, rtol=rtol, atol=1e-5)


def with_gradients(value, *xs):
    """The value, and the gradients of the sum of its squares."""
    values = nest.flatten(value)
    loss = tf.add_n([tf.reduce_sum(tf.square(each)) for each in values if each.dtype.is_floating])
    return [values, tf.gradients(loss, [*xs, *tf.trainable_variables()])]


def turns(n, body, *start):
    """A loop of n turns over ``start``."""
    return tf.while_loop(lambda i, *_: i < n, lambda i, *values: (i + 1, *body(i, *values)), (0, *start))[1:]


# --- loops and branches ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 7])
def test_plain_loop(python_loops, n):
    with_n = lambda x, w: with_gradients(turns(n, lambda i, y: (tf.tanh(tf.matmul(y, w)),), x)[0], x, w)
    check(with_n, numbers(3, 4), numbers(4, 4))
    assert len(python_loops) == 4  # forward and back, two runs: those of NumPy


def test_number_of_turns_is_computed(python_loops):
    def build(x, n):
        return with_gradients(turns(n, lambda i, y: (y * 0.5 + tf.cast(i, tf.float32),), x), x)
    check(build, numbers(5), np.int32(6))
    check(build, numbers(5), np.int32(0))
    assert len(python_loops) == 8


def test_variables_change_places():
    check(lambda x, y: turns(5, lambda i, a, b, c: (b, a + b, a), x, y, x * 2), numbers(4), numbers(4))


def test_loop_uses_what_is_computed_before_it(python_loops):
    def build(x):
        captured = tf.nn.softmax(tf.exp(x))
        return with_gradients(turns(4, lambda i, y: (y * captured + tf.reduce_sum(captured),), x), x)
    check(build, numbers(3, 5))
    assert len(python_loops) == 4


def test_nested_loops(python_loops):
    def build(x, w):
        def outer(i, y):
            (inner,) = turns(3, lambda j, z: (tf.tanh(z * w) + tf.cast(j, tf.float32),), y)
            return (inner * 0.5,)
        return turns(4, outer, x)
    check(build, numbers(6), numbers(6))
    assert all(name.count("while") for name in python_loops)
    assert len(python_loops) == 2 * (1 + 4)


def test_gradient_of_nested_loops():
    def build(x, w):
        return with_gradients(turns(3, lambda i, y: (turns(2, lambda j, z: (tf.tanh(z * w),), y)[0] * 0.9,), x)[0], x, w)
    check(build, numbers(6), numbers(6))


def test_branch_in_a_loop(python_loops):
    def build(x, w):
        def body(i, y):
            return (tf.cond(tf.reduce_sum(y) > 0.2, lambda: tf.tanh(y * w), lambda: y - w),)
        return turns(5, body, x)
    check(build, numbers(6), numbers(6))
    assert len(python_loops) == 2


def test_gradient_of_a_branch_in_a_loop():
    def build(x, w):
        return with_gradients(turns(5, lambda i, y: (tf.cond(tf.reduce_sum(y) > 0.2, lambda: tf.tanh(y * w), lambda: y - w),), x)[0], x, w)
    check(build, numbers(6), numbers(6))


@pytest.mark.parametrize("flag", [True, False])
def test_loop_in_a_branch(flag):
    def build(x, which):
        return with_gradients(tf.cond(which, lambda: turns(4, lambda i, y: (tf.sin(y),), x)[0], lambda: x * 3), x)
    check(build, numbers(6), np.bool_(flag))


def test_second_order():
    def build(x):
        (y,) = turns(3, lambda i, y: (tf.tanh(y) * y,), x)
        (first,) = tf.gradients(y, x)
        return [first, tf.gradients(tf.square(first), x)]
    check(build, numbers(5))


def test_loop_that_changes_shapes_falls_back(python_loops):
    def build(x):
        return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.concat([y, y], 0)), (0, x),
                             shape_invariants=(tf.TensorShape([]), tf.TensorShape([None])))[1]
    check(build, numbers(2))
    assert len(python_loops) == 4  # NumPy runs it in the compiled program too


def test_loop_over_a_variable_that_is_trained():
    for resource in (False, True):
        def build(x, resource=resource):
            w = tf.get_variable("w", [4, 4], use_resource=resource)
            (y,) = turns(5, lambda i, y: (tf.tanh(tf.matmul(y, w)),), x)
            loss = tf.reduce_mean(tf.square(y - 0.3))
            with tf.control_dependencies([tf.train.GradientDescentOptimizer(0.5).minimize(loss)]):
                return [tf.identity(loss), w.read_value()]
        check(build, numbers(3, 4))


def test_loop_over_a_value_that_was_read_before_it():
    """The variable is written once the loop, and its gradient, are done with what was read."""
    for resource in (False, True):
        def build(x, resource=resource):
            w = tf.get_variable("w", [4], use_resource=resource, initializer=tf.ones_initializer())
            read = w.read_value()
            (y,) = turns(5, lambda i, y: (y * read + x,), x)
            with tf.control_dependencies([w.assign_sub(0.01 * tf.gradients(tf.reduce_sum(y), read)[0])]):
                return [tf.identity(y), w.read_value()]
        check(build, numbers(4))


# --- arrays of tensors -----------------------------------------------------------------------------------------------


CELLS = {"lstm": tf.nn.rnn_cell.BasicLSTMCell, "gru": tf.nn.rnn_cell.GRUCell, "plain": tf.nn.rnn_cell.BasicRNNCell}


@pytest.mark.parametrize("lengths", [False, True])
@pytest.mark.parametrize("time_major", [False, True])
@pytest.mark.parametrize("cell", CELLS)
def test_dynamic_rnn(python_loops, cell, time_major, lengths):
    def build(x, length):
        x = tf.reshape(x, [*tf.unstack(tf.shape(x))[:2], 3])
        outputs, state = tf.nn.dynamic_rnn(CELLS[cell](5), x, dtype=tf.float32, time_major=time_major, sequence_length=length if lengths else None)
        return with_gradients([outputs, state], x)
    check(build, numbers(*((6, 4) if time_major else (4, 6)), 3), np.int32([2, 6, 0, 5]))
    assert len(python_loops) == 4


def test_training_a_dynamic_rnn(python_loops):
    def build(x, y):
        x = tf.reshape(x, [4, 6, 3])
        outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicLSTMCell(5), x, dtype=tf.float32)
        loss = tf.reduce_mean(tf.square(outputs[:, -1] - y))
        with tf.control_dependencies([tf.train.AdamOptimizer(0.1).minimize(loss)]):
            return [tf.identity(loss)]
    check(build, numbers(4, 6, 3), numbers(4, 5))
    assert len(python_loops) == 4


def test_bidirectional_rnn():
    def build(x, length):
        x = tf.reshape(x, [-1, tf.shape(x)[1], 3])
        outputs, states = tf.nn.bidirectional_dynamic_rnn(tf.nn.rnn_cell.GRUCell(4), tf.nn.rnn_cell.GRUCell(4), x, length, dtype=tf.float32)
        return with_gradients([outputs, states], x)
    check(build, numbers(3, 5, 3), np.int32([5, 2, 3]))


FUNCTIONS = {
    "map_fn": lambda x: tf.map_fn(lambda row: tf.tanh(row) * tf.reduce_sum(row), x),
    "map_fn of pairs": lambda x: tf.map_fn(lambda pair: (pair[0] * pair[1], tf.exp(pair[0])), (x, x + 1)),
    "map_fn to ints": lambda x: tf.map_fn(lambda row: tf.cast(row * 9, tf.int64), x, dtype=tf.int64),
    "scan": lambda x: tf.scan(lambda state, row: state * 0.5 + tf.sin(row), x),
    "scan backwards": lambda x: tf.scan(lambda state, row: state * 0.5 + tf.sin(row), x, reverse=True),
    "scan with a start": lambda x: tf.scan(lambda state, row: (state[0] + row, state[1] * row), x, (tf.zeros([4]), tf.ones([4]))),
    "foldl": lambda x: tf.foldl(lambda state, row: state * row + 1.0, x),
    "foldr": lambda x: tf.foldr(lambda state, row: state * row + 1.0, x)}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_over_slices(python_loops, name):
    def build(x):
        found = FUNCTIONS[name](tf.reshape(x, [-1, 4]))
        return found if name == "map_fn to ints" else with_gradients(found, x)
    check(build, numbers(5, 4))
    assert len(python_loops) == (2 if name == "map_fn to ints" else 4)
    if name in ("map_fn", "map_fn of pairs"):
        check(build, numbers(1, 4))


def test_no_slices():
    check(lambda x: tf.map_fn(lambda row: row * 2, tf.reshape(x, [-1, 3])), numbers(0, 3))


def test_second_order_of_a_scan():
    def build(x):
        y = tf.scan(lambda state, row: tf.tanh(state * row), tf.reshape(x, [-1, 3]))
        (first,) = tf.gradients(y, x)
        return [first, tf.gradients(tf.square(first), x)]
    check(build, numbers(4, 3))


def test_map_in_a_map():
    def build(x):
        return with_gradients(tf.map_fn(lambda rows: tf.map_fn(lambda row: tf.tanh(row) * 2, rows), tf.reshape(x, [2, 3, 4])), x)
    check(build, numbers(2, 3, 4))


def test_map_in_a_map_without_gradient(python_loops):
    check(lambda x: tf.map_fn(lambda rows: tf.map_fn(lambda row: tf.tanh(row) * 2, rows), tf.reshape(x, [2, 3, 4])), numbers(2, 3, 4))
    assert len(python_loops) == 2 * (1 + 2)


def test_elements_read_and_written_in_any_order():
    def build(x, order):
        x = tf.reshape(x, [6, 3])
        array = tf.TensorArray(tf.float32, 6, clear_after_read=False).scatter(order, x)
        same = tf.TensorArray(tf.float32, 6, element_shape=[3]).scatter(order[:4], x[:4])  # the others are zeros
        return with_gradients([array.gather(order[::2]), array.stack(), array.read(order[1]) * array.read(order[2]), same.stack()], x)
    check(build, numbers(6, 3), np.int32([3, 0, 5, 1, 4, 2]))


def test_a_loop_reads_what_it_wrote():
    def build(x):
        x = tf.reshape(x, [3])
        array = tf.TensorArray(tf.float32, 8, clear_after_read=False, element_shape=[3]).write(0, x).write(1, x * 2)

        def body(i, array):
            return i + 1, array.write(i, tf.tanh(array.read(i - 1) + array.read(i - 2)))
        return with_gradients(tf.while_loop(lambda i, _: i < 8, body, (2, array))[1].stack(), x)
    check(build, numbers(3))


def test_write_in_a_branch():
    def build(x, which):
        x = tf.reshape(x, [-1, 3])
        array = tf.TensorArray(tf.float32, tf.shape(x)[0], element_shape=[3])

        def body(i, flow):
            mine = tf.TensorArray(tf.float32, handle=array.handle, flow=flow)
            return i + 1, tf.cond(which[i], lambda: mine.write(i, x[i]).flow, lambda: flow)
        flow = tf.while_loop(lambda i, _: i < tf.shape(x)[0], body, (0, array.flow))[1]
        return tf.TensorArray(tf.float32, handle=array.handle, flow=flow).stack()
    check(build, numbers(4, 3), np.array([True, False, True, False]))


def test_arrays_that_cannot_be_native(python_loops):
    def growing(x):
        array = tf.TensorArray(tf.float32, 0, dynamic_size=True)
        return tf.while_loop(lambda i, _: i < 4, lambda i, array: (i + 1, array.write(i, tf.tanh(x) * 2.0)), (0, array))[1].stack()

    def different_shapes(x):
        array = tf.TensorArray(tf.float32, 2, infer_shape=False).write(0, tf.tanh(x)).write(1, tf.tanh(x[:2]))
        return [array.read(0) * 2.0, array.read(1) * 2.0]

    def joined(x):
        array = tf.TensorArray(tf.float32, 3)
        return tf.while_loop(lambda i, _: i < 3, lambda i, array: (i + 1, array.write(i, tf.tanh(x) * 2.0)), (0, array))[1].concat()

    def through_python(x):
        array = tf.TensorArray(tf.float32, 3).unstack(tf.reshape(x, [3]))
        first = tf.py_func(lambda value: value + 1, [array.read(0)], tf.float32)
        return first * array.read(1)

    for build in (growing, different_shapes, joined, through_python):
        check(build, numbers(3))


def test_size_from_a_feed():
    check(lambda x, n: turns(n, lambda i, flow: (flow + tf.cast(tf.TensorArray(tf.float32, n).size(), tf.float32),), x), numbers(3), np.int32(4))


# --- errors ----------------------------------------------------------------------------------------------------------


def written_twice(i):
    array = tf.TensorArray(tf.float32, 3).write(0, i * [1.0, 2.0])
    return array.write(tf.cast(i, tf.int32), i * [1.0, 2.0]).stack()


def read_twice(i):
    array = tf.TensorArray(tf.float32, 3).unstack(i + [[1.0], [2.0], [3.0]])
    return array.read(0) + array.read(tf.cast(i, tf.int32))


def read_beyond(i):
    return tf.TensorArray(tf.float32, 3).unstack(i + [[1.0], [2.0], [3.0]]).read(tf.cast(i, tf.int32) + 3) * 2.0


def never_written(i):
    array = tf.TensorArray(tf.float32, 3, infer_shape=False).write(0, i * [1.0, 2.0])
    return array.read(tf.cast(i, tf.int32) + 1) * 2.0


def nothing_written(i):
    array = tf.TensorArray(tf.float32, 3)
    return tf.while_loop(lambda k, _: k < i, lambda k, array: (k + 1, array.write(tf.cast(k, tf.int32), [k, 2.0])), (0.0, array))[1].stack() * 2.0


def scattered_beyond(i):
    return tf.TensorArray(tf.float32, 3).scatter([0, 1, tf.cast(i, tf.int32) - 1], i * [1.0, 2.0, 3.0]).stack() * 2.0


def gathered_beyond(i):
    return tf.TensorArray(tf.float32, 3).unstack(i * [1.0, 2.0, 3.0]).gather([0, 4 + tf.cast(i, tf.int32)]) * 2.0


def written_beyond_in_a_loop(i):
    array = tf.TensorArray(tf.float32, 3)
    return tf.while_loop(lambda k, _: k < 5.0 + i, lambda k, array: (k + 1, array.write(tf.cast(k, tf.int32), [k, 2.0])), (0.0, array))[1].stack()


@pytest.mark.parametrize("build", [written_twice, read_twice, read_beyond, never_written, nothing_written, scattered_beyond, gathered_beyond,
                                   written_beyond_in_a_loop], ids=lambda build: build.__name__)
def test_errors_are_those_of_numpy(build):
    messages = []
    with tf.Graph().as_default(), tf.Session() as session:
        i = tf.placeholder(tf.float32, [])
        result = build(i)
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError) as caught:
                session.run(result, {i: 0.0})
            messages.append(caught.value.message.split("\n")[0])
    with by_numpy(), tf.Session(graph=result.graph) as session, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(result, {i: 0.0})
    assert messages == [caught.value.message.split("\n")[0]] * 2


# --- random programs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_random_loops(seed):
    rng = random.Random(seed)
    size, extents = rng.choice([1, 2, 3, 9, 17]), [rng.choice([1, 2, 5, 16, 33]) for _ in range(rng.randint(0, 2))]
    ops = [tf.tanh, tf.sin, lambda x: x * 0.5, lambda x: tf.nn.relu(x) + 0.1, lambda x: x - tf.reduce_mean(x)]
    picks = [rng.choice(ops) for _ in range(4)]
    clears, last = rng.random() < 0.5, rng.random() < 0.5

    def build(x):
        x = tf.reshape(x, [-1, *extents])
        count = tf.shape(x)[0]
        source = tf.TensorArray(tf.float32, count, clear_after_read=clears).unstack(picks[0](x))
        target = tf.TensorArray(tf.float32, count)

        def body(i, state, target):
            row = source.read(i)
            state = picks[1](state) + picks[2](row)
            return i + 1, state, target.write(count - 1 - i, picks[3](state * row))
        _, state, target = tf.while_loop(lambda i, *_: i < count, body, (0, tf.zeros_like(x[0]), target))
        return with_gradients([target.stack(), state] if last else target.stack(), x)
    check(build, numbers(size, *extents))
