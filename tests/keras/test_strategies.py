"""Models under the scope of a strategy: replicas on several devices train as one device does."""
from __future__ import annotations

import contextlib

import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process
keras = tf.keras
TWO = ["/cpu:0", "/cpu:1"]
X = np.random.RandomState(0).randn(10, 4).astype("f")
Y = np.random.RandomState(1).randint(0, 3, 10)


def dense(units, seed, **options):
    return keras.layers.Dense(units, kernel_initializer=keras.initializers.glorot_uniform(seed), **options)


def functional():
    """Two layers, one of which adds losses of weights and of outputs."""
    return keras.Sequential([dense(5, 1, activation="tanh", input_shape=(4,), kernel_regularizer="l2", activity_regularizer="l1"),
                             dense(3, 2, activation="softmax")])


class Subclassed(keras.Model):
    """The same without losses of its own."""

    def __init__(self):
        super().__init__()
        self.first, self.second = dense(5, 1, activation="tanh"), dense(3, 2, activation="softmax")

    def call(self, inputs, training=None):
        return self.second(self.first(inputs))


def trained(make, strategy, **options):
    """What training reports (but the loss: with a strategy, small batches count as large ones), what an evaluation does, and the weights."""
    with contextlib.nullcontext() if strategy is None else strategy.scope():
        model = make()
        model.compile("adam", "sparse_categorical_crossentropy", metrics=["acc"])
    history = model.fit(X, Y, batch_size=4, epochs=2, verbose=0, shuffle=False, **options).history
    return [history["acc"], model.evaluate(X, Y, verbose=0)], model.get_weights()


@pytest.mark.parametrize("options", [{}, {"class_weight": {0: 1.0, 1: 2.0, 2: 0.5}}])
@pytest.mark.parametrize("make", [functional, Subclassed])
@pytest.mark.parametrize("strategy", [lambda: tf.distribute.MirroredStrategy(TWO), lambda: tf.distribute.OneDeviceStrategy("/cpu:0")])
def test_replicas_train_as_one_device_does(strategy, make, options):
    reported, weights = trained(make, None, **options)
    with tf.Graph().as_default():
        replicated, others = trained(make, strategy(), **options)
    for ours, theirs in zip([*reported, *weights], [*replicated, *others]):
        np.testing.assert_allclose(theirs, ours, rtol=2e-5, atol=1e-6)


def test_replicas_run_on_their_devices():
    strategy = tf.distribute.MirroredStrategy(TWO)
    with strategy.scope():
        model = functional()
        model.compile("sgd", "sparse_categorical_crossentropy")
    model._make_train_function()
    products = {op.device for op in tf.get_default_graph().get_operations() if op.type == "MatMul" and op.name.startswith("replica_1/")}
    assert products == {"/device:CPU:1"}


