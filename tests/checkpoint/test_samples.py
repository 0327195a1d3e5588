"""Files of real TensorFlow 1.15, recorded by data/record_samples.py: they can be read, and what Penstock writes is the same to the last byte."""
from __future__ import annotations

import importlib.util
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import penstock as tf
from penstock.checkpoint.bundle import BundleReader, read_index
from penstock.checkpoint.bundle_writer import BundleWriter
from penstock.checkpoint.slices import slice_key
from penstock.checkpoint.versions import open_checkpoint

DATA = Path(__file__).parent / "data"
_spec = importlib.util.spec_from_file_location("record_samples", DATA / "record_samples.py")
samples = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(samples)


@pytest.mark.parametrize("name", ["plain", "version1", "sharded"])
def test_values(name):
    reader = open_checkpoint(str(DATA / name))
    wanted = {**samples.values(), "kinds/bfloat16": np.array([1.5, -2], ml_dtypes.bfloat16), "a": np.float32([1, 2]), "b": np.float32([3])}
    for key, stored in reader.tensors.items():
        found = reader.read(key)
        assert found.dtype == wanted[key].dtype and found.shape == stored.shape == wanted[key].shape, key
        np.testing.assert_array_equal(found, wanted[key], err_msg=key)
    assert len(reader.tensors) == {"plain": 18, "version1": 13, "sharded": 3}[name]


def test_the_same_bytes(tmp_path):
    reader, (_, entries) = BundleReader(str(DATA / "plain")), read_index(str(DATA / "plain"))
    part_of = {slice_key(name, part): (name, part) for name, stored in reader.tensors.items() for part in stored.parts}
    with BundleWriter(str(tmp_path / "plain")) as writer:
        for key, entry in sorted(entries.items(), key=lambda item: item[1].offset):
            if key in part_of:
                name, part = part_of[key]
                writer.add_slice(name, reader.stored(name).shape, part, reader._read_part(name, part))
            elif not entry.slices:
                writer.add(key.decode(), reader.read(key.decode()))
    for end in ("index", "data-00000-of-00001"):
        assert (tmp_path / f"plain.{end}").read_bytes() == (DATA / f"plain.{end}").read_bytes(), end


def test_a_whole_variable_from_shards_and_parts_of_another_size():
    rows = samples.values()["rows"]
    with tf.Graph().as_default(), tf.Session() as sess:
        whole = tf.get_variable("rows", rows.shape)
        tf.train.Saver([whole]).restore(sess, str(DATA / "sharded"))
        np.testing.assert_array_equal(sess.run(whole), rows)
    with tf.Graph().as_default(), tf.Session() as sess:
        parts = tf.get_variable("rows", rows.shape, partitioner=tf.fixed_size_partitioner(2), use_resource=True)
        tf.train.Saver(list(parts)).restore(sess, str(DATA / "sharded"))
        np.testing.assert_array_equal(sess.run(tf.convert_to_tensor(parts)), rows)


def test_training_goes_on():
    want = np.load(DATA / "trained.npz")
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        saver = tf.train.import_meta_graph(str(DATA / "trained.meta"))
        saver.restore(sess, str(DATA / "trained"))
        assert [v.op.name for v in tf.trainable_variables()] == ["w", "b"]
        assert tf.get_collection("numbers") == [7] and tf.get_collection("words") == [b"seven"]
        y, train = tf.get_collection("ends")
        assert y is graph.get_tensor_by_name("y:0") and tf.train.get_global_step() is tf.get_collection("global_step")[0]
        feed = {"x:0": samples.INPUTS}
        for name in ("y", "branch", "looped"):
            np.testing.assert_allclose(sess.run(f"{name}:0", feed), want[name], rtol=1e-6)
        sess.run(train, feed)
        np.testing.assert_allclose(sess.run("w:0"), want["w_after"], rtol=1e-6)
        np.testing.assert_allclose(sess.run(tf.trainable_variables()[1]), want["b_after"], rtol=1e-6)


def test_saved_model():
    folder = str(DATA / "saved_model")
    with tf.Graph().as_default(), tf.Session() as sess:
        definition = tf.saved_model.loader.load(sess, [tf.saved_model.tag_constants.SERVING], folder)
        signature = definition.signature_def["serving_default"]
        score = sess.run(signature.outputs["score"].name, {signature.inputs["x"].name: samples.INPUTS})
        assert score.tolist() == [[2.0], [-3.5]]
        assert sess.run("contents:0") == b"low\nhigh\n"  # the asset, read when the model was loaded
    with tf.Graph().as_default(), tf.Session() as sess:
        assert not tf.saved_model.loader.load(sess, ["train"], folder).signature_def
