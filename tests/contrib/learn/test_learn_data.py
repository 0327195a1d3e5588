"""Data of tf.contrib.learn: processors that are saved, tables and made-up points, files of records, generators; runs of graphs."""
from __future__ import annotations

import os
import sys
import tarfile
import types

import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process
learn = tf.contrib.learn


def test_vocabulary_is_saved(tmp_path):
    process = learn.preprocessing.VocabularyProcessor(4, tokenizer_fn=None)
    process.fit(["to be or not to be"])
    path = str(tmp_path / "words")
    process.save(path)
    again = learn.preprocessing.VocabularyProcessor.restore(path)
    assert next(again.transform(["not to question"])).tolist() == [4, 1, 0, 0] and len(again.vocabulary_) == 5
    silent = learn.preprocessing.CategoricalVocabulary(support_reverse=False)
    with pytest.raises(ValueError, match="support_reverse"):
        silent.reverse(0)


def test_missing_categories():
    rows = np.array([[1.0, 2.0], [np.nan, 2.0], [3.0, np.nan]], object)
    assert [row.tolist() for row in learn.preprocessing.CategoricalProcessor().fit_transform(rows)] == [[1, 1], [0, 1], [2, 0]]


def test_tables(tmp_path):
    base = learn.datasets.base
    path = str(tmp_path / "table.csv")
    with open(path, "w") as file:
        file.write("3,2,a,b,c\n1.5,2,0\n3,4,1\n5,6,1\n")
    table = base.load_csv_with_header(path, np.int32, np.float32)
    assert table.data.tolist() == [[1.5, 2.0], [3.0, 4.0], [5.0, 6.0]] and table.target.tolist() == [0, 1, 1]
    assert learn.datasets.load_iris(path).data.dtype == np.float64 and learn.datasets.load_boston(path).target.dtype == np.float64
    base.shrink_csv(path, 2)
    with open(str(tmp_path / "table_small.csv")) as file:
        assert file.read().split() == ["3,2,a,b,c", "3,4,1"]
    with open(path, "w") as file:
        file.write("x,1,2\ny,3,4\n")
    assert base.load_csv_without_header(path, str, np.float32, target_column=0).target.tolist() == ["x", "y"]
    with open(path, "w") as file:
        file.write("9,2\n1,2,0\n")
    with pytest.raises(ValueError, match="has 1 rows with 2 features; its first line says 9 and 2"):
        base.load_csv_with_header(path, int, float)


def test_data_by_name(monkeypatch):
    monkeypatch.setenv("PENSTOCK_MNIST", "digits")
    assert learn.datasets.load_dataset("mnist").train.images.shape[1] == 784
    with pytest.raises(ValueError, match="Name of dataset is not found: lions"):
        learn.datasets.load_dataset("lions")
    houses, irises = learn.datasets.load_dataset("boston"), learn.datasets.load_iris()
    assert houses.data.shape == (506, 13) and houses.target[0] == 24.0 and irises.data.shape == (150, 4) and irises.target.tolist() == sorted(
        irises.target) and irises.data[0].tolist() == [5.1, 3.5, 1.4, 0.2]


def test_downloads(tmp_path):
    source = tmp_path / "there.txt"
    source.write_text("text")
    fetch = learn.datasets.base.maybe_download
    path = fetch("here.txt", str(tmp_path / "folder"), source.as_uri())
    source.write_text("other")
    assert fetch("here.txt", str(tmp_path / "folder"), source.as_uri()) == path
    with open(path) as file:
        assert file.read() == "text"
    with pytest.raises(OSError, match=f"Put the file to {tmp_path}"):
        fetch("none.txt", str(tmp_path), (tmp_path / "missing").as_uri())


