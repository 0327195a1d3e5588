"""Monitored sessions and hooks call what TensorFlow 1.15 calls, in its order, and write what it writes. See data/record_monitored.py."""
from __future__ import annotations

import importlib.util
import json
import tempfile
from pathlib import Path

import pytest

import penstock as tf

DATA = Path(__file__).parent / "data"
RECORDED = json.loads((DATA / "monitored.json").read_text())


def _recorder():
    spec = importlib.util.spec_from_file_location("record_monitored", DATA / "record_monitored.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RECORDER = _recorder()
SCENES = RECORDER.scenes(tf)


def test_all_scenes_are_recorded():
    assert set(SCENES) == set(RECORDED)


@pytest.mark.parametrize("name", sorted(SCENES))
def test_scene(name, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert json.loads(json.dumps(RECORDER.play(tf, SCENES[name]))) == RECORDED[name]
