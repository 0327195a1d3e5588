"""Imperative style on OpenCL devices: what ``tf.device`` puts there runs there, and what it gives is what the CPU gives."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.imperative.eager_graph import EagerGraph
from penstock.imperative.segments import Runner
from penstock.opencl import drivers

pytestmark = pytest.mark.process
GPU, CPU = "/job:localhost/replica:0/task:0/device:GPU:0", "/job:localhost/replica:0/task:0/device:CPU:0"
rng = np.random.default_rng(7)
X, LABELS = rng.normal(size=(16, 6)).astype(np.float32), rng.integers(0, 3, 16)


@pytest.fixture
def eager(opencl):
    """Imperative style that has not looked for devices yet."""
    with EagerGraph(Runner()).as_default():
        yield


@pytest.fixture
def strict(opencl):
    """The same, where what a device has no code for is an error."""
    runner = Runner()
    runner.environment.soft_placement = False
    with EagerGraph(runner).as_default():
        yield


def test_an_operation_runs_where_its_scope_says(eager):
    with tf.device("/gpu:0"):
        product = tf.matmul(X, X, transpose_b=True)
    assert product.device == GPU and tf.constant(X).device == CPU
    np.testing.assert_allclose(product.numpy(), X @ X.T, rtol=1e-5)


def test_values_move_with_gpu_and_cpu(eager):
    there = tf.constant(X).gpu()
    assert (there.device, there.cpu().device, (there + 1).device) == (GPU, CPU, CPU)
    assert there.backing_device == CPU
    np.testing.assert_array_equal(there.cpu().numpy(), X)
    with pytest.raises(RuntimeError, match="GPU:7 unknown device"):
        tf.constant(X).gpu(7)
    with pytest.raises(RuntimeError, match="TPU:0 unknown device"), tf.device("/device:TPU:0"):
        tf.zeros([2])


def test_what_has_no_device_code_goes_to_the_cpu(eager):
    with tf.device("/gpu:0"):
        assert tf.strings.join(["a", "b"]).device == CPU
        assert [int(each) for each in tf.data.Dataset.range(3).map(lambda each: each * 2)] == [0, 2, 4]


def test_without_soft_placement_it_is_an_error(strict):
    words = [tf.constant("a"), tf.constant("b")]
    with pytest.raises(tf.errors.InvalidArgumentError, match="no supported kernel for GPU devices is available: StringJoin"), tf.device("/gpu:0"):
        tf.strings.join(words)


def test_what_uses_a_variable_runs_where_it_is(eager):
    with tf.device("/gpu:0"):
        there = tf.Variable(X)
    here = tf.Variable(X)
    assert (there.device, here.device) == (GPU, CPU)
    there.assign_add(X)
    with tf.device("/gpu:0"):
        here.assign_sub(X)
    np.testing.assert_array_equal(there.numpy(), 2 * X)
    np.testing.assert_array_equal(here.numpy(), 0 * X)


def train(device, steps=4):
    """Losses and weights of a softmax classifier."""
    with tf.device(device):
        weights, bias = tf.Variable(tf.zeros([6, 3])), tf.Variable(tf.zeros([3]))
    optimizer, losses = tf.train.AdamOptimizer(0.1), []
    for _ in range(steps):
        with tf.GradientTape() as tape, tf.device(device):
            logits = tf.matmul(X, weights) + bias
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=LABELS, logits=logits))
        gradients = tape.gradient(loss, [weights, bias])
        optimizer.apply_gradients(zip(gradients, [weights, bias]))
        losses.append(float(loss))
    return losses, weights.numpy(), loss.device, optimizer.get_slot(weights, "m").device


def test_training_gives_the_numbers_of_the_cpu(eager):
    losses, weights, *places = train("/gpu:0")
    expected, expected_weights, *_ = train("/cpu:0")
    assert places == [GPU, GPU] and losses[-1] < losses[0]
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    np.testing.assert_allclose(weights, expected_weights, rtol=1e-4, atol=1e-6)


def test_functions_run_on_the_device_of_their_call(eager):
    @tf.function
    def scaled(x):
        return tf.nn.relu(x) * 2.0

    @tf.function
    def summed(x):
        with tf.device("/gpu:0"):
            return tf.reduce_sum(x)

    with tf.device("/gpu:0"):
        assert scaled(X).device == GPU
    np.testing.assert_allclose(scaled(X).numpy(), np.maximum(X, 0) * 2, rtol=1e-6)
    np.testing.assert_allclose(summed(X).numpy(), X.sum(), rtol=1e-4)


def test_loops_and_branches_on_a_device(eager):
    with tf.device("/gpu:0"):
        assert float(tf.while_loop(lambda k: k < 10.0, lambda k: k * 2, [tf.constant(1.0)])) == 16
        assert float(tf.cond(tf.constant(True), lambda: tf.constant(1.0) + 1, lambda: tf.constant(0.0))) == 2


def test_errors_are_those_of_the_cpu(eager):
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[0\] = 100 is not in \[0, 16\)"), tf.device("/gpu:0"):
        tf.gather(X, [100]).numpy()


def test_random_numbers_begin_anew_with_the_seed(eager):
    drawn = []
    for device in ("/cpu:0", "/gpu:0", "/gpu:0"):
        tf.set_random_seed(3)
        with tf.device(device):
            drawn.append([tf.random_uniform([4]).numpy() for _ in range(2)])
    np.testing.assert_array_equal(drawn[0], drawn[1])
    np.testing.assert_array_equal(drawn[1], drawn[2])


@pytest.mark.parametrize("devices", [["/gpu:0"], ["/cpu:0", "/gpu:0"], None])
def test_keras_fits_on_devices_of_a_strategy(eager, devices):
    strategy = tf.distribute.MirroredStrategy(devices)
    assert strategy.num_replicas_in_sync == (len(drivers.find().devices) if devices is None else len(devices))
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(3, activation="softmax", input_shape=(6,), kernel_initializer="zeros")])
        model.compile(tf.keras.optimizers.SGD(0.5), "sparse_categorical_crossentropy")
    data = tf.data.Dataset.from_tensor_slices((X, LABELS.reshape(-1, 1).astype(np.float32))).batch(16)
    losses = model.fit(data, epochs=3, verbose=0, shuffle=False).history["loss"]
    np.testing.assert_allclose(losses[0], np.log(3), rtol=1e-5)
    assert losses[2] < losses[1] < losses[0]


def test_no_device_is_an_unknown_device(monkeypatch):
    monkeypatch.setenv("PENSTOCK_OPENCL", "off")
    drivers.find.cache_clear()
    with EagerGraph(Runner()).as_default():
        with tf.device("/gpu:0"), pytest.raises(RuntimeError, match="/job:localhost/replica:0/task:0/device:GPU:0 unknown device"):
            tf.constant(1.0)
        with pytest.raises(RuntimeError, match="GPU:0 unknown device"):
            tf.constant(1.0).gpu()
    drivers.find.cache_clear()
