"""What is fused into what: groups of items, composite ops, row-wise patterns, updates of variables."""
from __future__ import annotations

import time

import numpy as np
import pytest

import penstock as tf
from penstock.graph import dtypes as dt
from penstock.graph.opdef import lookup
from penstock.native.config import config
from penstock.native.fusion import clusters
from penstock.native.items import Item, Value
from penstock.program.ir import Node
from support.special import Special, check


@pytest.fixture(autouse=True)
def numpy_sessions(eager, monkeypatch):
    """Sessions are the oracle here."""
    monkeypatch.setattr(config, "mode", "off")


@pytest.fixture(name="rng")
def _rng():
    return np.random.RandomState(0)


def feed(rng, *shape, dtype=np.float32):
    value = np.asarray(rng.normal(size=shape).astype(dtype))
    return tf.placeholder(value.dtype, [None] * len(shape)), value


# --- grouping ----------------------------------------------------------------------------------------------------------

def items_of(*edges):
    """Relu and Add items over one shape: each tuple lists the positions of an item's inputs; -1 is an input from outside, "x" cannot be fused."""
    outside, items = Value((8,), dt.float32), []
    for entry in edges:
        fused = entry[0] != "x"
        inputs = [outside if position < 0 else items[position].outputs[0] for position in (entry if fused else entry[1:])]
        definition = lookup({1: "Relu", 2: "AddV2"}[len(inputs)] if fused else "Cumsum")
        item = Item(Node(definition, f"n{len(items)}", {"T": dt.float32}), inputs, [])
        item.outputs.append(Value((8,), dt.float32, item=item))
        for value in inputs:
            value.users.append(item)
        items.append(item)
    return items


def grouped(*edges):
    items = items_of(*edges)
    return [[items.index(item) for item in group] for group in clusters.group_items(items)]


def test_a_diamond_is_one_group():
    assert grouped((-1,), (0,), (0,), (1, 2)) == [[0, 1, 2, 3]]


def test_no_group_waits_for_itself():
    """0 -> x -> 2 and 0 -> 2: were 0 and 2 in one group, x would run both before and after it."""
    assert grouped((-1,), ("x", 0), (0, 1)) == [[0], [1], [2]]
    # Two groups, each fine by itself, that wait for each other through two unfused items.
    groups = grouped((-1,), (-1,), ("x", 0), ("x", 1), (3,), (2,))
    assert sorted(index for group in groups for index in group) == list(range(6))
    assert [5] not in [group for group in groups if 0 in group]


@pytest.mark.parametrize("seed", range(30))
def test_random_groups_can_run(seed):
    rng = np.random.RandomState(seed)
    edges = []
    for index in range(60):
        inputs = [int(rng.randint(max(-1, index - 8), index)) if index else -1 for _ in range(rng.randint(1, 3))]
        edges.append(("x", inputs[0]) if rng.rand() < 0.25 else tuple(inputs))
    items = items_of(*edges)
    done: set = set()
    groups = clusters.group_items(items)
    for group in groups:
        mine = set(group)
        assert all(value.item is None or value.item in done or value.item in mine for item in group for value in item.inputs)
        done |= mine
    assert len(done) == len(items) == sum(map(len, groups))
    assert len(groups) < 45


def test_grouping_is_fast():
    """Three thousand items, forward and backward, every tenth of which cannot be fused."""
    edges = [(-1,)]
    for index in range(1, 3000):
        edges.append(("x", index - 1) if index % 10 == 0 else (index - 1, max(index - 7, -1)) if index < 1500 else (index - 1, 3000 - index))
    items = items_of(*edges)
    start = time.process_time()
    clusters.group_items(items)
    assert time.process_time() - start < 8  # 1.5 on an idle machine


# --- what becomes one kernel -------------------------------------------------------------------------------------------

def test_a_chain_and_its_gradients_are_one_pass(rng):
    (a, va), (b, vb), (c, vc) = (feed(rng, 70001) for _ in range(3))
    loss = tf.reduce_sum(tf.tanh(a * b + c) * tf.sigmoid(a) - tf.exp(-b * b))
    special = check([loss, *tf.gradients(loss, [a, b, c])], {a: va, b: vb, c: vc})
    assert len([call for call in special.calls if "parts" not in call.label]) == 1


