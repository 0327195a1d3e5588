"""Updates of optimizers in imperative style: recorded as one block, they do what they do one by one."""
import numpy as np
import pytest

import penstock as tf
from penstock.imperative.operation import EagerOperation
from support.imperative import imperative

pytestmark = pytest.mark.process

OPTIMIZERS = {
    "GradientDescent": lambda: tf.train.GradientDescentOptimizer(0.1), "Momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "Adam": lambda: tf.train.AdamOptimizer(0.1), "Adagrad": lambda: tf.train.AdagradOptimizer(0.1),
    "RMSProp": lambda: tf.train.RMSPropOptimizer(0.1, centered=True), "Ftrl": lambda: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01)}


class OneByOne:
    """Hides from an optimizer that its updates could be a block."""

    def __call__(self, optimizer):
        optimizer._repeats = None
        return optimizer


def trained(optimizer, steps=6, sparse=False, rates=None):
    """The values of two variables after some steps."""
    a, b = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], use_resource=True), tf.Variable(3.0, use_resource=True)
    for step in range(steps):
        if rates is not None:
            rates.append(0.1 / (step + 1))
        with tf.GradientTape() as tape:
            rows = tf.gather(a, [0, 2, 0]) if sparse else a * 2.0
            loss = tf.reduce_sum(tf.square(rows)) * b
        optimizer.apply_gradients(zip(tape.gradient(loss, [a, b]), [a, b]))
    return a.numpy(), b.numpy()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_block_does_what_its_operations_do(name, sparse):
    with imperative():
        block, apart = trained(OPTIMIZERS[name](), sparse=sparse), trained(OneByOne()(OPTIMIZERS[name]()), sparse=sparse)
    np.testing.assert_array_equal(block[0], apart[0])
    np.testing.assert_array_equal(block[1], apart[1])


def test_an_update_is_one_operation_from_the_second_time_on():
    with imperative() as graph:
        v, optimizer = tf.Variable([1.0, 2.0], use_resource=True), tf.train.AdamOptimizer(0.1)
        counts = []
        for _ in range(4):
            before = len(graph.thread.recording.operations)
            assert optimizer.apply_gradients([(tf.constant([1.0, 1.0]), v)]) is None
            counts.append(len(graph.thread.recording.operations) - before)
        assert counts[0] > 1 and counts[1:] == [1, 1, 1]
        assert all(isinstance(op, EagerOperation) for op in graph.thread.recording.operations)
        assert v.numpy()[0] < 1.0


def test_a_learning_rate_that_changes_is_asked_for_once_per_step():
    with imperative():
        rates, calls = [], []

        def rate():
            calls.append(rates[-1])
            return rates[-1]

        changing = trained(tf.train.GradientDescentOptimizer(rate), rates=rates)
        assert calls == rates
        apart = trained(OneByOne()(tf.train.GradientDescentOptimizer(lambda: rates[-1])), rates=rates)
        np.testing.assert_array_equal(changing[0], apart[0])


def test_the_global_step_counts_and_slots_are_shared_with_functions():
    with imperative():
        v, optimizer, step = tf.Variable(1.0, use_resource=True), tf.train.AdamOptimizer(0.1), tf.train.get_or_create_global_step()

        def update():
            with tf.GradientTape() as tape:
                loss = v * v
            optimizer.apply_gradients([(tape.gradient(loss, v), v)], global_step=step)

        traced = tf.function(update)
        for turn in range(6):
            (traced if turn % 2 else update)()
        assert step.numpy() == 6
        assert [variable.name for variable in optimizer.variables() if "power" in variable.name] == ["beta1_power:0", "beta2_power:0"]
        np.testing.assert_allclose(optimizer._get_beta_accumulators()[0].numpy(), 0.9 ** 7, rtol=1e-5)


def test_a_tape_sees_each_operation_of_an_update():
    with imperative():
        v, w, optimizer = tf.Variable(1.0, use_resource=True), tf.Variable(2.0, use_resource=True), tf.train.GradientDescentOptimizer(0.5)
        for _ in range(4):
            with tf.GradientTape() as tape:
                optimizer.apply_gradients([(w * 1.0, v)])
                loss = w * v
            gradient = tape.gradient(loss, w)
        np.testing.assert_allclose(gradient.numpy(), v.numpy())


def test_a_tape_that_ends_earlier_is_another_structure():
    def square(x):
        return x * x

    with imperative():
        for inside in (True, True, True, False, False, False):
            x = tf.constant(3.0)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = square(x)
                z = square(y) if inside else None
            z = z if inside else square(y)
            gradient = tape.gradient(z, x)
            assert (gradient.numpy() == 108.0) if inside else gradient is None


def test_what_is_looked_at_while_a_tape_is_open_counts():
    with imperative():
        for _ in range(4):
            x = tf.constant(2.0)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x * x
                assert y.numpy() == 4.0
                z = y * x
            assert z.numpy() == 8.0
            assert tape.gradient(z, x).numpy() == 12.0
