"""`penstock install-alias`: pip sees tensorflow, programs import it, and nothing of others is touched."""
from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata

import pytest

from penstock.cli.main import main


def alias(folder, *arguments: str) -> int:
    return main(["install-alias", "--target", str(folder), *arguments])


def imported(folder, statements: str) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *filter(None, sys.path)])}
    return subprocess.run([sys.executable, "-c", statements], capture_output=True, text=True, timeout=120, env=environment, check=True).stdout


def test_install_and_remove(tmp_path, capsys):
    assert alias(tmp_path) == 0
    (found,) = metadata.distributions(path=[str(tmp_path)])
    assert (found.metadata["Name"], found.version, found.requires) == ("tensorflow", "1.15.0", ["penstock"])
    assert all(file.locate().is_file() and (file.hash is None or file.size == file.locate().stat().st_size) for file in found.files)
    out = imported(tmp_path, "import tensorflow.contrib.slim, tensorflow as tf, penstock; print(tf.abs is penstock.abs, tf.__version__)")
    assert out.split() == ["True", "1.15.0"]
    assert alias(tmp_path) == 0  # a second time changes nothing
    assert alias(tmp_path, "--remove") == 0 and list(tmp_path.iterdir()) == []
    assert alias(tmp_path, "--remove") == 0 and "There was no alias" in capsys.readouterr().out


def test_the_names_of_the_era(tmp_path):
    assert alias(tmp_path, "--era", "--name", "tensorflow-gpu", "--version", "1.14.0") == 0
    assert imported(tmp_path, "import tensorflow, numpy; print(numpy.float is float)").strip() == "True"
    assert [found.metadata["Name"] for found in metadata.distributions(path=[str(tmp_path)])] == ["tensorflow-gpu"]
    assert alias(tmp_path) == 0 and alias(tmp_path, "--remove", "--name", "tensorflow-gpu") == 0
    assert (tmp_path / "tensorflow").is_dir()  # the other one still needs it
    assert alias(tmp_path, "--remove") == 0 and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("present", ["module", "metadata"])
def test_tensorflow_itself_is_left_alone(tmp_path, capsys, present):
    if present == "module":
        (tmp_path / "tensorflow").mkdir()
        (tmp_path / "tensorflow" / "__init__.py").write_text("__version__ = '2.21.0'\n")
    else:
        (tmp_path / "tensorflow-2.21.0.dist-info").mkdir()
        (tmp_path / "tensorflow-2.21.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: tensorflow\nVersion: 2.21.0\n")
    before = sorted(tmp_path.rglob("*"))
    assert alias(tmp_path) == 1 and "first" in capsys.readouterr().err
    assert alias(tmp_path, "--remove") == 0 and sorted(tmp_path.rglob("*")) == before
