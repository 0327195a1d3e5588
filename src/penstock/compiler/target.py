"""LLVM on this machine: from IR text to the address of a function. Everything that knows llvmlite's binding layer is here."""
from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import os
import threading
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import llvmlite
from llvmlite import binding

from penstock.compiler import cache
from penstock.compiler.unsupported import Unsupported

_lock = threading.Lock()  # one thread at a time is in LLVM
_libraries = itertools.count()
if hasattr(os, "register_at_fork"):  # a fork in the midst of a compilation would leave the child with half of it, and with LLVM's locks taken
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


def _new_machine() -> Any:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    target = binding.Target.from_default_triple()
    return target.create_target_machine(cpu=cpu(), features=features(), opt=3, reloc="pic", codemodel="small", jit=True)


@functools.cache
def _machine() -> Any:
    """The target machine of this computer."""
    return _new_machine()


def triple() -> str:
    """LLVM's name of this platform: x86_64-unknown-linux-gnu."""
    return str(binding.get_default_triple())


@functools.cache
def cpu() -> str:
    """LLVM's name of this CPU."""
    return str(binding.get_host_cpu_name())


@functools.cache
def features() -> str:
    """What this CPU can do, as LLVM writes it: ``+avx2,-avx512f,...``."""
    return str(binding.get_host_cpu_features().flatten())


@functools.cache
def has_fma() -> bool:
    """True if a fused multiply-add is one instruction: the polynomials need its exactness, and without it each would be a call."""
    triple = binding.get_default_triple()
    return "+fma" in features().split(",") or triple.startswith(("aarch64", "arm64", "ppc64", "s390x", "riscv64"))


@functools.cache
def has_half() -> bool:
    """True if float16 is converted by instructions."""
    return "+f16c" in features().split(",") or binding.get_default_triple().startswith(("aarch64", "arm64"))


@functools.cache
def has_masks(size: int) -> bool:
    """True if vectors of elements of this size can be loaded and stored under a mask."""
    known = features().split(",")
    return "+avx512bw" in known or (size >= 4 and ("+avx2" in known or "+avx512f" in known))


def version() -> str:
    """Of the compiler."""
    return f"llvmlite {llvmlite.__version__} LLVM {'.'.join(map(str, binding.llvm_version_info))}"


@functools.cache
def _linker() -> Any:
    return binding.create_lljit_compiler(_new_machine(), use_jit_link=False, suppress_errors=True)


def object_code(text: str) -> bytes:
    """The machine code of a module, from the cache on disk if it is there."""
    return _cached(text, lambda: text)


def object_code_for(key: str, build: Callable[[], str]) -> bytes:
    """The machine code of the module that ``build`` gives; ``key`` and the sources of this package tell all that it depends on.

    If it is in the cache, the module need not be built: that takes longer than reading the file.
    """
    return _cached(f"{_sources()}\n{key}", build)


def _cached(what: str, build: Callable[[], str]) -> bytes:
    with _lock:
        machine = _machine()
    name = hashlib.sha256("\n".join([version(), triple(), cpu(), features(), what]).encode()).hexdigest()
    found = cache.load(name)
    if found is None:
        text = build()
        with _lock:
            found = _generate(text, machine)
        cache.store(name, found)
    return found


@functools.cache
def _sources() -> str:
    """Names this version of the package by its files, their sizes and times."""
    package = Path(__file__).parents[1]
    files = sorted(path for folder in ("compiler", "ops", "graph") for path in (package / folder).rglob("*.py"))
    status = [(str(path.relative_to(package)), path.stat()) for path in files]
    return hashlib.sha256(repr([(name, each.st_size, each.st_mtime_ns) for name, each in status]).encode()).hexdigest()


def dump(title: str, text: str, wanted: Collection[str]) -> str:
    """A module for people to read: its IR after optimisation, its assembly, or both."""
    with _lock, _optimised(text, _machine()) as module:
        pieces = [str(module)] * ("ir" in wanted) + [_machine().emit_assembly(module)] * ("asm" in wanted)
    return "\n".join([f"; --- {title}", *pieces])


def _generate(text: str, machine: Any) -> bytes:
    with _optimised(text, machine) as module:
        return bytes(machine.emit_object(module))


@contextlib.contextmanager
def _optimised(text: str, machine: Any) -> Iterator[Any]:
    context = binding.create_context()
    with binding.parse_assembly(text, context) as module:
        module.verify()
        # Few passes: loops and vectors are as they should be, what helps is to clean up. LLVM's own list takes ten times as long.
        passes = binding.create_new_module_pass_manager()
        for name in ("sroa", "instruction_combine", "simplify_cfg", "new_gvn", "loop_rotate"):
            getattr(passes, f"add_{name}_pass")()
        passes.run(module, binding.create_pass_builder(machine, binding.create_pipeline_tuning_options(speed_level=2)))
        yield module


class Library:
    """Linked code; it stays in memory as long as this object."""

    def __init__(self, code: bytes, *symbols: str) -> None:
        name = f"penstock{next(_libraries)}"
        with _lock:
            builder = binding.JITLibraryBuilder().add_object_img(code).add_current_process()
            for symbol in symbols:
                builder = builder.export_symbol(symbol)
            try:
                self._tracker = builder.link(_linker(), name)
            except RuntimeError as error:
                raise Unsupported(f"the machine code does not link: {error}") from error
        self.addresses = {symbol: int(self._tracker[symbol]) for symbol in symbols}
        self.address = self.addresses[symbols[0]]
