"""The lock file, the installation from it, and the wheel with its bill of materials."""
from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from itertools import product
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements-dev.lock"
sys.path.append(str(ROOT / "tools"))

import build_wheel as wheel_tool  # noqa: E402

MACHINES = [{"sys_platform": system, "platform_system": system.title(), "platform_machine": machine, "os_name": "posix"}
            for system, machine in (("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64"))]


# --- the lock file ---------------------------------------------------------------------------------------------------

def asked_for() -> list[Requirement]:
    """What pyproject.toml asks for, to run, to develop and to build."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    dependencies = project["project"]["dependencies"] + project["project"]["optional-dependencies"]["dev"] + project["build-system"]["requires"]
    return [Requirement(text) for text in dependencies]


@pytest.mark.graph
@pytest.mark.parametrize("version", ["3.10", "3.11", "3.12", "3.13"])
def test_the_lock_has_one_version_of_everything(version):
    pins, _ = wheel_tool.read_lock(LOCK.read_text(encoding="utf-8"))
    for requirement, machine in product(asked_for(), MACHINES):
        place = {"python_version": version, "python_full_version": f"{version}.1", "platform_python_implementation": "CPython", **machine}
        if requirement.marker is not None and not requirement.marker.evaluate(place):
            continue
        found = [pin for pin, marker in pins.get(wheel_tool.normal_name(requirement.name), []) if not marker or Marker(marker).evaluate(place)]
        assert len(found) == 1 and requirement.specifier.contains(found[0]), f"{requirement} on {version}: {found}; `make lock` renews the file"


@pytest.mark.graph
def test_the_lock_has_hashes_and_no_addresses():
    text = LOCK.read_text(encoding="utf-8")
    assert not re.search(r"://|--(extra-)?index|--find-links|--trusted-host|^-", text, re.MULTILINE)
    for block in re.split(r"\n(?=[\w-]+==)", text)[1:]:
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", block), block


# --- installing ------------------------------------------------------------------------------------------------------

def make_package(folder: Path, contents: str) -> Path:
    """A wheel with one module."""
    path = folder / "tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as package:
        package.writestr("tiny.py", contents)
        package.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        package.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        package.writestr("tiny-1.0.dist-info/RECORD", "")
    return path


def install(folder: Path, lock: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs tools/install.py, with no index and ``folder`` to take packages from."""
    (folder / "lock").write_text(lock, encoding="utf-8")
    variables = {**os.environ, "PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder),
                 "PIP_TARGET": str(folder / "target")}
    return subprocess.run([sys.executable, str(ROOT / "tools" / "install.py"), "--lock", str(folder / "lock"), *arguments], env=variables,
                          capture_output=True, text=True, timeout=120, check=False)


def test_a_file_that_was_exchanged_is_not_installed(tmp_path):
    known = hashlib.sha256(make_package(tmp_path, "VALUE = 1").read_bytes()).hexdigest()
    make_package(tmp_path, "VALUE = 2")
    result = install(tmp_path, f"tiny==1.0 --hash=sha256:{known}\n")
    assert result.returncode == 1 and "is not the one that lock names" in result.stderr
    assert not (tmp_path / "target" / "tiny.py").exists() and "ranges" not in result.stderr


def test_a_lock_that_does_not_fit(tmp_path):
    """In CI it is an error; elsewhere the ranges of pyproject.toml are tried, which this index does not have either."""
    lock = f"tiny==2.0 --hash=sha256:{'0' * 64}\n"
    strict, usual = install(tmp_path, lock, "--locked"), install(tmp_path, lock)
    assert strict.returncode == 1 and "`make lock` renews it" in strict.stderr and "ranges" not in strict.stderr
    assert usual.returncode == 1 and "installing by the ranges of pyproject.toml, without hashes" in usual.stderr


# --- the wheel -------------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """Two builds, of two copies of the sources that differ in place, times and rights."""
    built = []
    for name, rights in (("one", 0o644), ("another", 0o600)):
        folder = tmp_path_factory.mktemp(name)
        shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"), copy_function=shutil.copyfile)
        for file in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copyfile(ROOT / file, folder / file)
        for path in (folder / "src").rglob("*.py"):
            path.chmod(rights)
            os.utime(path, (rights, rights))
        built.append(wheel_tool.build_wheel(folder / "dist", folder))
    return built


def test_two_builds_are_equal(wheels):
    one, another = (path.read_bytes() for path in wheels)
    assert wheels[0].name == wheels[1].name and len(one) > 100_000
    assert one == another


def test_the_bill_of_materials(wheels):
    text = LOCK.read_text(encoding="utf-8")
    bills = [json.dumps(wheel_tool.bill_of_materials(path, text), indent=2) for path in wheels]
    assert bills[0] == bills[1]
    bill = json.loads(bills[0])
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6") and re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", bill["serialNumber"])
    assert bill["metadata"]["component"]["hashes"] == [{"alg": "SHA-256", "content": hashlib.sha256(wheels[0].read_bytes()).hexdigest()}]
    names = {each["name"] for each in bill["components"]}
    assert {"numpy", "grpcio", "werkzeug"} <= names, "what it needs, and what that needs"
    assert not names & {"pytest", "ruff", "hatchling"}, "what only developers need"
    references = [each["bom-ref"] for each in bill["components"]]
    assert len(references) == len(set(references))
    known = {*references, bill["metadata"]["component"]["bom-ref"]}
    assert {each["ref"] for each in bill["dependencies"]} == known
    assert {reference for each in bill["dependencies"] for reference in each["dependsOn"]} <= known
