"""fit in imperative style, where TensorFlow's loop differs from that of graphs, and what the updates of optimizers are recorded as."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from support.imperative import imperative

pytestmark = pytest.mark.process
keras = tf.keras
X = np.arange(14, dtype=np.float32).reshape(7, 2) / 10


class SumOfSquares(keras.Model):
    """A loss that is a sum over the batch: it tells which rows were together in one."""

    def __init__(self):
        super().__init__()
        self.line = keras.layers.Dense(1, kernel_initializer="ones")

    def call(self, inputs):
        outputs = self.line(inputs)
        self.add_loss(tf.reduce_sum(tf.square(outputs)))
        return outputs


def per_batch(rows, size):
    """(loss, rows) of each batch, before any training: the mean square and the sum of squares of sums."""
    sums = rows.sum(1)
    return [(np.mean(part ** 2) + np.sum(part ** 2), len(part)) for part in (sums[start:start + size] for start in range(0, len(sums), size))]


def fitted(**options):
    model = SumOfSquares()
    model.compile(keras.optimizers.SGD(0.0), "mse")
    return model.fit(epochs=2, verbose=0, **options).history


def test_validation_keeps_the_order_of_its_rows():
    with imperative():
        history = fitted(x=X, y=np.zeros((7, 1)), batch_size=4, validation_data=(X, np.zeros((7, 1))))
        losses = per_batch(X, 4)
        np.testing.assert_allclose(history["val_loss"], [sum(loss * rows for loss, rows in losses) / 7] * 2, rtol=1e-5)


def test_training_on_a_dataset_weighs_batches_by_their_rows_and_evaluation_counts_them():
    with imperative():
        def dataset():
            return tf.data.Dataset.from_tensor_slices((X, np.zeros((7, 1), np.float32))).batch(4)

        history = fitted(x=dataset(), validation_data=dataset())
        losses = per_batch(X, 4)
        np.testing.assert_allclose(history["loss"], [sum(loss * rows for loss, rows in losses) / 7] * 2, rtol=1e-5)
        np.testing.assert_allclose(history["val_loss"], [np.mean([loss for loss, _ in losses])] * 2, rtol=1e-5)


OPTIMIZERS = {"SGD": lambda: keras.optimizers.SGD(0.1, momentum=0.9), "Adam": lambda: keras.optimizers.Adam(0.1, amsgrad=True),
              "RMSprop": lambda: keras.optimizers.RMSprop(0.1, centered=True), "Nadam": lambda: keras.optimizers.Nadam(0.1),
              "Ftrl": lambda: keras.optimizers.Ftrl(0.1), "decay": lambda: keras.optimizers.Adagrad(0.1, decay=0.5)}


def moved(optimizer, sparse):
    a, b = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], use_resource=True), tf.Variable(3.0, use_resource=True)
    for step in range(5):
        if step == 3:
            optimizer.lr = 0.05
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(tf.gather(a, [0, 2, 0]) if sparse else a * 2.0)) * b
        count = optimizer.apply_gradients(zip(tape.gradient(loss, [a, b]), [a, b]))
    return a.numpy(), b.numpy(), int(optimizer.iterations.numpy()), int(count.numpy())


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_update_that_is_a_block_does_what_its_operations_do(name, sparse):
    with imperative():
        block, one_by_one = OPTIMIZERS[name](), OPTIMIZERS[name]()
        one_by_one._repeats = None
        for ours, theirs in zip(moved(block, sparse), moved(one_by_one, sparse)):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5)
        assert sparse or any(known is not None for known in block._repeats._known.values())


def test_python_values_of_an_optimizer_may_change():
    with imperative():
        results = []
        for change in (False, True):
            variable, optimizer = tf.Variable([1.0], use_resource=True), keras.optimizers.Adam(0.1)
            for step in range(4):
                if change and step == 2:
                    optimizer.epsilon = 10.0
                optimizer.apply_gradients([(tf.constant([1.0]), variable)])
            results.append(float(variable.numpy()[0]))
        assert results[1] > results[0] + 0.1


def test_metrics_whose_update_returns_nothing():
    class Largest(keras.metrics.Metric):
        def __init__(self):
            super().__init__(name="largest")
            self.value = self.add_weight("value", initializer="zeros")

        def update_state(self, y_true, y_pred, sample_weight=None):
            self.value.assign(tf.maximum(self.value, tf.reduce_max(y_pred)))

        def result(self):
            return self.value

    with imperative():
        assert keras.metrics.AUC()([0, 1, 1], [0.1, 0.8, 0.3]).numpy() == pytest.approx(1.0)
        assert Largest()([0.0, 0.0], [0.5, 2.0]).numpy() == 2.0


def test_load_sets_a_variable_at_once():
    with imperative():
        v = tf.Variable([1.0, 2.0])
        v.load([3.0, 4.0])
        assert v.numpy().tolist() == [3.0, 4.0]


class DropsByPhase(keras.Model):
    """Its dropout is not told whether the model trains."""

    def __init__(self):
        super().__init__()
        self.drop, self.line = keras.layers.Dropout(0.5), keras.layers.Dense(1, kernel_initializer="ones")

    def call(self, inputs):
        return self.line(self.drop(inputs))


def test_layers_that_are_not_told_know_that_run_eagerly_trains():
    with imperative():
        model = DropsByPhase()
        model.compile(keras.optimizers.SGD(0.0), "mse", run_eagerly=True)
        zeros = np.zeros((7, 1), np.float32)
        losses = {float(model.train_on_batch(X, zeros)) for _ in range(4)}
        assert len(losses) > 1  # each step drops others
        np.testing.assert_allclose([model.test_on_batch(X, zeros), model.evaluate(X, zeros, verbose=0)], np.mean(X.sum(1) ** 2), rtol=1e-5)
        assert keras.backend.learning_phase() == 0


def test_weights_that_were_loaded_before_variables_were_made_are_trained(tmp_path):
    with imperative():
        zeros = np.zeros((7, 1), np.float32)
        first = DropsByPhase()
        first.compile("adam", "mse")
        first.train_on_batch(X, zeros)
        first.save_weights(str(tmp_path / "weights"))
        second = DropsByPhase()
        second.load_weights(str(tmp_path / "weights"))
        second.compile("adam", "mse")
        second.train_on_batch(X, zeros)  # its optimizer makes variables, which have values in the checkpoint
        assert int(second.optimizer.iterations) == 2
        third = DropsByPhase()
        third.load_weights(str(tmp_path / "weights"))
        np.testing.assert_array_equal(third.predict(X), first.predict(X))


def test_a_layer_that_adds_losses_in_a_call_of_a_model_does_not_hold_the_model():
    class Divergence(keras.layers.Layer):
        def call(self, inputs):
            self.add_loss(tf.reduce_mean(inputs))
            return inputs

    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense, self.divergence = keras.layers.Dense(2), Divergence()

        def call(self, inputs):
            return self.divergence(self.dense(inputs))

    with imperative():
        model = Model()
        for _ in range(2):
            with tf.GradientTape() as tape:
                outputs = model(tf.ones([3, 4]))
                loss, = model.losses
            assert len(model.weights) == 2 and len(model.divergence.weights) == 0
            np.testing.assert_allclose(loss.numpy(), outputs.numpy().mean(), rtol=1e-6)
            assert len(tape.gradient(loss, model.trainable_variables)) == 2


def test_schedules_give_tensors():
    schedules = keras.optimizers.schedules
    with imperative():
        rates = [schedules.PolynomialDecay(0.1, 10, 0.01)(5), schedules.ExponentialDecay(0.1, 10, 0.5)(tf.constant(10)),
                 schedules.InverseTimeDecay(0.1, 1, 0.5)(2), schedules.PiecewiseConstantDecay([3, 5], [1.0, 0.5, 0.1])(4),
                 keras.experimental.CosineDecay(0.1, 10)(5)]
        np.testing.assert_allclose([rate.numpy() for rate in rates], [0.055, 0.05, 0.05, 0.5, 0.05], rtol=1e-6)  # TensorFlow 1.15's
        optimizer = keras.optimizers.SGD(schedules.PolynomialDecay(0.1, 2, 0.0))
        variable = tf.Variable(1.0)
        steps = []
        for _ in range(3):
            optimizer.minimize(lambda: variable * 1.0, [variable])
            steps.append(variable.numpy())
        np.testing.assert_allclose(steps, [0.9, 0.85, 0.85], rtol=1e-6)


def test_functions_forget_the_scopes_around_their_calls():
    with imperative():
        inner = keras.layers.Dense(1)
        outer = keras.Sequential([keras.layers.Lambda(tf.contrib.eager.defun(inner.__call__))])
        outer(tf.ones([1, 2]))
        assert inner.weights[0].name == "dense/kernel:0"  # TensorFlow 1.15's


def test_callbacks_compute_values():
    class Halves(keras.callbacks.Callback):
        def on_batch_end(self, batch, logs=None):
            assert tf.executing_eagerly()
            kernel = self.model.layers[0].kernel
            kernel.assign(kernel * 0.5)

    with imperative():
        model = keras.Sequential([keras.layers.Dense(1, kernel_initializer="ones", input_shape=(2,))])
        model.compile(keras.optimizers.SGD(0.0), "mse")
        losses = model.fit(X[:4], np.zeros((4, 1)), batch_size=2, epochs=1, shuffle=False, verbose=0, callbacks=[Halves()]).history["loss"]
        expected = (np.mean(X[:2].sum(1) ** 2) + np.mean((0.5 * X[2:4].sum(1)) ** 2)) / 2
        np.testing.assert_allclose(losses, [expected], rtol=1e-5)
        assert model.get_weights()[0].tolist() == [[0.25], [0.25]]


def test_losses_of_an_earlier_call_are_not_counted_again():
    class Regularized(keras.Model):
        def __init__(self):
            super().__init__()
            self.line = keras.layers.Dense(1, kernel_initializer="zeros")

        def call(self, inputs, training=None):
            if training:
                self.add_loss(tf.reduce_sum(inputs) * 0 + 1.0)
            return self.line(inputs)

    with imperative():
        model = Regularized()
        model.compile(keras.optimizers.SGD(0.0), "mse")
        zeros = np.zeros((7, 1), np.float32)
        assert [model.train_on_batch(X, zeros), model.test_on_batch(X, zeros), model.train_on_batch(X, zeros)] == [1, 0, 1]
        assert model.fit(X, zeros, verbose=0, epochs=2).history["loss"] == [1, 1] and model.evaluate(X, zeros, verbose=0) == 0


def test_what_a_training_tells_before_it_begins(capsys):
    def generator():
        while True:
            yield X[:2], np.zeros((2, 1), np.float32)

    class Pairs(keras.utils.Sequence):
        def __len__(self):
            return 3

        def __getitem__(self, index):
            return next(generator())

    def told(*data, **options):
        model.fit(*data, verbose=2, **options)
        lines = capsys.readouterr().out.splitlines()
        return lines[0] if lines[0].startswith("Train") else None

    with imperative():
        model = keras.Sequential([keras.layers.Dense(1, input_shape=(2,))])
        model.compile("sgd", "mse")
        dataset = tf.data.Dataset.from_tensor_slices((X, X[:, :1])).batch(2)
        assert told(generator(), steps_per_epoch=3) == "Train for 3 steps"
        assert told(Pairs()) == "Train on 6 samples"
        assert told(dataset) is None
        assert told(dataset.repeat(), steps_per_epoch=2, validation_data=dataset) == "Train for 2 steps, validate for 4 steps"
        assert told(X, X[:, :1], validation_data=dataset) == "Train on 7 samples, validate for 4 steps"
        assert told(X[:6], X[:6, :1], steps_per_epoch=3) == "Train on 6 samples"
        with pytest.raises(ValueError, match="The number of samples 7 is not divisible by steps 3"):
            model.fit(X, X[:, :1], steps_per_epoch=3)


def test_metrics_that_a_model_inside_was_compiled_with_are_not_reported():
    inner = keras.Sequential([keras.layers.Dense(1, input_shape=(2,))])
    inner.compile("sgd", "mse", metrics=["mae"])
    outer = keras.Sequential([inner, keras.layers.Dense(1)])
    outer.compile("sgd", "mse")
    assert outer.metrics == [] and outer.metrics_names == ["loss"] and np.ndim(outer.train_on_batch(X, X[:, :1])) == 0
