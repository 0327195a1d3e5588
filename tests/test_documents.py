"""What the documents show must run: the tutorial, the README's program, and the examples in docstrings."""
from __future__ import annotations

import doctest
import importlib
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "src"
MODULES = sorted(".".join(path.relative_to(SOURCES).with_suffix("").parts) for path in SOURCES.rglob("*.py")
                 if ">>>" in path.read_text() and path.name not in ("__init__.py", "__main__.py"))


def test_tutorial(capsys):
    runpy.run_path(str(ROOT / "docs" / "mini_penstock.py"), run_name="__main__")
    assert "w = [ 2. -3.]" in capsys.readouterr().out


def test_first_program(capsys):
    (program,) = re.findall(r"```python\n(import numpy.*?)```", (ROOT / "README.md").read_text(), re.S)
    exec(compile(program, "README.md", "exec"), {})
    out = capsys.readouterr().out
    assert "2." in out and "-3." in out


def test_an_operation_of_your_own(capsys):
    (program,) = re.findall(r"```python\n(import penstock as tf\n\n@tf.op.*?)```", (ROOT / "README.md").read_text(), re.S)
    exec(compile(program, "README.md", "exec"), {})
    assert "3., 12." in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore:Converting sparse IndexedSlices")
def test_tree_example():
    example = runpy.run_path(str(ROOT / "examples" / "tree_lstm.py"))
    assert example["main"](steps=60) > 0.8


def test_own_op_example(capsys):
    runpy.run_path(str(ROOT / "examples" / "own_op.py"), run_name="__main__")
    assert float(capsys.readouterr().out.split()[-1]) < 0.05


def test_the_tests_that_the_failure_table_names():
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "docs" / "failures.md").read_text()))
    tests = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    assert len(named) > 20 and not {name for name in named if f"def {name}(" not in tests}


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    module = importlib.import_module(name)
    failed, tried = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert not failed, f"{failed} of {tried} examples in {name} fail: python -m doctest shows them"
