"""Tests of OpenCL devices run on PoCL, which makes two devices of this machine's CPU. They are skipped where pyopencl or a driver is missing."""
from __future__ import annotations

import os

import pytest

from penstock.native.config import config
from penstock.opencl import drivers
from penstock.program.devices import kind_named

os.environ.setdefault("POCL_DEVICES", "pthread pthread")  # read when the driver is loaded


@pytest.fixture
def opencl(monkeypatch):
    """OpenCL devices, CPUs among them; a defect of the code generator fails the test."""
    monkeypatch.setenv("PENSTOCK_OPENCL", "all")
    monkeypatch.setattr(config, "strict", True)
    drivers.find.cache_clear()
    found = drivers.find()
    if not found.devices:
        drivers.find.cache_clear()
        pytest.skip(f"no OpenCL device: {'; '.join(found.reasons)}")
    kind = kind_named("GPU")
    monkeypatch.setattr(kind, "_numbers", {})
    yield kind
    drivers.find.cache_clear()


@pytest.fixture(params=["strips", pytest.param("groups", marks=pytest.mark.nightly)])
def kernels(request, monkeypatch, opencl):
    """A test runs twice: with the kernels for CPUs, and with those for GPUs, which run on a CPU too (nightly)."""
    monkeypatch.setattr(opencl, "_queues", {})
    monkeypatch.setenv("PENSTOCK_OPENCL_KERNELS", request.param)
    return request.param
