"""Pipelines in GraphDefs: their functions are written, read, and run, also those of real TensorFlow."""
from __future__ import annotations

import json
from pathlib import Path

import pytest

import penstock as tf
from support.pipelines import drain, listed

RECORDED = Path(__file__).parent / "recorded"
Dataset = tf.data.Dataset


def imported(graph: tf.Graph) -> tf.Graph:
    """The graph after its way through a GraphDef."""
    graph_def = tf.GraphDef.FromString(graph.as_graph_def().SerializeToString())
    with tf.Graph().as_default() as copy:
        tf.import_graph_def(graph_def, name="")
    return copy


def test_a_pipeline_of_tensorflow():
    wanted = json.loads((RECORDED / "pipeline.json").read_text())
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.import_graph_def(tf.GraphDef.FromString((RECORDED / "pipeline.pb").read_bytes()), name="")
        sess.run(wanted["initializer"])
        for values in wanted["values"]:
            assert [value.tolist() for value in sess.run(["first:0", "second:0", "third:0"])] == values


PIPELINES = {
    "captures": lambda: (lambda c: Dataset.range(5).map(lambda x: x * c + c))(tf.constant(3, tf.int64)),
    "nested": lambda: Dataset.range(4).flat_map(lambda x: Dataset.range(x).map(lambda y: x * 10 + y)),
    "conditionals": lambda: Dataset.range(4).map(lambda x: tf.cond(x > 1, lambda: x * 100, lambda: -x)),
    "loops": lambda: Dataset.range(4).map(lambda x: tf.while_loop(lambda n: n < 50, lambda n: n * 2 + 1, [x])),
    "several results": lambda: Dataset.range(6).map(lambda x: tf.split(tf.stack([x, x + 1]), 2)).map(lambda a, b: a + b),
    "arguments as results": lambda: Dataset.range(3).map(lambda x: (x, x)).map(lambda a, b: b),
    "groups": lambda: Dataset.range(9).apply(tf.data.experimental.group_by_window(lambda x: x % 2, lambda _, w: w.batch(2), 2)),
    "windows": lambda: Dataset.range(7).window(3, 2).flat_map(lambda w: w.batch(3)),
    "sparse": lambda: Dataset.range(3).map(lambda x: tf.SparseTensor([[0]], [x], [2])).map(tf.sparse_tensor_to_dense),
    "scan": lambda: tf.data.experimental.Counter().take(4),
}


@pytest.mark.parametrize("name", list(PIPELINES))
def test_round_trip(name):
    with tf.Graph().as_default() as graph:
        wanted = listed(PIPELINES[name]())
    with tf.Graph().as_default() as graph:
        x = PIPELINES[name]().make_one_shot_iterator().get_next()
    twice = imported(imported(graph))
    with tf.Session(graph=twice) as sess:
        assert [value.tolist() for value in drain(sess, x.name)] == wanted


def test_two_imports_have_functions_of_their_own():
    with tf.Graph().as_default() as graph:
        Dataset.range(3).map(lambda x: x + 1).make_one_shot_iterator().get_next()
    graph_def = graph.as_graph_def()
    with tf.Graph().as_default() as both, tf.Session() as sess:
        for name in ("one", "two"):
            tf.import_graph_def(graph_def, name=name)
        assert drain(sess, "one/IteratorGetNext:0") == drain(sess, "two/IteratorGetNext:0") == [1, 2, 3]
        names = [function.signature.name for function in both.as_graph_def().library.function]
        assert len(names) == len(set(names)) >= 4


def test_a_function_that_cannot_be_read_is_an_error_only_when_it_runs():
    with tf.Graph().as_default() as graph:
        Dataset.range(3).map(lambda x: tf.identity(x, name="special")).make_one_shot_iterator().get_next()
    graph_def = graph.as_graph_def()
    for function in graph_def.library.function:
        for node in function.node_def:
            if node.name == "special":
                node.op = "NobodyHasThis"
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.import_graph_def(graph_def, name="")
        with pytest.raises(tf.errors.NotFoundError, match="NobodyHasThis"):
            sess.run("IteratorGetNext:0")


def test_meta_graph(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        bias = tf.get_variable("bias", initializer=5.0)
        iterator = Dataset.range(4).map(lambda x: tf.to_float(x) + bias).make_initializable_iterator()
        x = tf.identity(iterator.get_next(), name="x")
        sess.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(sess, str(tmp_path / "model"))
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.train.import_meta_graph(path + ".meta").restore(sess, path)
        sess.run(iterator.initializer.name)
        assert drain(sess, x.name) == [5.0, 6.0, 7.0, 8.0]
