"""Networks are those of real TensorFlow 1.15 (``data/record_applications.py``): layers, shapes, parameters, names of weights, predictions."""
from __future__ import annotations

import gzip
import json
import runpy
from pathlib import Path

import numpy as np
import pytest

import penstock as tf
from penstock.keras.utils import files

pytestmark = pytest.mark.process
DATA = Path(__file__).parent / "data"
RECORDER = runpy.run_path(str(DATA / "record_applications.py"))
with gzip.open(DATA / "applications.json.gz") as file:
    RECORDED = json.load(file)
LARGE = {"DenseNet169", "DenseNet201", "InceptionResNetV2", "NASNetLarge", "NASNetMobile", "ResNet101", "ResNet152", "ResNet101V2", "ResNet152V2"}


SLOW = LARGE | {"DenseNet121", "InceptionV3", "ResNet50V2", "Xception"}  # to run


def _names(names, slow):
    return [pytest.param(name, marks=pytest.mark.nightly) if name in slow else name for name in names]


@pytest.mark.parametrize("name", _names(RECORDER["NETWORKS"], LARGE))
def test_definition(name):
    found = RECORDER["definition"](getattr(tf.keras.applications, name)(weights=None))
    expected = {key: value for key, value in RECORDED[name].items() if key != "predictions"}
    assert found["layers"] == expected["layers"]
    assert found == expected


@pytest.mark.parametrize("name", _names(RECORDER["SMALL"], SLOW))
def test_predictions(name):
    found = RECORDER["predictions"](tf, name)
    expected = np.array(RECORDED[name]["predictions"], np.float32)
    np.testing.assert_allclose(found[:50], expected, rtol=2e-3, atol=1e-3 * np.abs(expected).max())


@pytest.mark.parametrize("module, mode", [("resnet", "caffe"), ("mobilenet", "tf"), ("densenet", "torch")])
def test_preprocessing(module, mode):
    images = np.arange(2 * 3 * 3 * 3).reshape(2, 3, 3, 3)
    preprocess = getattr(tf.keras.applications, module).preprocess_input
    expected = {"caffe": images[..., ::-1] - np.array([103.939, 116.779, 123.68]), "tf": images / 127.5 - 1,
                "torch": (images / 255 - np.array([0.485, 0.456, 0.406])) / np.array([0.229, 0.224, 0.225])}[mode]
    np.testing.assert_allclose(preprocess(images), expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(preprocess(images[0]), expected[0], rtol=1e-5, atol=1e-5)
    first = preprocess(images.transpose(0, 3, 1, 2), data_format="channels_first")
    np.testing.assert_allclose(first.transpose(0, 2, 3, 1), expected, rtol=1e-5, atol=1e-5)
    symbolic = preprocess(tf.constant(images, tf.float32))
    np.testing.assert_allclose(tf.keras.backend.eval(symbolic), expected, rtol=1e-5, atol=1e-5)


def test_predictions_are_decoded(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    decode = tf.keras.applications.vgg16.decode_predictions
    with pytest.raises(OSError, match=r"imagenet_class_index.json is not in the cache"):
        decode(np.zeros((1, 1000)))
    with pytest.raises(ValueError, match="expects a batch of predictions"):
        decode(np.zeros((1, 10)))
    monkeypatch.setattr(files, "is_intact", lambda *arguments: True)  # of a file with names of our own
    (tmp_path / "models" / "imagenet_class_index.json").write_text(json.dumps({str(n): [f"n{n}", f"thing {n}"] for n in range(1000)}))
    scores = np.zeros((2, 1000))
    scores[0, [5, 9]], scores[1, 700] = [0.2, 0.7], 1.0
    best = decode(scores, top=2)
    assert best[0] == [("n9", "thing 9", 0.7), ("n5", "thing 5", 0.2)] and best[1][0] == ("n700", "thing 700", 1.0)


def test_weights_of_a_file(tmp_path, monkeypatch):
    pytest.importorskip("h5py")
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    make = tf.keras.applications.MobileNet
    with pytest.raises(OSError, match=r"mobilenet_2_5_224_tf.h5 is not in the cache.*v0.6/mobilenet_2_5_224_tf.h5"):
        make(alpha=0.25)
    saved = make(input_shape=(32, 32, 3), alpha=0.25, include_top=False, weights=None)
    path = str(tmp_path / "own.h5")
    saved.save_weights(path)
    loaded = make(input_shape=(32, 32, 3), alpha=0.25, include_top=False, weights=path)
    np.testing.assert_array_equal(loaded.get_weights()[5], saved.get_weights()[5])
    # The cache serves "imagenet"; weights without a top fit images of any size.
    cached = tmp_path / "models" / "mobilenet_2_5_224_tf_no_top.h5"
    cached.write_bytes(Path(path).read_bytes())
    again = make(alpha=0.25, include_top=False)
    np.testing.assert_array_equal(again.get_weights()[5], saved.get_weights()[5])


def test_arguments_that_do_not_fit():
    make = tf.keras.applications.VGG16
    with pytest.raises(ValueError, match="`weights` argument should be either"):
        make(weights="nowhere.h5")
    with pytest.raises(ValueError, match="`classes` should be 1000"):
        make(classes=10)
    with pytest.raises(ValueError, match="at least 32x32"):
        make(weights=None, input_shape=(31, 40, 3))
    with pytest.raises(ValueError, match=r"should be .224, 224, 3."):
        make(input_shape=(100, 100, 3))
    with pytest.raises(ValueError, match="static `input_shape`"):
        make(weights=None, input_shape=(None, None, 3))
    with pytest.raises(ValueError, match="three integers"):
        make(weights=None, input_shape=(32, 32))
    with pytest.raises(ValueError, match="depth multiplier must be 1"):
        tf.keras.applications.MobileNet(depth_multiplier=2)


def test_images_of_ones_own():
    images = tf.keras.Input((32, 32, 3))
    model = tf.keras.applications.MobileNetV2(input_tensor=tf.keras.layers.Lambda(lambda x: x / 2)(images), weights=None, alpha=0.35, classes=3)
    assert model.inputs == [images] and model.output_shape == (None, 3) and model.layers[1].name == "lambda"
    tensor = tf.zeros([2, 32, 32, 3])
    fixed = tf.keras.applications.MobileNet(input_tensor=tensor, weights=None, alpha=0.25, include_top=False, pooling="avg")
    assert fixed.predict(None, steps=1).shape == (2, 256)
