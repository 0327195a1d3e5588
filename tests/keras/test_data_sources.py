"""What training learns of its data: the inputs of subclassed models, lengths of datasets, sizes of batches; imperative style, too."""
import subprocess
import sys

import numpy as np
import pytest

import penstock as tf
from penstock.keras import models

pytestmark = pytest.mark.process
X = np.arange(24, dtype=np.float32).reshape(12, 2) / 24
Y = X.sum(1, keepdims=True)


class Net(tf.keras.Model):
    """A subclass, which does not know its inputs before it is called."""

    def __init__(self):
        super().__init__()
        self.out = tf.keras.layers.Dense(1, kernel_initializer="ones")

    def call(self, inputs):
        return self.out(inputs)


def batches(size=6):
    return tf.data.Dataset.from_tensor_slices((X, Y * 2)).batch(size)


def generated():
    while True:
        yield from ((X[start:start + 6], Y[start:start + 6] * 2) for start in (0, 6))


class Batches(tf.keras.utils.Sequence):
    """The same batches, as a Sequence."""

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return X[6 * index:6 * index + 6], Y[6 * index:6 * index + 6] * 2


@pytest.mark.parametrize("make", [batches, lambda: batches().repeat(), generated, Batches], ids=["dataset", "endless", "generator", "Sequence"])
def test_a_subclassed_model_learns_its_inputs_from_the_first_element(make):
    model, known = Net(), tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="ones", input_dim=2)])
    losses = []
    for each in (model, known):
        each.compile("sgd", "mse", metrics=["mae"])
        history = each.fit(make(), steps_per_epoch=2, epochs=1, shuffle=False, verbose=0)
        losses.append(history.history["loss"])
    assert losses[0] == losses[1]
    np.testing.assert_allclose(losses[0], [1.2297053784132004], rtol=1e-5)  # TensorFlow 1.15


def test_a_dataset_without_steps_is_whole_in_every_epoch():
    model = Net()
    model.compile(tf.keras.optimizers.SGD(0.0), "mse")
    losses = model.fit(batches(), epochs=3, verbose=0).history["loss"]
    assert losses[0] == losses[1] == losses[2]


@pytest.mark.parametrize("steps, expected", [(2, [1.2494212836027145] * 3), (1, [0.29108795523643494] * 3)])
def test_validation_begins_again_with_the_first_element(steps, expected):
    """The losses are TensorFlow 1.15's."""
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="ones", input_dim=2)])
    model.compile("sgd", "mse")
    history = model.fit(X, Y, epochs=3, batch_size=6, shuffle=False, verbose=0, validation_data=batches(), validation_steps=steps)
    np.testing.assert_allclose(history.history["val_loss"], expected, rtol=1e-5)


def test_a_validation_dataset_that_is_too_short_ends_the_training():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_dim=2)])
    model.compile("sgd", "mse")
    assert model.fit(X, Y, epochs=3, verbose=0, validation_data=batches(), validation_steps=3).epoch == [0]


@pytest.mark.parametrize(("call", "argument"), [
    (lambda model: model.fit(batches().repeat(), verbose=0), "steps_per_epoch"),
    (lambda model: model.fit(X, Y, validation_data=batches().repeat(), verbose=0), "validation_steps"),
    (lambda model: model.evaluate(batches().repeat(), verbose=0), "steps"), (lambda model: model.predict(batches().repeat()), "steps")])
def test_a_dataset_without_end_needs_steps(call, argument):
    model = Net()
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match=f"infinitely repeating dataset, you must specify the `{argument}` argument"):
        call(model)


def test_the_length_of_a_dataset_is_known_before_the_first_epoch(capsys):
    model = Net()
    model.compile("sgd", "mse")
    model.fit(batches(3), verbose=2, validation_data=batches())
    assert capsys.readouterr().out.startswith("Train on 4 steps, validate on 2 steps\n")


def test_a_dataset_that_ends_with_an_epoch_ends_the_training():
    model = Net()
    model.compile("sgd", "mse")
    assert model.fit(batches(), epochs=3, steps_per_epoch=2, verbose=0).epoch == [0]
    with pytest.raises(ValueError, match="Empty training data"):
        model.fit(batches().take(0), verbose=0)


def test_a_dataset_has_the_size_of_its_batches():
    model = Net()
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match="`batch_size` argument must not be specified for the given input type"):
        model.fit(batches(), batch_size=3, verbose=0)
    model.fit(X, Y, batch_size=3, validation_data=batches(), verbose=0)


