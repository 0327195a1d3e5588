"""Tests of the compiler use a cache folder of their own, and wait for the compiler."""
from __future__ import annotations

import pytest

from penstock.compiler.config import config


@pytest.fixture(scope="session")
def kernel_cache(tmp_path_factory):
    """One folder for a whole run: tests share kernels."""
    return tmp_path_factory.mktemp("kernels")


@pytest.fixture(autouse=True)
def eager(monkeypatch, kernel_cache):
    """The first call of a body waits for its kernel; two threads share large ones, whatever the machine has."""
    monkeypatch.setenv("PENSTOCK_CACHE_DIR", str(kernel_cache))
    monkeypatch.setattr(config, "mode", "eager")
    monkeypatch.setattr(config, "threads", 2)
    monkeypatch.setattr(config, "strict", True)
