"""`penstock inspect`: a line per tensor, the values on demand, an error that says what is wrong."""
from __future__ import annotations

import penstock as tf
from penstock.cli.main import main


def export(folder):
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        w = tf.get_variable("w", initializer=[[1.0], [2.0]])
        tf.get_variable("parts", initializer=[1, 2, 3], partitioner=tf.fixed_size_partitioner(2))
        y = tf.matmul(x, w, name="y")
        sess.run(tf.global_variables_initializer())
        tf.train.Saver().save(sess, str(folder / "model"), global_step=1)
        tf.train.write_graph(graph, str(folder), "graph.pbtxt")
        tf.train.write_graph(graph, str(folder), "graph.pb", as_text=False)
        tf.saved_model.simple_save(sess, str(folder / "saved"), {"x": x}, {"y": y})


def test_inspect(tmp_path, capsys):
    export(tmp_path)
    for path in (tmp_path / "model-1", tmp_path / "model-1.index", tmp_path / "model-1.data-00000-of-00001", tmp_path):
        assert main(["inspect", str(path)]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line.split() for line in lines] == [["parts", "int32", "[3]", "in", "2", "parts"], ["w", "float32", "[2,", "1]"],
                                                    "2 tensors, 5 elements".split()]
    assert main(["inspect", str(tmp_path / "model-1"), "parts"]) == 0
    assert "[1 2 3]" in capsys.readouterr().out
    for name in ("graph.pbtxt", "graph.pb", "model-1.meta"):
        assert main(["inspect", str(tmp_path / name)]) == 0
        assert "variable  w  float32 (2, 1)" in capsys.readouterr().out
    assert main(["inspect", str(tmp_path / "saved")]) == 0
    assert "out y: float32 (?, 1)  y:0" in capsys.readouterr().out


def test_errors(tmp_path, capsys):
    (tmp_path / "page.index").write_text("<html>")
    for path, words in ((tmp_path / "nothing", "The checkpoints in"), (tmp_path / "page", "bad magic number"), (tmp_path, "checkpoint")):
        assert main(["inspect", str(path)]) == 1
        assert words in capsys.readouterr().err
