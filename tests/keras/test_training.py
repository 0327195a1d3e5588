"""compile, fit, evaluate and predict: values, weights of samples, sources of data, callbacks, what is printed."""
from __future__ import annotations

import re
import threading
from collections import Counter

import numpy as np
import pytest

import penstock as tf
from penstock.keras.engine import batches
from support.process import python

pytestmark = pytest.mark.process
keras = tf.keras


def line_model(loss="mse", **kwargs):
    """One unit without activation, that begins with zeros."""
    model = keras.Sequential([keras.layers.Dense(1, input_shape=(2,), kernel_initializer="zeros", name="line")])
    model.compile(keras.optimizers.SGD(0.1), loss, **kwargs)
    return model


X = np.arange(12, dtype=np.float32).reshape(6, 2) / 10
Y = X.sum(axis=1, keepdims=True)


def test_one_step_by_hand():
    model = line_model()
    loss = model.train_on_batch(X, Y)
    np.testing.assert_allclose(loss, np.mean(Y ** 2), rtol=1e-5)
    np.testing.assert_allclose(model.get_weights()[0], 0.1 * 2 * X.T.dot(Y) / 6, rtol=1e-5)


def test_weights_of_samples_and_classes():
    model, weights = line_model(), np.array([0, 1, 2, 0, 0, 3.0])
    np.testing.assert_allclose(model.test_on_batch(X, Y, sample_weight=weights), np.mean(weights[:, None] * Y ** 2), rtol=1e-5)
    np.testing.assert_allclose(model.test_on_batch(X, Y), np.mean(Y ** 2), rtol=1e-5)  # a step of its own
    labels = np.array([0, 1, 0, 1, 1, 0])
    loss = model.train_on_batch(X, labels, class_weight={0: 2.0, 1: 0.5})
    np.testing.assert_allclose(loss, np.mean(np.where(labels, 0.5, 2.0) * labels ** 2), rtol=1e-5)
    with pytest.raises(ValueError, match="must contain all classes"):
        model.train_on_batch(X, labels, class_weight={0: 1.0})


def test_metrics_add_up_over_batches_and_are_reset():
    model = line_model(metrics=["mae", keras.metrics.MeanSquaredError(name="mse2")])
    assert model.metrics_names == ["loss", "mean_absolute_error", "mse2"]
    first = model.evaluate(X, Y, batch_size=4, verbose=0)
    np.testing.assert_allclose(first, [np.mean(Y ** 2), np.mean(np.abs(Y)), np.mean(Y ** 2)], rtol=1e-5)
    assert model.evaluate(X, Y, batch_size=4, verbose=0) == first


def test_two_outputs_report_their_losses():
    x = keras.Input((2,))
    outputs = [keras.layers.Dense(1, name=name, kernel_initializer="zeros")(x) for name in "ab"]
    model = keras.Model(x, outputs)
    model.compile("sgd", {"a": "mse", "b": "mae"}, metrics={"a": ["mae"]}, loss_weights=[1.0, 0.5])
    assert model.metrics_names == ["loss", "a_loss", "b_loss", "a_mean_absolute_error"]
    total, a, b, mae = model.test_on_batch(X, {"a": Y, "b": Y})
    np.testing.assert_allclose([total, a, b, mae], [a + 0.5 * b, np.mean(Y ** 2), np.mean(Y), np.mean(Y)], rtol=1e-5)
    with pytest.raises(ValueError, match="Unknown entries"):
        model.compile("sgd", {"a": "mse", "c": "mse"})


@pytest.mark.parametrize("kind", ["generator", "sequence", "dataset", "tensors"])
def test_other_sources_train_as_arrays_do(kind):
    wanted = line_model()
    wanted.fit(X, Y, batch_size=2, epochs=2, shuffle=False, verbose=0)
    model = line_model()

    class Batches(keras.utils.Sequence):
        def __len__(self):
            return 3

        def __getitem__(self, index):
            return X[2 * index:2 * index + 2], Y[2 * index:2 * index + 2]

    def generate():
        while True:
            yield from Batches()

    data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(2).repeat()
    if kind == "tensors":
        x, y = data.make_one_shot_iterator().get_next()
        model.fit(x, y, steps_per_epoch=3, epochs=2, verbose=0)
    else:
        source = {"generator": generate, "sequence": Batches, "dataset": lambda: data}[kind]()
        model.fit(source, steps_per_epoch=3, epochs=2, shuffle=False, verbose=0)
    np.testing.assert_allclose(model.get_weights()[0], wanted.get_weights()[0], rtol=1e-5)


