"""Kernels that are held to fewer instructions than the CPU has."""
from __future__ import annotations

import pytest

from penstock.native import config as settings
from penstock.native.config import config
from penstock.native.contract import gemm
from penstock.native.contract.tile import tile_for
from penstock.native.machine import target


def test_no_instruction_beyond_avx2(monkeypatch):
    monkeypatch.setattr(config, "isa", "avx2")
    assert not target.has("avx512f")
    assembly = target.dump("gemm", gemm.Gemm(tile_for(4)).text, {"asm"})
    assert "zmm" not in assembly and "{%k" not in assembly
    assert ("%ymm" in assembly) == target.has("avx2")


def test_kernels_for_different_instructions_have_different_places_in_the_cache(monkeypatch):
    if not target.has("avx512f"):
        pytest.skip("this CPU has nothing beyond AVX2")
    named = []
    monkeypatch.setattr(target.cache, "load", lambda name: named.append(name) or b"code")
    for isa in ("", "avx2", ""):
        monkeypatch.setattr(config, "isa", isa)
        target.object_code("text")
    assert named[0] == named[2] != named[1]


def test_unknown_instructions(monkeypatch):
    monkeypatch.setenv("PENSTOCK_ISA", "mmx")
    with pytest.raises(ValueError, match="PENSTOCK_ISA=mmx: it can be avx2"):
        settings._isa()
