"""Tests that save checkpoints do not wait for the disk; see tests/checkpoint for those that look at the order of writes."""
from __future__ import annotations

import os

import pytest

from penstock.summary.file_writer import FileWriterCache
from penstock.train import basic_hooks, hook_timers
from support.hooks import Clock


@pytest.fixture(autouse=True)
def no_wait_for_the_disk(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture(autouse=True)
def no_event_file_left_open():
    yield
    FileWriterCache.clear()


@pytest.fixture
def clock(monkeypatch):
    """The time that hooks see."""
    clock = Clock()
    monkeypatch.setattr(hook_timers, "time", clock)
    monkeypatch.setattr(basic_hooks, "time", clock)
    return clock


@pytest.fixture
def vocabulary(tmp_path):
    """A file of three words."""
    path = tmp_path / "vocabulary.txt"
    path.write_text("emerson\nlake\npalmer\n")
    return str(path)
