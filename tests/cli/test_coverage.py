"""`penstock coverage`: names by file and line, what is there in part, what is missing; text, JSON, a page and an exit code."""
from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.api.partial import PARTIAL
from penstock.cli.coverage_uses import Use, find_sources, read_source

PROGRAM = """\
import tensorflow as tf
import tensorflow.contrib.slim as slim, os
from tensorflow.python.ops import array_ops, no_such_ops as nope
from tensorflow.compat import v1 as tf1
from tensorflow.compat.v1.nn import relu

layers = tf.layers
tf.GraphKeys.MINE = "mine"
x = layers.dense(tf1.nn.relu(array_ops.identity(1.0)), 3, no_such=2)
tf.app.flags.FLAGS.anything, tf.GraphKeys.MINE, os.path.join
tf.GraphKeys.NOT_THERE
tf.nothing.here
relu(x, alpha=2)
tf.contrib.tpu.TPUEstimator
"""


def test_uses_are_found(tmp_path):
    (tmp_path / "prog.py").write_text(PROGRAM)
    source = read_source(tmp_path / "prog.py")
    assert source.problem is None and source.own == {"tf.GraphKeys.MINE"}
    assert source.uses[:6] == [Use("tf", 1), Use("tf.contrib.slim", 2), Use("tf.python.ops.array_ops", 3), Use("tf.python.ops.no_such_ops", 3),
                               Use("tf", 4), Use("tf.nn.relu", 5)]
    found = {(use.name, use.line, use.keywords) for use in source.uses[6:]}
    assert found == {("tf.layers", 7, ()), ("tf.layers.dense", 9, ("no_such",)), ("tf.nn.relu", 9, ()), ("tf.python.ops.array_ops.identity", 9, ()),
                     ("tf.app.flags.FLAGS.anything", 10, ()), ("tf.GraphKeys.MINE", 10, ()), ("tf.GraphKeys.NOT_THERE", 11, ()),
                     ("tf.nothing.here", 12, ()), ("tf.nn.relu", 13, ("alpha",)), ("tf.contrib.tpu.TPUEstimator", 14, ())}


SHADOWED = """\
import tensorflow as tf
flags = tf.app.flags
layers = tf.layers
def own(flags, *layers, **tf): return flags.a, layers.b, tf.c
def local(path):
    with open(path) as layers: layers.read()
    for flags in path: flags.x
    [layers.y for layers in path]
    lambda tf: tf.z
    return tf.nn
def inside():
    import tensorflow.contrib.slim as layers
    layers.conv2d
def changes():
    global layers
    layers = tf.keras.layers
def default(flags=flags.FLAGS): return layers.dense
print([flags.p for flags in flags.q])
"""


def test_names_of_functions_hide_those_of_the_module(tmp_path):
    (tmp_path / "prog.py").write_text(SHADOWED)
    uses = [(use.name, use.line) for use in read_source(tmp_path / "prog.py").uses]
    assert uses == [("tf", 1), ("tf.app.flags", 2), ("tf.layers", 3), ("tf.nn", 10), ("tf.contrib.slim", 12), ("tf.contrib.slim.conv2d", 13),
                    ("tf.keras.layers", 16), ("tf.app.flags.FLAGS", 17), ("tf.layers.dense", 17), ("tf.app.flags.q", 18)]


def test_files_that_are_not_python_3(tmp_path):
    (tmp_path / "old.py").write_text("import tensorflow as tf  # tf.comment\nfrom tensorflow.contrib import rnn\nprint tf.nn.relu\nrnn.LSTMCell(3)\n")
    source = read_source(tmp_path / "old.py")
    assert source.problem == "line 3 is Python 2 (a print statement)"
    assert source.uses == [Use("tf", 1), Use("tf.contrib.rnn", 2), Use("tf.nn.relu", 3), Use("tf.contrib.rnn.LSTMCell", 4)]
    (tmp_path / "bad.py").write_bytes(b"# coding: no-such-coding\n")
    assert "cannot be read" in str(read_source(tmp_path / "bad.py").problem)


def test_notebooks_and_folders(tmp_path):
    code = ["%matplotlib inline\n", "import tensorflow as tf\n", "tf.abs"]
    cells = [{"cell_type": "markdown", "source": ["tf.no"]}, {"cell_type": "code", "source": code}]
    (tmp_path / "book.ipynb").write_text(json.dumps({"cells": cells}))
    assert read_source(tmp_path / "book.ipynb").uses == [Use("tf", 2), Use("tf.abs", 3)]
    for folder in ("env/lib", ".hidden", "package"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "module.py").write_text("")
    (tmp_path / "env" / "pyvenv.cfg").write_text("")
    assert [path.name for path in find_sources([tmp_path])] == ["book.ipynb", "module.py"]
    with pytest.raises(FileNotFoundError, match="neither a file nor a folder"):
        find_sources([Path("no such file")])


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "penstock", "coverage", *map(str, arguments)], capture_output=True, text=True, timeout=120)


def test_report(tmp_path):
    program = tmp_path / "prog.py"
    program.write_text(PROGRAM)
    done = run(program, "--html", tmp_path / "page.html")
    lines = [line.removeprefix(f"{program}:") for line in done.stdout.splitlines()]
    assert done.returncode == 1, done.stderr
    assert lines == ["3: missing tf.python.ops.no_such_ops: tf.python.ops has no 'no_such_ops'",
                     "9: partial tf.layers.dense: no argument 'no_such'",
                     "11: missing tf.GraphKeys.NOT_THERE: tf.GraphKeys has no 'NOT_THERE'",
                     "12: missing tf.nothing.here: tf has no 'nothing'",
                     "13: partial tf.nn.relu: no argument 'alpha'",
                     "14: partial tf.contrib.tpu.TPUEstimator: there are no TPUs: it runs on CPUs",
                     "1 files, 13 names of TensorFlow: 7 exist, 3 in part, 3 missing"]
    page = (tmp_path / "page.html").read_text()
    assert "<code>tf.nothing.here</code>" in page and "3 missing" in page and "src=" not in page
    report = json.loads(run(program, "--json").stdout)
    assert report["names"] == {"exists": 7, "partial": 3, "missing": 3}
    assert report["files"][0]["uses"][-1] == {"line": 14, "name": "tf.contrib.tpu.TPUEstimator", "status": "partial",
                                              "reason": "there are no TPUs: it runs on CPUs"}


def test_exit_codes(tmp_path):
    good, partial = tmp_path / "good.py", tmp_path / "partial.py"
    good.write_text("import tensorflow as tf\ntf.Session\n")
    partial.write_text("import tensorflow as tf\ntf.contrib.tpu.TPUEstimator\n")
    assert [run(good).returncode, run(partial).returncode, run(partial, "--strict").returncode, run(tmp_path / "none.py").returncode] == [0, 0, 1, 2]


def test_names_that_are_listed_as_partial_exist():
    import penstock as tf
    for name in PARTIAL:
        value = tf
        for part in name.split(".")[1:]:
            value = getattr(value, part)


def test_a_reader_that_goes_away():
    """As in `penstock coverage folder | head -1`."""
    with subprocess.Popen([sys.executable, "-m", "penstock", "coverage", str(Path(__file__).parent)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        err = process.stderr.read()
    assert process.returncode == 141 and "Traceback" not in err