def test_articles(tmp_path, monkeypatch):
    """Files that are there are read; an archive is unpacked first."""
    datasets, folder = learn.datasets, tmp_path / "dbpedia_data"
    (tmp_path / "dbpedia_csv").mkdir()
    for name in ("train", "test"):
        rows = "".join(f'{row % 14 + 1},"Title {row}","Text of {name}, {row}"\n' for row in range(1001))
        (tmp_path / "dbpedia_csv" / f"{name}.csv").write_text(rows)
    with tarfile.open(tmp_path / "dbpedia_csv.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "dbpedia_csv", "dbpedia_csv")
    monkeypatch.setenv("TF_EXP_BASE_DIR", str(tmp_path))
    monkeypatch.setattr("penstock.datasets.text_datasets.DBPEDIA_URL", (tmp_path / "dbpedia_csv.tar.gz").as_uri())
    small = datasets.load_dataset("dbpedia")
    assert small.train.target.tolist() == [1, 7] and small.test.data.tolist()[1] == ["Title 1000", "Text of test, 1000"] and small.validation is None
    assert (folder / "dbpedia_csv" / "train_small.csv").exists()
    assert datasets.text_datasets.load_dbpedia(size="large").train.data.shape == (1001, 2)
    with pytest.raises(ValueError, match="made-up rows"):
        datasets.load_dataset("dbpedia", test_with_fake_data=True)


def test_retries():
    calls = []

    @learn.datasets.base.retry(0.0005, 0.002, jitter=0.0)
    def failing():
        calls.append(1)
        raise ValueError("no")
    with pytest.raises(ValueError, match="no"):
        failing()
    assert len(calls) == 4
    with pytest.raises(ValueError, match="factor must be"):
        learn.datasets.base.retry(1, 1, factor=0.5)


def records(folder, numbers):
    path = os.path.join(str(folder), "numbers.tfrecord")
    with tf.python_io.TFRecordWriter(path) as writer:
        for number in numbers:
            features = {"n": tf.train.Feature(int64_list=tf.train.Int64List(value=[number])),
                        "many": tf.train.Feature(int64_list=tf.train.Int64List(value=range(number)))}
            writer.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())
    return path


SPEC = {"n": tf.FixedLenFeature([], tf.int64), "many": tf.VarLenFeature(tf.int64)}


def run_all(output):
    """What a graph with queues gives until its input ends."""
    results = []
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        try:
            while True:
                results.append(session.run(output))
        except tf.errors.OutOfRangeError:
            coordinator.request_stop()
        coordinator.join(threads)
    return results


def test_records(tmp_path):
    path = records(tmp_path, range(5))
    with tf.Graph().as_default():
        features = learn.io.read_batch_features(path, 2, SPEC, tf.TFRecordReader, randomize_input=False, num_epochs=1, num_enqueue_threads=1)
        batches = run_all({"n": features["n"], "many": tf.sparse_tensor_to_dense(features["many"])})
    assert [batch["n"].tolist() for batch in batches] == [[0, 1], [2, 3], [4]] and batches[1]["many"].tolist() == [[0, 1, 0], [0, 1, 2]]
    with tf.Graph().as_default():
        batches = run_all(learn.read_batch_record_features(path, 2, SPEC, num_epochs=1, queue_capacity=20)["n"])
    assert sorted(number for batch in batches for number in batch) == [0, 1, 2, 3, 4]


def test_keyed_and_parsed_records(tmp_path):
    path = records(tmp_path, range(3))
    with tf.Graph().as_default():
        keys, examples = learn.read_keyed_batch_examples(
            path, 3, tf.TFRecordReader, randomize_input=False, num_epochs=1, parse_fn=lambda example: tf.parse_single_example(example, SPEC)["n"])
        ((names, numbers),) = run_all([keys, examples])
    assert numbers.tolist() == [0, 1, 2] and names[0].decode().startswith(path)
    for options, message in (({"batch_size": 0}, "Invalid batch_size 0"), ({"num_epochs": 0}, "Invalid num_epochs"),
                             ({"file_pattern": "/nothing*"}, "No files match"), ({"num_threads": 0}, "Invalid num_threads")):
        with pytest.raises(ValueError, match=message):
            learn.read_batch_examples(**{"file_pattern": path, "batch_size": 2, "reader": tf.TFRecordReader, **options})


def test_generators():
    def numbers():
        for number in range(5):
            yield {"a": np.array([number, 0]), "b": number}
    with tf.Graph().as_default():
        features, labels = learn.io.generator_input_fn(numbers, "b", batch_size=2, shuffle=False)()
        batches = run_all([features["a"], labels])
    assert [batch[1].tolist() for batch in batches] == [[0, 1], [2, 3], [4, 0]] and batches[0][0].shape == (2, 2)
    with tf.Graph().as_default():
        batches = run_all(learn.io.generator_input_fn(numbers, batch_size=2, num_epochs=2, queue_capacity=3)()["b"])
    assert sorted(np.concatenate(batches)) == sorted([*range(5)] * 2 + [0, 1])  # it ends with a batch: so there is another one
    for given, error in ((numbers(), TypeError), (lambda: 3, TypeError)):
        with pytest.raises(error):
            learn.io.generator_input_fn(given)
    with pytest.raises(KeyError, match="target_key not in yielded dict"):
        learn.io.generator_input_fn(numbers, "c")
    for key in (np.arange(10), ["b", np.arange(10)]):
        with pytest.raises(TypeError, match="target_key must be str or Container of str"):
            learn.io.generator_input_fn(numbers, key)


