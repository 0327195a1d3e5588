"""``tf.enable_v2_behavior``, and its parts: each in a process of its own. Expected values are TensorFlow 1.15's."""
from __future__ import annotations

import pytest

from support.process import python

pytestmark = pytest.mark.process

_START = "import numpy as np\nimport penstock as tf\ntf.compat.v1.enable_v2_behavior()\n"


@pytest.fixture
def printed(tmp_path):
    """The lines that a program prints; it is in a file, since AutoGraph reads it."""
    def run(program: str) -> list[str]:
        file = tmp_path / "program.py"
        file.write_text(_START + program)
        return python(f"import runpy; runpy.run_path({str(file)!r})").stdout.splitlines()
    return run


def test_elements_are_compared(printed):
    assert printed("""
a, v = tf.constant([1, 2, 3]), tf.Variable([1., 2.])
print((a == [1, 5, 3]).numpy(), (a != 1).numpy(), (v == 1.).numpy(), a is None)
print({v.experimental_ref(): 1}[v.experimental_ref()], v in [v])
@tf.function
def tenfold_if_two(x):
    if x == 2:
        return x * 10
    return x
print(tenfold_if_two(tf.constant(2)).numpy(), tenfold_if_two(tf.constant(3)).numpy())
with tf.Graph().as_default():
    x = tf.compat.v1.placeholder(tf.float32, [None, 3])
    print(x == x, x.shape[0], x.shape)
""") == ["[ True False  True] [False  True  True] [ True False] False", "1 True", "20 3", "True None (None, 3)"]


def test_extents_are_integers(printed):
    assert printed("""
s = tf.zeros([2, 3]).shape
print(s[0] * 2, type(s[1]).__name__, [x for x in s], tuple(s[1:]), repr(s), s.dims[0].value, tf.TensorShape([None])[:])
""") == ["4 int [2, 3] (3,) TensorShape([2, 3]) 2 (None,)"]


def test_layers_cast_and_metrics_have_the_names_that_were_given(printed, tmp_path):
    assert printed(f"""
layer = tf.keras.layers.Dense(2)
print(layer.dtype, layer(np.zeros((1, 3))).dtype.name, tf.keras.layers.Dense(2, dtype="float64")(np.zeros((1, 3))).dtype.name)
print(tf.layers.Dense(2)(np.zeros((1, 3))).dtype.name, tf.keras.layers.Dense(2, autocast=False).dtype)
m = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
m.compile("sgd", "mse", metrics=["mae", "accuracy"])
print(m.metrics_names)
m.save({str(tmp_path / "model")!r})
print(tf.saved_model.maybe_saved_model_directory({str(tmp_path / "model")!r}))
""")[:3] == ["float32 float32 float64", "float64 float32", "['loss', 'mae', 'accuracy']"]
    assert (tmp_path / "model" / "saved_model.pb").exists()


def test_it_can_be_taken_back(printed):
    assert printed("""
a = tf.constant([1, 2])
tf.compat.v1.disable_v2_behavior()
print(a == tf.constant([1, 2]), repr(a.shape[0]), tf.executing_eagerly())
""") == ["False Dimension(2) False"]


def test_gradients_of_loops_and_recurrent_models_know_their_tensors(printed):
    assert printed("""
@tf.function
def loop(x):
    for i in tf.range(3):
        x = x * x
    return x
x = tf.constant(1.5)
with tf.GradientTape() as tape:
    tape.watch(x)
    y = loop(x)
print(float(tape.gradient(y, x)))
m = tf.keras.Sequential([tf.keras.layers.LSTM(3, input_shape=(4, 2), dropout=.1), tf.keras.layers.Dense(1)])
m.compile("adam", "mse")
print(len(m.fit(np.zeros((8, 4, 2)), np.zeros((8, 1)), epochs=2, verbose=0).history["loss"]))
""") == ["136.6875", "2"]


def test_shuffled_datasets_come_in_another_order_each_time(printed):
    assert printed("""
tf.compat.v1.set_random_seed(0)
d = tf.data.Dataset.range(8).shuffle(8, seed=1)
for _ in range(3):
    print([int(x) for x in d])
d = tf.data.Dataset.range(8).shuffle(8, seed=1, reshuffle_each_iteration=False)
print([int(x) for x in d] == [int(x) for x in d])
d = tf.data.Dataset.range(8).shuffle(8, seed=1).repeat(2)
for _ in range(2):
    print([int(x) for x in d])
""") == ["[1, 5, 2, 7, 4, 0, 6, 3]", "[4, 2, 6, 0, 1, 5, 7, 3]", "[1, 2, 7, 5, 3, 4, 6, 0]", "True",
         "[1, 5, 2, 7, 4, 0, 6, 3, 4, 2, 6, 0, 1, 5, 7, 3]", "[0, 2, 3, 4, 7, 1, 6, 5, 3, 6, 2, 0, 1, 5, 4, 7]"]