def test_outputs_take_the_place_of_inputs_that_die(rng):
    """The arena of a chain that products cut into pieces is two arrays large, however long it is."""
    (x, vx), (w, vw) = feed(rng, 64, 64), feed(rng, 64, 64)
    y = x
    for _ in range(5):
        y = tf.nn.softmax(tf.nn.tanh(tf.matmul(y, w)))
    special = check([y], {x: vx, w: vw}, factor=5)
    assert special.arena_bytes < 3 * vx.nbytes


def test_a_long_chain_of_small_ops_is_one_call(rng):
    x, value = feed(rng, 16)
    y = x
    for index in range(150):
        y = tf.tanh(y) * 0.9 if index % 2 else y * x + 0.1
    loss = tf.reduce_sum(y)
    assert len(check([loss, *tf.gradients(loss, [x])], {x: value}).calls) == 1


@pytest.mark.parametrize("shape", [(1, 1), (5, 7), (128, 10), (3, 1000), (64, 1031)])
def test_softmax_and_cross_entropies(rng, shape):
    (x, vx), (w, vw) = feed(rng, *shape), feed(rng, *shape)
    labels, numbers = tf.placeholder(tf.float32, [None, None]), tf.placeholder(tf.int32, [None])
    vl, vn = rng.dirichlet(np.ones(shape[1]), shape[0]).astype(np.float32), rng.randint(0, shape[1], shape[0]).astype(np.int32)
    y = tf.nn.softmax(x)
    assert len(check([y, *tf.gradients(y * w, [x])], {x: vx, w: vw}).calls) == 1
    y = tf.nn.log_softmax(x)
    assert len(check([y, *tf.gradients(y * w, [x])], {x: vx, w: vw}).calls) == 1
    loss = tf.nn.softmax_cross_entropy_with_logits_v2(logits=x, labels=labels)
    assert len(check([loss, *tf.gradients(loss, [x])], {x: vx, labels: vl}).calls) == 1
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(logits=x, labels=numbers)
    assert len(check([loss, *tf.gradients(loss, [x])], {x: vx, numbers: vn}).calls) <= 3  # the labels are checked, and the step fails if one is wrong
    assert len(check([tf.reduce_logsumexp(x, 1)], {x: vx}).calls) == 1


def test_the_gradient_of_a_cross_entropy_has_one_softmax():
    """The zeros that stand for the gradient of the unused output leave no trace, be the shape known or not."""
    for shape in ([None, None], [7, 40]):
        logits, labels = tf.placeholder(tf.float32, shape), tf.placeholder(tf.int32, shape[:1])
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        (gradient,) = tf.gradients(loss, logits)
        assert not [op for op in gradient.graph.get_operations() if op.type == "Softmax"]


@pytest.mark.parametrize("place", [0, 5, 16, 40, 66])
def test_nan_is_the_extreme_of_its_row(rng, place):
    x, value = feed(rng, 3, 67)
    value[1, place] = np.nan
    check([tf.reduce_max(x, 1), tf.reduce_min(x, 1), tf.nn.softmax(x)], {x: value})


def test_labels_out_of_range_are_refused(rng):
    x, vx = feed(rng, 4, 3)
    labels = tf.placeholder(tf.int64, [None])
    special = Special([tf.nn.sparse_softmax_cross_entropy_with_logits(logits=x, labels=labels)], {x: vx, labels: np.zeros(4, np.int64)})
    special([vx, np.array([0, 1, 2, 2])])
    for bad in ([0, 1, 3, 0], [0, -1, 0, 0]):
        with pytest.raises(RuntimeError, match="refused"):
            special([vx, np.array(bad)])


@pytest.mark.parametrize("shape", [(5, 7), (3, 4, 65), (64, 512)])
def test_layer_norm_is_one_pass(rng, shape):
    (x, vx), (w, vw) = feed(rng, *shape), feed(rng, *shape)
    mean, variance = tf.nn.moments(x, [len(shape) - 1], keep_dims=True)
    y = (x - mean) * tf.rsqrt(variance + 1e-5)
    assert len(check([y, *tf.gradients(y * w, [x])], {x: vx, w: vw}).calls) == 1


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(("data_format", "shape"), [("NHWC", (3, 5, 4, 6)), ("NCHW", (3, 6, 5, 4)), ("NHWC", (8, 16, 16, 33)),
                                                    ("NHWC", (1, 1, 1, 3))])
