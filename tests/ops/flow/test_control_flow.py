"""Conditionals and loops: values, gradients to the third order, what runs and what does not, errors, export and import."""
import numpy as np
import pytest

import penstock as tf


@pytest.fixture
def x():
    return tf.placeholder(tf.float64, [], name="x")


def numeric(session, y, x, at, step=1e-6):
    return (session.run(y, {x: at + step}) - session.run(y, {x: at - step})) / (2 * step)


def test_cond_differentiates_the_branch_taken(x):
    y = tf.cond(x > 0.0, lambda: tf.square(x) * tf.sin(x), lambda: tf.exp(x))
    (first,) = tf.gradients(y, x)
    (second,) = tf.gradients(first, x)
    with tf.Session() as session:
        got = session.run([first, second], {x: 3.0})
        np.testing.assert_allclose(got, [6 * np.sin(3) + 9 * np.cos(3), 2 * np.sin(3) + 12 * np.cos(3) - 9 * np.sin(3)], rtol=1e-12)
        np.testing.assert_allclose(session.run([first, second], {x: -1.0}), [np.exp(-1)] * 2, rtol=1e-12)


def test_loop_gradients_to_third_order(x):
    w = tf.placeholder(tf.float64, [], name="w")
    y = tf.while_loop(lambda i, v: i < 5, lambda i, v: (i + 1, v * w * x), [0, tf.constant(1.0, tf.float64)])[1]
    dx, dw = tf.gradients(y, [x, w])
    (dxx,) = tf.gradients(dx, x)
    (dxw,) = tf.gradients(dx, w)
    (dxxx,) = tf.gradients(dxx, x)
    with tf.Session() as session:
        got = session.run([y, dx, dw, dxx, dxw, dxxx], {x: 2.0, w: 3.0})
    np.testing.assert_allclose(got, [6**5, 5 * 2**4 * 3**5, 5 * 2**5 * 3**4, 20 * 2**3 * 3**5, 25 * 2**4 * 3**4, 60 * 2**2 * 3**5])


def test_loop_in_loop(x):
    def inner(v):
        return tf.while_loop(lambda j, w: j < 2, lambda j, w: (j + 1, w * x), [0, v])[1]

    y = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, inner(v)), [0, tf.constant(1.0, tf.float64)])[1]
    (first,) = tf.gradients(y, x)
    (second,) = tf.gradients(first, x)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run([y, first, second], {x: 2.0}), [64, 192, 480])


def test_cond_in_loop_in_cond(x):
    def loop():
        step = lambda i, v: (i + 1, tf.cond(v > 10.0, lambda: v * x, lambda: v + x * x))
        return tf.while_loop(lambda i, v: i < 5, step, [0, tf.constant(1.0, tf.float64)])[1]

    y = tf.cond(x > 1.0, loop, lambda: -x)
    (dy,) = tf.gradients(y, x)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(dy, {x: 2.9}), numeric(session, y, x, 2.9), rtol=1e-5)
        assert session.run(dy, {x: 0.5}) == -1.0


def test_gradient_of_captured_matrix():
    rng = np.random.RandomState(0)
    data = rng.normal(size=(4, 4)) * 0.5
    w = tf.constant(data)
    y = tf.while_loop(lambda i, v: i < 7, lambda i, v: (i + 1, tf.tanh(tf.matmul(v, w))), [0, tf.ones([1, 4], tf.float64)])[1]
    (dw,) = tf.gradients(tf.reduce_sum(tf.square(y)), w)
    direction = rng.normal(size=(4, 4))

    def loss(matrix):
        v = np.ones((1, 4))
        for _ in range(7):
            v = np.tanh(v @ matrix)
        return (v**2).sum()

    with tf.Session() as session:
        got = (session.run(dw) * direction).sum()
    np.testing.assert_allclose(got, (loss(data + 1e-6 * direction) - loss(data - 1e-6 * direction)) / 2e-6, rtol=1e-6)


def test_only_what_the_gradient_needs_is_saved(x):
    """A sum needs nothing of its iterations; a product needs its factors."""
    def lists(step):
        y = tf.while_loop(lambda i, v: i < 5, lambda i, v: (i + 1, step(v)), [0, tf.constant(1.0, tf.float64)])[1]
        tf.gradients(y, x)
        loop = y.op.inputs[0].op
        return sum(tensor.dtype == tf.variant for tensor in loop.outputs)

    assert lists(lambda v: v + x) == 0
    assert lists(lambda v: v * x) == 1


def test_a_forward_loop_keeps_no_history():
    n = tf.placeholder(tf.int32, [])
    big = tf.ones([1000, 1000], tf.float64)
    total = tf.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, v + 1.0), [0, big])[1]
    import resource
    with tf.Session() as session:
        session.run(tf.reduce_sum(total), {n: 5})
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        session.run(tf.reduce_sum(total), {n: 60})
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000  # kB; 60 arrays would be 480,000


