"""Regions in sessions: what is native, what a failing kernel says, variables that are read and written, threads, and the switch from NumPy."""
from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import penstock
import penstock as tf
from penstock.execute.report import watch
from penstock.graph.opdef import lookup
from penstock.native.calls import Code
from penstock.native.config import config
from penstock.native.machine.background import background
from penstock.native.table import patience
from support.plans import plans_of, regions_of


def network(seed=0):
    """A small network, its training step, and what to feed."""
    random = np.random.RandomState(seed)
    x, y = tf.placeholder(tf.float32, [None, 20]), tf.placeholder(tf.int32, [None])
    hidden = tf.nn.relu(tf.matmul(x, tf.Variable(random.randn(20, 300).astype("f"))) + tf.Variable(np.zeros(300, "f")))
    logits = tf.matmul(hidden, tf.Variable(random.randn(300, 7).astype("f")))
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    return loss, tf.train.AdamOptimizer(0.01).minimize(loss), {x: random.randn(64, 20), y: random.randint(0, 7, 64)}


def losses(mode, threads, monkeypatch, steps=8):
    monkeypatch.setattr(config, "mode", mode)
    with tf.Graph().as_default():
        loss, train, feeds = network()
        with tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=threads)) as session:
            session.run(tf.global_variables_initializer())
            return [session.run([loss, train], feeds)[0] for _ in range(steps)], regions_of(session)


def test_a_training_step_is_one_region(monkeypatch):
    _, found = losses("eager", 2, monkeypatch)
    step = [each for each in found if any(node.definition.type == "ApplyAdam" for node in each.body.nodes)]
    assert len(step) == 1
    assert step[0]._ready
    assert not step[0].fallbacks


def test_a_group_of_nodes_does_not_cut_a_region():
    """What waits for three others by way of a group is in the region of those."""
    x = tf.placeholder(tf.float32, [8])
    v = tf.Variable(np.zeros(8, "f"), use_resource=True)
    before = [tf.sin(x), tf.cos(x), v.assign_add(x)]
    with tf.control_dependencies([tf.group(*before)]):
        after = v.read_value() * 2
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        value = np.arange(8, dtype="f")
        for turn in (1, 2, 3):
            np.testing.assert_array_equal(session.run(after, {x: value}), 2 * turn * value)
        assert len([each for each in regions_of(session) if any(node.definition.type == "NoOp" for node in each.body.nodes)]) == 1
        assert sum(plan.device_plans[0].nodes[-1].definition.type == "NoOp" for plan in plans_of(session)) <= 1  # the initializer's, at most


def test_numbers_too_small_are_zero(monkeypatch):
    """As in TensorFlow, whose threads flush them: an Adam whose gradients have vanished does not become a hundred times slower."""
    x = tf.placeholder(tf.float32, [None])
    fetches = [x * 0.5 + 0.0, tf.equal(x, 0.0)]
    with tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=2)) as session:
        for count in (3, 300_000):  # by one thread, and by two
            halves, zeros = session.run(fetches, {x: np.tile(np.array([1e-40, 2e-38, 1], "f"), count)})
            assert set(halves.tolist()) == {0.0, 0.5}
            np.testing.assert_array_equal(zeros, [True, False, False] * count)
    assert np.float32(1e-40) * np.float32(0.5) != 0  # the caller's thread is as it was


def test_same_threads_same_bits(monkeypatch):
    assert losses("eager", 2, monkeypatch)[0] == losses("eager", 2, monkeypatch)[0]


def test_threads_and_numpy_agree(monkeypatch):
    wanted = losses("off", 1, monkeypatch)[0]
    for threads in (1, 2, 3):
        np.testing.assert_allclose(losses("eager", threads, monkeypatch)[0], wanted, rtol=1e-4)


def of_training(made):
    """The native code of the region that trains."""
    region, = [each for each in made if any(node.definition.type == "ApplyAdam" for node in each.body.nodes)]
    ready, = region._ready.values()
    return ready


@pytest.mark.parametrize(("share", "by_numpy"), [(0.0, False), (1e-3, True)])
def test_numpy_does_its_share_then_native_code_takes_over(share, by_numpy, monkeypatch):
    """As many runs as its share allows, by count; a step that trains has native code from the first run if there is no share."""
    monkeypatch.setattr(patience, "SHARE", share)
    monkeypatch.setattr(watch, "on", True)  # counts the runs by native code
    found, made = losses("background", 2, monkeypatch, 12)
    np.testing.assert_allclose(found, losses("off", 1, monkeypatch, 12)[0], rtol=1e-3)
    ready = of_training(made)
    assert ready.runs + ready.patience.runs == 12
    assert (ready.patience.runs > 0) == by_numpy
    assert ready.switched.startswith(f"native from run {ready.patience.runs + 1} on")


