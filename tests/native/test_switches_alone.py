"""Each pass alone: switched on with all others off, and switched off with all others on, small networks train as without any pass.

Natively, and on the NumPy executor; the standard is the NumPy executor with all passes off.
"""
from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
import pytest
from tensorboard.compat.proto.rewriter_config_pb2 import RewriterConfig

import penstock as tf
from penstock.native.config import config
from penstock.program.passes import NONE, PassOptions, options_of
from penstock.program.passes.options import SWITCHES
from support.compare import difference

# What in RewriterConfig is about each switch: the name that puts it on alone, and the toggle that puts it off.
NAMES = {"identities": ("dependency", "dependency_optimization"), "constants": ("constfold", "constant_folding"),
         "factors": ("constfold", "constant_folding"), "algebra": ("arithmetic", "arithmetic_optimization"), "layout": ("layout", "layout_optimizer"),
         "subexpressions": ("common_subgraph_elimination", "common_subgraph_elimination"), "loops": ("loop", "loop_optimization"),
         "remapping": ("remap", "remapping"), "updates": ("memory", "memory_optimization")}
OFF = {"memory_optimization": RewriterConfig.NO_MEM_OPT}  # others: RewriterConfig.OFF
ASKED_FOR = {"debugging": {"debug_stripper": RewriterConfig.ON}, "recompute_cheap": {"memory_optimization": RewriterConfig.RECOMPUTATION_HEURISTICS},
             "recompute_hinted": {"memory_optimization": RewriterConfig.MANUAL}}
STEPS = 3


# --- networks: each gives (fetches, training op, feeds) ------------------------------------------------------------------------------------

def numbers(*shape: int) -> np.ndarray:
    return np.random.RandomState(len(shape) + sum(shape)).uniform(-1, 1, shape).astype(np.float32)


def variable(*shape: int, resource: bool = False) -> Any:
    return tf.Variable(numbers(*shape), use_resource=resource)


def images_with_channels_first() -> Any:
    x = tf.placeholder(tf.float32, [None, 3, 9, 8])
    y = tf.nn.conv2d(x, variable(3, 3, 3, 6), [1, 1, 1, 1], "SAME", data_format="NCHW")
    y = tf.nn.relu(tf.nn.bias_add(y, variable(6), data_format="NCHW"))
    y = tf.nn.fused_batch_norm(y, variable(6), variable(6), data_format="NCHW")[0]
    y = tf.nn.max_pool(y + tf.nn.relu(y) * 2.0 * 3.0, [1, 1, 2, 2], [1, 1, 2, 2], "SAME", data_format="NCHW")
    y = tf.nn.depthwise_conv2d_native(y, variable(2, 2, 6, 1), [1, 1, 1, 1], "VALID", data_format="NCHW")
    y = tf.matmul(tf.reshape(tf.transpose(y, [0, 2, 3, 1]), [-1, 4 * 3 * 6]), variable(72, 5))
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[1, 4], logits=y))
    return [loss, y], tf.train.MomentumOptimizer(0.05, 0.9).minimize(loss), {x: numbers(2, 3, 9, 8)}


def recurrent_cell() -> Any:
    x = tf.placeholder(tf.float32, [2, 4, 5])
    cell = tf.nn.rnn_cell.LSTMCell(6, initializer=tf.random_uniform_initializer(-0.5, 0.5, seed=3))
    outputs, state = tf.nn.static_rnn(cell, tf.unstack(x, axis=1), dtype=tf.float32)
    loss = tf.reduce_sum(tf.square(outputs[-1])) + tf.reduce_mean(state.c * 1.0 - 0.0)
    return [loss, outputs[1]], tf.train.GradientDescentOptimizer(0.1).minimize(loss), {x: numbers(2, 4, 5)}


def attention() -> Any:
    x = tf.placeholder(tf.float32, [None, 7, 8])
    flat = tf.reshape(x, [-1, 8])
    query, key, value = (tf.reshape(tf.matmul(flat, variable(8, 8, resource=True)), [-1, 7, 2, 4]) for _ in range(3))
    query, key, value = (tf.transpose(each, [0, 2, 1, 3]) for each in (query, key, value))
    weights = tf.nn.softmax(tf.matmul(query, key, transpose_b=True) * 0.5)
    mixed = tf.reshape(tf.transpose(tf.matmul(weights, value), [0, 2, 1, 3]), [-1, 7, 8])
    mean, spread = tf.nn.moments(mixed + x, [-1], keep_dims=True)
    loss = tf.reduce_sum(tf.square((mixed + x - mean) * tf.rsqrt(spread + 1e-3) - 1.0))
    return [loss, weights], tf.train.AdagradOptimizer(0.1).minimize(loss), {x: numbers(3, 7, 8)}


