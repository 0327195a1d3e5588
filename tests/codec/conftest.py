"""Tests of native code for bytes turn it on: elsewhere the compiler is off."""
from __future__ import annotations

import pytest

from penstock.native.config import config


@pytest.fixture(autouse=True)
def native_code(monkeypatch):
    monkeypatch.setattr(config, "mode", "eager")