def test_runs_of_graphs(tmp_path):
    with tf.Graph().as_default() as graph:
        x = tf.placeholder_with_default(1.0, [])
        count = tf.Variable(0.0)
        output = {"total": tf.assign_add(count, x)}
        assert [each["total"] for each in learn.run_n(output, n=3)] == [1.0, 2.0, 3.0]
        assert [each["total"] for each in learn.run_feeds(output, [{x: 5.0}, None])] == [5.0, 6.0]
        with tf.Session(graph=graph) as session:
            session.run(count.assign(10.0))
            path = tf.train.Saver().save(session, str(tmp_path / "model"))
        assert learn.infer(path, output, {x: 2.0}) == {"total": 12.0}
        with pytest.raises(ValueError, match="output_dict is invalid"):
            learn.run_n({})


def test_small_models():
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([3.0, 1.0])
        predictions, loss = learn.models.linear_regression_zero_init(x, y)
        probabilities, cross_entropy = learn.models.logistic_regression_zero_init(x, tf.constant([[1.0, 0.0], [0.0, 1.0]]))
        rows = learn.ops.categorical_variable(tf.constant([[0, 1], [1, 1]]), 2, 3, "words")
        session.run(tf.global_variables_initializer())
        assert session.run([predictions, loss])[0].tolist() == [0.0, 0.0] and session.run(loss) == 5.0
        np.testing.assert_allclose(session.run(cross_entropy), np.log(2), rtol=1e-6)
        assert session.run(probabilities).tolist() == [[0.5, 0.5]] * 2 and session.run(rows).shape == (2, 2, 3)


def test_frames_of_dask(monkeypatch):
    """With the few functions of Dask that are used: parts, each a frame, which are numbered through."""
    class Part:
        def __init__(self, rows):
            self.rows, self.index = rows, None

        def __len__(self):
            return self.rows

        def copy(self):
            return Part(self.rows)

    class Frame:
        columns, _meta = ["a", "b"], "meta"

        def map_partitions(self, function):
            return types.SimpleNamespace(compute=lambda: [function(part) for part in self.to_delayed()])

        def to_delayed(self):
            return [Part(2), Part(3)]
    Frame.__module__ = "dask.dataframe"
    monkeypatch.setitem(sys.modules, "dask", types.SimpleNamespace(delayed=lambda function: function))
    monkeypatch.setitem(sys.modules, "dask.dataframe", types.SimpleNamespace(from_delayed=lambda parts, meta, divisions: (parts, meta, divisions)))
    parts, meta, divisions = learn.extract_dask_data(Frame())
    assert [list(part.index) for part in parts] == [[0, 1], [2, 3, 4]] and (meta, divisions) == ("meta", (0, 2, 5))
    with pytest.raises(ValueError, match="Only one column"):
        learn.extract_dask_labels(Frame())
    assert learn.extract_dask_data([1]) == [1] and learn.extract_dask_labels("text") == "text"


def test_a_generator_of_rows_of_different_lengths():
    def rows():
        for length in (1, 3):
            yield {"a": np.arange(1, length + 1), "y": np.float32(length)}
    features, labels = tf.contrib.learn.io.generator_input_fn(rows, "y", batch_size=2, shuffle=False, num_epochs=1, pad_value=-1)()
    with tf.Session() as session:
        a, y = session.run([features["a"], labels])
    assert a.tolist() == [[1, -1, -1], [1, 2, 3]] and y.tolist() == [1.0, 3.0]
    with pytest.raises(NotImplementedError, match="padding and shuffling"):
        tf.contrib.learn.io.generator_input_fn(rows, pad_value=-1)


def test_weights_of_models_have_tensorflows_seeds():
    """The histograms of the data stand before the weights, and count."""
    tf.set_random_seed(2)
    learn.models.logistic_regression(tf.placeholder(tf.float32, [40, 4]), tf.placeholder(tf.float32, [40, 2]))
    operations = tf.get_default_graph().get_operations()
    assert [op.get_attr("seed2") for op in operations if op.type == "RandomUniform"] == [9, 19]
