"""The fields of RewriterConfig: each one does what it says, or says that it does nothing."""
from __future__ import annotations

import logging

import pytest
from tensorboard.compat.proto.rewriter_config_pb2 import RewriterConfig

import penstock as tf
from penstock.program.passes import NONE, PassOptions, options_of
from support.programs import only, types_after

pytestmark = pytest.mark.process


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
    assert options(**{name: RewriterConfig.OFF}) == PassOptions(**dict.fromkeys(switches, False))
    assert options(**{name: RewriterConfig.ON}) == PassOptions()


def test_named_optimizers():
    assert options(optimizers=["constfold"]) == only(constants=True, factors=True)
    assert options(optimizers=["layout", "remap"]) == only(layout=True, remapping=True)
    assert options(optimizers=["memory"]) == only(updates=True)


def test_memory_optimization():
    assert options(memory_optimization=RewriterConfig.NO_MEM_OPT) == PassOptions(updates=False)
    assert options(memory_optimization=RewriterConfig.RECOMPUTATION_HEURISTICS) == PassOptions(recompute_cheap=True)
    assert options(memory_optimization=RewriterConfig.MANUAL, memory_optimizer_target_node_name_scope="grads/") == \
        PassOptions(recompute_hinted=True, gradient_scope="grads/")


def test_small_programs_and_rounds():
    assert options(min_graph_nodes=10, meta_optimizer_iterations=RewriterConfig.TWO) == PassOptions(fewest_nodes=10, rounds=2)
    x = tf.placeholder(tf.float32, [2])
    y = tf.exp(tf.identity(x))
    assert types_after([y], [x], PassOptions(fewest_nodes=10)) == ["Identity", "Exp"]
    assert types_after([y], [x], PassOptions(rounds=2)) == ["Exp"]


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


def test_options_of_a_config():
    config = tf.ConfigProto()
    assert options_of(config) == PassOptions()
    config.graph_options.rewrite_options.constant_folding = 2
    assert options_of(config) == PassOptions(constants=False, factors=False)
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
