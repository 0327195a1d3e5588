"""``tf.compat.v2``: every name of its tables is there, functions have TensorFlow 2's arguments, and mean the same."""
from __future__ import annotations

import inspect

import numpy as np
import pytest

import penstock as tf
from penstock.api.compat.v2 import names, own, signatures

v2 = tf.compat.v2


def _at(path):
    value = v2
    for part in path.split("."):
        value = getattr(value, part)
    return value


@pytest.mark.parametrize("namespace", names.NAMES)
def test_names_resolve(namespace):
    for entry in names.NAMES[namespace].split():
        _at(f"{namespace}.{entry.partition('=')[0]}".lstrip("."))


@pytest.mark.parametrize("path", [*signatures.PLACES, *own.OWN])
def test_own_names_resolve(path):
    assert callable(_at(path))


def _keywords(function):
    parameters = inspect.signature(function).parameters
    return None if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values()) else set(parameters)


@pytest.mark.parametrize("path", signatures.PLACES)
def test_arguments_exist_in_the_function_that_is_called(path):
    target, text = signatures.PLACES[path]
    known = _keywords(signatures.resolve(f"penstock.api.root:{target}"))
    assert known is None or {parameter.old for parameter in signatures._parameters(text)} <= known


def test_what_only_version_1_has_is_absent():
    for name in ("placeholder", "Session", "get_variable", "global_variables_initializer", "contrib"):
        assert not hasattr(v2, name), name
    with pytest.raises(AttributeError, match=r"tensorflow.compat.v2.nn.*static_rnn"):
        _ = v2.nn.static_rnn


@pytest.mark.process
def test_arguments_by_position():
    x = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    with tf.Session() as session:
        assert session.run(v2.reduce_sum(x, 1, True)).tolist() == [[3.0], [7.0]]
        assert session.run(v2.argmax(x, 1, tf.int32)).tolist() == [1, 1]
        assert session.run(v2.gather(x, [1], axis=1)).tolist() == [[2.0], [4.0]]
        assert session.run(v2.zeros_like(input=x)).tolist() == [[0.0, 0.0], [0.0, 0.0]]
        assert session.run(v2.where(x > 2, x, 0.0)).tolist() == [[0.0, 0.0], [3.0, 4.0]]
        assert session.run(v2.strings.split(["a b", "c"])).to_list() == [[b"a", b"b"], [b"c"]]
        assert session.run(v2.while_loop(lambda i: i < 3, lambda i: [i + 1], [0])) == [3]


@pytest.mark.process
def test_embeddings_are_divided_in_blocks():
    shards = [np.array([[0.0], [1.0]], np.float32), np.array([[2.0], [3.0]], np.float32)]
    with tf.Session() as session:
        assert session.run(v2.nn.embedding_lookup(shards, [1, 2])).tolist() == [[1.0], [2.0]]


@pytest.mark.process
def test_pictures_are_resized_about_the_middle_of_their_pixels():
    picture = np.arange(4, dtype=np.float32).reshape(1, 2, 2, 1)
    with tf.Session() as session:
        resized = session.run(v2.image.resize(picture, [4, 4]))
    np.testing.assert_allclose(resized[0, :, :, 0], [[0, 0.25, 0.75, 1], [0.5, 0.75, 1.25, 1.5], [1.5, 1.75, 2.25, 2.5], [2, 2.25, 2.75, 3]])


def test_recurrent_layers_have_the_gates_of_version_2():
    assert v2.keras.layers.LSTM(3).get_config()["recurrent_activation"] == "sigmoid"
    assert v2.keras.layers.GRU(3).get_config()["reset_after"] is True
    assert tf.keras.layers.GRU(3).get_config()["reset_after"] is False
