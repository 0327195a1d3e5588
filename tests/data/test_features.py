"""Comma-separated values and batches of features."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.platform.records import frame
from support.pipelines import listed

data, experimental = tf.data, tf.data.experimental


def test_comma_separated_values(tmp_path):
    (tmp_path / "a.csv").write_text('n,x,s\n1,2.5,"a,b"\n2,,c\n3,4.5,\n')
    name = str(tmp_path / "a.csv")
    rows = listed(experimental.CsvDataset(name, [tf.int32, [0.5], tf.constant([""])], header=True))
    assert rows == [(1, 2.5, b"a,b"), (2, 0.5, b"c"), (3, 4.5, b"")]
    assert listed(experimental.CsvDataset([name], [tf.int32], header=True, select_cols=[0])) == [(1,), (2,), (3,)]
    (features, label), _ = listed(experimental.make_csv_dataset(name, 2, label_name="n", num_epochs=1, shuffle=False))
    assert label.dtype == np.int32 and label.tolist() == [1, 2]
    assert features["x"].tolist() == [2.5, 0.0] and features["s"].tolist() == [b"a,b", b"c"]
    with pytest.raises(ValueError, match="label_name"):
        experimental.make_csv_dataset(name, 2, label_name="nobody")


def test_batched_features(tmp_path):
    def example(n):
        return tf.train.Example(features=tf.train.Features(feature={
            "n": tf.train.Feature(int64_list=tf.train.Int64List(value=[n])),
            "many": tf.train.Feature(float_list=tf.train.FloatList(value=[0.5] * n))})).SerializeToString()

    (tmp_path / "a.tfrecord").write_bytes(b"".join(frame(example(n)) for n in range(5)))
    features = {"n": tf.FixedLenFeature([], tf.int64), "many": tf.VarLenFeature(tf.float32)}
    arguments = (str(tmp_path / "*.tfrecord"), 2, features)
    batches = listed(experimental.make_batched_features_dataset(*arguments, num_epochs=1, shuffle=False, label_key="n"))
    assert [label.tolist() for _, label in batches] == [[0, 1], [2, 3], [4]]
    assert [parts["many"].values.size for parts, _ in batches] == [1, 5, 4]
    endless = experimental.make_batched_features_dataset(*arguments, shuffle_seed=1)
    assert endless.output_shapes["n"].as_list() == [2]
    seen = [n for batch in listed(endless.take(10)) for n in batch["n"].tolist()]
    assert sorted(seen) == sorted(list(range(5)) * 4)
