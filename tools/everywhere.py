"""``make everywhere``: what of Penstock runs on this machine's parts, each part by its own tests, and a table of what ran on what.

    python tools/everywhere.py             # all parts that this machine has
    python tools/everywhere.py wasm gpu    # those whose names contain one of these words
    python tools/everywhere.py --list      # what there is, and what is missing for it

A part is an entry of PARTS: its name, what it runs on, what the machine must have for it, and the command that tests it. Where something is missing
the table says what, and nothing has failed.
"""
from __future__ import annotations

import argparse
import functools
import importlib.util
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.opencl.ptx import why_not

ROOT = Path(__file__).resolve().parent.parent
Need = Callable[[], str]  # what is missing, and how to get it; "" if nothing


def program(*names: str, get: str = "") -> Need:
    """One of these programs on the PATH."""
    return lambda: "" if any(map(shutil.which, names)) else f"no {' or '.join(names)}" + (f" ({get})" if get else "")


def package(name: str, get: str = "") -> Need:
    """A package of Python."""
    return lambda: "" if importlib.util.find_spec(name) is not None else f"no package {name}" + (f" ({get})" if get else "")


def ptxas() -> str:
    """NVIDIA's assembler, and a Clang that writes for it."""
    return why_not()


@functools.cache
def _machine() -> str:
    return f"{platform.machine()} {platform.system()}"


@dataclass(frozen=True)
class Part:
    """Something that runs somewhere: a command that ends with 0 if it works."""

    name: str
    runs_on: str  # "" for this machine
    command: Sequence[str]
    needs: Sequence[Need] = ()

    @property
    def missing(self) -> str:
        """What the machine lacks for it."""
        return ", ".join(filter(None, (need() for need in self.needs)))


def tests(*arguments: str) -> list[str]:
    """The command that runs some tests."""
    return [sys.executable, "-m", "pytest", "-q", "--timeout", "300", *arguments]


_EXPORT, _QEMU = "pip install 'penstock[export]'", "apt install qemu-user"
PARTS = [
    Part("sessions", "", tests("tests/test_smoke.py")),
    Part("the C API", "", tests("tests/capi/test_library.py", "tests/capi/test_build.py"), [program("gcc")]),
    Part("C++ and JavaScript", "", [sys.executable, "tools/languages.py"], [program("g++"), program("node"), program("npm")]),
    Part("ARM", "AArch64, by qemu", [sys.executable, "tools/arm.py", "--most", "8", "--limit", "300"],
         [program("qemu-aarch64-static", "qemu-aarch64", get=_QEMU), program("apt-get")]),
    Part("gpu", "OpenCL (PoCL)", tests("tests/opencl"), [package("pyopencl", "pip install 'penstock[opencl]' pocl-binary-distribution")]),
    Part("gpu: PTX", "ptxas (NVIDIA), built only", tests("tests/opencl/test_ptx.py"),
         [package("pyopencl", "pip install 'penstock[opencl]' pocl-binary-distribution"), ptxas]),
    Part("export: C", "", tests("tests/export/test_native.py", "tests/export/test_threads.py", "tests/export/test_refusals.py"), [program("gcc")]),
    Part("export: objects", "all targets, built only", tests("tests/export/test_targets.py", "-k", "objects")),
    Part("export: aarch64", "qemu-aarch64", tests("tests/export/test_targets.py", "-k", "aarch64_by"),
         [package("ziglang", _EXPORT), program("qemu-aarch64", "qemu-aarch64-static", get=_QEMU)]),
    Part("export: armv7", "qemu-arm", tests("tests/export/test_targets.py", "-k", "armv7_by"),
         [package("ziglang", _EXPORT), program("qemu-arm", "qemu-arm-static", get=_QEMU)]),
    Part("export: libraries", "Android, macOS: built only", tests("tests/export/test_targets.py", "-k", "not_here"), [package("ziglang", _EXPORT)]),
    Part("export: android", "qemu-aarch64, this CPU", tests("tests/export/test_targets.py", "-k", "android_code"),
         [package("ziglang", _EXPORT), program("gcc"), program("qemu-aarch64", "qemu-aarch64-static", get=_QEMU)]),
    Part("export: windows", "Wine", tests("tests/export/test_targets.py", "-k", "by_wine"),
         [package("ziglang", _EXPORT), program("wine", get="apt install wine64")]),
    Part("export: wasm", "Node", tests("tests/export/test_targets.py", "-k", "webassembly"), [package("ziglang", _EXPORT), program("node")]),
    Part("export: digits page", "Chromium", tests("-m", "browser", "tests/browser/test_digits.py"),
         [package("ziglang", _EXPORT), package("playwright")]),
]


def main() -> int:
    parser = argparse.ArgumentParser(description="Run what of Penstock this machine has parts for.")
    parser.add_argument("words", nargs="*", metavar="WORD", help="only parts whose names contain one of these")
    parser.add_argument("--list", action="store_true", help="only say what there is")
    options = parser.parse_args()
    parts = [part for part in PARTS if not options.words or any(word in part.name for word in options.words)]
    rows = [(part, *_result(part, options.list)) for part in parts]
    width = max((len(part.name) for part in parts), default=0)
    print()
    for part, outcome, detail in rows:
        print(f"{part.name:{width}}  {outcome:8} on {part.runs_on or _machine():24} {detail}".rstrip())
    return int(any(outcome == "FAILED" for _, outcome, _ in rows))


def _result(part: Part, only_list: bool) -> tuple[str, str]:
    """How a part did: a word, and what more there is to say."""
    missing = part.missing
    if missing:
        return "skipped", missing
    if only_list:
        return "ready", ""
    print(f"--- {part.name} ---", flush=True)
    start = time.monotonic()
    code = subprocess.run(part.command, cwd=ROOT).returncode
    return ("ran" if code == 0 else "FAILED"), f"{time.monotonic() - start:.0f} s"


if __name__ == "__main__":
    sys.exit(main())
