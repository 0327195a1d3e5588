"""Sequences, texts and images as arrays; files in the cache; scikit-learn's methods."""
from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

import penstock as tf

pytestmark = pytest.mark.process
keras = tf.keras


def test_padding():
    pad = keras.preprocessing.sequence.pad_sequences
    rows = [[1], [2, 3], [4, 5, 6]]
    np.testing.assert_array_equal(pad(rows), [[0, 0, 1], [0, 2, 3], [4, 5, 6]])
    np.testing.assert_array_equal(pad(rows, 2, padding="post", truncating="post", value=9), [[1, 9], [2, 3], [4, 5]])
    np.testing.assert_array_equal(pad(rows, 2), [[0, 1], [2, 3], [5, 6]])
    with pytest.raises(ValueError, match="list of iterables"):
        pad([1, 2])


def test_windows_of_a_series():
    data = np.arange(10)
    batches = keras.preprocessing.sequence.TimeseriesGenerator(data, data * 10, length=3, batch_size=4)
    assert len(batches) == 2
    x, y = batches[0]
    np.testing.assert_array_equal(x, [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5]])
    np.testing.assert_array_equal(y, [30, 40, 50, 60])


def test_words():
    tokenizer = keras.preprocessing.text.Tokenizer(num_words=4, oov_token="?")
    tokenizer.fit_on_texts(["The cat sat.", "The dog sat on the cat!"])
    assert tokenizer.word_index == {"?": 1, "the": 2, "cat": 3, "sat": 4, "dog": 5, "on": 6}
    assert tokenizer.texts_to_sequences(["the cat flew", "sat"]) == [[2, 3, 1], [1]]
    assert tokenizer.sequences_to_texts([[2, 3]]) == ["the cat"]
    np.testing.assert_array_equal(tokenizer.texts_to_matrix(["the the cat"], mode="count"), [[0, 0, 2, 1]])


def test_images_of_folders_are_classes(tmp_path, capsys):
    for name, colour in (("dark", 10), ("light", 240)):
        (tmp_path / name).mkdir()
        for index in range(3):
            Image.new("RGB", (6, 5), (colour, colour, index)).save(tmp_path / name / f"{index}.png")
    flow = keras.preprocessing.image.ImageDataGenerator(rescale=1 / 255).flow_from_directory(
        str(tmp_path), target_size=(4, 4), batch_size=4, shuffle=False, class_mode="sparse")
    assert "Found 6 images belonging to 2 classes." in capsys.readouterr().out and flow.class_indices == {"dark": 0, "light": 1}
    x, y = next(flow)
    assert x.shape == (4, 4, 4, 3)
    np.testing.assert_array_equal(y, [0, 0, 0, 1])
    np.testing.assert_allclose(x[3, 0, 0, :2], 240 / 255, rtol=1e-6)


def test_images_are_turned_and_moved():
    image = np.arange(9.0).reshape(3, 3, 1)
    apply = keras.preprocessing.image.apply_affine_transform
    np.testing.assert_allclose(apply(image, theta=180)[0, 0, 0], 8.0, atol=1e-6)
    np.testing.assert_allclose(apply(image, tx=1)[:2, :, 0], image[1:, :, 0], atol=1e-6)
    generator = keras.preprocessing.image.ImageDataGenerator(featurewise_center=True, horizontal_flip=True, rotation_range=20)
    batch = np.random.RandomState(0).normal(size=(4, 6, 6, 2))
    generator.fit(batch)
    assert next(generator.flow(batch, np.arange(4), batch_size=3, seed=1))[0].shape == (3, 6, 6, 2)


