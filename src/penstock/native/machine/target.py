"""LLVM on this machine: from IR text to the address of a function. What knows llvmlite's binding layer is here and in ``codegen.py``.

Kernels ask here what the CPU can do. Inside of ``compiling_for`` they are told of another machine, for which code is made ahead (``export/``).
"""
from __future__ import annotations

import functools
import hashlib
import itertools
import os
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import llvmlite
from llvmlite import binding

from penstock.native.config import config
from penstock.native.machine import cache, codegen, sources
from penstock.native.unsupported import Unsupported

_lock = threading.Lock()  # one thread at a time links
_libraries = itertools.count()
if hasattr(os, "register_at_fork"):  # as in ``codegen.py``
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


_BEYOND_AVX2 = ("avx512", "avx10", "amx", "evex512")


@dataclass(frozen=True)
class Machine:
    """What code is made for, if it is not this machine, in LLVM's words."""

    triple: str
    cpu: str = ""
    features: str = ""  # those that count: "+avx2,+fma"


class _Chosen(threading.local):
    machine: Machine | None = None  # of this thread


_chosen = _Chosen()


@contextmanager
def compiling_for(machine: Machine) -> Iterator[None]:
    """In this block, this thread's kernels are written for another machine."""
    before, _chosen.machine = _chosen.machine, machine
    try:
        yield
    finally:
        _chosen.machine = before


def foreign() -> Machine | None:
    """The machine that kernels are written for, if it is not this one."""
    return _chosen.machine


def triple() -> str:
    """LLVM's name of the platform: x86_64-unknown-linux-gnu."""
    return str(binding.get_default_triple()) if _chosen.machine is None else _chosen.machine.triple


def cpu() -> str:
    """LLVM's name of the CPU, or of the kind of CPU that ``config.isa`` asks for."""
    if _chosen.machine is not None:
        return _chosen.machine.cpu
    return "x86-64-v3" if config.isa == "avx2" and "+avx2" in _host_features().split(",") else str(binding.get_host_cpu_name())


def features() -> str:
    """What this CPU can do, as LLVM writes it: ``+avx2,-avx512f,...``; no more than ``config.isa`` allows."""
    return _features(config.isa) if _chosen.machine is None else _chosen.machine.features


@functools.cache
def _features(isa: str) -> str:
    every = _host_features().split(",")
    return ",".join(f"-{each[1:]}" if isa == "avx2" and each[1:].startswith(_BEYOND_AVX2) else each for each in every)


@functools.cache
def _host_features() -> str:
    return str(binding.get_host_cpu_features().flatten())


def has(*names: str) -> bool:
    """True if the CPU can do one of these: "avx512f", "avx2"."""
    return not _available(features()).isdisjoint(names)


@functools.cache
def _available(features: str) -> frozenset[str]:
    return frozenset(each[1:] for each in features.split(",") if each.startswith("+"))


def has_fma() -> bool:
    """True if a fused multiply-add is one instruction: the polynomials need its exactness, and without it each would be a call."""
    return has("fma", "vfp4") or triple().startswith(("aarch64", "arm64", "ppc64", "s390x", "riscv64"))


def has_half() -> bool:
    """True if float16 is converted by instructions."""
    return has("f16c") or triple().startswith(("aarch64", "arm64"))


def has_masks(size: int) -> bool:
    """True if vectors of elements of this size can be loaded and stored under a mask."""
    return has("avx512bw") or (size >= 4 and has("avx2", "avx512f"))


def version() -> str:
    """Of the compiler."""
    return f"llvmlite {llvmlite.__version__} LLVM {'.'.join(map(str, binding.llvm_version_info))}"


@functools.cache
def _linker() -> Any:
    """Puts the sections of a library side by side, with JITLink. LLVM's older linker may put them more than 2 GiB apart, which ends the process."""
    return binding.create_lljit_compiler(codegen.new_machine(cpu(), features()), use_jit_link=True, suppress_errors=True)


def object_code(text: str) -> bytes:
    """The machine code of a module, from the cache on disk if it is there."""
    return _cached_code(text, lambda: text)


def object_code_for(key: str, build: Callable[[], str]) -> bytes:
    """The machine code of the module that ``build`` gives; ``key`` and the sources of this package tell all that it depends on.

    If it is in the cache, the module need not be built: that takes longer than reading the file.
    """
    version = sources.loaded.version()
    if version is None:
        return _generate(build())
    return _cached_code(f"{version}\n{key}", build, lambda: sources.loaded.still(version))


def stored_code_for(key: str) -> bytes | None:
    """The same, if it is in the cache."""
    version = sources.loaded.version()
    return None if version is None else cache.load(_name(f"{version}\n{key}"))


def _name(what: str) -> str:
    """In the cache."""
    return hashlib.sha256("\n".join([version(), triple(), cpu(), features(), what]).encode()).hexdigest()


def _cached_code(what: str, build: Callable[[], str], may_store: Callable[[], bool] = lambda: True) -> bytes:
    name = _name(what)
    code = cache.load(name)
    if code is None:
        code = _generate(build())
        if may_store():
            cache.store(name, code)
    return code


def dump(title: str, text: str, wanted: Collection[str]) -> str:
    """A module for people to read: its IR after optimisation, its assembly, or both."""
    return "\n".join([f"; --- {title}", *codegen.readable(text, cpu(), features(), "ir" in wanted, "asm" in wanted)])


def _generate(text: str) -> bytes:
    return codegen.generate(text, cpu(), features())


def optimised(text: str) -> str:
    """A module after all of LLVM's passes, with its small functions inlined: for code that is not made of loops and vectors already."""
    return codegen.inlined(text, cpu(), features())


class LinkedCode:
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