def test_a_batch_size_must_be_that_of_the_inputs():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, batch_input_shape=(4, 2))])
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match="The `batch_size` argument value 5 is incompatible with the specified batch size of your Input Layer: 4"):
        model.fit(X, Y, batch_size=5, verbose=0)
    model.fit(X, Y, verbose=0)
    assert model.predict(X).shape == (12, 1)


def test_metrics_of_compile_have_no_weights_of_the_model():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_dim=2)])
    model.compile("sgd", "mse", metrics=[tf.keras.metrics.MeanSquaredError()])
    assert len(model.get_weights()) == 2
    again = tf.keras.models.clone_model(model)
    again.set_weights(model.get_weights())


def test_a_chain_is_not_cloned_on_top_of_layers():
    model = tf.keras.Sequential([tf.keras.layers.Dense(4, input_dim=4)])
    start = tf.keras.Input((4,))
    assert tf.keras.models.clone_model(model, input_tensors=start).count_params() == 20
    with pytest.raises(ValueError, match="on top of a tensor that comes from a Keras layer other than an `InputLayer`"):
        tf.keras.models.clone_model(model, input_tensors=tf.keras.layers.Dense(4)(start))
    for clone, wrong in ((models.clone_sequential, tf.keras.Model(start, tf.keras.layers.Dense(4)(start))), (models.clone_functional, model)):
        with pytest.raises(ValueError, match="Expected `model` argument to be a"):
            clone(wrong)


IMPERATIVE = """
import numpy as np
import penstock as tf
from penstock.keras import models
tf.enable_eager_execution()
keras, layers, K = tf.keras, tf.keras.layers, tf.keras.backend
x = np.linspace(-1, 1, 24, dtype=np.float32).reshape(12, 2)

def train():
    inputs = keras.Input((2,))
    hidden = layers.BatchNormalization()(layers.Dense(3, kernel_initializer="ones")(inputs))
    outputs = layers.Dense(2, kernel_initializer="ones")(layers.Dropout(0.5)(hidden))
    model = keras.Model(inputs, outputs)
    model.add_loss(K.mean(K.sum(K.square(outputs - inputs), axis=-1)))  # operations on symbols, outside of layers
    model.compile("adam")
    tf.set_random_seed(1)
    return [model.evaluate(x, verbose=0), model.train_on_batch(x) > 0, model.predict(x).shape, K.learning_phase()]

first = train()
assert first[0] > 0 and first[1:] == [True, (12, 2), 0], first
K.clear_session()
assert train() == first
assert layers.Dropout(0.5)(tf.ones([2])).numpy().tolist() == [1, 1]  # values do not see the placeholder of symbolic models

class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.out = layers.Dense(1)

    def call(self, inputs):
        return self.out(inputs)

net = Net()
net.build((None, 2))
assert [tuple(weight.shape) for weight in net.weights] == [(2, 1), (1,)]
net.compile("sgd", "mse")
net.fit(tf.data.Dataset.from_tensor_slices((x, x[:, :1])).batch(4), epochs=2, verbose=0)
"""


def test_imperative_style():
    subprocess.run([sys.executable, "-c", IMPERATIVE], check=True, timeout=300)


@pytest.mark.parametrize(("batch_count", "steps", "losses"), [(3, 5, [0.8881]), (3, 2, [0.9418, 0.7807])])  # TensorFlow 1.15
@pytest.mark.parametrize("workers", [0, 1])
def test_a_generator_that_ends_early_ends_the_training(batch_count, steps, losses, workers):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="ones", input_dim=2)])
    model.compile("sgd", "mse")
    history = model.fit_generator(((np.ones([4, 2]), np.ones([4, 1])) for _ in range(batch_count)), steps, epochs=3, verbose=0, workers=workers)
    np.testing.assert_allclose(history.history["loss"], losses, atol=1e-4)


def test_a_generator_without_elements_is_an_error():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_dim=2)])
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match="Empty training data"):
        model.fit_generator(iter([]), 2, epochs=3, verbose=0)