def test_files_come_from_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "home"))
    (tmp_path / "there.txt").write_text("hello")
    path = keras.utils.get_file("here.txt", origin=(tmp_path / "there.txt").as_uri())
    assert (tmp_path / "home" / "datasets" / "here.txt").read_text() == "hello" and path.startswith(str(tmp_path / "home"))
    assert keras.utils.get_file("here.txt", origin="https://example.com/here.txt") == path
    with pytest.raises(OSError, match=r"not in the cache, and files are not downloaded.*mnist\.npz"):
        keras.datasets.mnist.load_data()
    digits = {"x_train": np.zeros((2, 28, 28)), "y_train": np.ones(2), "x_test": np.zeros((1, 28, 28)), "y_test": np.ones(1)}
    np.savez(tmp_path / "home" / "datasets" / "mnist.npz", **digits)
    (x, _), (_, y) = keras.datasets.mnist.load_data()
    assert x.shape == (2, 28, 28) and y.shape == (1,)


def test_scikit_learn():
    def build(units=4):
        model = keras.Sequential([keras.layers.Dense(units, input_shape=(2,), activation="relu"), keras.layers.Dense(2, activation="softmax")])
        model.compile("adam", "sparse_categorical_crossentropy", ["accuracy"])
        return model

    classifier = keras.wrappers.scikit_learn.KerasClassifier(build, units=8, epochs=2, verbose=0)
    x, y = np.random.RandomState(0).normal(size=(20, 2)), np.array(["a", "b"] * 10)
    classifier.fit(x, y)
    assert set(classifier.predict(x)) <= {"a", "b"} and 0 <= classifier.score(x, y) <= 1 and classifier.get_params()["units"] == 8
    with pytest.raises(ValueError, match="not a legal parameter"):
        keras.wrappers.scikit_learn.KerasRegressor(build, width=3)


def test_the_old_module_paths():
    tf.install_as_tensorflow(era=False)
    from tensorflow.python.keras.layers import Dense
    from tensorflow.python.keras.models import Sequential
    assert Dense is keras.layers.Dense and Sequential is keras.Sequential


@pytest.mark.parametrize("options, targets", [
    ({}, [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]]),
    ({"class_mode": "sparse"}, [0, 1, 2, 0]),
    ({"class_mode": "binary", "classes": ["b", "a"]}, [0, 1, 0, 1]),
    ({"y_col": "tags", "classes": ["q", "p"]}, [[1, 1], [1, 0], [0, 1], [1, 0]]),
    ({"class_mode": "raw", "y_col": "number"}, [0, 1, 2, 3]),
    ({"class_mode": "multi_output", "y_col": ["number", "weight"]}, [[0, 1, 2, 3], [0, 0.5, 1, 1.5]]),
    ({"subset": "validation"}, [[1, 0, 0], [0, 1, 0]]),
    ({"subset": "training", "class_mode": "sparse"}, [2, 0, 1, 2])], ids=str)
def test_image_files_of_a_table(tmp_path, options, targets):
    """The targets are those of TensorFlow 1.15."""
    pandas = pytest.importorskip("pandas")
    names = [f"{index}.png" for index in range(6)]
    for index, name in enumerate(names):
        Image.fromarray(np.full((5, 5, 3), index, np.uint8)).save(tmp_path / name)
    table = pandas.DataFrame({"filename": [*names, "gone.png", "x.txt"], "class": list("abcabcab"), "number": np.arange(8.0),
                              "weight": np.arange(8.0) / 2, "tags": [["p", "q"], ["p"], ["q"], ["r", "p"], ["q"], ["p"], ["p"], ["p"]]})
    generator = tf.keras.preprocessing.image.ImageDataGenerator(validation_split=0.34)
    with pytest.warns(UserWarning, match="Found 2 invalid image filename"):
        images, labels = next(generator.flow_from_dataframe(table, str(tmp_path), target_size=(4, 4), shuffle=False, batch_size=4, **options))
    np.testing.assert_array_equal(labels, targets)
    assert images.shape[1:] == (4, 4, 3) and len(images) == (2 if options.get("subset") == "validation" else 4)


@pytest.mark.parametrize("options, message", [({"data_format": "unknown"}, "data_format"), ({"zoom_range": (2, 2, 2)}, "zoom_range"),
                                              ({"brightness_range": (1,)}, "brightness_range"), ({"validation_split": 2}, "strictly between")])
def test_options_that_make_no_sense(options, message):
    with pytest.raises(ValueError, match=message):
        keras.preprocessing.image.ImageDataGenerator(**options)
