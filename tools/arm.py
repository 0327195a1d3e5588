"""``make arm``: Penstock on AArch64, under qemu: the tests of the compiler and of sessions.

    python tools/arm.py                        # makes the environment, in build/arm, and runs the tests of TESTS
    python tools/arm.py tests/ops -k Conv2D    # other tests: arguments of pytest
    python tools/arm.py --shell -c 'import penstock'

The environment is a Python of Debian for arm64, unpacked from its packages, with the wheels of PyPI for that machine; nothing is installed, and root
is not needed. What the emulator says of speed means nothing. What it shows: that LLVM's code for NEON is right, and that nothing takes an x86 for
granted. qemu has the instructions of Armv8-A; wider ones (SVE) are not used.
"""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path(os.environ.get("PENSTOCK_ARM", ROOT / "build" / "arm"))
SYSTEM, WHEELS, PYTHON = FOLDER / "root", FOLDER / "site", FOLDER / "python"
VERSION = "3.11"  # of Python, in Debian 12
PLATFORMS = ("manylinux2014_aarch64", "manylinux_2_17_aarch64", "manylinux_2_27_aarch64", "manylinux_2_28_aarch64")
# One process after another is emulated, so those that take longest (random programs, every op in many sizes) are left out.
TESTS = ["tests/test_smoke.py", "tests/native/vector", "tests/native/machine", "tests/native/contract", "tests/native/fusion", "tests/session",
         "-k", "not fuzz"]
SOURCES = """Types: deb
URIs: http://deb.debian.org/debian
Suites: bookworm
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
"""


def main(arguments: list[str]) -> int:
    qemu = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
    if qemu is None or shutil.which("apt-get") is None:
        print("qemu-aarch64-static and apt-get are needed: apt install qemu-user-static, on Debian or Ubuntu", file=sys.stderr)
        return 1
    if not PYTHON.exists():
        _unpack_system()
        _install_wheels()
        _write_python(qemu)
    command = arguments[1:] if arguments[:1] == ["--shell"] else ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout", "1800",
                                                                 *(arguments or TESTS)]
    return subprocess.run([str(PYTHON), *command], cwd=ROOT).returncode


def _unpack_system() -> None:
    """Python and the libraries that it needs, of Debian for arm64: with lists and a cache of apt of their own."""
    apt = FOLDER / "apt"
    for folder in ("lists/partial", "cache/archives/partial", "sources"):
        (apt / folder).mkdir(parents=True, exist_ok=True)
    (apt / "sources" / "debian.sources").write_text(SOURCES, encoding="utf-8")
    settings = {"Dir::Etc::sourcelist": "/dev/null", "Dir::Etc::sourceparts": apt / "sources", "Dir::State::Lists": apt / "lists",
                "Dir::State::status": "/dev/null", "Dir::Cache": apt / "cache", "APT::Architecture": "arm64", "APT::Architectures::": "arm64",
                "APT::Sandbox::User": "root", "Debug::NoLocking": "1"}
    options = [part for key, value in settings.items() for part in ("-o", f"{key}={value}")]
    subprocess.run(["apt-get", *options, "-q", "update"], check=True)
    subprocess.run(["apt-get", *options, "-q", "-y", "--no-install-recommends", "--download-only", "install", "python3", "libpython3-stdlib",
                    "libstdc++6"], check=True)
    SYSTEM.mkdir(exist_ok=True)
    for package in sorted((apt / "cache" / "archives").glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", str(package), str(SYSTEM)], check=True)


def _install_wheels() -> None:
    """What Penstock and its tests need, for that machine."""
    every = [(text, extra) for text, _, extra in (each.partition(";") for each in metadata.requires("penstock") or ())]
    wanted = [text for text, extra in every if not extra or ("dev" in extra and text.startswith(("pytest", "hypothesis", "h5py")))]
    platforms = [part for each in PLATFORMS for part in ("--platform", each)]
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade", "--target", str(WHEELS),
                    "--only-binary=:all:", "--implementation", "cp", "--python-version", VERSION, *platforms, *wanted], check=True)


def _write_python(qemu: str) -> None:
    """The command that is Python there; it is also what a process of it starts others by."""
    (WHEELS / "sitecustomize.py").write_text(f"import sys\nsys.executable = {str(PYTHON)!r}\n", encoding="utf-8")
    PYTHON.write_text(f"#!/bin/sh\nexport PYTHONPATH={WHEELS}:{ROOT / 'src'} PYTHONDONTWRITEBYTECODE=1 PENSTOCK_CACHE_DIR={FOLDER / 'cache'}\n"
                      f'exec {qemu} -L {SYSTEM} {SYSTEM}/usr/bin/python{VERSION} "$@"\n', encoding="utf-8")
    PYTHON.chmod(0o755)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
