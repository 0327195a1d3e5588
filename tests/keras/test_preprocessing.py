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


def test_rows_beyond_the_end_of_a_part_of_a_file_are_refused(tmp_path):
    path = str(tmp_path / "rows.h5")
    with pytest.importorskip("h5py").File(path, "w") as file:
        file["x"] = np.arange(20)
    part = keras.utils.HDF5Matrix(path, "x", 2, 14)
    assert part[11] == 13 and part[:].tolist() == list(range(2, 14)) and part[[11, 0]].tolist() == [13, 2] and not len(part[3:3])
    for key in (12, slice(10, 13), [1, 12]):
        with pytest.raises(IndexError, match=r"has only 12 rows, from 2 to 14 of /x in .*rows\.h5"):
            part[key]


def test_words_may_be_limited_by_the_older_name(tmp_path):
    assert keras.preprocessing.text.Tokenizer(nb_words=3).num_words == 3
    rows = np.empty(2, object)
    rows[:] = [[1, 2, 9], [3, 30]]
    np.savez(tmp_path / "words.npz", x=rows, y=np.arange(2), x_train=rows, y_train=np.arange(2), x_test=rows, y_test=np.arange(2))
    for source in (keras.datasets.reuters, keras.datasets.imdb):
        parts = source.load_data(str(tmp_path / "words.npz"), nb_words=7)
        assert {tuple(row) for rows, _ in parts for row in rows} == {(1, 4, 5, 2), (1, 6, 2)}
        with pytest.raises(TypeError, match="Unrecognized keyword arguments"):
            source.load_data(str(tmp_path / "words.npz"), words=7)


def test_grey_images_keep_16_bits(tmp_path):
    values = np.arange(6, dtype="uint16").reshape(2, 3) * 1000
    Image.fromarray(values).save(tmp_path / "deep.png")
    image = keras.preprocessing.image.load_img(str(tmp_path / "deep.png"), color_mode="grayscale")
    np.testing.assert_array_equal(keras.preprocessing.image.img_to_array(image)[..., 0], values)


def test_files_of_a_table_that_are_not_looked_for_are_said_to_be_so(capsys):
    table = pytest.importorskip("pandas").DataFrame({"filename": ["a.png", "b.png"], "class": ["x", "y"]})
    keras.preprocessing.image.ImageDataGenerator().flow_from_dataframe(table, validate_filenames=False)
    assert capsys.readouterr().out == "Found 2 non-validated image filenames belonging to 2 classes.\n"


@pytest.mark.parametrize("gpus, needed", [(1, "gpus >= 2"), ([0], r"len\(gpus\) >= 2")])
def test_copies_on_one_device_are_refused(gpus, needed):
    with pytest.raises(ValueError, match=f"with `{needed}`"):
        keras.utils.multi_gpu_model(keras.Sequential([keras.layers.Dense(1, input_shape=(2,))]), gpus)


def test_searches_and_pipelines_of_scikit_learn():
    pytest.importorskip("sklearn")
    from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    def build(units=4, rate=0.5, activation="sigmoid"):
        model = keras.Sequential([keras.layers.Dense(units, activation="tanh", input_shape=(3,), kernel_initializer=keras.initializers.Constant(0.2)),
                                  keras.layers.Dense(1, activation=activation, kernel_initializer=keras.initializers.Constant(0.1))])
        model.compile(keras.optimizers.SGD(rate), "mse", metrics=["accuracy"])
        return model

    options = {"verbose": 0, "batch_size": 10, "shuffle": False}
    x = np.random.RandomState(1).rand(30, 3)
    y = (x.sum(1) > 1.5).astype(int)
    wrappers = keras.wrappers.scikit_learn
    search = GridSearchCV(wrappers.KerasClassifier(build, **options), {"units": [2, 5], "epochs": [1, 20]}, cv=3).fit(x, y)
    assert search.best_params_["epochs"] == 20 and search.best_score_ == max(search.cv_results_["mean_test_score"])
    regressor = wrappers.KerasRegressor(build, activation="linear", rate=0.1, epochs=20, **options)
    scores = cross_val_score(regressor, x, x[:, 0], cv=KFold(3))
    by_hand = []
    for train, test in KFold(3).split(x):
        regressor.fit(x[train], x[train, 0])
        by_hand.append(regressor.score(x[test], x[test, 0]))
    np.testing.assert_allclose(scores, by_hand, rtol=1e-5)
    chain = make_pipeline(StandardScaler(), wrappers.KerasRegressor(build, activation="linear", rate=0.1, epochs=20, **options))
    assert chain.fit(x, x[:, 0]).predict(x).shape == (30,) and chain.score(x, x[:, 0]) > -0.2
