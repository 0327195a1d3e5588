"""Session bundles: what the exporter writes, which exports stay, what it refuses; those of estimators."""
import glob
import os

import numpy as np
import pytest

import penstock as tf
from penstock.contrib.session_bundle import constants
from penstock.contrib.session_bundle.manifest import AssetFile, Signatures

exporter, gc = tf.contrib.session_bundle.exporter, tf.contrib.session_bundle.gc


def _model(folder):
    x = tf.placeholder(tf.float32, [None], name="x")
    y = tf.multiply(tf.Variable(2.0, name="w"), x, name="y")
    path = os.path.join(folder, "words.txt")
    with open(path, "w") as file:
        file.write("a\nb\n")
    asset = tf.constant(path, name="words")
    return x, y, tf.train.get_or_create_global_step(), asset


def _messages(meta, key, kind):
    return [kind.FromString(packed.value) for packed in meta.collection_def[key].any_list.value]


def test_a_bundle_holds_the_model_its_signatures_and_its_files(tmp_path):
    x, y, step, asset = _model(tmp_path)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        export = exporter.Exporter(tf.train.Saver())
        with pytest.raises(RuntimeError, match="init must be called first"):
            export.export(str(tmp_path), step, session)
        export.init(graph_def=session.graph.as_graph_def(), init_op=tf.no_op(name="prepare"), clear_devices=True, assets_collection=[asset],
                    default_graph_signature=exporter.regression_signature(x, y),
                    named_graph_signatures={"all": exporter.generic_signature({"in": x, "out": y}),
                                            "classes": exporter.classification_signature(x, scores_tensor=y)})
        with pytest.raises(RuntimeError, match="only once"):
            export.init()
        folder = export.export(str(tmp_path) + "/", step, session, exports_to_keep=gc.largest_export_versions(2))
        assert folder.decode() == os.path.join(str(tmp_path), "00000000")
        with pytest.raises(RuntimeError, match="Overwriting exports can cause corruption"):
            export.export(str(tmp_path), step, session)
        for number in (7, 9):
            session.run(step.assign(number))
            export.export(str(tmp_path), step, session, exports_to_keep=gc.largest_export_versions(2))
    assert sorted(os.path.basename(path) for path in glob.glob(str(tmp_path / "0*"))) == ["00000007", "00000009"]
    folder = str(tmp_path / "00000009")
    assert (tmp_path / "00000009" / constants.ASSETS_DIRECTORY / "words.txt").read_text() == "a\nb\n"
    with tf.Graph().as_default(), tf.Session() as session:
        saver = tf.train.import_meta_graph(os.path.join(folder, constants.META_GRAPH_DEF_FILENAME))
        saver.restore(session, os.path.join(folder, constants.VARIABLES_FILENAME))
        meta = tf.train.export_meta_graph()
        (signatures,) = _messages(meta, constants.SIGNATURES_KEY, Signatures)
        binding = signatures.default_signature.regression_signature
        assert session.run(binding.output.tensor_name, {binding.input.tensor_name: [3.0]}) == [6.0]
        assert session.run("global_step:0") == 9
        assert signatures.named_signatures["all"].generic_signature.map["out"].tensor_name == "y:0"
        assert signatures.named_signatures["classes"].classification_signature.scores.tensor_name == "y:0"
        (file,) = _messages(meta, constants.ASSETS_KEY, AssetFile)
        assert (file.filename, file.tensor_binding.tensor_name) == ("words.txt", "words:0")
        assert meta.collection_def[constants.INIT_OP_KEY].node_list.value == ["prepare"]
        assert meta.collection_def[constants.GRAPH_KEY].any_list.value[0].type_url == "type.googleapis.com/tensorflow.GraphDef"


@pytest.mark.parametrize(("asset", "error"), [
    (lambda: "path", TypeError), (lambda: tf.identity(tf.constant("path")), TypeError), (lambda: tf.constant(1), TypeError),
    (lambda: tf.constant(["a", "b"]), TypeError), (lambda: tf.constant(""), ValueError)])
def test_assets_are_the_paths_of_files(asset, error):
    tf.Variable(1.0)
    with pytest.raises(error):
        exporter.Exporter(tf.train.Saver()).init(assets_collection=[asset()])


