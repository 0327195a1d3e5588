"""The fields of RewriterConfig: each one does what it says, or says that it does nothing."""
from __future__ import annotations

import logging

import numpy as np
import pytest
from tensorboard.compat.proto.rewriter_config_pb2 import RewriterConfig

import penstock as tf
from penstock.program.passes import NONE, Options, options_of
from support.programs import only, session, types_after

pytestmark = pytest.mark.process


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def options(**fields):
    config = tf.ConfigProto()
    for name, value in fields.items():
        if isinstance(value, list):
            getattr(config.graph_options.rewrite_options, name).extend(value)
        else:
            setattr(config.graph_options.rewrite_options, name, value)
    return options_of(config)


@pytest.mark.parametrize("name, switches", [
    ("constant_folding", ("constants", "factors")), ("arithmetic_optimization", ("algebra",)), ("dependency_optimization", ("identities",)),
    ("layout_optimizer", ("layout",)), ("common_subgraph_elimination", ("subexpressions",)), ("loop_optimization", ("loops",)),
    ("remapping", ("remapping",))])
def test_toggles(name, switches):
    assert options(**{name: RewriterConfig.OFF}) == Options(**dict.fromkeys(switches, False))
    assert options(**{name: RewriterConfig.ON}) == Options()


def test_named_optimizers():
    assert options(optimizers=["constfold"]) == only(constants=True, factors=True)
    assert options(optimizers=["layout", "remap"]) == only(layout=True, remapping=True)
    assert options(optimizers=["memory"]) == only(updates=True)


def test_memory_optimization():
    assert options(memory_optimization=RewriterConfig.NO_MEM_OPT) == Options(updates=False)
    assert options(memory_optimization=RewriterConfig.RECOMPUTATION_HEURISTICS) == Options(recompute_cheap=True)
    assert options(memory_optimization=RewriterConfig.MANUAL, memory_optimizer_target_node_name_scope="grads/") == \
        Options(recompute_hinted=True, gradient_scope="grads/")


def test_small_programs_and_rounds():
    assert options(min_graph_nodes=10, meta_optimizer_iterations=RewriterConfig.TWO) == Options(fewest_nodes=10, rounds=2)
    x = tf.placeholder(tf.float32, [2])
    y = tf.exp(tf.identity(x))
    assert types_after([y], [x], Options(fewest_nodes=10)) == ["Identity", "Exp"]
    assert types_after([y], [x], Options(rounds=2)) == ["Exp"]


@pytest.mark.parametrize("fields, text", [
    ({"auto_mixed_precision": RewriterConfig.ON}, "auto_mixed_precision does nothing"),
    ({"memory_optimization": RewriterConfig.SWAPPING_HEURISTICS}, "nothing is swapped"),
    ({"optimizers": ["magic"]}, "no optimizers magic"),
    ({"disable_model_pruning": True}, "disable_model_pruning"),
    ({"scoped_allocator_optimization": RewriterConfig.ON}, "scoped_allocator_optimization does nothing")])
def test_what_is_not_done_is_told(fields, text, monkeypatch):
    told = []
    monkeypatch.setattr(logging.getLogger("penstock"), "warning", lambda form, *values: told.append(form % values))
    options(**fields)
    assert len(told) == 1 and text in told[0]


def test_nothing_is_told_of_defaults(monkeypatch):
    monkeypatch.setattr(logging.getLogger("penstock"), "warning", lambda *text: pytest.fail(str(text)))
    options(auto_mixed_precision=RewriterConfig.OFF)
    assert options(disable_meta_optimizer=True) == NONE


def test_debugging_is_stripped_if_asked_for(capfd):
    x = tf.placeholder(tf.float32, [2])
    with tf.control_dependencies([tf.Assert(tf.reduce_all(x > 0.0), [x])]):
        y = tf.Print(tf.check_numerics(x * 2.0, "not finite"), [x], "seen")
    z = tf.exp(y)
    with session() as sess, pytest.raises(tf.errors.InvalidArgumentError):
        sess.run(z, {x: [-1.0, 1.0]})
    with session(debug_stripper=RewriterConfig.ON) as sess:
        assert np.isinf(sess.run(z, {x: [-1.0, np.inf]})).any()
    assert "seen" not in capfd.readouterr().err


# --- constants that meet -------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("build, left", [
    (lambda x: (x * 2.0) * 3.0, ["Const", "Mul", "Exp"]), (lambda x: 3.0 * (2.0 * x), ["Const", "Mul", "Exp"]),
    (lambda x: (x + 1.0) + 2.0, ["Const", "AddV2", "Exp"]), (lambda x: tf.add(tf.add(x, 1.0), 2.0), ["Const", "Add", "Exp"]),
    (lambda x: ((x * 2.0) * 3.0) * 4.0, ["Const", "Mul", "Exp"])])
def test_constants_meet(build, left):
    x = tf.placeholder(tf.float32, [3])
    y = tf.exp(build(x))
    assert types_after([y], [x]) == left
    assert len(types_after([y], [x], Options(factors=False))) > len(left)
    with session() as on, session(constant_folding=RewriterConfig.OFF) as off:
        value = np.array([0.1, -0.7, 0.33], np.float32)
        np.testing.assert_allclose(on.run(y, {x: value}), off.run(y, {x: value}), rtol=1e-6)


@pytest.mark.parametrize("build", [
    lambda x: (x * 1e30) * 1e30, lambda x: (x * 1e-30) * 1e-30, lambda x: (x * 0.0) * 2.0, lambda x: (x * np.float32(np.inf)) * 2.0,
    lambda x: (x + 8388608.0) + -8388608.0, lambda x: (x * 2.0) + 3.0, lambda x: (x * [2.0, 3.0, 4.0]) * 2.0])
def test_constants_that_do_not_meet(build):
    x = tf.placeholder(tf.float32, [3])
    y = tf.exp(build(x))
    assert len([kind for kind in types_after([y], [x]) if kind != "Const"]) == 3


def test_a_product_that_others_use_stays():
    x = tf.placeholder(tf.float32, [3])
    twice = x * 2.0
    assert types_after([tf.exp(twice * 3.0), tf.tanh(twice)], [x]).count("Mul") == 2


def test_whole_numbers_meet():
    x = tf.placeholder(tf.int32, [2])
    y = tf.negative((x * (1 << 20)) * (1 << 13))
    assert types_after([y], [x]).count("Mul") == 1
    with session() as on, session(constant_folding=RewriterConfig.OFF) as off:
        assert on.run(y, {x: [1, 5]}).tolist() == off.run(y, {x: [1, 5]}).tolist()
