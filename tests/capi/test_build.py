"""Building the library: what is missing is said."""
from __future__ import annotations

import pytest

from penstock.capi import build, location
from penstock.cli.main import main

pytestmark = pytest.mark.process


def test_what_is_missing_is_said(monkeypatch, capsys, tmp_path):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(build.shutil, "which", lambda name: None)
    monkeypatch.setattr(build, "find_spec", lambda name: None)
    monkeypatch.setattr(build.cpp_ops, "header", lambda: "")
    assert main(["capi", "--build", str(tmp_path)]) == 1
    assert "A C compiler is needed" in capsys.readouterr().err


def test_a_python_without_its_library(monkeypatch):
    monkeypatch.setattr(build, "shared_library", lambda: None)
    monkeypatch.setattr(build, "static_library", lambda: None)
    with pytest.raises(build.CannotBuild, match="neither a shared nor a static libpython"):
        build.python_library()
    monkeypatch.setattr(build, "static_library", lambda: "libpython.a")
    path, linked = build.python_library()
    assert path == "" and "libpython.a" in linked


def test_an_error_of_the_compiler_is_shown(monkeypatch, tmp_path):
    monkeypatch.setenv("CC", "false")
    monkeypatch.setattr(build.cpp_ops, "header", lambda: "")
    with pytest.raises(build.CannotBuild, match="The compiler failed"):
        build.build(tmp_path)


def test_a_folder_has_what_programs_look_for(installed):
    for name in ("libpenstock.so", "libtensorflow.so", "libtensorflow.so.1", "libtensorflow_framework.so", "pkgconfig/penstock.pc"):
        assert (installed / "lib" / name).exists()
    for name in ("tensorflow/c/c_api.h", "penstock/client.h", "penstock/ops.h"):
        assert (installed / "include" / name).exists()


def test_the_location_of_the_library(capsys):
    found = location.shared_library()
    assert location.main() == (found is None)
    assert capsys.readouterr().out.strip() == (found or "")
