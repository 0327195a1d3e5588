"""Models and weights in files, and back."""
from __future__ import annotations

import json
import re

import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process
keras = tf.keras
X = np.linspace(-1, 1, 24, dtype=np.float32).reshape(4, 6)


def branching_model():
    """Two branches with a shared layer, a model in a model, an operation between layers."""
    x = keras.Input((6,), name="x")
    shared = keras.layers.Dense(4, activation="tanh", name="shared")
    inner = keras.Sequential([keras.layers.Dense(3, input_shape=(4,), name="in_inner"), keras.layers.BatchNormalization(name="norm")], name="inner")
    left, right = shared(x), shared(x * 2.0)
    return keras.Model(x, [inner(keras.layers.add([left, right], name="sum")), keras.layers.Dense(1, name="head")(right)], name="branching")


def trained_model():
    model = branching_model()
    model.compile(keras.optimizers.Adam(0.01), ["mse", "mae"], metrics=["mae"])
    model.train_on_batch(X, [np.ones((4, 3)), np.zeros((4, 1))])
    return model


def same(first, second):
    for a, b in zip(first, second):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


def test_a_configuration_gives_the_model_back():
    model = branching_model()
    text = model.to_json()
    again = keras.models.model_from_json(text)
    assert json.loads(again.to_json())["config"] == json.loads(text)["config"]
    again.set_weights(model.get_weights())
    same(again.predict(X), model.predict(X))


def test_whole_models_in_hdf5_train_on(tmp_path):
    pytest.importorskip("h5py")
    model, path = trained_model(), str(tmp_path / "model.h5")
    model.save(path)
    again = keras.models.load_model(path)
    same(again.predict(X), model.predict(X))
    targets = [np.ones((4, 3)), np.zeros((4, 1))]
    for _ in range(2):
        same([np.array(again.train_on_batch(X, targets))], [np.array(model.train_on_batch(X, targets))])


@pytest.mark.parametrize("name", ["weights.h5", "weights"])
def test_weights(tmp_path, name):
    pytest.importorskip("h5py")
    model, path = trained_model(), str(tmp_path / name)
    model.save_weights(path)
    again = branching_model()
    again.load_weights(path)
    same(again.get_weights(), model.get_weights())


def test_weights_by_name(tmp_path):
    pytest.importorskip("h5py")
    model, path = trained_model(), str(tmp_path / "weights.h5")
    model.save_weights(path)
    other = keras.Sequential([keras.layers.Dense(4, input_shape=(6,), name="shared"), keras.layers.Dense(2, name="new")])
    other.load_weights(path, by_name=True)
    same(other.layers[0].get_weights(), model.get_layer("shared").get_weights())


def test_saved_models_serve_and_load(tmp_path):
    model = keras.Sequential([keras.layers.Dense(3, input_shape=(6,)), keras.layers.Dropout(0.5), keras.layers.Dense(1)])
    model.compile("rmsprop", "mse")
    model.train_on_batch(X, np.ones((4, 1)))
    path, wanted = str(tmp_path / "saved"), model.predict(X)
    model.save(path, save_format="tf")
    again = keras.models.load_model(path)
    same([again.predict(X)], [wanted])
    with tf.Graph().as_default(), tf.Session() as session:
        definition = tf.saved_model.loader.load(session, ["serve"], path)
        signature = definition.signature_def["serving_default"]
        (source,), (target,) = signature.inputs.values(), signature.outputs.values()
        same([session.run(target.name, {source.name: X})], [wanted])


def test_clones_have_weights_of_their_own():
    model = branching_model()
    clone = keras.models.clone_model(model)
    assert not {weight.name for weight in clone.weights} & {weight.name for weight in model.weights}
    clone.set_weights(model.get_weights())
    same(clone.predict(X), model.predict(X))


class Scale(keras.layers.Layer):
    """A layer of one's own."""

    def __init__(self, start=2.0, **kwargs):
        super().__init__(**kwargs)
        self.start = start

    def build(self, input_shape):
        self.factor = self.add_weight("factor", shape=(), initializer=keras.initializers.Constant(self.start))
        super().build(input_shape)

    def call(self, inputs):
        return inputs * self.factor

    def get_config(self):
        return {**super().get_config(), "start": self.start}


