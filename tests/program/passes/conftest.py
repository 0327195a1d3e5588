"""Passes are tested on the NumPy executor: what differs then is the passes' doing."""
from __future__ import annotations

import pytest

from penstock.native.config import config


@pytest.fixture(autouse=True)
def numpy_only(monkeypatch):
    """No native code."""
    monkeypatch.setattr(config, "mode", "off")