@pytest.mark.parametrize("delay", [0.0, 0.05])
def test_the_compilers_speed_does_not_change_bits(delay, monkeypatch):
    """Nor whether its thread is there at all."""
    compile_now = Code.compile

    def slowly(code, *args):
        time.sleep(delay)
        return compile_now(code, *args)

    found = losses("background", 2, monkeypatch, 12)[0]
    monkeypatch.setattr(Code, "compile", slowly)
    assert losses("background", 2, monkeypatch, 12)[0] == found
    monkeypatch.setattr(background, "submit", lambda job: None)
    assert losses("background", 2, monkeypatch, 12)[0] == found


def test_shapes_that_seldom_come_are_left_to_numpy(monkeypatch):
    """The n-th shape that a region meets has to come n times."""
    monkeypatch.setattr(config, "mode", "background")
    monkeypatch.setattr(patience, "SHARE", 0.0)
    x = tf.placeholder(tf.float32, [None])
    y = tf.tanh(x) * tf.exp(x) + x
    with tf.Session() as session:
        for length in (1, 1, 2, 3, 4, 5):  # the very first run does without regions
            session.run(y, {x: np.ones(length)})
        each, = regions_of(session)
        assert [signature[0][2] for signature in each._ready] == [(1,)]
        for length in (3, 3, 3, 3):
            session.run(y, {x: np.ones(length)})
        assert [signature[0][2] for signature in each._ready] == [(1,), (3,)]


def runs_by_numpy(size, turns=0, most=400):
    """How many runs NumPy does of a step, the first included, before native code takes over."""
    x = tf.placeholder(tf.float32, [size, size])
    y = tf.tanh(tf.matmul(x, x))
    if turns:
        _, y = tf.while_loop(lambda i, _: i < turns, lambda i, y: (i + 1, tf.tanh(tf.matmul(x, y))), [0, x])
    with tf.Session() as session:
        for count in range(1, most):
            session.run(y, {x: np.zeros((size, size))})
            if any(ready.compiled for each in regions_of(session) for ready in each._ready.values()):
                return count - 1
    return most


def test_the_more_work_the_sooner_it_is_native(monkeypatch):
    """Real work is native from the second run on; turns of loops count as often as they ran."""
    monkeypatch.setattr(config, "mode", "background")
    assert runs_by_numpy(400) == runs_by_numpy(4, turns=1000) == runs_by_numpy(600, turns=2) == 1
    assert runs_by_numpy(4) > runs_by_numpy(100) > 1
    assert runs_by_numpy(4) > runs_by_numpy(4, turns=100) > 1


PROGRAM = """
import numpy as np
import penstock as tf
tf.set_random_seed(7)
x = tf.placeholder(tf.float32, [None, 20])
hidden = tf.layers.dense(tf.nn.dropout(x, 0.9, seed=3), 50, tf.tanh)
loss = tf.reduce_mean(tf.square(tf.layers.dense(hidden, 1)))
looped = tf.while_loop(lambda i, v: i < 40, lambda i, v: (i + 1, tf.sin(v) + tf.exp(-v)), (0, loss))[1]
train = tf.train.AdamOptimizer(0.01).minimize(looped)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for step in range(8):
        print(session.run([looped, train], {x: np.random.RandomState(step).randn(64, 20)})[0].tobytes().hex())
        print(session.run(loss, {x: np.ones((5, 20))}).tobytes().hex())
"""


def test_the_cache_does_not_change_bits(tmp_path):
    """Equal seeds, equal bits: with no kernel on disk, and with all of them."""
    env = {**os.environ, "PYTHONPATH": str(Path(penstock.__path__[0]).parent), "PENSTOCK_CACHE_DIR": str(tmp_path), "PENSTOCK_COMPILE": "background"}
    env["PENSTOCK_THREADS"] = "2"
    cold, warm = (subprocess.run([sys.executable, "-W", "ignore", "-c", PROGRAM], env=env, capture_output=True, text=True, timeout=120)
                  for _ in range(2))
    assert (cold.returncode, cold.stderr, warm.stdout) == (0, "", cold.stdout)
    assert len(cold.stdout.split()) == 16 and any(tmp_path.iterdir())