def test_variables_made_and_read_inside(x):
    def body(i, v):
        w = tf.get_variable("w", [], tf.float64, initializer=tf.constant_initializer(3.0), use_resource=True)
        return i + 1, v * w

    y = tf.while_loop(lambda i, v: i < 2, body, [0, x])[1]
    assert [v.name for v in tf.trainable_variables()] == ["w:0"]
    (dw,) = tf.gradients(y, tf.trainable_variables())
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([y, dw], {x: 2.0}) == [18.0, 12.0]


def test_error_names_loop_iteration_and_line():
    numbers = tf.constant([1.0, 2.0, 3.0])
    total = tf.while_loop(lambda i, v: i < 10, lambda i, v: (i + 1, v + tf.gather(numbers, i)), [0, 0.0])[1]
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(total)
    message = str(caught.value)
    assert "is not in [0, 3)" in message and "iteration 3" in message and "while" in message and "test_control_flow.py" in message


def test_structure_and_type_errors(x):
    with pytest.raises(TypeError, match="bool"):
        tf.cond(True, lambda: x, lambda: x)
    with pytest.raises((TypeError, ValueError), match="type"):
        tf.cond(x > 0.0, lambda: x, lambda: tf.constant(1))
    with pytest.raises(ValueError, match="return value"):
        tf.cond(x > 0.0, lambda: None, lambda: x)
    with pytest.raises(ValueError, match="loop variables"):
        tf.while_loop(lambda: True, lambda: (), [])
    with pytest.raises(TypeError, match="int32"):
        tf.while_loop(lambda i: i < 3, lambda i: tf.cast(i, tf.float32), [0])


def test_export_runs_again_with_gradients(x):
    y = tf.while_loop(lambda i, v: i < 4, lambda i, v: (i + 1, tf.cond(v > 5.0, lambda: v * x, lambda: v + x)), [0, x])[1]
    tf.identity(y, name="y")
    tf.identity(tf.gradients(y, x)[0], name="dy")
    definition = tf.get_default_graph().as_graph_def()
    assert not {"If", "While"} & {node.op for node in definition.node}
    with tf.Session() as session:
        wanted = [session.run(["y:0", "dy:0"], {"x:0": value}) for value in (1.0, 3.0)]
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(definition, name="")
        assert [session.run(["y:0", "dy:0"], {"x:0": value}) for value in (1.0, 3.0)] == wanted


def test_a_graph_with_loops_and_gradients_is_freed():
    import gc
    import weakref

    def build():
        with tf.Graph().as_default() as graph, tf.Session() as session:
            x = tf.constant(2.0)
            y = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.cond(v > 3.0, lambda: v * x, lambda: v + x)), [0, x])[1]
            session.run(tf.gradients(tf.gradients(y, x), x))
            return weakref.ref(graph)

    graph = build()
    gc.collect()
    assert graph() is None


# --- sparse gradients out of a loop --------------------------------------------------------------------------------------------------

ROW_IDS = np.array([[1, 2], [2, 3], [5, 1]], np.int32)


def gathering(table, ids):
    """A loop that gathers rows of a table."""
    def body(i, total):
        rows = tf.gather(table, ids[i])
        return i + 1, total + tf.reduce_sum(rows * rows) * (total + 1.0)
    return tf.while_loop(lambda i, total: i < 3, body, (tf.constant(0), tf.constant(0.0)))[1]


@pytest.mark.parametrize("use_resource", [False, True])
def test_the_gradient_of_rows_gathered_in_a_loop_is_sparse(use_resource):
    table = tf.get_variable("table", [10, 3], initializer=tf.ones_initializer(), use_resource=use_resource)
    grad = tf.gradients(gathering(table, tf.constant(ROW_IDS)), table)[0]
    assert isinstance(grad, tf.IndexedSlices)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = session.run(grad)
    assert found.indices.tolist() == [0, 5, 1, 2, 3, 1, 2]  # TensorFlow 1.15: a row of zeros, then the last iteration first
    assert found.values.tolist() == [[0.0] * 3] + [[98.0] * 3] * 6
    assert found.dense_shape.tolist() == [10, 3]


def test_the_sparse_gradient_costs_what_the_rows_cost():
    table = tf.placeholder(tf.float32, [None, 3])
    grad = tf.gradients(gathering(table, tf.constant(ROW_IDS)), table)[0]
    with tf.Session() as session:
        assert session.run(grad.values, {table: np.ones((1000, 3))}).shape == (7, 3)


