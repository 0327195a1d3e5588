"""With all passes and with none, every step gives the same bits: random graphs, and the examples of all ops."""
from __future__ import annotations

import random

import numpy as np
import pytest

import penstock as tf
from penstock.graph.graph import Graph
from penstock.graph.opdef import REGISTRY
from support import build
from support.build import Call
from support.examples import EXAMPLES, load

pytestmark = pytest.mark.process
load()
OPS = sorted(name for name in EXAMPLES if any(example.run for example in EXAMPLES[name]) and name in REGISTRY)
GROUPS = 16
SPECIAL = np.array([[0.0, -0.0, 1.0], [np.inf, -np.inf, np.nan]], np.float32)


def config(passes: bool) -> tf.ConfigProto:
    made = tf.ConfigProto()
    if not passes:
        made.graph_options.optimizer_options.opt_level = -1
    return made


def bits(value) -> object:
    """Equal for equal bits, whatever the kind of NaN or zero."""
    array = np.asarray(value)
    return (array.dtype.str, array.shape, repr(array.tolist()) if array.dtype.hasobject else array.tobytes())


# --- random graphs -------------------------------------------------------------------------------------------------------------------

def grown(choose: random.Random, x: tf.Tensor, v: tf.Variable) -> list[tf.Tensor]:
    """A graph of random ops over a placeholder, a variable and constants; some of its tensors."""
    values = [x, v, tf.constant(SPECIAL), tf.constant(1.0), tf.constant(0.0), tf.constant(-0.0), tf.ones_like(x)]
    moves = [
        lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a - b, lambda a, b: a / b, lambda a, b: -a, lambda a, b: tf.identity(a),
        lambda a, b: tf.stop_gradient(a), lambda a, b: tf.floor(a), lambda a, b: tf.abs(a), lambda a, b: tf.transpose(tf.transpose(a)),
        lambda a, b: tf.reshape(tf.reshape(a, [-1]), tf.shape(a)), lambda a, b: tf.cast(tf.cast(a, tf.float64), tf.float32),
        lambda a, b: tf.reduce_sum(a) * b, lambda a, b: tf.expand_dims(a, 0)[0], lambda a, b: tf.maximum(a, b),
    ]
    for _ in range(choose.randrange(5, 25)):
        with tf.control_dependencies([choose.choice(values).op] if choose.random() < 0.2 else []):
            if choose.random() < 0.1:
                with tf.control_dependencies([v.assign(tf.reshape(tf.broadcast_to(choose.choice(values), [2, 3]), [2, 3]))]):
                    values.append(tf.identity(v))
            else:
                values.append(choose.choice(moves)(choose.choice(values), choose.choice(values)))
    return choose.sample(values[7:], min(4, len(values) - 7)) + values[-1:]


@pytest.mark.parametrize("seed", range(12))
def test_random_graphs(seed):
    choose = random.Random(seed)
    for _ in range(15):
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, choose.choice([[2, 3], [None, 3]]))
            v = tf.Variable(SPECIAL, use_resource=choose.random() < 0.5)
            fetches = grown(choose, x, v)
            found = []
            for passes in (False, True):
                with tf.Session(config=config(passes)) as session:
                    session.run(v.initializer)
                    found.append([bits(value) for value in session.run([*fetches, v], {x: SPECIAL[::-1]})])
            assert found[0] == found[1]


# --- the examples --------------------------------------------------------------------------------------------------------------------

def run(example, source, passes) -> list[object]:
    with Graph().as_default() as graph:
        call = Call(example, source)
        with tf.Session(graph=graph, config=config(passes)) as session:
            return [bits(value) for value in call.run(session)]


@pytest.mark.parametrize("group", range(GROUPS))
def test_examples(group):
    """Inputs are constants (all that can be is folded), or placeholders of a known shape."""
    different = []
    for name in OPS[group::GROUPS]:
        for example in EXAMPLES[name]:
            for source in (build.as_constant, build.as_known):
                if example.run:
                    without = run(example, source, False)
                    if run(example, source, True) != without and run(example, source, False) == without:  # else it is random
                        different.append((example.label, source.__name__))
    assert not different