def test_a_bad_index_names_its_op():
    table, ids = tf.constant(np.ones((5, 3), "f")), tf.placeholder(tf.int32, [None])
    rows = tf.tanh(tf.gather(table * 2.0, ids, name="rows")) + 1.0
    with tf.Session() as session:
        assert session.run(rows, {ids: [0, 4]}).shape == (2, 3)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"(?s)indices\[1\] = 7 is not in \[0, 5\).*'rows'.*test_forming.py"):
            session.run(rows, {ids: [0, 7]})
        assert session.run(rows, {ids: [1]}).shape == (1, 3)


def test_shapes_that_do_not_fit_are_an_error():
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    z = tf.tanh(x) * tf.exp(y) + x
    with tf.Session() as session:
        assert session.run(z, {x: np.zeros((2, 3)), y: 1.0}).shape == (2, 3)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Dimensions must be equal|broadcast|Incompatible shapes"):
            session.run(z, {x: np.zeros((2, 3)), y: np.zeros((2, 4))})


def test_an_uninitialized_variable_is_an_error():
    v = tf.Variable([1.0, 2.0], name="v")
    with tf.Session() as session, pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v"):
        session.run(tf.tanh(v * 2.0) + v)


@pytest.mark.parametrize("resource", [False, True])
def test_what_was_fetched_does_not_change(resource):
    v = tf.Variable(np.arange(4, dtype="f"), use_resource=resource)
    update = v.assign_add(tf.tanh(v) * 0.0 + 1.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(v)
        for _ in range(3):
            session.run(update)
        assert before.tolist() == [0, 1, 2, 3]
        assert session.run(v).tolist() == [3, 4, 5, 6]


def test_a_read_before_a_write_sees_the_old_value():
    v = tf.Variable(np.ones(3, "f"), use_resource=True)
    old = v.read_value()
    with tf.control_dependencies([old]):
        write = v.assign_add(tf.ones([3]) * 4.0)
    with tf.control_dependencies([write]):
        both = old * 10.0 + v.read_value()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(both).tolist() == [15.0] * 3
        assert session.run(both).tolist() == [59.0] * 3


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(50,), (1, 50), (50, 1)])
def test_an_update_is_computed_of_the_old_value_alone(resource, axis, shape):
    """The reduction and the update are one loop, in which every row reads all of the variable."""
    matrix = np.random.RandomState(0).standard_normal((50, 50)).astype("f") / 8
    value = np.random.RandomState(1).standard_normal(shape).astype("f")
    v, a = tf.Variable(value, use_resource=resource), tf.placeholder(tf.float32, [50, 50])
    updates = [tf.assign(v, tf.reshape(tf.reduce_sum(a * v, axis), shape)), tf.assign_add(v, tf.reshape(tf.reduce_max(a + v, axis), shape))]
    with tf.Session() as session:
        session.run(v.initializer)
        for update in updates * 2:
            session.run(update, {a: matrix})
            value = (matrix * value).sum(axis).reshape(shape) if update is updates[0] else value + (matrix + value).max(axis).reshape(shape)
            np.testing.assert_allclose(session.run(v), value, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("product", [lambda a, w: a @ w, lambda a, w: w @ a, lambda a, w: w @ w, lambda a, w: tf.matmul(a, w, transpose_b=True)])
def test_descent_along_a_product_with_the_variable_itself(resource, product):
    """The product is accumulated straight into the variable that it reads."""
    matrix, value = (np.random.RandomState(seed).standard_normal((300, 300)).astype("f") / 20 for seed in range(2))
    w, apart = tf.Variable(value, use_resource=resource), tf.placeholder(tf.float32, [300, 300])
    update = tf.train.GradientDescentOptimizer(0.1).apply_gradients([(product(tf.constant(matrix), w), w)])
    with tf.Session() as session:
        session.run(w.initializer)
        for _ in range(2):
            value = value - np.float32(0.1) * session.run(product(tf.constant(matrix), apart), {apart: value})
            session.run(update)
            np.testing.assert_allclose(session.run(w), value, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("resource", [False, True])
def test_matrix_factorisation(resource):
    """Both products could do the descent of one variable, but each reads the other's: not both can come first."""
    u, v = (np.random.RandomState(seed).standard_normal(shape).astype("f") for seed, shape in enumerate([(8, 3), (3, 6)]))
    left, right, ratings = tf.Variable(u, use_resource=resource), tf.Variable(v, use_resource=resource), tf.placeholder(tf.float32, [8, 6])
    train = tf.train.GradientDescentOptimizer(0.01).minimize(tf.reduce_sum(tf.square(left @ right - ratings)))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(train, {ratings: np.ones((8, 6), "f")})
            error = np.float32(0.02) * (u @ v - 1)
            u, v = u - error @ v.T, v - u.T @ error
        np.testing.assert_allclose(session.run(left), u, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(session.run(right), v, rtol=1e-4, atol=1e-5)
        assert any(each._ready for each in regions_of(session))


def test_what_is_added_to_a_product_waits_for_a_write_of_its_factor():
    """The sum cannot be the product's epilogue: it is computed of what is written to the factor once the product is done."""
    w, x = tf.Variable(np.eye(40, dtype="f"), use_resource=True), tf.placeholder(tf.float32, [40, 40])
    product = tf.matmul(x, w)
    with tf.control_dependencies([product]):
        write = w.assign_add(x)
    with tf.control_dependencies([write]):
        total = product + w.read_value()
    value = np.random.RandomState(0).standard_normal((40, 40)).astype("f")
    with tf.Session() as session:
        session.run(w.initializer)
        np.testing.assert_allclose(session.run(total, {x: value}), value + np.eye(40) + value, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [5, 5000])  # the updates are one loop, and one each
def test_variables_can_exchange_their_values(size):
    v, w = (tf.Variable(np.full(size, value, "f"), use_resource=True) for value in (1, 2))
    first, second = v.read_value(), w.read_value()
    with tf.control_dependencies([first, second]):
        exchange = tf.group(v.assign(second), w.assign(first))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for wanted in ([2, 1], [1, 2]):
            session.run(exchange)
            assert [value[-1] for value in session.run([v, w])] == wanted


def test_a_variable_that_is_read_and_written_under_two_names():
    """The region knows two inputs, and at run time they are one variable: the read sees the old value, or the new one, but no mixture."""
    one, other = (lookup("VariableV2")(shape=[1000], dtype=tf.float32, shared_name="same") for _ in range(2))
    fill, x = tf.assign(one, tf.zeros([1000])), tf.placeholder(tf.float32, [1000])
    total = tf.identity(one) + x
    fetches = [total, tf.assign_add(other, 1 + tf.exp(tf.minimum(total, 0.0))).op]
    with tf.Session() as session:
        session.run(fill)
        for turn in range(4):
            seen = session.run(fetches, {x: np.zeros(1000, "f")})[0]
            assert set(seen.tolist()) in ({2.0 * turn}, {2.0 * turn + 2})
        assert any(len(each._refs) == 2 and each._ready for each in regions_of(session))


def test_an_update_is_in_place():
    v = tf.Variable(np.zeros(1000, "f"), use_resource=True)
    update = v.assign_sub(tf.ones([1000]) * 0.5)
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(update)
        (ref,) = [value for key, value in session._backend.environment.resources.items()]
        before = ref.value.__array_interface__["data"][0]
        for _ in range(3):
            session.run(update.op)
        assert ref.value.__array_interface__["data"][0] == before
        assert ref.value[0] == -2.0


def test_a_variable_may_change_its_shape():
    v = tf.Variable(np.ones(3, "f"), validate_shape=False)
    value = tf.placeholder(tf.float32)
    change, doubled = tf.assign(v, value, validate_shape=False), tf.tanh(v * 2.0) * v
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(doubled).shape == (3,)
        session.run(change, {value: np.ones((2, 5))})
        assert session.run(doubled).shape == (2, 5)


def test_threads_may_train_together(monkeypatch):
    monkeypatch.setattr(config, "mode", "eager")
    v = tf.Variable(np.zeros(1000, "f"))
    step = tf.train.GradientDescentOptimizer(1.0).apply_gradients([(tf.ones([1000]) * -1.0 + tf.tanh(v) * 0.0, v)])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        threads = [threading.Thread(target=lambda: [session.run(step) for _ in range(50)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert session.run(v).tolist() == [201.0] * 1000


def test_a_node_that_is_not_native_is_cut_out():
    x, shape = tf.placeholder(tf.float32, [6]), tf.placeholder(tf.int32, [2])
    y = tf.exp(tf.reshape(tf.tanh(x) * 2.0, shape, name="reshape") + 1.0) * 3.0
    with tf.Session() as session:
        assert session.run(y, {x: np.ones(6), shape: [2, 3]}).shape == (2, 3)
        assert session.run(y, {x: np.ones(6), shape: [3, 2]}).shape == (3, 2)
        reasons = {name: why for each in regions_of(session) for name, why in each.fallbacks.items()}
    assert "computed in the step" in reasons["reshape"]


def test_off_means_no_regions(monkeypatch):
    monkeypatch.setattr(config, "mode", "off")
    x = tf.placeholder(tf.float32, [3])
    with tf.Session() as session:
        session.run(tf.tanh(x) + tf.exp(x), {x: np.ones(3)})
        assert not regions_of(session)
