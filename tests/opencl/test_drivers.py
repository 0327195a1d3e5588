"""Which devices are used, and why not: what ``penstock devices`` tells."""
from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

import penstock as tf
from penstock.cli.main import main
from penstock.opencl import drivers

pytestmark = pytest.mark.process


@pytest.fixture(autouse=True)
def looked_for_anew():
    drivers.find.cache_clear()
    yield
    drivers.find.cache_clear()


def test_without_the_extra_nothing_changes(monkeypatch, capsys):
    monkeypatch.setenv("PENSTOCK_OPENCL", "gpu")
    monkeypatch.setattr(drivers.importlib.util, "find_spec", lambda name: None)
    with tf.Session() as session:
        assert [device.device_type for device in session.list_devices()] == ["CPU"]
    assert main(["devices"]) == 0
    assert "pip install 'penstock[opencl]'" in capsys.readouterr().out


def test_a_broken_installation_is_told_and_changes_nothing(monkeypatch, capsys):
    monkeypatch.setenv("PENSTOCK_OPENCL", "gpu")
    monkeypatch.setattr(drivers, "may_have_device", lambda: True)
    monkeypatch.setitem(sys.modules, "pyopencl", ModuleType("pyopencl"))  # as pip leaves it in the midst of an installation
    monkeypatch.setattr(drivers.importlib.util, "find_spec", lambda name: True)
    with tf.Session() as session:
        assert [device.device_type for device in session.list_devices()] == ["CPU"]
    assert main(["devices"]) == 0
    assert "pyopencl cannot be loaded" in capsys.readouterr().out


@pytest.mark.parametrize("file, asked", [("null", False), ("dri/renderD128", True), ("nvidia0", True), ("dxg", True), ("kgsl-3d0", True)])
def test_only_a_machine_with_a_device_file_is_searched(file, asked, tmp_path, monkeypatch):
    for name in [name for name in drivers.os.environ if name.startswith(drivers._SETTINGS)]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(drivers.sys, "platform", "linux")
    path = tmp_path / "dev" / file
    path.parent.mkdir(parents=True)
    path.touch()
    assert drivers.may_have_device(tmp_path) is asked


def test_a_setting_of_a_driver_has_it_asked(tmp_path, monkeypatch):
    monkeypatch.setenv("POCL_DEVICES", "remote")
    assert drivers.may_have_device(tmp_path)


def test_without_a_device_pyopencl_is_not_imported(monkeypatch, capsys):
    monkeypatch.setenv("PENSTOCK_OPENCL", "gpu")
    monkeypatch.setattr(drivers, "may_have_device", lambda: False)
    monkeypatch.setattr(drivers.importlib.util, "find_spec", lambda name: True)
    monkeypatch.setitem(sys.modules, "pyopencl", None)  # an import would raise
    with tf.Session() as session:
        assert [device.device_type for device in session.list_devices()] == ["CPU"]
    assert main(["devices"]) == 0
    assert "/dev/dri" in capsys.readouterr().out


def test_switched_off(monkeypatch, capsys):
    monkeypatch.setenv("PENSTOCK_OPENCL", "off")
    assert main(["devices"]) == 0
    assert "PENSTOCK_OPENCL=off" in capsys.readouterr().out


def test_a_wrong_setting_is_told(monkeypatch, capsys):
    monkeypatch.setenv("PENSTOCK_OPENCL", "some")
    assert main(["devices"]) == 2
    assert "PENSTOCK_OPENCL=some: it can be gpu, all, off" in capsys.readouterr().out


def test_cpus_are_left_out_unless_asked_for(opencl, monkeypatch, capsys):
    assert main(["devices", "--test"]) == 0
    assert capsys.readouterr().out.count("is right") == len(drivers.find().devices)
    monkeypatch.setenv("PENSTOCK_OPENCL", "gpu")
    drivers.find.cache_clear()
    found = drivers.find()
    assert all("PENSTOCK_OPENCL=all" in reason for reason in found.reasons)


@pytest.mark.parametrize("version, wide, taken", [("PoCL HSTR: pthread-x86_64-unknown-linux-gnu-znver3", True, False),
                                                  ("PoCL HSTR: pthread-x86_64-unknown-linux-gnu-znver3", False, True),
                                                  ("PoCL HSTR: pthread-x86_64-pc-linux-gnu-skylake-avx512", True, True)])
def test_a_driver_whose_compiler_fails_on_this_cpu_is_left_out(version, wide, taken, monkeypatch):
    monkeypatch.setattr(drivers.target, "has", lambda feature: wide)
    cl = SimpleNamespace(device_type=SimpleNamespace(CPU=2))
    device = SimpleNamespace(available=True, compiler_available=True, endian_little=True, type=2, version=f"OpenCL 3.0 {version}")
    assert (drivers._why_not(cl, device, "all") == "") is taken