def test_batches_of_generators_weigh_by_their_sizes_in_training_and_equally_in_evaluations(tmp_path):
    """As in TensorFlow 1.15; steps of TensorBoard count batches, those of epochs samples."""
    class Rows(tf.keras.utils.Sequence):
        def __len__(self):
            return 2

        def __getitem__(self, index):
            rows = slice(8 * index, 8 * index + 8)
            return np.arange(12.0)[rows, None], np.zeros([12, 1])[rows]

    sizes = []
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, use_bias=False, kernel_initializer="ones", input_shape=(1,))])
    model.compile(tf.keras.optimizers.SGD(0.0), "mae")
    history = model.fit_generator(Rows(), shuffle=False, verbose=0, callbacks=[
        tf.keras.callbacks.LambdaCallback(on_batch_end=lambda batch, logs: sizes.append(logs["size"])),
        tf.keras.callbacks.TensorBoard(str(tmp_path), update_freq="batch")]).history
    steps = [(value.tag, event.step) for path in tmp_path.iterdir()
             for event in tf.train.summary_iterator(str(path)) for value in event.summary.value]
    assert sizes == [8, 4] and history["loss"] == [5.5] and model.evaluate_generator(Rows()) == 6.5
    assert steps == [("batch_loss", 0), ("batch_loss", 1), ("epoch_loss", 12)]


# --- arrays and steps ----------------------------------------------------------------------------------------------------


def _small_model():
    model = tf.keras.Sequential([tf.keras.layers.Dense(3, input_shape=(4,), kernel_initializer="ones"),
                                 tf.keras.layers.Dense(1, activation="sigmoid")])
    model.layers[1].set_weights([np.array([[0.1], [-0.2], [0.3]]), np.zeros(1)])
    model.compile("sgd", "binary_crossentropy")
    return model


def _arrays():
    return np.random.RandomState(0).randn(20, 4).astype("f"), np.random.RandomState(1).randint(0, 2, (20,))


def test_each_of_some_steps_takes_all_arrays(capsys):
    model, other, (x, y) = _small_model(), _small_model(), _arrays()
    assert model.predict(x, steps=2).shape == (40, 1)
    np.testing.assert_allclose(model.evaluate(x, y, steps=3, verbose=0), other.evaluate(x, y, verbose=0), rtol=1e-6)
    capsys.readouterr()
    history = model.fit(x, y, steps_per_epoch=3, batch_size=5, verbose=1)
    losses = [other.train_on_batch(x, y) for _ in range(3)]
    np.testing.assert_allclose(history.history["loss"], [np.mean(losses)], rtol=1e-6)
    np.testing.assert_allclose(model.get_weights()[0], other.get_weights()[0], rtol=1e-6)
    shown = capsys.readouterr().out
    assert shown.startswith("Train on 3 samples\n") and "3/3 [====" in shown and "/step" in shown


@pytest.mark.parametrize(("arguments", "words"), [
    (lambda x, y: {"x": x, "y": [y, y]}, "Error when checking model target: .* Expected to see 1 array"),
    (lambda x, y: {"x": x, "y": y, "batch_size": 0}, "positive number of samples"),
    (lambda x, y: {"x": iter([(x, y)]), "validation_split": 0.2}, "Python generator, you cannot use `validation_split`"),
    (lambda x, y: {"x": iter([(x, y)]), "steps_per_epoch": 1, "sample_weight": y}, "`sample_weight` argument is not supported"),
    (lambda x, y: {"x": tf.data.Dataset.from_tensors((x, y)), "y": y}, "You passed a dataset or dataset iterator"),
    (lambda x, y: {"x": tf.data.Dataset.from_tensors((x, y)), "validation_split": 0.2}, r"Received: x=.*validation_split=0\.200000"),
])
def test_what_does_not_fit_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        _small_model().fit(**arguments(*_arrays()), verbose=0)


@pytest.mark.parametrize(("option", "error", "words"), [
    ({"loss_weights": 3}, TypeError, "Could not interpret loss_weights argument: 3"),
    ({"loss_weights": [1, 2]}, ValueError, "one entry per model output. The model has 1 outputs"),
    ({"sample_weight_mode": "bogus"}, ValueError, "sample_weight_mode should be None"),
])
def test_settings_that_do_not_fit_are_refused(option, error, words):
    with pytest.raises(error, match=words):
        _small_model().compile("sgd", "mse", **option)


def test_weights_that_are_not_there():
    with pytest.raises(tf.errors.NotFoundError, match="Failed to find any matching files for /nonexistent"):
        _small_model().load_weights("/nonexistent")
