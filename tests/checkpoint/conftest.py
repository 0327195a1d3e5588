"""Tests of checkpoints do not wait for the disk: a busy one would make them slow, and what they look at is there without it."""
from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True)
def no_wait_for_the_disk(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
