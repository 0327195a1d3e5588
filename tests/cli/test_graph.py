"""``penstock graph``: from every kind of file, and from programs."""
from __future__ import annotations

from xml.etree import ElementTree

import pytest

import penstock as tf
from penstock.cli.main import main
from support.process import python

PROGRAM = """\
import sys
import tensorflow as tf
x = tf.placeholder(tf.float32, [None], name="x")
v = tf.Variable(2.0, name="v")
y = tf.multiply(x, v, name="y")
sess = tf.Session()
sess.run(v.initializer)
for number in range(int(sys.argv[1])):
    print("step", sess.run(y, {x: [1.0, 2.0]}))
"""


@pytest.fixture
def graph():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        v = tf.get_variable("v", [2, 1], use_resource=True)
        tf.matmul(x, v, name="y")
    return graph


def run(capsys, *arguments):
    code = main(["graph", *map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def write(kind, graph, folder):
    """A file of this kind with the graph in it."""
    with graph.as_default():
        if kind in ("pb", "pbtxt"):
            return tf.train.write_graph(graph, str(folder), f"graph.{kind}", as_text=kind == "pbtxt")
        if kind == "meta":
            tf.train.export_meta_graph(str(folder / "graph.meta"), graph=graph)
            return folder / "graph.meta"
        if kind == "events":
            with tf.summary.FileWriter(str(folder / "log"), graph):
                pass
            return folder / "log"
        with tf.Session(graph=graph) as sess:
            sess.run(tf.global_variables_initializer())
            tf.saved_model.simple_save(sess, str(folder / "saved"), {"x": graph.get_tensor_by_name("x:0")}, {"y": graph.get_tensor_by_name("y:0")})
        return folder / "saved"


@pytest.mark.parametrize("kind", ["pb", "pbtxt", "meta", "events", "saved model"])
def test_files(kind, graph, tmp_path, capsys):
    path = write(kind, graph, tmp_path)
    code, out, _ = run(capsys, "--svg", tmp_path / "out.svg", "--fetch", "y", path)
    assert code == 0
    for stage in ("built", "pruned", "placed", "partitioned", "optimised", "planned"):
        assert f"--- {stage}: " in out
    assert "y = MatMul(" in out and "[?,2]" in out
    texts = {element.text for element in ElementTree.parse(tmp_path / "out.svg").iter("{http://www.w3.org/2000/svg}text")}
    assert {"x", "v", "y", "MatMul"} <= texts


def test_unknown_operations_are_drawn(tmp_path, capsys):
    graph_def = tf.GraphDef()
    graph_def.node.add(name="a", op="FromTheFuture")
    (tmp_path / "graph.pb").write_bytes(graph_def.SerializeToString())
    code, out, err = run(capsys, "--svg", tmp_path / "out.svg", tmp_path / "graph.pb")
    assert code == 0 and "a = FromTheFuture()" in out and "pruned" not in out and "no further stages" in err and "FromTheFuture" in err
    assert "FromTheFuture" in (tmp_path / "out.svg").read_text()


def test_files_without_a_graph(tmp_path, capsys):
    (tmp_path / "noise.pb").write_bytes(b"\xff\xfe noise")
    (tmp_path / "empty.pb").write_bytes(b"")
    for name, words in [("noise.pb", "neither a GraphDef"), ("empty.pb", "neither"), ("missing.pb", "No such file"), (".", "without event files")]:
        code, _, err = run(capsys, "--svg", tmp_path / "out.svg", tmp_path / name)
        assert code == 1 and words in err
    assert run(capsys, "--fetch", "nothing", write("pb", tf.Graph(), tmp_path))[0] == 1


def test_costs_of_a_run(graph, tmp_path, capsys):
    metadata = tf.RunMetadata()
    with graph.as_default(), tf.Session(graph=graph) as sess:
        sess.run(tf.global_variables_initializer())
        sess.run("y:0", {"x:0": [[1.0, 2.0]]}, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
    (tmp_path / "metadata").write_bytes(metadata.SerializeToString())
    code, _, _ = run(capsys, "--svg", tmp_path / "out.svg", "--metadata", tmp_path / "metadata", write("pb", graph, tmp_path))
    assert code == 0 and 'class="cost"' in (tmp_path / "out.svg").read_text()


# A program is run in a process of its own: the alias and the names of another era would stay.
COMMAND = "import sys; from penstock.cli.main import main; sys.exit(main(sys.argv[1:]))"


def test_programs(tmp_path):
    (tmp_path / "prog.py").write_text(PROGRAM)
    result = python(COMMAND, "graph", "--svg", str(tmp_path / "out.svg"), "--trace", "--stages", "pruned,planned", str(tmp_path / "prog.py"), "3")
    assert result.stdout.count("step [2. 4.]") == 3 and "--- pruned: " in result.stdout and "y = Mul(_arg_x_0_0" in result.stdout
    assert "--- built" not in result.stdout and "4 runs of 2 different steps" in result.stderr
    assert 'class="cost"' in (tmp_path / "out.svg").read_text()
    options = ["--svg", str(tmp_path / "out.svg"), "--runs", "2", "--step", "1", "--quiet"]
    result = python(COMMAND, "graph", *options, str(tmp_path / "prog.py"), "100000")
    assert result.stdout.count("step") == 1 and "pruned: 3 nodes" in result.stdout


OPTIONS = """\
import sys
import tensorflow as tf
options = tf.GraphOptions(optimizer_options=tf.OptimizerOptions(opt_level=tf.OptimizerOptions.L0 if sys.argv[1] == "L0" else tf.OptimizerOptions.L1))
with tf.device("/cpu:1"):
    folded = tf.multiply(tf.constant(2.0), 3.0, name="folded")
total = tf.add(folded, tf.placeholder_with_default(1.0, [], name="x"), name="total")
with tf.Session(config=tf.ConfigProto(graph_options=options, device_count={"CPU": 2})) as sess:
    print(sess.run(total))
"""


@pytest.mark.parametrize("level, stays", [("L0", True), ("L1", False)])
def test_the_plan_is_the_one_that_the_session_makes(level, stays, tmp_path):
    """With its options and its devices, after it was closed."""
    (tmp_path / "prog.py").write_text(OPTIONS)
    options = ["--stages", "placed,optimised", "--svg", str(tmp_path / "graph.svg")]
    placed, optimised = python(COMMAND, "graph", *options, str(tmp_path / "prog.py"), level).stdout.split("--- optimised")
    assert "folded = Mul(" in placed and "CPU:1" in placed
    assert ("folded = Mul(" in optimised) is stays
