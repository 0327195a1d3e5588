"""What is converted and what is not, where errors point, and what becomes of effects."""
from __future__ import annotations

import functools
import logging as python_logging
import traceback

import numpy as np
import pytest

import penstock as tf
from penstock.autograph.errors import ConversionError
from support.imperative import imperative

pytestmark = pytest.mark.process


def positive(x):
    return x if x > 0 else -x


def value_of(build, *arguments):
    """What a function gives in a session, for values that the graph does not know."""
    with tf.Graph().as_default(), tf.Session() as sess:
        return sess.run(build(*[tf.placeholder_with_default(tf.constant(value), np.shape(value)) for value in arguments]))


def test_calls_are_converted():
    class Scale:
        def __call__(self, x):
            if x > 0:
                x = x * 2
            return x

        @staticmethod
        def twice(function, x):
            return function(function(x))

    scale = Scale()

    def program(x):
        return scale(x), functools.partial(positive)(x), scale.twice(positive, x), [positive(each) for each in (x, x - 10)]

    assert value_of(tf.autograph.to_graph(program), 3) == (6, 3, 3, [3, 7])
    assert value_of(tf.autograph.to_graph(program), -3) == (-3, 3, 3, [3, 13])


def test_recursive_false_leaves_calls_alone():
    with tf.Graph().as_default(), pytest.raises(TypeError, match="Python `bool`"):
        tf.autograph.to_graph(lambda x: positive(x), recursive=False)(tf.placeholder(tf.int32, []))


def test_do_not_convert():
    @tf.autograph.experimental.do_not_convert
    def plain(x):
        return 1 if x is not None else 0

    @tf.autograph.experimental.do_not_convert()
    def fails(x):
        return positive(x)

    assert value_of(tf.autograph.to_graph(lambda x: plain(x) + x), 3) == 4
    with tf.Graph().as_default(), pytest.raises(TypeError, match="Python `bool`"):
        tf.autograph.to_graph(lambda x: fails(x))(tf.placeholder(tf.int32, []))


def generator(x):
    yield x


NAMESPACE: dict = {}
exec("def sourceless(x):\n    return x + 1\n", NAMESPACE)


@pytest.mark.parametrize("function, reason", [(generator, "generators"), (NAMESPACE["sourceless"], "no source code")])
def test_what_cannot_be_converted(function, reason):
    with pytest.raises(ConversionError, match=reason) as raised:
        tf.autograph.to_graph(function)
    assert f":{function.__code__.co_firstlineno}, in {function.__name__}" in str(raised.value)


def test_objects_cannot_be_converted():
    with pytest.raises(NotImplementedError, match="object conversion"):
        tf.autograph.to_graph(3)


def test_functions_without_source_are_called_as_they_are(caplog):
    with imperative(), caplog.at_level(python_logging.WARNING, "tensorflow"):
        assert tf.function(NAMESPACE["sourceless"])(tf.constant(1)).numpy() == 2
    with imperative(), pytest.raises(TypeError, match="Python `bool`"):
        tf.function(positive, autograph=False)(tf.constant(1))


def test_lambdas_of_one_line():
    first, second = lambda x: x if x > 0 else -x, lambda x: x if x > 5 else x * 10
    assert (value_of(tf.autograph.to_graph(first), -2), value_of(tf.autograph.to_graph(second), 2)) == (2, 20)


def test_tracebacks_point_at_the_source():
    def broken(x):
        for _ in tf.range(3):
            if x > 0:
                x = tf.matmul(x, x)  # the line
        return x

    with tf.Graph().as_default(), pytest.raises(ValueError, match="rank") as raised:
        tf.autograph.to_graph(broken)(tf.placeholder(tf.float32, []))
    frames = [frame for frame in traceback.extract_tb(raised.value.__traceback__) if frame.filename == __file__]
    assert [frame.line.split("#")[0].strip() for frame in frames][-3:] == ["for _ in tf.range(3):", "if x > 0:", "x = tf.matmul(x, x)"]
    with tf.Graph().as_default(), tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match=r"test_conversion.py:\d+.*reshape"):
        sess.run(tf.autograph.to_graph(lambda x: tf.reshape(x, [3]) if x > 0 else tf.zeros([3]))(tf.placeholder_with_default(1.0, None)))