def adaptive_moments() -> Any:
    x, ids = tf.placeholder(tf.float32, [4, 6]), tf.placeholder(tf.int32, [4])
    table = variable(10, 3, resource=True)
    hidden = tf.concat([tf.nn.relu(tf.matmul(x, variable(6, 5)) + variable(5)), tf.nn.embedding_lookup(table, ids)], 1)
    loss = tf.reduce_mean(tf.squared_difference(tf.identity(hidden), tf.tanh(hidden))) + tf.nn.l2_loss(table)
    return [loss], tf.train.AdamOptimizer(0.01).minimize(loss), {x: numbers(4, 6), ids: [1, 3, 3, 7]}


def control_flow() -> Any:
    x, w = tf.placeholder(tf.float32, [3, 3]), variable(3, 3)
    _, y, total = tf.while_loop(lambda i, *_: i < 4, lambda i, v, s: (i + 1, tf.tanh(tf.matmul(v, w)), s + tf.reduce_sum(v)), [0, x, 0.0])
    y = tf.cond(total > 0.0, lambda: y * 2.0, lambda: y - 1.0)
    with tf.control_dependencies([tf.Assert(tf.reduce_all(tf.is_finite(y)), [y])]):
        loss = tf.reduce_sum(tf.square(tf.check_numerics(y, "not finite")))
    return [loss, total], tf.train.RMSPropOptimizer(0.01).minimize(loss), {x: numbers(3, 3)}


NETWORKS = [images_with_channels_first, recurrent_cell, attention, adaptive_moments, control_flow]


# --- what they give ------------------------------------------------------------------------------------------------------------------------

def rewriting(optimizers: Any = (), **fields: Any) -> tf.ConfigProto:
    made = tf.ConfigProto()
    made.graph_options.rewrite_options.optimizers.extend(optimizers)
    for name, value in fields.items():
        setattr(made.graph_options.rewrite_options, name, value)
    return made


def trained(network: Any, settings: tf.ConfigProto) -> list[np.ndarray]:
    """What is fetched in each step, and the variables afterwards."""
    with tf.Graph().as_default():
        fetches, train, feeds = network()
        with tf.Session(config=settings) as session:
            session.run(tf.global_variables_initializer())
            found = [value for _ in range(STEPS) for value in session.run([*fetches, train], feeds)[:-1]]
            return [*found, *session.run(tf.global_variables())]


@functools.cache
def wanted(network: Any) -> list[np.ndarray]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config, "mode", "off")
        return trained(network, rewriting(disable_meta_optimizer=True))


CASES = [(f"{name} {state}", rewriting([on]) if state == "on" else rewriting(**{off: OFF.get(off, RewriterConfig.OFF)}))
         for name, (on, off) in NAMES.items() if name != "factors" for state in ("on", "off")]
CASES += [(f"{name} on", rewriting(["pruning"], **fields)) for name, fields in ASKED_FOR.items()]
CASES += [("all on", rewriting()), ("all on, twice", rewriting(meta_optimizer_iterations=RewriterConfig.TWO, **ASKED_FOR["recompute_cheap"]))]


@pytest.mark.parametrize("mode", ["eager", "off"])
@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("settings", [settings for _, settings in CASES], ids=[name for name, _ in CASES])
def test_network_trains_as_without_passes(settings, network, mode, monkeypatch):
    monkeypatch.setattr(config, "mode", mode)
    for index, (found, expected) in enumerate(zip(trained(network, settings), wanted(network))):
        assert (problem := difference(found, expected)) is None, f"result {index}: {problem}"


def test_every_switch_is_covered():
    fields = {field.name for field in dataclasses.fields(PassOptions) if field.type == "bool"}
    assert fields == set(SWITCHES) | set(ASKED_FOR) and set(NAMES) == set(SWITCHES)
    for name, (on, off) in NAMES.items():
        assert getattr(options_of(rewriting([on])), name) and not getattr(options_of(rewriting(**{off: OFF.get(off, RewriterConfig.OFF)})), name)
    for name, settings in ASKED_FOR.items():
        assert options_of(rewriting(["pruning"], **settings)) == dataclasses.replace(NONE, **{name: True})