def test_a_dataset_without_steps_is_gone_through_in_each_epoch():
    model = line_model()
    history = model.fit(tf.data.Dataset.from_tensor_slices((X, Y)).batch(4), epochs=2, verbose=0,
                        validation_data=tf.data.Dataset.from_tensor_slices((X, Y)).batch(4))
    assert len(history.history["val_loss"]) == 2 and history.history["loss"][1] < history.history["loss"][0]
    assert model.predict(tf.data.Dataset.from_tensor_slices(X).batch(4)).shape == (6, 1)


def test_a_generator_that_fails_says_so():
    def fail():
        yield X, Y
        raise OSError("no more disk")

    with pytest.raises(OSError, match="no more disk"):
        line_model().fit(fail(), steps_per_epoch=3, verbose=0)


def test_what_is_printed(capsys):
    line_model(metrics=["mae"]).fit(X, Y, batch_size=2, epochs=2, validation_split=1 / 3, verbose=2)
    text = capsys.readouterr().out
    assert re.fullmatch(r"Train on 4 samples, validate on 2 samples\n"
                        r"(Epoch \d/2\n4/4 - \d+s - loss: \d\.\d{4} - mean_absolute_error: \d\.\d{4} - val_loss: \d\.\d{4} - "
                        r"val_mean_absolute_error: \d\.\d{4}\n){2}", text), text


def test_the_bar_ends_with_times_and_values(capsys):
    line_model().fit(X, Y, batch_size=2, verbose=1)
    assert re.search(r"\r6/6 \[=+\] - \d+s \d+[mu]?s/sample - loss: \d\.\d{4}\n$", capsys.readouterr().out)