def test_batch_normalization_moves_by_the_mean_of_the_replicas():
    with tf.distribute.MirroredStrategy(TWO).scope():
        model = keras.Sequential([keras.layers.BatchNormalization(momentum=0.5, input_shape=(4,))])
        model.compile("sgd", "mse")
    model.train_on_batch(X, X)
    halves = [X[:5], X[5:]]
    np.testing.assert_allclose(model.get_weights()[2], 0.5 * np.mean([half.mean(0) for half in halves], 0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(model.get_weights()[3], 0.5 + 0.5 * np.mean([half.var(0) for half in halves], 0), rtol=1e-5)


def test_an_optimizer_of_keras_adds_up_the_gradients_of_replicas():
    strategy = tf.distribute.MirroredStrategy(TWO)
    with strategy.scope():
        variable = tf.Variable(1.0, use_resource=True)
        optimizer = keras.optimizers.SGD(0.1)

        def step():
            factor = 1.0 + tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32)
            return optimizer.apply_gradients([(factor * 2.0, variable)])

        update = strategy.group(strategy.experimental_run_v2(step))
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        session.run(tf.global_variables_initializer())
        session.run(update)
        np.testing.assert_allclose(session.run(variable), 1.0 - 0.1 * (2.0 + 4.0), rtol=1e-6)


# What TensorFlow 1.15.5 reports for the model below on two virtual CPU devices: losses of three epochs, then the first three numbers of each weight.
# The moving averages are the means of those of the replicas.
GOLDEN = {
    False: ([1.1783, 1.132, 1.0709],
            [[0.4770, 0.1758, 0.1445], [0.0855, 0.1514, 0.0787], [0.2646, 0.3124, 0.0397], [0.1286, 0.3220, -0.2677]]),
    True: ([1.0712, 1.0489, 1.0225],
           [[0.4794, 0.1831, 0.1474], [0.0400, 0.1867, 0.0900], [0.2159, 0.2836, 0.1057], [0.1101, 0.0005, 0.3384], [0.0320, 0.0574, 0.1386],
            [0.1273, 0.1651, 0.1542], [0.0821, 0.3237, 0.3293], [0.3656, 0.3448, -0.0936]])}


@pytest.mark.parametrize("normalized", [False, True])
def test_replicas_train_as_those_of_tensorflow_do(normalized):
    data = np.random.RandomState(0)
    x, y, weights = data.randn(16, 6).astype("f"), data.randint(0, 3, 16), np.random.RandomState(1)
    with tf.distribute.MirroredStrategy(TWO).scope():
        normalization = [keras.layers.BatchNormalization(momentum=0.5)] if normalized else []
        model = keras.Sequential([keras.layers.Dense(8, activation="tanh", input_shape=(6,), kernel_regularizer="l2"), *normalization,
                                  keras.layers.Dense(3, activation="softmax")])
        model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "sparse_categorical_crossentropy")
    model.set_weights([np.abs(weights.randn(*each.shape) * 0.3).astype("f") for each in model.get_weights()])
    history = model.fit(x, y, batch_size=8, epochs=3, verbose=0, shuffle=False).history
    losses, values = GOLDEN[normalized]
    np.testing.assert_allclose(history["loss"], losses, atol=1.5e-4)
    np.testing.assert_allclose([each.ravel()[:3] for each in model.get_weights()], values, atol=1.5e-4)


@pytest.mark.parametrize("devices", [TWO[:1], TWO])
def test_an_estimator_of_a_model_trains_its_replicas(tmp_path, devices):
    """Each replica has batches of its own: two of them are one step of a batch twice as long."""
    def rows():
        return tf.data.Dataset.from_tensor_slices((X[:8], Y[:8])).batch(8 // len(devices)).repeat()

    model = functional()
    model.compile("sgd", "sparse_categorical_crossentropy")
    session = tf.ConfigProto(device_count={"CPU": 2})
    config = tf.estimator.RunConfig(str(tmp_path), train_distribute=tf.distribute.MirroredStrategy(devices), session_config=session)
    estimator = keras.estimator.model_to_estimator(model, config=config)
    estimator.train(rows, max_steps=3)
    alone = functional()
    alone.compile("sgd", "sparse_categorical_crossentropy")
    for _ in range(3):
        alone.train_on_batch(X[:8], Y[:8])
    for name, value in zip(("kernel", "bias"), alone.get_weights()):
        np.testing.assert_allclose(estimator.get_variable_value(f"dense/{name}"), value, rtol=1e-5, atol=1e-6)


def test_a_strategy_counts_batches_of_arrays(capsys):
    """The words and numbers are TensorFlow 1.15's, on two CPU devices."""
    with tf.distribute.MirroredStrategy(TWO).scope():
        model = keras.Sequential([dense(1, 1, input_shape=(4,), bias_initializer="ones")])
        model.compile(keras.optimizers.SGD(0.1), "mse")
    targets = np.arange(10, dtype="f").reshape(-1, 1)
    history = model.fit(X, targets, batch_size=5, epochs=1, shuffle=False, validation_data=(X[:5], targets[:5]))
    lines = capsys.readouterr().out.replace("\r", "\n").replace("\b", "").split("\n")
    assert lines[0] == "Train on 2 steps, validate on 1 steps" and any(line.startswith("2/2 [===") and "/step - loss: " in line for line in lines)
    assert history.params["samples"] == 2 and len(history.history["val_loss"]) == 1


def test_a_small_batch_counts_as_a_large_one_with_a_strategy():
    """The loss is TensorFlow 1.15's: the mean over batches of four, four and two."""
    with tf.distribute.MirroredStrategy(TWO).scope():
        model = keras.Sequential([dense(1, 1, input_shape=(1,))])
        model.set_weights([np.zeros((1, 1)), np.zeros(1)])
        model.compile(keras.optimizers.SGD(0.0), "mse")
    history = model.fit(np.ones((10, 1)), np.arange(10.0).reshape(10, 1), batch_size=4, verbose=0, shuffle=False).history
    np.testing.assert_allclose(history["loss"], [35.8333333], rtol=1e-6)
