"""MetaGraphs: what a graph and its collections look like after a trip through a file."""
from __future__ import annotations

import pytest

import penstock as tf
from penstock.train import meta_graph


def test_scopes(tmp_path):
    """One saved graph twice in another, each with a saver of its own."""
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.Variable(3.0, name="v")
        tf.train.Saver()
        sess.run(tf.global_variables_initializer())
        prefix = tf.train.Saver(name="second").save(sess, str(tmp_path / "model"))
    with tf.Graph().as_default(), tf.Session() as sess:
        savers = [tf.train.import_meta_graph(f"{prefix}.meta", import_scope=scope) for scope in ("one", "two")]
        assert [variable.name for variable in tf.global_variables()] == ["one/v:0", "two/v:0"]
        for saver in savers:
            saver.restore(sess, prefix)
        assert sess.run(tf.global_variables()) == [3.0, 3.0]


def test_a_part_of_a_graph():
    with tf.Graph().as_default():
        outside = tf.constant(2.0, name="outside")
        with tf.variable_scope("part"):
            w = tf.get_variable("w", [], initializer=tf.constant_initializer(5.0))
            tf.multiply(w, outside, name="product")
        exported, variables = meta_graph.export_scoped_meta_graph(export_scope="part")
        assert list(variables) == ["w:0"]
    names = {node.name for node in exported.graph_def.node}
    assert "product" in names and not any(name.startswith("part/") for name in names)
    with tf.Graph().as_default(), tf.Session() as sess:
        with pytest.raises(ValueError, match="unbound inputs"):
            tf.train.import_meta_graph(exported)
        tf.train.import_meta_graph(exported, import_scope="copy", input_map={"$unbound_inputs_outside": tf.constant(10.0)})
        sess.run(tf.global_variables_initializer())
        assert sess.run("copy/product:0") == 50.0


def test_options(tmp_path):
    with tf.Graph().as_default():
        with tf.device("/cpu:0"):
            tf.Variable(1.0, name="v")
        savers = [tf.train.Saver(), tf.train.Saver()]
        plain = tf.train.export_meta_graph()
        bare = savers[1].export_meta_graph(clear_devices=True, strip_default_attrs=True, clear_extraneous_savers=True, collection_list=[])
    nodes = {node.name: node for node in bare.graph_def.node}
    assert not any(node.device for node in bare.graph_def.node) and any(node.device for node in plain.graph_def.node)
    assert "save/Const" not in nodes and "save_1/Const" in nodes and not bare.collection_def
    assert "container" not in nodes["v"].attr and bare.meta_info_def.stripped_default_attrs
    assert {op.name for op in plain.meta_info_def.stripped_op_list.op} >= {"VariableV2", "Assign", "SaveV2"}
    tf.train.write_graph(bare, str(tmp_path), "text.meta", as_text=True)
    assert meta_graph.read_meta_graph_file(str(tmp_path / "text.meta")) == bare


@pytest.mark.parametrize("contents", [b"\xff\xfe no proto", b"no { proto"])
def test_files_that_are_no_meta_graphs(tmp_path, contents):
    (tmp_path / "file").write_bytes(contents)
    with pytest.raises(OSError, match="Cannot parse file"):
        tf.train.import_meta_graph(str(tmp_path / "file"))
    with pytest.raises(OSError, match="does not exist"):
        tf.train.import_meta_graph(str(tmp_path / "other"))


def test_no_variables():
    with tf.Graph().as_default():
        tf.constant(1.0)
        exported = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        assert tf.train.import_meta_graph(exported) is None


def test_the_initialized_value_is_a_conditional_for_others(tmp_path):
    with tf.Graph().as_default():
        v = tf.Variable(3.0, name="v")
        r = tf.get_variable("r", initializer=5.0, use_resource=True)
        tf.identity(v.initialized_value() + r.initialized_value(), name="sum")
        exported = tf.train.export_meta_graph()
    assert not any(node.op.startswith("_") for node in exported.graph_def.node)
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.train.import_meta_graph(exported)
        assert sess.run("sum:0") == 8.0
        sess.run(tf.global_variables_initializer())
        sess.run(tf.global_variables()[0].assign(1.0))
        assert sess.run("sum:0") == 6.0


def test_seeds_after_an_imported_graph_are_tensorflows():
    """Layers that are added to a graph of a file begin with TensorFlow 1.15's weights, though its gradients have more nodes there than here."""
    x = tf.placeholder(tf.float32, [None, 5], name="X")
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.placeholder(tf.int32, [None]), logits=tf.layers.dense(x, 3)))
    tf.train.AdamOptimizer().minimize(loss)
    saved = tf.train.Saver().export_meta_graph()
    for add, expected in ((tf.train.import_meta_graph, 108), (lambda meta: tf.import_graph_def(meta.graph_def), len(saved.graph_def.node))):
        with tf.Graph().as_default():
            tf.set_random_seed(3)
            add(saved)
            assert tf.get_seed(None) == (3, expected)
