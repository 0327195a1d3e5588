"""Tests of the compiler wait for it."""
from __future__ import annotations

import pytest

from penstock.native.calls import Code
from penstock.native.config import config
from penstock.native.machine import target


@pytest.fixture(autouse=True)
def eager(monkeypatch):
    """The first call of a body waits for its kernel; two threads share large ones, whatever the machine has."""
    monkeypatch.setattr(config, "mode", "eager")
    monkeypatch.setattr(config, "threads", 2)


_held: dict[str, Code] = {}  # kernels for AVX2, which tests share


@pytest.fixture(params=["", "avx2"], ids=["best", "avx2"])
def each_isa(request, monkeypatch):
    """A test runs twice: with all that this CPU can do, and held to AVX2, as on CPUs without AVX-512."""
    if not request.param:
        return
    if not target.has("avx512f"):
        pytest.skip("this CPU has nothing beyond AVX2")
    monkeypatch.setattr(config, "isa", request.param)
    monkeypatch.setattr(Code, "_known", _held)
