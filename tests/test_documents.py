"""What the documents show must run: the tutorial, the README's program, and the examples in docstrings."""
from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import re
import runpy
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.api import contrib
from support.process import environment, python

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


def test_an_operation_of_your_own():
    """In a process of its own: a type of operation stays as long as its process, and a function of another test's graph has its name."""
    (program,) = re.findall(r"```python\n(import penstock as tf\n\n@tf.op.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert "3., 12." in python(program).stdout


BLOCK = re.compile(r"(<!-- not run: [^\n]* -->\n\s*)?```python\n(.*?)```", re.S)
PAGES = sorted(path.name for path in (ROOT / "docs").glob("*.md") if "```python" in path.read_text())


@pytest.mark.parametrize("page", PAGES)
def test_blocks_of_a_page(page, tmp_path):
    """The blocks of a page run one after the other, as a program; one that cannot says why in a comment before it."""
    blocks = [block for excuse, block in BLOCK.findall((ROOT / "docs" / page).read_text()) if not excuse]
    file = tmp_path / "page.py"  # a file: AutoGraph reads the source of functions
    file.write_text("\n".join(textwrap.dedent(block) for block in blocks).replace("/tmp/model", str(tmp_path / "model")))
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=240, cwd=tmp_path, env=environment())
    assert done.returncode == 0, done.stderr


def test_few_blocks_are_not_run():
    excused = [page for page in PAGES for excuse, _ in BLOCK.findall((ROOT / "docs" / page).read_text()) if excuse]
    assert len(excused) <= 3


# (program, arguments that make it short, what it has to reach)
EXAMPLES: dict[str, tuple[dict[str, int], Callable[[Any], bool]]] = {
    "ridge": ({}, lambda difference: difference < 1e-4),
    "softmax": ({"steps": 100}, lambda accuracy: accuracy > 0.85),
    "convnet": ({"steps": 40}, lambda accuracy: accuracy > 0.5),
    "language_model": ({"steps": 40, "vocabulary": 2000, "units": 64, "projection": 64, "unroll": 10, "sampled": 128},
                       lambda perplexities: perplexities == sorted(perplexities, reverse=True) and perplexities[-1] < 0.5 * perplexities[0]),
    "seq2seq_attention": ({"steps": 100}, lambda right: right > 0.3),
    "vae": ({"steps": 100}, lambda bounds: bounds[1] > bounds[0] + 10),
    "gan": ({"steps": 300}, lambda distances: distances[1] < distances[0]),
    "dqn": ({}, lambda reward: reward > 0.8),
    "word2vec": ({"steps": 200}, lambda right: right >= 9),
    "gcn": ({"steps": 60}, lambda accuracy: accuracy > 0.9),
    "wide_deep": ({"steps": 150}, lambda accuracy: accuracy > 0.8),
    "serving": ({"steps": 60}, lambda accuracy: accuracy > 0.85),
}


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.filterwarnings("ignore:Converting sparse IndexedSlices", "ignore:Using a checkpoint", "ignore::DeprecationWarning")
def test_example(name, capsys):
    arguments, good = EXAMPLES[name]
    assert good(runpy.run_path(str(ROOT / "examples" / f"{name}.py"))["main"](**arguments))


def test_imperative_example():
    python("import runpy\n" f"assert runpy.run_path({str(ROOT / 'examples' / 'eager_training.py')!r})['main'](steps=100) > 0.8")


def test_distributed_example():
    done = subprocess.run([sys.executable, str(ROOT / "examples" / "distributed.py")], capture_output=True, text=True, timeout=240,
                          env={key: value for key, value in os.environ.items() if key != "TF_CONFIG"})
    begun = re.search(r"the next one began at step (\d+) and came to (\d+)", done.stdout)
    assert begun and 20 <= int(begun[1]) < 120 == int(begun[2]), done.stdout + done.stderr


@pytest.mark.filterwarnings("ignore:Converting sparse IndexedSlices")
def test_tree_example():
    example = runpy.run_path(str(ROOT / "examples" / "tree_lstm.py"))
    assert example["main"](steps=60) > 0.8


