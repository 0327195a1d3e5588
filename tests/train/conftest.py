"""Tests that save checkpoints do not wait for the disk; see tests/checkpoint for those that look at the order of writes."""
from __future__ import annotations

import os

import pytest

from penstock.summary.file_writer import FileWriterCache


@pytest.fixture(autouse=True)
def no_wait_for_the_disk(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture(autouse=True)
def no_event_file_left_open():
    yield
    FileWriterCache.clear()