def test_to_code():
    text = tf.autograph.to_code(positive).replace("lambda :", "lambda:")  # as Python 3.10 writes it
    assert text.startswith("def positive(x):") and "ag__.if_exp(x > 0, lambda: x, lambda: -x)" in text
    compile(text, "converted", "exec")


def test_converted_functions_keep_their_signature():
    def function(a, /, b, c=3, *args, d, e=5, **kwargs):
        """A text."""
        return a, b, c, args, d, e, kwargs

    converted = tf.autograph.to_graph(function)
    assert converted(1, 2, d=4, f=6) == function(1, 2, d=4, f=6)
    assert (converted.__name__, converted.__doc__) == ("function", "A text.")


def test_effects_happen_in_order(capsys):
    with imperative():
        v = tf.Variable(1.0)

        @tf.function(experimental_autograph_options=tf.autograph.experimental.Feature.ALL)
        def step(x):
            if x > 0:
                v.assign_add(x)
                print("added", x)
            for _ in tf.range(2):
                v.assign(v * 2.0)
                print("doubled", v.read_value())
            return v + 0.0

        assert step(tf.constant(2.0)).numpy() == 12.0 and step(tf.constant(-2.0)).numpy() == 48.0 and v.numpy() == 48.0
    assert capsys.readouterr().out.split("\n")[:-1] == ["added 2.0", "doubled 6.0", "doubled 12.0", "doubled 24.0", "doubled 48.0"]


def test_gradients_of_functions():
    @tf.function
    def f(x):
        y = x
        while tf.reduce_sum(y) < 100.0:
            if y[0] > 2.0:
                y = y * y
            else:
                y = y * 3.0
        return tf.reduce_sum(y)

    with imperative():
        x = tf.constant([1.0, 2.0])
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = f(x)
        assert loss.numpy() == 1377.0 and tape.gradient(loss, x).numpy().tolist() == [324.0, 2592.0]


def test_methods_and_keras_layers():
    class Clip(tf.keras.layers.Layer):
        def __init__(self, limit):
            super().__init__()
            self.limit = limit

        def call(self, inputs):
            if tf.reduce_max(inputs) > self.limit:
                return inputs / tf.reduce_max(inputs)
            return inputs

        @tf.function
        def total(self, x):
            result = 0.0
            for row in self(x):
                if row > 0.6:
                    result += row
            return result

    with imperative():
        clip = Clip(2.0)
        assert clip.total(tf.constant([1.0, 2.0, 4.0])).numpy() == 1.0
    assert value_of(clip, [1.0, 4.0]).tolist() == [0.25, 1.0]


def test_datasets_in_functions():
    with imperative():
        @tf.function
        def total(limit):
            result = tf.constant(0, tf.int64)
            for item in tf.data.Dataset.range(1000000):
                if item > limit:
                    break
                result += item
            return result

        assert total(tf.constant(4, tf.int64)).numpy() == 10
        squares = tf.data.Dataset.range(5).map(lambda x: x * x if x > 2 else -x)
        assert [item.numpy() for item in squares] == [0, -1, -2, 9, 16]


def test_lists():
    features = tf.autograph.experimental.Feature.LISTS

    def collect(x):
        items = []
        tf.contrib.autograph.set_element_type(items, tf.float32)
        for i in tf.range(4):
            if i > 1:
                items.append(tf.cast(i, tf.float32) * x)
        count = len(items)
        return tf.contrib.autograph.stack(items, tf.float32), count

    stacked, count = value_of(tf.autograph.to_graph(collect, experimental_optional_features=features), 3.0)
    assert stacked.tolist() == [6.0, 9.0] and count == 2

    def pops(x):
        items = []
        items.append(x)
        items.append(x * 2.0)
        last = items.pop()
        items.append(last + 1.0)
        return tf.contrib.autograph.stack(items)

    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.constant(3.0)
        y = tf.autograph.to_graph(pops, experimental_optional_features=features)(x)
        assert [each.tolist() for each in sess.run([y, tf.gradients(y, x)[0]])] == [[3.0, 7.0], 3.0]


def test_verbosity(capsys):
    tf.autograph.set_verbosity(1, alsologtostdout=True)
    try:
        tf.autograph.to_graph(positive)
    finally:
        tf.autograph.set_verbosity(0)
    tf.autograph.trace("seen", 3)
    assert "Converted <function positive" in (out := capsys.readouterr().out) and "seen 3" in out
