"""Processes that a program of ``penstock run`` starts: in these ``tensorflow`` is Penstock, too.

A program starts others by ``multiprocessing`` (whose children begin anew wherever they are not forked), by ``subprocess``, or through a launcher.
They inherit two variables of the environment: PYTHONPATH, which begins with a folder whose ``sitecustomize.py`` Python runs when it starts, and one
that says what to do then.
"""
from __future__ import annotations

import os
from pathlib import Path

from penstock.api.alias import install_as_tensorflow
from penstock.cli import era

VARIABLE = "PENSTOCK_CHILDREN"  # environment variable: "era" or "plain", as ``penstock run`` was called
_FOLDER = str(Path(__file__).parent / "child_site")


def prepare(with_era: bool) -> None:
    """From now on, processes that this one starts run as it does."""
    given = os.environ.get("PYTHONPATH")
    paths = given.split(os.pathsep) if given else []
    os.environ["PYTHONPATH"] = os.pathsep.join([_FOLDER, *(path for path in paths if path != _FOLDER)])
    os.environ[VARIABLE] = "era" if with_era else "plain"


def begin() -> None:
    """What such a process does before anything else."""
    if VARIABLE in os.environ:
        install_as_tensorflow()
        if os.environ[VARIABLE] == "era":
            era.activate(tell=False)
