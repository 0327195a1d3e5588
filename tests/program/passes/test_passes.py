"""Each pass: what it takes away, and what it must leave."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.program.passes import NONE, Options, options_of
from support.programs import only, types_after

pytestmark = pytest.mark.process


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


# --- identities ----------------------------------------------------------------------------------------------------------------------

def test_identities_go():
    x = tf.placeholder(tf.float32, [2])
    y = tf.exp(tf.stop_gradient(tf.identity(tf.identity(x))))
    assert types_after([y], [x]) == ["Exp"]


def test_fetched_identity_stays():
    x = tf.placeholder(tf.float32, [2])
    y = tf.identity(x)
    assert types_after([y, tf.exp(y)], [x]) == ["Identity", "Exp"]


def test_target_identity_stays():
    x = tf.placeholder(tf.float32, [2])
    y = tf.identity(tf.exp(x))
    assert types_after([], [x], targets=[y.op]) == ["Exp", "Identity"]


def test_identity_that_waits_stays():
    x = tf.placeholder(tf.float32, [2])
    v = tf.Variable(1.0)
    with tf.control_dependencies([v.assign_add(1.0)]):
        y = tf.identity(x)
    assert "Identity" in types_after([tf.exp(y)], [x])


def test_who_waits_for_an_identity_waits_for_its_input():
    v = tf.Variable(1.0, use_resource=False)
    update = tf.identity(v.assign_add(1.0))
    with tf.control_dependencies([update]):
        read = v + 0.5
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(read) == 2.5


def test_variable_is_read_when_it_is_used():
    v = tf.Variable(1.0, use_resource=False)
    read = tf.identity(v)
    with tf.control_dependencies([v.assign_add(1.0)]):
        late = read * 2.0
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(late) == 4.0


def test_stop_gradient_reads_a_variable_itself():
    v = tf.Variable(1.0, use_resource=False)
    assert "StopGradient" in types_after([tf.exp(tf.stop_gradient(v._ref()))])


def test_cast_to_the_same_type_goes():
    x = tf.placeholder(tf.float32, [2])
    same = x.graph.create_op("Cast", [x], [tf.float32], attrs={"DstT": tf.float32}).outputs[0]
    assert types_after([tf.exp(same)], [x]) == ["Exp"]
    assert types_after([tf.exp(tf.cast(x, tf.float64))], [x]) == ["Cast", "Exp"]


def test_groups_of_one_are_no_detour():
    v = tf.Variable(1.0)
    with tf.control_dependencies([tf.group(v.assign_add(1.0))]):
        y = tf.constant(2.0) * tf.placeholder_with_default(1.0, [])
    assert "NoOp" not in types_after([y])
    assert "NoOp" in types_after([y], options=NONE)


# --- constants -----------------------------------------------------------------------------------------------------------------------

def test_constants_are_folded():
    assert types_after([tf.reduce_sum(tf.constant([1.0, 2.0]) * 3.0)]) == ["Const"]


def test_folded_value():
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(tf.transpose([[1, 2], [3, 4]]) + 1), [[2, 4], [3, 5]])


def test_shapes_are_folded():
    x = tf.placeholder(tf.float32, [3, 4])
    assert types_after([tf.shape(tf.exp(x)) * 2], [x]) == ["Const"]
    unknown = tf.placeholder(tf.float32, [None, 4])
    assert "Shape" in types_after([tf.shape(unknown) * 2], [unknown])


def test_long_shape_type():
    x = tf.placeholder(tf.float32, [3, 4])
    with tf.Session() as session:
        assert session.run(tf.shape(x, out_type=tf.int64), {x: np.zeros((3, 4))}).dtype == np.int64


def test_large_results_are_not_folded():
    large = tf.fill([1000], 2.0)
    assert types_after([large], options=only(constants=True, folded_bytes=100)) == ["Const", "Const", "Fill"]
    assert types_after([large], options=only(constants=True, folded_bytes=4000)) == ["Const"]


def test_much_is_not_made_of_little():
    """A plan keeps its constants: the zeros that variables begin with would never go."""
    assert "Fill" in types_after([tf.zeros([1000, 1000])])
    assert types_after([tf.constant(np.ones((1000, 1000), np.float32)) * 2.0]) == ["Const"]


def test_random_numbers_are_not_folded():
    assert "RandomUniform" in types_after([tf.random_uniform([2])])


def test_several_outputs():
    a, b = tf.split(tf.constant([1.0, 2.0]), 2)
    with tf.Session() as session:
        assert session.run([a, b]) == [[1.0], [2.0]]
    assert types_after([a, b]) == ["Const", "Const"]


def test_error_of_a_constant_comes_when_it_runs():
    quotient = tf.div(tf.constant([1]), tf.constant([0]), name="quotient")
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="quotient"):
        session.run(quotient)


def test_folded_constant_keeps_its_waits():
    v = tf.Variable(1.0, use_resource=False)
    with tf.control_dependencies([v.assign_add(1.0)]):
        late = tf.constant(1.0)
    total = tf.add(late, 1.0)
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(total) == 2.0
        assert session.run(v) == 2.0


# --- algebra -------------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("simple", [lambda x: x * 1.0, lambda x: 1.0 * x, lambda x: x - 0.0, lambda x: x / 1.0, lambda x: x + -0.0,
                                    lambda x: tf.negative(-x)])
def test_neutral_elements_go(simple):
    x = tf.placeholder(tf.float32, [2])
    assert types_after([tf.exp(simple(x))], [x]) == ["Exp"]


@pytest.mark.parametrize("other", [lambda x: x + 0.0, lambda x: x - -0.0, lambda x: x * 2.0, lambda x: 1.0 - x, lambda x: x * [[1.0], [1.0]]])
def test_what_only_looks_neutral_stays(other):
    x = tf.placeholder(tf.float32, [2])
    assert len(types_after([tf.exp(other(x))], [x])) == 3


def test_neutral_array_of_the_same_shape():
    x = tf.placeholder(tf.float32, [2])
    assert types_after([tf.exp(x * [1.0, 1.0])], [x]) == ["Exp"]
    unknown = tf.placeholder(tf.float32)
    assert len(types_after([tf.exp(unknown * [1.0, 1.0])], [unknown])) == 3


def test_rounding_twice():
    x = tf.placeholder(tf.float32, [2])
    assert types_after([tf.exp(tf.floor(tf.floor(x)))], [x]) == ["Floor", "Exp"]
    assert types_after([tf.exp(tf.ceil(tf.floor(x)))], [x]) == ["Floor", "Ceil", "Exp"]


# --- layout --------------------------------------------------------------------------------------------------------------------------

def test_transposes_that_cancel():
    x = tf.placeholder(tf.float32, [2, 3, 4])
    back = tf.transpose(tf.transpose(x, [2, 0, 1]), [1, 2, 0])
    assert types_after([tf.exp(back)], [x]) == ["Exp"]


def test_transposes_that_add_up():
    x = tf.placeholder(tf.float32, [2, 3, 4])
    twice = tf.exp(tf.transpose(tf.transpose(x, [2, 0, 1]), [0, 2, 1]))
    assert sorted(types_after([twice], [x])) == ["Const", "Exp", "Transpose"]
    value = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 24
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(twice, {x: value}), np.exp(value.transpose(2, 0, 1).transpose(0, 2, 1)))


def test_transpose_of_unknown_rank_stays():
    x = tf.placeholder(tf.float32)
    assert "Transpose" in types_after([tf.exp(tf.transpose(x, [0, 1]))], [x])


def test_reshapes_that_cancel():
    x = tf.placeholder(tf.float32, [2, 6])
    back = tf.reshape(tf.expand_dims(tf.reshape(x, [3, 4]), 0), [2, 6])
    assert types_after([tf.exp(back)], [x]) == ["Exp"]


def test_reshapes_that_add_up():
    x = tf.placeholder(tf.float32, [2, 6])
    assert types_after([tf.exp(tf.reshape(tf.reshape(x, [3, 4]), [12]))], [x]) == ["Const", "Reshape", "Exp"]


def test_reshape_that_may_fail_stays():
    x = tf.placeholder(tf.float32, [None])
    assert types_after([tf.reshape(tf.reshape(x, [3, 4]), [12])], [x]).count("Reshape") == 2


# --- common subexpressions -----------------------------------------------------------------------------------------------------------

def test_equal_nodes_are_one():
    x = tf.placeholder(tf.float32, [2])
    assert types_after([tf.exp(x) + tf.exp(x)], [x]) == ["Exp", "AddV2"]


def test_order_of_inputs_matters_unless_it_does_not():
    x, y = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [2])
    assert types_after([x * y + y * x], [x, y]) == ["Mul", "AddV2"]
    assert types_after([(x - y) + (y - x)], [x, y]) == ["Sub", "Sub", "AddV2"]


def test_attributes_matter():
    x = tf.placeholder(tf.float32, [2, 2])
    product = tf.matmul(x, x) + tf.matmul(x, x, transpose_a=True)
    assert types_after([product], [x]) == ["MatMul", "MatMul", "AddV2"]


def test_random_numbers_are_drawn_apart():
    assert types_after([tf.random_uniform([2]) + tf.random_uniform([2])]).count("RandomUniform") == 2


def test_fetched_twins_are_separate_arrays():
    x = tf.placeholder(tf.float32, [2])
    with tf.Session() as session:
        a, b = session.run([tf.exp(x), tf.exp(x)], {x: [0.0, 0.0]})
    a[0] = 7.0
    assert b[0] == 1.0


def test_reads_of_a_variable_are_not_merged():
    v = tf.Variable([1.0], use_resource=False)
    before = tf.exp(v)
    with tf.control_dependencies([v.assign_add(before)]):
        after = tf.exp(v)
    with tf.Session() as session:
        session.run(v.initializer)
        first, second = session.run([before, after])
    assert first != second


# --- switches ------------------------------------------------------------------------------------------------------------------------

def test_options_of_a_config():
    config = tf.ConfigProto()
    assert options_of(config) == Options()
    config.graph_options.rewrite_options.constant_folding = 2
    assert options_of(config) == Options(constants=False, factors=False)
    config.graph_options.optimizer_options.opt_level = -1
    assert options_of(config) == NONE
    config.graph_options.optimizer_options.do_common_subexpression_elimination = True
    assert options_of(config) == only(subexpressions=True)


def test_traced_step_shows_every_node():
    x = tf.placeholder(tf.float32, [2])
    y = tf.exp(tf.identity(x, name="seen"))
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        session.run(y, {x: [0.0, 0.0]}, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
    assert "seen" in {row.node_name for row in metadata.step_stats.dev_stats[0].node_stats}
