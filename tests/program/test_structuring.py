"""Loops and conditionals of imported graphs as While and If again: the same results, and what is not properly nested."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.graph.opdef import lookup
from penstock.ops.constant import Placeholder
from penstock.program.ir import check, prune
from penstock.program.structuring import Unstructured, structured

X = np.array([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]], np.float32)


def _switch(value, predicate):
    return lookup("Switch")(value, predicate)


def _merge(*values):
    return lookup("Merge")(list(values))[0]


def _again(program):
    """The session's results of a program: its nodes once more as a graph, and the placeholders in the order of the feeds."""
    made, placeholders = {}, []
    with tf.Graph().as_default() as graph:
        for node in program.nodes:
            if node in program.args:
                feed = Placeholder.add_node(graph, graph.unique_name("feed"), (), {"dtype": node.output_dtypes[0], "shape": tf.TensorShape(None)})
                placeholders.append(feed.outputs[0])
                made[node] = feed
                continue
            inputs = tuple(made[producer].outputs[index] for producer, index in node.inputs)
            made[node] = node.definition.add_node(graph, graph.unique_name(node.name), inputs, node.attrs)
            made[node]._control_inputs = [made[other] for other in node.control]
    return graph, placeholders, [made[node].outputs[index] for node, index in program.fetches]


def _check(fetches, feeds, cases):
    """A graph, once it was written and read again, gives the same when its nodes are structured; the types of these."""
    with tf.Session() as session:
        expected = [session.run(fetches, dict(zip(feeds, case))) for case in cases]
        graph_def = session.graph.as_graph_def()
    with tf.Graph().as_default():
        elements = tf.import_graph_def(graph_def, return_elements=[each.name for each in (*fetches, *feeds)], name="")
        flat = prune(elements[:len(fetches)], [], elements[len(fetches):])
        assert flat.has_frames
        program = structured(flat)
    check(program)
    assert not program.has_frames
    graph, placeholders, results = _again(program)
    with tf.Session(graph=graph) as session:
        for case, right in zip(cases, expected):
            for found, value in zip(session.run(results, dict(zip(placeholders, case))), right):
                np.testing.assert_allclose(found, value, rtol=1e-5)
    return [node.definition.type for node in program.nodes]


def test_conditional():
    x = tf.placeholder(tf.float32, [2, 3])
    y = tf.cond(tf.reduce_sum(x) > 0, lambda: x * 2 + 1, lambda: tf.nn.relu(x))
    types = _check([y], [x], [(X,), (-X,)])
    assert types.count("If") == 1 and "Switch" not in types


def test_results_of_one_conditional_stay_together():
    x = tf.placeholder(tf.float32, [2, 3])
    a, b, c = tf.cond(tf.reduce_sum(x) > 0, lambda: (x * 2, x + 1, tf.constant(1.0)), lambda: (-x, x, tf.constant(2.0)))
    assert _check([a, b, c], [x], [(X,), (-X,)]).count("If") == 1


def test_conditionals_that_follow_each_other_share_a_predicate():
    x, train = tf.placeholder(tf.float32, [2, 3]), tf.placeholder(tf.bool, [])
    y = x
    for factor in (2.0, 3.0, 5.0):
        y = tf.cond(train, lambda y=y, factor=factor: y * factor + x, lambda y=y: y + 1)
    assert _check([y], [x, train], [(X, True), (X, False)]).count("If") == 3


def test_conditional_in_a_conditional():
    x = tf.placeholder(tf.float32, [2, 3])
    inner = lambda: tf.cond(x[0, 0] > 2, lambda: x * 5, lambda: x * 7)
    y = tf.cond(tf.reduce_sum(x) > 0, inner, lambda: x - 1)
    assert _check([y], [x], [(X,), (X + 5,), (-X,)]).count("If") == 1  # the other one is in a function


def test_loop():
    x = tf.placeholder(tf.float32, [2, 3])
    count, y = tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, tf.matmul(y, tf.ones([3, 3])) * 0.1 + x), [0, x])
    types = _check([y, count], [x], [(X,)])
    assert types.count("While") == 1 and not {"Enter", "Exit", "Merge"} & set(types)


def test_loop_that_its_values_end():
    x = tf.placeholder(tf.float32, [2, 3])
    y = tf.while_loop(lambda y: tf.reduce_sum(tf.abs(y)) > 1, lambda y: y * 0.5, [x])
    _check([y], [x], [(X,), (X * 100,), (X * 0,)])


