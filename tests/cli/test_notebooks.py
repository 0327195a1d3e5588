"""Notebooks run as programs: what becomes of their commands, and ``penstock run book.ipynb`` as a user calls it."""
from __future__ import annotations

import json
import subprocess
import sys

import pytest

from penstock.cli.notebooks import NotANotebook, as_python, cells
from support.process import environment

CALL = "get_ipython()"


@pytest.mark.graph
@pytest.mark.parametrize(("cell", "python"), [
    ("x = 1\nx % 2", None),
    ("print('a %d'\n      % x)", None),
    ("%matplotlib inline\nprint('a %d'\n      % x)", f"{CALL}.run_line_magic('matplotlib', 'inline')\nprint('a %d'\n      % x)"),
    ("if True:\n    !ls {folder}\n    y = 2", f"if True:\n    {CALL}.system('ls {{folder}}')\n    y = 2"),
    ("files = !ls *.py\nfiles", f"files = {CALL}.getoutput('ls *.py')\nfiles"),
    ("tf.nn.relu?\nx = 1", "pass\nx = 1"),
    ("text = '''\n%cd no\n'''\n%cd yes", f"text = '''\n%cd no\n'''\n{CALL}.run_line_magic('cd', 'yes')"),
    ("%%bash\necho 1\necho 2", f"{CALL}.run_cell_magic('bash', '', 'echo 1\\necho 2')\n\n"),
    ("took = %time f(x)", f"took = {CALL}.run_line_magic('time', 'f(x)')"),
])
def test_commands_become_calls(cell, python):
    assert as_python(cell) == (cell if python is None else python)


@pytest.mark.graph
def test_cells_of_old_and_new_formats():
    markdown = {"cell_type": "markdown", "source": ["text"]}
    assert cells(json.dumps({"cells": [markdown, {"cell_type": "code", "source": ["a\n", "b"]}]})) == ["a\nb"]
    assert cells(json.dumps({"worksheets": [{"cells": [markdown, {"cell_type": "code", "input": "a"}]}]})) == ["a"]
    for text in ("{", "[]", "{}", '{"cells": [1]}'):
        with pytest.raises(NotANotebook, match="not a notebook"):
            cells(text)


@pytest.fixture
def run(tmp_path):
    """Calls ``penstock run`` for a notebook of these cells, from another folder."""
    (tmp_path / "books").mkdir()

    def call(*sources: str, arguments: tuple[str, ...] = ()):
        book = {"nbformat": 4, "cells": [{"cell_type": "code", "source": source} for source in sources]}
        (tmp_path / "books" / "book.ipynb").write_text(json.dumps(book))
        return subprocess.run([sys.executable, "-m", "penstock", "run", "books/book.ipynb", *arguments], cwd=tmp_path,
                              env=environment(PENSTOCK_QUIET="1"), capture_output=True, text=True, timeout=60)

    return call


def test_cells_run_in_order_and_show_their_last_value(run, tmp_path):
    (tmp_path / "books" / "helper.py").write_text("value = 42\n")
    done = run("%matplotlib inline\nimport tensorflow as tf\nimport helper, os, sys", "s = tf.InteractiveSession()\ntf.constant([1.0, 2.0]).eval()",
               "helper.value;", "for i in range(2):\n    i", "folder = os.path.basename(os.getcwd())\n!echo in {folder} with $HOME_OF_NOTHING.",
               "lines = !printf 'a\\nb'\nlines", "sys.argv[1:]", "%time print('timed')", "%%writefile made.txt\ntext", "open('made.txt').read()",
               "!pip install tensorflow", "%no_such_command x", arguments=("--steps", "3"))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:6] == ["array([1., 2.], dtype=float32)", "in books with .", "['a', 'b']", "['--steps', '3']", "timed", lines[5]]
    assert lines[5].startswith("Wall time: ") and lines[6:] == ["'text'"]
    file = str(tmp_path / "books" / "book.ipynb")
    assert done.stderr.splitlines() == [f"penstock run: {file}, cell 11: !pip install tensorflow is left out",
                                        f"penstock run: {file}, cell 12: %no_such_command is left out"]


def test_errors_name_the_cell_and_its_line(run):
    done = run("import tensorflow as tf", "print('before')", "x = tf.placeholder(tf.float32)\n\nbad = tf.reshape(x, [7])",
               "tf.Session().run(bad, {x: [1.0]})", "print('after')")
    assert done.returncode == 1 and done.stdout == "before\n"
    assert "book.ipynb, cell 4\", line 1, in <module>\n    tf.Session().run(bad, {x: [1.0]})" in done.stderr
    assert "book.ipynb, cell 3:3, in <module>: bad = tf.reshape(x, [7])" in done.stderr
    wrong = run("print('ran')", "def f(:\n    pass")
    assert wrong.stdout == "ran\n" and "book.ipynb, cell 2\", line 1" in wrong.stderr and "SyntaxError" in wrong.stderr


def test_threads_that_nobody_stops_end_with_the_notebook(run):
    done = run("import atexit, threading\natexit.register(print, 'at exit')\nthreading.Thread(target=threading.Event().wait, name='runner').start()")
    assert done.returncode == 0 and done.stdout == "at exit\n"
    assert done.stderr == "penstock run: the notebook is at its end; threads that it has not stopped end with it: runner\n"


def test_what_is_no_notebook_is_refused(run, tmp_path):
    (tmp_path / "books" / "plain.ipynb").write_text("print(1)")
    done = subprocess.run([sys.executable, "-m", "penstock", "run", "books/plain.ipynb"], cwd=tmp_path, env=environment(PENSTOCK_QUIET="1"),
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "can't open 'books/plain.ipynb': not a notebook" in done.stderr