def test_batch_norm(rng, data_format, shape, training):
    (x, vx), (dy, vdy) = feed(rng, *shape), feed(rng, *shape)
    channels = shape[3 if data_format == "NHWC" else 1]
    scale, offset, variance = (tf.placeholder(tf.float32, [None]) for _ in range(3))
    vectors = {each: rng.uniform(0.5, 1.5, channels).astype(np.float32) for each in (scale, offset, variance)}
    given = {} if training else {"mean": offset, "variance": variance}
    y, mean, var = tf.nn.fused_batch_norm(x, scale, offset, data_format=data_format, is_training=training, **given)
    check([y, mean, var], {x: vx * 2 + 5, **vectors}, factor=3)
    check(tf.gradients(y, [x, scale, offset], dy), {x: vx * 2 + 5, dy: vdy, **vectors}, factor=20)


@pytest.mark.parametrize(("data_format", "shape"), [("NHWC", (3, 5, 4, 6)), ("NCHW", (3, 6, 5, 4))])
def test_bias(rng, data_format, shape):
    (x, vx), (dy, vdy) = feed(rng, *shape), feed(rng, *shape)
    bias, vb = feed(rng, 6)
    y = tf.nn.relu(tf.nn.bias_add(x, bias, data_format=data_format))
    assert len(check([y, *tf.gradients(y, [x, bias], dy)], {x: vx, dy: vdy, bias: vb}).calls) == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint8])
@pytest.mark.parametrize("shape", [(7,), (5, 9), (3, 4, 1, 17), (2, 3, 2, 2, 1, 3)])
def test_reductions(rng, shape, dtype):
    x = tf.placeholder(dtype, [None] * len(shape))
    value = (rng.uniform(0, 5, shape)).astype(dtype)
    fetches = []
    for axes in (None, [0], [-1], [0, len(shape) - 1], list(range(0, len(shape), 2)), []):
        for reduce in (tf.reduce_sum, tf.reduce_max, tf.reduce_min, tf.reduce_prod):
            fetches += [reduce(x, axes), reduce(x, axes, keepdims=True)]
        if np.dtype(dtype).kind == "f":
            fetches += [tf.reduce_mean(x, axes), tf.math.reduce_euclidean_norm(x, axes)]
        fetches += [tf.reduce_all(x > 1, axes), tf.reduce_any(x > 4, axes)]
    check(fetches, {x: value}, factor=3)


def test_places_of_extremes(rng):
    x = tf.placeholder(tf.float32, [None, None])
    for value in (np.round(rng.normal(size=(33, 17))), np.where(rng.rand(33, 17) < 0.1, np.nan, 1.0), np.full((4, 3), -np.inf)):
        fetches = [tf.argmax(x, 0), tf.argmax(x, 1), tf.argmin(x, 0, output_type=tf.int32), tf.argmin(x, -1)]
        check(fetches, {x: value.astype(np.float32)})


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16])
def test_half_precision(rng, dtype):
    x = tf.placeholder(tf.float32, [None, None])
    y = tf.cast(x, dtype)
    fetches = [tf.nn.softmax(y), tf.reduce_sum(y, 0), tf.reduce_max(y * y, 1), tf.nn.l2_loss(y)]
    check([tf.cast(each, tf.float32) for each in fetches], {x: rng.normal(size=(9, 33)).astype(np.float32)}, factor=300)


def test_conditions_of_rows(rng):
    (x, vx), (y, vy) = feed(rng, 4, 4), feed(rng, 4, 4)
    rows = tf.placeholder(tf.bool, [None])
    check([tf.where(rows, x, y), tf.where(x > y, x, y)], {x: vx, y: vy, rows: np.array([True, False, False, True])})


# --- variables ---------------------------------------------------------------------------------------------------------