def test_loops_and_conditionals_in_each_other():
    x = tf.placeholder(tf.float32, [2, 3])

    def body(i, y):
        y = tf.cond(tf.equal(i % 2, 0), lambda: y + tf.cast(i, tf.float32), lambda: y * 2)
        return i + 1, tf.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, z + x), [0, y])[1]

    y = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.while_loop(lambda i, y: i < 5, body, [0, x])[1], lambda: -x)
    assert _check([y], [x], [(X,), (-X,)]).count("If") == 1


def test_arrays_in_loops():
    x = tf.placeholder(tf.float32, [2, 3])
    y = tf.map_fn(lambda row: tf.cumsum(row), x)
    outputs, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(4), tf.reshape(x, [1, 2, 3]), dtype=tf.float32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        graph_def = tf.graph_util.convert_variables_to_constants(session, session.graph.as_graph_def(), [y.op.name, outputs.op.name, state.op.name])
        expected = session.run([y, outputs, state], {x: X})
    with tf.Graph().as_default():
        *fetches, feed = tf.import_graph_def(graph_def, return_elements=[each.name for each in (y, outputs, state, x)], name="")
        program = structured(prune(fetches, [], [feed]))
    graph, (placeholder,), results = _again(program)
    with tf.Session(graph=graph) as session:
        for found, right in zip(session.run(results, {placeholder: X}), expected):
            np.testing.assert_allclose(found, right, rtol=1e-5)


def test_several_identities_of_a_predicate():
    """As TensorFlow writes it: pivots switch the predicate itself, values an Identity of it."""
    x, train = tf.placeholder(tf.float32, [2, 3]), tf.placeholder(tf.bool, [])
    pivot_false, pivot_true = (tf.identity(side) for side in _switch(train, train))
    predicate = tf.identity(train)
    with tf.control_dependencies([pivot_true]):
        two = tf.constant(2.0)
    with tf.control_dependencies([pivot_false]):
        other = tf.constant(3.0)
    y = _merge(_switch(x, predicate)[0] - other, _switch(x, predicate)[1] * two)
    program = structured(prune([y], [], [x, train]))
    graph, placeholders, results = _again(program)
    with tf.Session(graph=graph) as session:
        for value, right in ((True, X * 2), (False, X - 3)):
            np.testing.assert_allclose(session.run(results, dict(zip(placeholders, (X, value))))[0], right)


def test_what_runs_before_a_result_still_does():
    x, variable = tf.placeholder(tf.float32, [2, 3]), tf.get_variable("total", [], initializer=tf.zeros_initializer(), use_resource=True)

    def add():
        with tf.control_dependencies([variable.assign_add(tf.reduce_sum(x))]):
            return tf.identity(x)

    y = tf.cond(x[0, 0] > 0, add, lambda: -x)
    graph_def, names = y.graph.as_graph_def(), [y.name, x.name]
    with tf.Graph().as_default():
        y, x = tf.import_graph_def(graph_def, return_elements=names, name="")
        program = structured(prune([y], [], [x]))
    graph, (placeholder,), (result,) = _again(program)
    with graph.as_default():
        handle = next(op for op in graph.get_operations() if op.type == "VarHandleOp").outputs[0]
        start, value = lookup("AssignVariableOp")(handle, tf.constant(0.0)), lookup("ReadVariableOp")(handle, dtype=tf.float32)
    with tf.Session(graph=graph) as session:
        session.run(start)
        session.run(result, {placeholder: X})
        session.run(result, {placeholder: X})
        session.run(result, {placeholder: -X})
        assert session.run(value) == pytest.approx(2 * X.sum())


def test_what_is_not_nested():
    x, one, other = tf.placeholder(tf.float32, []), tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, [])
    crossed = _merge(_switch(x, one)[0], _switch(x, other)[1])
    with pytest.raises(Unstructured, match="branches of different conditionals"):
        structured(prune([crossed], [], [x, one, other]))
    with pytest.raises(Unstructured, match="lies inside of a branch"):
        structured(prune([_switch(x, one)[1] + 1.0], [], [x, one]))
    mixed = _switch(x, one)[0] + _switch(x, other)[1]
    with pytest.raises(Unstructured, match="different branches or loops"):
        structured(prune([_merge(mixed, x)], [], [x, one, other]))