def _trained(kind, folder):
    x, y = np.float32([[0], [1], [2], [3]]), np.array([0, 0, 1, 1])
    columns = [tf.contrib.layers.real_valued_column("x")]
    model = getattr(tf.contrib.learn, kind)(feature_columns=columns, model_dir=str(folder / "model"))

    def input_fn():
        return {"x": tf.constant(x)}, tf.constant(y)
    return model.fit(input_fn=input_fn, steps=5)


@pytest.mark.parametrize(("kind", "signature", "output"), [("LinearClassifier", "classification_signature", "scores"),
                                                           ("LinearRegressor", "regression_signature", "output")])
def test_estimators_are_exported_with_the_signature_of_their_kind(kind, signature, output, tmp_path):
    model = _trained(kind, tmp_path)
    folder = model.export(str(tmp_path / "exports"), exports_to_keep=1, default_batch_size=None).decode()
    assert os.path.basename(folder) == "00000005"
    example = tf.train.Example(features=tf.train.Features(feature={"x": tf.train.Feature(float_list=tf.train.FloatList(value=[2.0]))}))
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph(os.path.join(folder, "export.meta")).restore(session, os.path.join(folder, "export"))
        session.run(tf.get_collection(constants.INIT_OP_KEY)[0])
        (signatures,) = _messages(tf.train.export_meta_graph(), constants.SIGNATURES_KEY, Signatures)
        binding = getattr(signatures.default_signature, signature)
        value = session.run(getattr(binding, output).tensor_name, {binding.input.tensor_name: [example.SerializeToString()]})
    wanted = model.predict(input_fn=lambda: ({"x": tf.constant([[2.0]])}, None), as_iterable=False,
                           outputs=["probabilities" if kind == "LinearClassifier" else "scores"])
    np.testing.assert_allclose(value[0], next(iter(wanted.values()))[0], rtol=1e-6)


def test_an_input_function_without_arguments_names_its_examples(tmp_path):
    model = _trained("LinearClassifier", tmp_path)

    def serving():
        return {"x": tf.constant([[1.0]]), "examples": tf.placeholder(tf.string)}, None
    tf.contrib.learn.utils.export_estimator(model, str(tmp_path / "parsed"), tf.contrib.learn.utils.export.generic_signature_fn)
    assert (tmp_path / "parsed" / "00000005" / "export.meta").exists()
    model.export(str(tmp_path / "exports"), input_fn=serving, input_feature_key="examples", use_deprecated_input_fn=False)
    with pytest.raises(ValueError, match="Couldn't find trained model"):
        untrained = tf.contrib.learn.LinearClassifier([tf.contrib.layers.real_valued_column("x")], model_dir=str(tmp_path / "empty"))
        untrained.export(str(tmp_path / "other"))
    with pytest.raises(ValueError, match="input_fn must be defined"):
        model.export(str(tmp_path / "exports"), use_deprecated_input_fn=False)
    with pytest.raises(ValueError, match="examples cannot be None"):
        model.export(str(tmp_path / "other"), input_fn=lambda: ({"x": tf.constant([[1.0]])}, None), use_deprecated_input_fn=False)


def test_a_monitor_exports_while_a_model_is_trained(tmp_path):
    def input_fn():
        return {"x": tf.constant([[1.0], [2.0]])}, tf.constant([0, 1])
    model = tf.contrib.learn.LinearClassifier([tf.contrib.layers.real_valued_column("x")], model_dir=str(tmp_path / "model"),
                                              config=tf.contrib.learn.RunConfig(save_checkpoints_steps=2, save_checkpoints_secs=None))
    monitor = tf.contrib.learn.monitors.ExportMonitor(2, str(tmp_path / "exports"), exports_to_keep=2)
    assert (monitor.last_export_dir, monitor.exports_to_keep, monitor.signature_fn) == (None, 2, None)
    model.fit(input_fn=input_fn, steps=6, monitors=[monitor])
    folders = sorted(path.name for path in (tmp_path / "exports").iterdir())
    assert len(folders) == 2 and folders[-1] == "00000006"
    assert os.path.basename(monitor.last_export_dir.decode()) in folders