def test_custom_objects(tmp_path):
    pytest.importorskip("h5py")
    model = keras.Sequential([Scale(3.0, input_shape=(6,)), keras.layers.Lambda(lambda x: x + 1.0)])
    path = str(tmp_path / "custom.h5")
    model.save(path)
    with pytest.raises(ValueError, match="Unknown layer: Scale"):
        keras.models.load_model(path)
    again = keras.models.load_model(path, custom_objects={"Scale": Scale})
    same([again.predict(X)], [X * 3 + 1])
    with keras.utils.custom_object_scope({"Scale": Scale}):
        assert keras.models.model_from_json(model.to_json()).layers[0].start == 3.0


def test_losses_of_tensors_are_part_of_the_model():
    x = keras.Input((6,))
    y = keras.layers.Dense(2, name="y")(x)
    model = keras.Model(x, y)
    model.add_loss(tf.reduce_mean(tf.square(y)))
    model.compile("sgd")
    before = model.train_on_batch(X)
    assert model.train_on_batch(X) < before
    again = keras.models.model_from_json(model.to_json())
    again.set_weights(model.get_weights())
    again.compile("sgd")
    assert again.test_on_batch(X) == pytest.approx(model.test_on_batch(X), rel=1e-5)


def test_pictures(tmp_path):
    path = keras.utils.plot_model(branching_model(), str(tmp_path / "model.png"), show_shapes=True)
    text = (tmp_path / "model.svg").read_text()
    assert path.endswith("model.svg") and text.startswith("<svg") and "shared: Dense" in text and text.count("<rect") == 6


def nested_model():
    inputs = keras.Input((4,), name="given")
    inner = keras.Sequential([keras.layers.Dense(3, input_shape=(4,), name="one"), keras.layers.Dense(2, name="two")], name="inner")
    return keras.Model(inputs, keras.layers.Dense(1, name="last")(inner(inputs)))


def boxes_and_arrows(path):
    """({text of a box: its corner}, pairs of texts that an arrow connects, from the first to the second)."""
    text = path.read_text()
    rects = [tuple(map(float, each)) for each in re.findall(r'<rect x="(.*?)" y="(.*?)" width="(.*?)" height="(.*?)"', text)]
    names = [name.split(":")[0] for name in re.findall(r">([^<>]+)</text>", text)]

    def at(x, y):
        return next(name for name, (left, top, width, height) in zip(names, rects) if left <= x <= left + width and top <= y <= top + height)

    arrows = [tuple(map(float, each)) for each in re.findall(r'<line x1="(.*?)" y1="(.*?)" x2="(.*?)" y2="(.*?)" stroke="black" marker-end', text)]
    return dict(zip(names, rects)), [(at(x1, y1), at(x2, y2)) for x1, y1, x2, y2 in arrows]


@pytest.mark.parametrize("rankdir, axis, grows", [("TB", 1, True), ("BT", 1, False), ("LR", 0, True), ("RL", 0, False)])
def test_pictures_go_where_they_are_told(tmp_path, rankdir, axis, grows):
    keras.utils.plot_model(nested_model(), str(tmp_path / "model.svg"), rankdir=rankdir)
    places, arrows = boxes_and_arrows(tmp_path / "model.svg")
    assert arrows == [("given", "inner"), ("inner", "last")] and min(min(place[:2]) for place in places.values()) > 0
    assert all((places[before][axis] < places[after][axis]) == grows for before, after in arrows)


def test_pictures_show_models_inside(tmp_path):
    keras.utils.plot_model(nested_model(), str(tmp_path / "model.svg"), expand_nested=True)
    places, arrows = boxes_and_arrows(tmp_path / "model.svg")
    assert "inner" not in places and set(arrows[-2:]) == {("given", next(iter(places.keys() - {"given", "one", "two", "last"}))), ("two", "last")}
    assert ("one", "two") in arrows
    dot = keras.utils.model_to_dot(nested_model(), expand_nested=True).to_string()
    assert "one: Dense" in dot and "inner" not in dot.replace("inner_input", "")


def test_pictures_go_nowhere_else(tmp_path):
    with pytest.raises(ValueError, match="one of 'TB', 'BT', 'LR', 'RL'; got 'up'"):
        keras.utils.plot_model(nested_model(), str(tmp_path / "model.svg"), rankdir="up")
    assert not (tmp_path / "model.svg").exists()
