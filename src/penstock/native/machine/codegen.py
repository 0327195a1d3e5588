"""From IR text to object code. Several threads may be at it at once.

llvmlite has one lock for all of LLVM. LLVM itself needs none as long as each thread has a context and a target machine of its own, so the two calls
that take nearly all of the time are made without it; and ctypes gives Python's global lock away meanwhile. A version of llvmlite that
keeps its lock elsewhere is slower, not wrong.
"""
from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from llvmlite import binding
from llvmlite.binding import ffi

MOST = 8  # threads
FINAL = "; final\n"  # a module that begins with it is as it should be: no pass would make it better
_QUICK = ("sroa", "instruction_combine", "loop_rotate")  # where somebody waits for the code
THOROUGH = ("sroa", "instruction_combine", "simplify_cfg", "new_gvn", "loop_rotate")
_LEVEL = 1  # of code generation. More takes a tenth longer, and the loops that kernels spend their time in have no instruction less


class _Bench:
    """A place where one thread at a time compiles, with its target machines."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.machines: dict[tuple[str, str], Any] = {}


_benches = [_Bench() for _ in range(MOST)]
_setup = threading.Lock()


def _take_all() -> None:
    for bench in _benches:
        bench.lock.acquire()


def _leave_all() -> None:
    for bench in _benches:
        bench.lock.release()


if hasattr(os, "register_at_fork"):  # a fork in the midst of a compilation would leave the child with half of it, and with LLVM's locks taken
    os.register_at_fork(before=_take_all, after_in_parent=_leave_all, after_in_child=_leave_all)


def new_machine(cpu: str, features: str) -> Any:
    """A target machine."""
    with _setup:
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
    target = binding.Target.from_default_triple()
    return target.create_target_machine(cpu=cpu, features=features, opt=_LEVEL, reloc="pic", codemodel="small", jit=True)


@contextlib.contextmanager
def _machine(cpu: str, features: str) -> Iterator[Any]:
    """A target machine that no other thread uses."""
    bench = next((each for each in _benches if each.lock.acquire(blocking=False)), None)
    if bench is None:
        bench = _benches[0]
        bench.lock.acquire()
    try:
        if (cpu, features) not in bench.machines:
            bench.machines[cpu, features] = new_machine(cpu, features)
        yield bench.machines[cpu, features]
    finally:
        bench.lock.release()


def generate(text: str, cpu: str, features: str) -> bytes:
    """The object code of a module."""
    with _machine(cpu, features) as machine, _optimised_module(text, machine) as module:
        return _emit(module, machine)


def readable(text: str, cpu: str, features: str, ir: bool, assembly: bool) -> list[str]:
    """A module for people to read: its IR after optimisation, its assembly."""
    with _machine(cpu, features) as machine, _optimised_module(text, machine) as module:
        return [str(module)] * ir + [machine.emit_assembly(module)] * assembly


def inlined(text: str, cpu: str, features: str) -> str:
    """The IR of a module after all of LLVM's passes."""
    context = binding.create_context()
    with _machine(cpu, features) as machine, binding.parse_assembly(text, context) as module:
        module.verify()
        builder = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options(speed_level=2))
        builder.getModulePassManager().run(module, builder)
        return str(module)


@contextlib.contextmanager
def _optimised_module(text: str, machine: Any) -> Iterator[Any]:
    context = binding.create_context()
    with binding.parse_assembly(text, context) as module:
        module.verify()
        if not text.startswith(FINAL):
            clean_up(module, machine)
        yield module


def clean_up(module: Any, machine: Any, passes: Sequence[str] = _QUICK) -> None:
    """Few passes: loops and vectors are as they should be, what helps is to clean up. LLVM's own list takes ten times as long.

    What is computed twice within a block, code generation finds as well; looking for it between blocks takes as long as all of these.
    """
    manager = binding.create_new_module_pass_manager()
    for name in passes:
        getattr(manager, f"add_{name}_pass")()
    builder = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options(speed_level=2))
    _without_lock(ffi.lib.LLVMPY_RunNewModulePassManager)(manager, module, builder)


def _emit(module: Any, machine: Any) -> bytes:
    with ffi.OutputString() as error:
        buffer = _without_lock(ffi.lib.LLVMPY_TargetMachineEmitToMemory)(machine, module, 1, error)
        if not buffer:
            raise RuntimeError(str(error))
    try:
        return ctypes.string_at(ffi.lib.LLVMPY_GetBufferStart(buffer), ffi.lib.LLVMPY_GetBufferSize(buffer))
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


def _without_lock(function: Any) -> Any:
    """A function of LLVM without the lock that llvmlite puts around it."""
    return getattr(function, "_cfn", function)
