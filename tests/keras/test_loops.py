"""What Keras's two loops do with a Sequence and with numbers of steps. All numbers and words are those of TensorFlow 1.15.5 for the same program.

The model predicts 0, so that a batch whose targets are n has the loss n * n: losses tell which batch it was.
"""
from __future__ import annotations

import contextlib
import random

import numpy as np
import pytest

import penstock as tf
from support.imperative import imperative

pytestmark = pytest.mark.process
keras = tf.keras


class Numbered(keras.utils.Sequence):
    """Batches of two rows; the targets are the number of the batch."""

    def __init__(self, count):
        self.count, self.ends = count, 0

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return np.ones((2, 1), np.float32), np.full((2, 1), index, np.float32)

    def on_epoch_end(self):
        self.ends += 1


class Told(keras.callbacks.Callback):
    """The numbers of the batches, by their losses; the sizes and losses of those of validation."""

    def __init__(self):
        super().__init__()
        self.batches, self.validation, self.ends = [], [], []

    def on_epoch_begin(self, epoch, logs=None):
        self.batches.append([])

    def on_train_batch_end(self, batch, logs=None):
        self.batches[-1].append(round(float(logs["loss"]) ** 0.5))

    def on_test_batch_end(self, batch, logs=None):
        self.validation.append((logs["size"], round(float(logs["loss"]), 3)))

    def on_epoch_end(self, epoch, logs=None):
        self.ends.append(epoch)

    def on_train_end(self, logs=None):
        self.ends.append("train")


def model():
    """A line that is 0, and stays so."""
    made = keras.Sequential([keras.layers.Dense(1, kernel_initializer="zeros", input_shape=(1,))])
    made.compile(keras.optimizers.SGD(0.0), "mse", metrics=["mae"])
    return made


def rows(count):
    return np.ones((count, 1), np.float32), np.arange(float(count), dtype=np.float32).reshape(count, 1)


def seeded():
    random.seed(3)
    np.random.seed(4)
    tf.set_random_seed(5)


ORDER = [[0, 2, 3, 5, 4, 1], [2, 5, 3, 0, 4, 1], [4, 1, 2, 5, 3, 0]]  # of Python's generator
IN_ORDER = [list(range(6))] * 3
NEWER, NEWER_ALONE = [[3, 5, 2, 4, 1, 0]] * 3, [[3, 4, 1, 2, 5, 0]] * 3  # of the seed of the graph


@pytest.mark.parametrize(("eager", "call", "options", "expected", "ends"), [
    (False, "fit", {}, ORDER, 2), (False, "fit", {"workers": 3}, ORDER, 2), (False, "fit", {"workers": 0}, IN_ORDER, 0),
    (False, "fit_generator", {"shuffle": False}, IN_ORDER, 2), (False, "fit", {"steps_per_epoch": 4}, [[0, 2, 3, 5], [4, 1, 2, 5], [3, 0, 4, 1]], 1),
    (True, "fit", {}, NEWER, None), (True, "fit", {"workers": 3}, NEWER, None), (True, "fit", {"workers": 0}, NEWER_ALONE, 0),
    (True, "fit", {"shuffle": False}, IN_ORDER, None), (True, "fit", {"steps_per_epoch": 4}, [[3, 5, 2, 4]] * 3, None),
    (True, "fit", {"steps_per_epoch": 4, "shuffle": False}, [[0, 1, 2, 3]] * 3, None),
    (True, "fit", {"steps_per_epoch": 9, "shuffle": False, "workers": 0}, [list(range(6))], 0),
    (True, "fit_generator", {}, ORDER, 2), (True, "fit_generator", {"workers": 0}, IN_ORDER, 0)])
def test_the_order_of_a_sequence(eager, call, options, expected, ends):
    """(Where TensorFlow's workers tell a Sequence of the end of an epoch when they come to it, ``ends`` is None.)"""
    with imperative() if eager else contextlib.nullcontext():
        seeded()
        told, sequence = Told(), Numbered(6)
        getattr(model(), call)(sequence, epochs=3, verbose=0, callbacks=[told], **options)
    assert told.batches == expected
    assert ends is None or sequence.ends in (ends, ends + 1)  # the last one comes when the training is over, or not


def test_a_sequence_is_evaluated_from_its_beginning_each_time():
    seeded()
    told, sequence = Told(), Numbered(3)
    model().fit(Numbered(6), epochs=2, verbose=0, callbacks=[told], validation_data=sequence)
    assert told.batches == ORDER[:2] and sequence.ends == 0
    assert told.validation == [(2, 0.0), (2, 1.0), (2, 4.0)] * 2