def test_sparse_gradients_of_nested_loops_and_unknown_shapes():
    table = tf.placeholder(tf.float64, [None, None])
    start = (tf.constant(0), tf.constant(0.0, tf.float64))

    def inner(j):
        return tf.while_loop(lambda i, u: i < 3, lambda i, u: (i + 1, u + tf.reduce_sum(tf.gather(table, [i + j, 0]) ** 3)), start)[1]

    total = tf.while_loop(lambda j, t: j < 2, lambda j, t: (j + 1, t + inner(j)), start)[1]
    grad = tf.gradients(total, table)[0]
    value = np.arange(1.0, 11.0).reshape(5, 2)
    with tf.Session() as session:
        assert isinstance(grad, tf.IndexedSlices)
        rows = session.run(grad, {table: value})
    found = np.zeros_like(value)
    np.add.at(found, rows.indices, rows.values)
    np.testing.assert_allclose(found, np.array([7, 2, 2, 1, 0])[:, None] * 3 * value ** 2)


def test_second_order_through_a_sparse_gradient():
    table = tf.placeholder(tf.float64, [6, 2])
    total = tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t + tf.reduce_sum(tf.gather(table, [i, 2]) ** 3)),
                          (tf.constant(0), tf.constant(0.0, tf.float64)))[1]
    first = tf.gradients(total, table)[0]
    second = tf.gradients(tf.reduce_sum(tf.convert_to_tensor(first) ** 2), table)[0]
    value = np.arange(1.0, 13.0).reshape(6, 2)
    counts = np.array([1, 1, 4, 0, 0, 0])[:, None]  # how often a row is gathered
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(tf.convert_to_tensor(second), {table: value}), 2 * (counts * 3 * value ** 2) * counts * 6 * value)


def test_an_optimizer_updates_only_rows_that_a_loop_gathered():
    table = tf.get_variable("table", [10, 3], initializer=tf.ones_initializer())
    train = tf.train.AdagradOptimizer(0.1).minimize(gathering(table, tf.constant(ROW_IDS)))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        changed = np.any(session.run(table) != 1.0, axis=1)
    assert changed.tolist() == [row in ROW_IDS for row in range(10)]


def test_a_lone_structure_comes_back_in_its_list():
    def loop(**options):
        return tf.while_loop(lambda d: d["i"] < 3, lambda d: ({"i": d["i"] + 1, "x": d["x"] * 2.0},), [{"i": 0, "x": 1.0}], **options)

    with tf.Graph().as_default(), tf.Session() as sess:
        assert sess.run(loop()) == ({"i": 3, "x": 8.0},)
        assert sess.run(loop(maximum_iterations=9)) == {"i": 3, "x": 8.0}


@pytest.mark.parametrize("taken", [True, False])
def test_a_branch_may_end_in_an_assignment(taken):
    """Its result is the value of the variable, not the variable: what follows computes with it."""
    with tf.Graph().as_default(), tf.Session() as session:
        variable, chosen = tf.Variable(1.0), tf.placeholder(tf.bool, [])
        result = tf.cond(chosen, lambda: tf.assign_add(variable, 1.0), lambda: tf.identity(variable))
        session.run(tf.global_variables_initializer())
        assert session.run(result * 2.0, {chosen: taken}) == (4.0 if taken else 2.0)


def test_the_body_of_a_loop_may_end_in_an_assignment():
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.Variable(1.0)
        count, last = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, tf.assign_add(variable, x)), [0, 1.0])
        session.run(tf.global_variables_initializer())
        assert session.run([count, last * 1.0]) == [3, 8.0]


@pytest.mark.parametrize("read", [lambda v: v, lambda v: v.value(), tf.identity, lambda v: v.read_value()])
@pytest.mark.parametrize("use_resource", [False, True])
def test_a_variable_may_be_the_condition(read, use_resource):
    flag = tf.Variable(False, use_resource=use_resource)
    chosen = tf.cond(read(flag), lambda: tf.constant("yes"), lambda: tf.constant("no"))
    with tf.Session() as session:
        session.run(flag.initializer)
        assert [session.run(chosen) for _ in range(3)] == [b"no"] * 3
        session.run(flag.assign(True))
        assert session.run(chosen) == b"yes"


def test_operations_as_branches_tell_which_one_ran():
    """The value in the place of an operation is the condition's, as in TensorFlow 1.15."""
    pred = tf.placeholder(tf.bool, [])
    lone, pair = tf.cond(pred, tf.no_op, tf.no_op), tf.cond(pred, lambda: (tf.no_op(), tf.constant(2.0)), lambda: (tf.no_op(), tf.constant(3.0)))
    case = tf.case([(pred, tf.no_op)], default=tf.no_op)
    with tf.Session() as session:
        for value in (True, False):
            assert session.run([lone, pair, case], {pred: value}) == [value, (value, 2.0 if value else 3.0), value]
