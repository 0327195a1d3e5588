"""Object files as libraries and WebAssembly modules, by ``ziglang`` (the extra ``export``): it has the linkers and libraries of each target."""
from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from penstock.errors import FailedPreconditionError
from penstock.export.targets import Target

_BIONIC = ("libc.so", "libm.so")  # Android's libraries that models may need
STACK = 2 << 20  # bytes: products keep their blocks there


def has_linker() -> bool:
    """Is ``ziglang`` installed?"""
    return importlib.util.find_spec("ziglang") is not None


def link(target: Target, object_file: Path, library: Path, symbols: Sequence[str]) -> None:
    """Links an object file. FailedPreconditionError without a linker, or if it fails."""
    if target.is_wasm:
        _link_wasm(target, object_file, library, symbols)
        return
    if target.zig.endswith("android"):
        _link_android(target, object_file, library)
        return
    named = {"macos": f"-Wl,-install_name,@rpath/{library.name}", "linux": f"-Wl,-soname,{library.name}"}  # what programs look for
    options = ["-shared", *(option for system, option in named.items() if system in target.zig), *(() if "macos" in target.zig else ("-Wl,-s",))]
    run_zig(["cc", "-target", target.zig, "-O2", *options, "-o", str(library), str(object_file), *([] if "windows" in target.zig else ["-lm"])])


def _link_android(target: Target, object_file: Path, library: Path) -> None:
    """Android's C library is on every device, and not in ``ziglang``: empty libraries of the same names stand for it, so that the model's asks for
    them."""
    with tempfile.TemporaryDirectory(prefix="penstock-android-") as folder:
        source, empty = Path(folder, "empty.c"), Path(folder, "empty.o")
        source.touch()
        run_zig(["cc", "-target", target.zig, "-c", "-o", str(empty), str(source)])
        stand_ins = [str(empty.with_name(name)) for name in _BIONIC]
        for name, path in zip(_BIONIC, stand_ins):
            run_zig(["ld.lld", "-shared", "-soname", name, "-o", path, str(empty)])
        run_zig(["ld.lld", "-shared", "-s", "-z", "max-page-size=16384", "-soname", library.name, "-o", str(library), str(object_file), *stand_ins])


def _link_wasm(target: Target, object_file: Path, library: Path, symbols: Sequence[str]) -> None:
    """By the linker alone, if the model needs nothing of the C library: its functions for wasm would have to be compiled first."""
    options = ["--no-entry", "--strip-all", "-z", f"stack-size={STACK}", "--export=__heap_base", *(f"--export={symbol}" for symbol in symbols)]
    try:
        run_zig(["wasm-ld", *options, "-o", str(library), str(object_file)])
    except FailedPreconditionError as error:
        if "undefined symbol" not in error.message:
            raise
        passed = [word for option in options for word in ("-Xlinker", option)]
        run_zig(["cc", "-target", target.zig, "-O2", "-nostartfiles", *passed, "-o", str(library), str(object_file), "-lm"])


def run_zig(arguments: Sequence[str]) -> None:
    """Runs ``zig``; FailedPreconditionError if that is not possible or fails."""
    if not has_linker():
        raise FailedPreconditionError(None, None, "linking needs the package ziglang: pip install 'penstock[export]'; "
                                                  "--kind object makes an object file, which any linker of the target takes")
    # One that was started from a program with a small environment has no home, and zig wants a place for its cache.
    environment = {**os.environ, "ZIG_GLOBAL_CACHE_DIR": os.environ.get("ZIG_GLOBAL_CACHE_DIR") or str(_cache())}
    done = subprocess.run([sys.executable, "-m", "ziglang", *arguments], capture_output=True, text=True, env=environment)
    if done.returncode:
        raise FailedPreconditionError(None, None, f"zig {' '.join(arguments)} failed:\n{done.stderr.strip()}")


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "zig"