def test_own_op_example(capsys):
    runpy.run_path(str(ROOT / "examples" / "own_op.py"), run_name="__main__")
    assert float(capsys.readouterr().out.split()[-1]) < 0.05


@pytest.mark.parametrize("document", ["docs/failures.md", "SECURITY.md"])
def test_the_tests_that_promises_name(document):
    named = set(re.findall(r"`(test_\w+)`", (ROOT / document).read_text()))
    tests = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    assert len(named) > 10 and not {name for name in named if f"def {name}(" not in tests}


def test_the_files_that_documents_name():
    roots = [ROOT, *(ROOT / folder for folder in ("benchmarks", "docs", "examples", "src", "tests", "tools"))]
    files = {str(path) for root in roots for path in (root.glob("*") if root is ROOT else root.rglob("*"))}
    named = {(path.name, name) for path in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"))
             for name in re.findall(r"[`(](?:\.\./)?([\w/-]+\.(?:py|md|svg|yaml))(?=[`):])", path.read_text())
             if not name.startswith("reference/")}  # pages that tools/docs.py makes
    assert len(named) > 100 and not {each for each in named if not any(file.endswith("/" + each[1]) for file in files)}


def test_what_is_missing_of_contrib_is_documented():
    document = (ROOT / "docs" / "contrib.md").read_text()
    namespaces = [importlib.import_module(module.name) for module in pkgutil.walk_packages(contrib.__path__, f"{contrib.__name__}.")]
    missing = {name for module in (contrib, *namespaces) for name in getattr(module, "MISSING", ())}
    told = re.sub(r"`(\w+)` and its kin", lambda found: " ".join(n for n in missing if n.startswith(found[1])), document)
    assert len(missing) > 20 and not {name for name in missing if not re.search(rf"\b{name}\b", told)}


def test_what_is_documented_as_missing_of_contrib_is_missing():
    lines = (ROOT / "docs" / "contrib.md").read_text().splitlines()
    rows = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines if " | " in line]
    told = {f"{space}.{name}" for row in rows if len(row) > 2 for space in re.findall(r"`(\w+)`", row[0]) if space in contrib.ORIGINS
            for name in re.findall(r"`([\w.]+)`", row[2])}
    there = {path for path in told if _reachable(path)}
    assert len(told) > 10 and not there - {"distribute.TPUStrategy"}  # which exists and says that there are no TPUs


def _reachable(path: str) -> bool:
    place: Any = contrib
    for name in path.split("."):
        place = getattr(place, name, None)
    return place is not None


def test_every_setting_is_documented():
    read = {name for path in SOURCES.rglob("*.py") for name in re.findall(r"PENSTOCK_[A-Z_]+", path.read_text())}
    assert set(re.findall(r"PENSTOCK_[A-Z_]+", (ROOT / "docs" / "settings.md").read_text())) == read - {"PENSTOCK_LAUNCH_GATE"}  # the launcher's own


def test_the_code_that_the_architecture_shows():
    shown = re.findall(r"^    (%.*|store .*)  ;", (ROOT / "ARCHITECTURE.md").read_text(), re.M)
    program = """
        import os
        os.environ.update(PENSTOCK_COMPILE="eager", PENSTOCK_DUMP="ir")
        import penstock as tf
        a, b = (tf.placeholder(tf.float32, [None]) for _ in range(2))
        with tf.Session() as session:
            session.run(tf.nn.relu(a * b + 1.0), {a: [1.0] * 40, b: [1.0] * 40})
    """
    printed = {_without_numbers(line) for line in python(program).stderr.splitlines()}
    assert len(shown) == 9 and {_without_numbers(line) for line in shown} <= printed


def _without_numbers(line: str) -> str:
    return re.sub(r"%\.\w+", "%", line).strip()


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    module = importlib.import_module(name)
    failed, tried = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert not failed, f"{failed} of {tried} examples in {name} fail: python -m doctest shows them"