def test_callbacks_are_called_in_order(tmp_path):
    calls = []

    class Recorder(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            calls.append("train")

        def on_epoch_begin(self, epoch, logs=None):
            calls.append(f"epoch {epoch}")

        def on_train_batch_end(self, batch, logs=None):
            calls.append((batch, sorted(logs)))

        def on_test_begin(self, logs=None):
            calls.append("test")

        def on_epoch_end(self, epoch, logs=None):
            calls.append(sorted(logs))

    log = tmp_path / "log.csv"
    line_model().fit(X, Y, batch_size=3, epochs=1, validation_data=(X, Y), verbose=0, callbacks=[Recorder(), keras.callbacks.CSVLogger(str(log))])
    batch = ["batch", "loss", "size"]
    assert calls == ["train", "epoch 0", (0, batch), (1, batch), "test", ["loss", "val_loss"]]
    assert log.read_text().splitlines()[0] == "epoch,loss,val_loss"


def test_learning_rates_change():
    model = line_model()
    schedule = keras.callbacks.LearningRateScheduler(lambda epoch: 0.5 / (epoch + 1))
    history = model.fit(X, Y, epochs=2, verbose=0, callbacks=[schedule])
    np.testing.assert_allclose(history.history["lr"], [0.5, 0.25])
    plateau = keras.callbacks.ReduceLROnPlateau("loss", factor=0.1, patience=1, min_delta=100)
    model.fit(X, Y, epochs=3, verbose=0, callbacks=[plateau])
    assert keras.backend.get_value(model.optimizer.lr) < 0.25


def test_early_stopping_restores_the_best_weights():
    model = line_model()
    stop = keras.callbacks.EarlyStopping("loss", min_delta=100, patience=2, restore_best_weights=True)
    history = model.fit(X, Y, epochs=9, verbose=0, shuffle=False, callbacks=[stop])
    again = line_model()
    again.fit(X, Y, epochs=1, verbose=0, shuffle=False)
    assert len(history.epoch) == 3
    np.testing.assert_allclose(model.get_weights()[0], again.get_weights()[0], rtol=1e-5)


def test_subclassed_models_learn_their_inputs_from_data():
    class Two(keras.Model):
        def __init__(self):
            super().__init__(name="two")
            self.first, self.second = keras.layers.Dense(3, activation="relu"), keras.layers.Dense(1)

        def call(self, inputs):
            return self.second(self.first(inputs))

    model = Two()
    model.compile("adam", "mse")
    model.fit(X, Y, verbose=0)
    assert [weight.name for weight in model.weights] == ["two/dense/kernel:0", "two/dense/bias:0", "two/dense_1/kernel:0", "two/dense_1/bias:0"]
    assert model.predict(X).shape == (6, 1)


def test_updates_and_losses_of_layers_are_part_of_a_step():
    model = keras.Sequential([keras.layers.BatchNormalization(input_shape=(2,), momentum=0.5),
                              keras.layers.Dense(1, kernel_regularizer=keras.regularizers.l2(0.1), kernel_initializer="ones")])
    model.compile("sgd", "mse")
    assert model.test_on_batch(X, Y) == pytest.approx(0.2 + np.mean((X.sum(axis=1, keepdims=True) / np.sqrt(1.001) - Y) ** 2), rel=1e-4)
    model.train_on_batch(X, Y)
    np.testing.assert_allclose(model.layers[0].get_weights()[2], 0.5 * X.mean(axis=0), rtol=1e-5)


def test_data_that_does_not_fit_is_refused():
    model = line_model()
    with pytest.raises(ValueError, match=r"expected line_input to have shape \(2,\) but got array with shape \(3,\)"):
        model.predict(np.zeros((4, 3)))
    with pytest.raises(ValueError, match="same number of samples"):
        model.fit(X, Y[:3], verbose=0)
    with pytest.raises(RuntimeError, match="must compile"):
        keras.Sequential([keras.layers.Dense(1, input_shape=(2,))]).fit(X, Y)
    with pytest.raises(ValueError, match=r"target array with shape \(6, 3\) was passed for an output of shape \(None, 1\)"):
        model.fit(X, np.zeros((6, 3)), verbose=0)
    model.compile("sgd", "categorical_crossentropy")
    with pytest.raises(ValueError, match="same number of samples"):
        model.fit(X, Y[:3], verbose=0)
    with pytest.raises(ValueError, match="expects targets to be binary matrices"):
        model.fit(X, Y, verbose=0)
    with pytest.raises(ValueError, match="specify the number of steps via the `steps_per_epoch` argument"):
        model.fit(iter([(X, Y)]))
    with pytest.raises(ValueError, match="not supported when data is a generator"):
        model.fit(iter([(X, Y)]), Y, steps_per_epoch=1)
    stateful = keras.Sequential([keras.layers.GRU(2, stateful=True, batch_input_shape=(4, 1, 2)), keras.layers.Dense(1)])
    stateful.compile("sgd", "mse")
    with pytest.raises(ValueError, match="number of samples that can be divided by the batch size"):
        stateful.fit(X[:, None], Y, batch_size=4, verbose=0)


def test_generators_are_not_announced(capsys):
    model = line_model()
    history = model.fit(X, Y, verbose=2)
    assert capsys.readouterr().out.startswith("Train on 6 samples\n") and history.params["verbose"] == 2
    model.fit(iter([(X, Y)]), steps_per_epoch=1, verbose=2)
    assert capsys.readouterr().out.startswith("1/1 - ")


def test_large_batches_come_ahead_in_the_same_order(monkeypatch):
    weights = []
    for large in (1 << 40, 1):
        monkeypatch.setattr(batches, "_LARGE", large)
        np.random.seed(0)
        model = line_model()
        model.fit(X, Y, batch_size=2, epochs=3, verbose=0)
        weights.append(model.get_weights())
    np.testing.assert_array_equal(weights[0][0], weights[1][0])
    assert not [thread for thread in threading.enumerate() if thread.name == "keras-prefetch"]


@pytest.mark.parametrize(("name", "options", "nodes"), [
    ("CuDNNLSTM", {}, 171), ("CuDNNLSTM", {"return_sequences": True}, 169), ("CuDNNLSTM", {"return_state": True, "go_backwards": True}, 181),
    ("CuDNNGRU", {}, 134), ("CuDNNGRU", {"return_sequences": True}, 132), ("CuDNNGRU", {"return_state": True}, 138)])
def test_seeds_behind_cudnn_layers_count_tensorflows_nodes(name, options, nodes):
    """The numbers are TensorFlow 1.15's, whose own layers run on GPUs only."""
    with tf.Graph().as_default() as graph:
        inputs = tf.keras.Input((5, 2))
        before = graph.next_op_seed()
        getattr(tf.keras.layers, name)(3, **options)(inputs)
        assert graph.next_op_seed() - before == nodes


def test_the_first_model_of_a_process_may_begin_with_an_operation():
    """Nothing of models is loaded yet when the layer behind the operation is called."""
    assert python("""
        import penstock as tf
        source = tf.keras.Input((4,))
        outputs = tf.keras.layers.Dense(2)(source[:, :2])
        model = tf.keras.Model(source, outputs)
        print([layer.name for layer in model.layers], len(model.weights))
    """).stdout.strip() == "['input_1', 'tf_op_layer_strided_slice', 'dense'] 2"


def test_a_layer_adds_metrics_without_a_model():
    assert python("""
        import penstock as tf

        class Reporting(tf.keras.layers.Layer):
            def call(self, inputs):
                self.add_metric(tf.reduce_mean(inputs), name="level", aggregation="mean")
                return inputs

        layer = Reporting()
        layer(tf.ones([2, 3]))
        print([metric.name for metric in layer.metrics])
    """).stdout.strip() == "['level']"


def test_layers_of_losses_and_metrics_come_last():
    x = keras.Input((3,), name="x")
    inner = keras.Input((2,), name="inner")
    decoder = keras.Model(inner, keras.layers.Dense(3, name="out")(inner), name="decoder")
    model = keras.Model(x, decoder(keras.layers.Dense(2, name="code")(x)))
    error = keras.backend.square(model.output - x)
    model.add_loss(keras.backend.mean(error))
    model.add_metric(keras.backend.sum(error), name="error", aggregation="mean")
    names = [layer.name for layer in model.layers]
    assert names[:3] == ["x", "code", "decoder"] and names[-1].startswith("add_metric")  # TensorFlow 1.15's order
    assert [name.startswith("add_loss") for name in names].index(True) == len(names) - 3
    again = keras.Model.from_config(model.get_config())
    assert [layer.name for layer in again.layers] == names


def test_a_model_without_losses_of_outputs_says_so(caplog):
    x = keras.Input((3,))
    model = keras.Model(x, keras.layers.Dense(3, name="out")(x))
    model.add_loss(keras.backend.mean(keras.backend.square(model.output)))
    model.compile("sgd")
    assert "Output out missing from loss dictionary" in caplog.text


def test_weights_that_are_trained_no_more_are_noticed_by_single_batches(caplog, monkeypatch):
    monkeypatch.setattr("penstock.platform.logging._counts", Counter())  # it is said once per process
    model = line_model()
    model.trainable = False
    model.train_on_batch(X, Y)
    assert "Discrepancy between trainable weights" in caplog.text


def test_backend_functions_are_not_converted(caplog):
    class Distance(keras.layers.Layer):
        def call(self, inputs):
            return keras.backend.exp(keras.backend.square(inputs))

    keras.Sequential([Distance(input_shape=(2,))])
    assert "AutoGraph" not in caplog.text


def test_seeds_after_a_fit_of_dropout_behind_an_activity_regularizer():
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        a1, a2, x = (keras.layers.Input((6,)) for _ in range(3))
        hidden = keras.layers.Dense(8, activity_regularizer=keras.regularizers.l1(1e-4))(x)
        base = keras.Model(x, keras.layers.Dense(4)(keras.layers.Dropout(0.1)(hidden)))
        model = keras.Model([a1, a2], keras.layers.Dense(1)(keras.layers.subtract([base(a1), base(a2)])))
        model.compile("sgd", "mse")
        before = tf.get_seed(None)[1]
        model.fit([np.ones((8, 6))] * 2, np.ones((8, 1)), verbose=0)
        assert tf.get_seed(None)[1] - before == 249  # TensorFlow 1.15's


def test_predictions_end_what_metrics_have_counted():
    """The first train_on_batch after a fit reports what the fit has counted, too, as in TensorFlow; after predictions it begins anew."""
    x, y = np.arange(16, dtype=np.float32).reshape(8, 2), np.array([[0], [1]] * 4, np.float32)

    def accuracy(between):
        model = keras.Sequential([keras.layers.Dense(1, kernel_initializer="ones", input_shape=(2,))])
        model.compile(keras.optimizers.SGD(0.0), "mse", metrics=["binary_accuracy"])
        model.fit(x, y, verbose=0)
        between(model)
        return float(model.train_on_batch(x[1:2], y[1:2])[1])

    assert accuracy(lambda model: None) == pytest.approx(5 / 9)
    assert accuracy(lambda model: model.predict(x)) == 1


def test_predictions_of_arrays_of_different_lengths_are_refused():
    first, second = keras.Input((2,)), keras.Input((2,))
    model = keras.Model([first, second], [keras.layers.Dense(1)(first), keras.layers.Dense(1)(second)])
    with pytest.raises(ValueError, match=r"Output shape = \(4, 1\), expected output shape = shape \(8, 1\)"):
        model.predict([np.ones((8, 2)), np.ones((4, 2))])


def test_weights_of_steps_need_steps():
    model = keras.Sequential([keras.layers.Dense(1, input_shape=(2,))])
    model.compile("sgd", "mse", sample_weight_mode="temporal")
    with pytest.raises(ValueError, match="restricted to outputs that are at least 3D"):
        model.fit(np.ones((4, 2)), np.ones((4, 1)), verbose=0)


@pytest.mark.parametrize("callback", [tf.keras.callbacks.LearningRateScheduler(lambda epoch: 0.1), tf.keras.callbacks.ReduceLROnPlateau("loss")])
def test_a_schedule_is_not_changed_by_callbacks(callback):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
    model.compile(tf.keras.optimizers.SGD(tf.keras.optimizers.schedules.ExponentialDecay(0.1, 5, 0.5)), "mse")
    with pytest.raises(ValueError, match="learning rate of SGD is the schedule ExponentialDecay, which this callback cannot read"):
        model.fit(np.ones([4, 2]), np.ones([4, 1]), callbacks=[callback], verbose=0)