OPTIMIZERS = {
    "sgd": lambda: tf.train.GradientDescentOptimizer(0.1), "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True), "adam": lambda: tf.train.AdamOptimizer(0.01),
    "adagrad": lambda: tf.train.AdagradOptimizer(0.1), "adadelta": lambda: tf.train.AdadeltaOptimizer(1.0),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.01, momentum=0.5), "centered": lambda: tf.train.RMSPropOptimizer(0.01, centered=True),
    "ftrl": lambda: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01), "ftrl_power": lambda: tf.train.FtrlOptimizer(0.1, -0.3),
    "proximal": lambda: tf.train.ProximalGradientDescentOptimizer(0.1, 0.01, 0.01),
    "proximal_adagrad": lambda: tf.train.ProximalAdagradOptimizer(0.1, 0.1, 0.01, 0.01),
    "adagrad_da": lambda: tf.train.AdagradDAOptimizer(0.1, tf.train.get_or_create_global_step(), l1_regularization_strength=0.01)}


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name, resource, monkeypatch):
    def train(mode):
        monkeypatch.setattr(config, "mode", mode)
        rng = np.random.RandomState(0)
        with tf.Graph().as_default(), tf.Session() as session:
            w = tf.Variable(rng.normal(size=(20, 33)).astype(np.float32), use_resource=resource)
            b = tf.Variable(np.zeros(33, np.float32), use_resource=resource)
            x = tf.constant(rng.normal(size=(8, 20)).astype(np.float32))
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - 1.0)) + 1e-3 * tf.nn.l2_loss(w)
            optimizer = OPTIMIZERS[name]()
            step = optimizer.minimize(loss, global_step=tf.train.get_or_create_global_step())
            session.run(tf.global_variables_initializer())
            losses = [session.run([loss, step])[0] for _ in range(4)]
            return losses, session.run(tf.global_variables())
    native, numpy = train("eager"), train("off")
    np.testing.assert_allclose(native[0], numpy[0], rtol=1e-5)
    for found, wanted in zip(native[1], numpy[1]):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)


def test_reads_see_what_the_program_says(monkeypatch):
    """Values read before an update stay what they were; those read after it are new; also if all is fused."""
    def run(mode):
        monkeypatch.setattr(config, "mode", mode)
        with tf.Graph().as_default(), tf.Session() as session:
            v = tf.Variable(np.arange(16, dtype=np.float32).reshape(4, 4), use_resource=True)
            before = v.read_value() * 2.0
            transposed = tf.transpose(v.read_value()) + 1.0
            with tf.control_dependencies([before, transposed]):
                update = v.assign_add(transposed)
            with tf.control_dependencies([update]):
                after = v.read_value() + before
                again = v.assign_sub(after * 0.5)
            with tf.control_dependencies([again]):
                last = tf.identity(v.read_value())
            session.run(tf.global_variables_initializer())
            return session.run([before, transposed, after, last]) + session.run([v])
    for found, wanted in zip(run("eager"), run("off")):
        np.testing.assert_array_equal(found, wanted)


def test_a_scalar_is_updated_by_a_reduction(monkeypatch):
    """The update stands at the level of what the reduction keeps."""
    monkeypatch.setattr(config, "mode", "eager")
    for size in (100, 300_000):
        with tf.Graph().as_default(), tf.Session() as session:
            total, rows = tf.Variable(1.0), tf.Variable(np.ones(4, np.float32), use_resource=True)
            x = tf.placeholder(tf.float32, [4, None])
            steps = [total.assign_add(tf.reduce_mean(tf.maximum(x, 0.0))), rows.assign_sub(tf.reduce_sum(x * x, 1))]
            session.run(tf.global_variables_initializer())
            value = np.random.RandomState(0).normal(size=(4, size // 4)).astype(np.float32)
            session.run(steps, {x: value})
            np.testing.assert_allclose(session.run(total), 1 + np.maximum(value, 0).mean(), rtol=1e-5)
            np.testing.assert_allclose(session.run(rows), 1 - (value * value).sum(1), rtol=1e-5)


@pytest.mark.parametrize("shape, value", [((1000,), 100), ((70_000,), 0.5), ((300, 300), 1), ((2000, 40), 60)])
@pytest.mark.parametrize("axis", [None, 0])
def test_means_whose_sum_or_count_float16_cannot_hold(shape, value, axis):
    x = tf.placeholder(tf.float16, shape)
    check([tf.reduce_mean(tf.abs(x), axis)], {x: np.full(shape, -value, np.float16)})


# --- users' ops --------------------------------------------------------------------------------------------------------

def test_an_op_of_the_user_is_fused(rng):
    from penstock.ops.common import FLOATS, like

    @tf.op("TestHardSwish", "x: T -> y: T", T=FLOATS)
    class HardSwish:
        """x * relu6(x + 3) / 6."""

        elementwise = True
        shape = like("x")

        def kernel(x):
            return x * np.clip(x + 3, 0, 6) / 6

        def lower(b, x):
            return b.div(b.mul(x, b.minimum(b.maximum(b.add(x, 3), 0), 6)), 6)

    x, value = feed(rng, 1000)
    special = check([tf.reduce_sum(tf.tanh(HardSwish(x)) * 2.0)], {x: value})
    assert [call.label for call in special.calls] == ["TestHardSwish Tanh Mul Sum"]