def test_predictions_for_a_sequence_in_imperative_style():
    with imperative():
        assert model().predict(Numbered(4)).shape == model().predict_generator(Numbered(4)).shape == (8, 1)
        assert model().predict(Numbered(4), steps=3).shape == (6, 1)


ALL, PARTS = [(1, 13.0)] * 2, [(2, 0.5), (2, 6.5), (2, 20.5), (1, 36.0)]


@pytest.mark.parametrize(("eager", "data", "steps", "expected", "losses", "first_line"), [
    (False, lambda: dict(zip("xy", rows(6)), batch_size=2), 2, ALL * 2, [13.0, 13.0], "Train on 6 samples, validate on 7 samples"),
    (False, lambda: {"x": Numbered(3)}, 2, PARTS * 2, [15.875, 15.875], "Epoch 1/2"),
    (True, lambda: dict(zip("xy", rows(6)), batch_size=2), 2, PARTS[:2] * 2, [2.0, 2.0], "Train on 6 samples, validate on 7 samples"),
    (True, lambda: dict(zip("xy", rows(6)), batch_size=2), 5, PARTS, [13.0], "Train on 6 samples, validate on 7 samples"),
    (True, lambda: {"x": Numbered(3)}, 2, PARTS[:2] * 2, [2.0, 2.0], "Train on 6 samples, validate on 7 samples")])
def test_steps_of_a_validation_of_arrays(eager, data, steps, expected, losses, first_line, capsys):
    """In graphs each step has all rows, or all batches are evaluated beside a generator; the newer loop stops earlier, and divides by all rows."""
    with imperative() if eager else contextlib.nullcontext():
        told = Told()
        history = model().fit(epochs=2, verbose=2, callbacks=[told], validation_data=rows(7), validation_steps=steps, **data()).history
    assert told.validation == expected
    np.testing.assert_allclose(history["val_loss"], losses, rtol=1e-6)
    assert capsys.readouterr().out.split("\n")[0] == first_line


def test_an_evaluation_that_has_not_all_of_its_steps_divides_by_them(caplog):
    data = tf.data.Dataset.from_tensor_slices(rows(7)).batch(2)
    np.testing.assert_allclose(model().evaluate(data, steps=5, verbose=0), [12.7, 3.0], rtol=1e-6)
    assert "Make sure that your dataset can generate at least `steps * epochs` batches (in this case, 5 batches)" in caplog.text


def test_steps_of_arrays_in_imperative_style():
    """A training goes on with the next batches; evaluations have the first ones."""
    with imperative():
        told, made = Told(), model()
        made.fit(*rows(6), batch_size=2, epochs=2, steps_per_epoch=1, shuffle=False, verbose=0, callbacks=[told])
        assert told.batches == [[1], [3]]  # the roots of 0.5 and of 6.5, rounded
        np.testing.assert_allclose(made.evaluate(*rows(7), batch_size=2, steps=3, verbose=0), [55 / 7, 2.5], rtol=1e-6)
        with pytest.raises(ValueError, match="Number of samples 7 is less than samples required for specified batch_size 2 and steps 7"):
            made.fit(*rows(7), batch_size=2, steps_per_epoch=7, verbose=0)
        with pytest.raises(ValueError, match="The number of samples 7 is not divisible by steps 2"):
            made.predict(rows(7)[0], steps=2)


@pytest.mark.parametrize(("eager", "expected"), [(False, []), (True, [0, "train"])])
def test_callbacks_learn_of_an_interruption_in_imperative_style(eager, expected):
    class Interrupting(Told):
        def on_train_batch_begin(self, batch, logs=None):
            if batch == 1:
                raise KeyboardInterrupt

    with imperative() if eager else contextlib.nullcontext():
        told, made = Interrupting(), model()
        with pytest.raises(KeyboardInterrupt):
            made.fit(*rows(6), batch_size=2, epochs=3, verbose=0, callbacks=[told])
        assert told.ends == expected
        assert len(made.fit(*rows(6), batch_size=2, epochs=2, verbose=0).epoch) == 2


def test_no_data_are_refused():
    with pytest.raises(ValueError, match="you should specify the `steps_per_epoch` argument"):
        model().fit(None, rows(6)[1], verbose=0)
