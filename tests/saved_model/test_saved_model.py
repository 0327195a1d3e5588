"""SavedModels: what is written, what loading restores, what is refused."""
from __future__ import annotations

import os

import pytest

import penstock as tf

SERVING = [tf.saved_model.tag_constants.SERVING]


def export(folder, as_text=False, **options):
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None], name="x")
        w = tf.get_variable("w", initializer=2.0, use_resource=True)
        y = tf.multiply(x, w, name="y")
        sess.run(tf.global_variables_initializer())
        builder = tf.saved_model.Builder(str(folder))
        signature = tf.saved_model.predict_signature_def({"x": x}, {"y": y})
        builder.add_meta_graph_and_variables(sess, SERVING, {"serving_default": signature}, **options)
        builder.add_meta_graph(["serve", "gpu"])
        return builder.save(as_text)


@pytest.mark.parametrize("as_text", [False, True])
def test_round_trip(tmp_path, as_text):
    path = export(tmp_path / "model", as_text)
    assert path == str(tmp_path / "model" / f"saved_model.pb{'txt' if as_text else ''}")
    assert sorted(os.listdir(tmp_path / "model" / "variables")) == ["variables.data-00000-of-00001", "variables.index"]
    for scope in (None, "inside"):
        with tf.Graph().as_default(), tf.Session() as sess:
            definition = tf.saved_model.loader.load(sess, SERVING, str(tmp_path / "model"), import_scope=scope)
            signature = definition.signature_def["serving_default"]
            assert signature.method_name == tf.saved_model.signature_constants.PREDICT_METHOD_NAME
            x, y = (tf.saved_model.utils.get_tensor_from_tensor_info(info, import_scope=scope)
                    for info in (signature.inputs["x"], signature.outputs["y"]))
            assert sess.run(y, {x: [1.0, 3.0]}).tolist() == [2.0, 6.0]


def test_tags_that_are_not_there(tmp_path):
    export(tmp_path / "model")
    with tf.Graph().as_default(), tf.Session() as sess:
        with pytest.raises(RuntimeError, match=r"'train'.*\['serve'\], \['gpu', 'serve'\]"):
            tf.saved_model.load(sess, ["train"], str(tmp_path / "model"))
        with pytest.raises(OSError, match="does not exist"):
            tf.saved_model.load(sess, SERVING, str(tmp_path))
    assert tf.saved_model.contains_saved_model(str(tmp_path / "model")) and not tf.saved_model.contains_saved_model(str(tmp_path))


def test_what_is_refused(tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(AssertionError, match="isn't empty"):
        tf.saved_model.Builder(str(tmp_path / "full"))
    with tf.Graph().as_default(), tf.Session() as sess:
        builder = tf.saved_model.Builder(str(tmp_path / "new"))
        with pytest.raises(AssertionError, match="not been saved yet"):
            builder.add_meta_graph(SERVING)
        with pytest.raises(AssertionError, match="dtype field"):
            info = tf.saved_model.build_tensor_info(tf.constant(1.0))
            info.dtype = 0
            builder.add_meta_graph_and_variables(sess, SERVING, {"bad": tf.saved_model.build_signature_def({"x": info})})
        builder.add_meta_graph_and_variables(sess, SERVING)  # a graph without variables
        with pytest.raises(AssertionError, match="already been saved"):
            builder.add_meta_graph_and_variables(sess, SERVING)
        builder.save()
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.saved_model.load(sess, SERVING, str(tmp_path / "new"))


def test_assets_and_main_op(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "words.txt").write_text(folder)
    with tf.Graph().as_default(), tf.Session() as sess:
        assets = [tf.constant(str(tmp_path / folder / "words.txt")) for folder in ("one", "two")]
        local = [tf.Variable("", name=f"text{number}", trainable=False, collections=[tf.GraphKeys.LOCAL_VARIABLES]) for number in range(2)]
        read = tf.group(*[tf.assign(variable, tf.read_file(asset)) for variable, asset in zip(local, assets)])
        tf.Variable(1.0)
        sess.run(tf.global_variables_initializer())
        builder = tf.saved_model.builder.SavedModelBuilder(str(tmp_path / "model"))
        builder.add_meta_graph_and_variables(sess, SERVING, assets_collection=assets, main_op=read)
        builder.save()
    assert sorted(os.listdir(tmp_path / "model" / "assets")) == ["words.txt", "words.txt_1"]
    for folder in ("one", "two"):
        os.remove(tmp_path / folder / "words.txt")
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.saved_model.load(sess, SERVING, str(tmp_path / "model"))
        assert sess.run(["text0:0", "text1:0"]) == [b"one", b"two"]


def test_signatures():
    with tf.Graph().as_default():
        text, number = tf.placeholder(tf.string, [None], name="text"), tf.placeholder(tf.float32, [None, 2], name="number")
        signatures = tf.saved_model.signature_def_utils
        assert signatures.is_valid_signature(signatures.regression_signature_def(text, number))
        assert signatures.is_valid_signature(signatures.classification_signature_def(text, text, number))
        assert signatures.is_valid_signature(signatures.classification_signature_def(text, None, number))
        assert signatures.is_valid_signature(signatures.predict_signature_def({"a": text}, {"b": number}))
        assert not signatures.is_valid_signature(signatures.build_signature_def())
        for wrong in (lambda: signatures.regression_signature_def(number, number), lambda: signatures.regression_signature_def(text, text),
                      lambda: signatures.classification_signature_def(text, None, None), lambda: signatures.predict_signature_def({}, {})):
            with pytest.raises(ValueError):
                wrong()
        sparse = tf.sparse_placeholder(tf.float32, name="sparse")
        info = tf.saved_model.utils.build_tensor_info(sparse)
        found = tf.saved_model.utils.get_tensor_from_tensor_info(info)
        assert found.values is sparse.values and info.coo_sparse.indices_tensor_name == sparse.indices.name


def test_a_folder_as_bytes(tmp_path):
    """As ``Estimator.export_saved_model`` returns it."""
    export(tmp_path / "model")
    folder = os.fsencode(tmp_path / "model")
    assert tf.saved_model.maybe_saved_model_directory(folder)
    with tf.Graph().as_default(), tf.Session() as sess:
        assert "serving_default" in tf.saved_model.loader.load(sess, SERVING, folder).signature_def
    assert tf.contrib.predictor.from_saved_model(folder)({"x": [1.0, 3.0]})["y"].tolist() == [2.0, 6.0]
