"""All kernels of a model, and its runtime, as one object file for a target. LLVM comes with all its targets in llvmlite's wheel."""
from __future__ import annotations

from collections.abc import Sequence

from llvmlite import binding

from penstock.native.machine.codegen import THOROUGH, clean_up
from penstock.native.machine.target import Machine


def compile_object(machine: Machine, runtime: str, kernels: Sequence[tuple[str, str]]) -> bytes:
    """The object file. ``kernels`` are modules and the symbols that they define: the runtime calls them ``kernel_0``, ``kernel_1``, ..."""
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    target = binding.Target.from_triple(machine.triple)
    compiler = target.create_target_machine(cpu=machine.cpu, features=machine.features, opt=3, reloc="pic", codemodel="default")
    whole = _module(runtime, machine, compiler)
    for index, (text, symbol) in enumerate(kernels):
        part = _module(text, machine, compiler)
        clean_up(part, compiler, THOROUGH)
        part.get_function(symbol).name = f"kernel_{index}"
        whole.link_in(part)
    clean_up(whole, compiler, THOROUGH)
    for index in range(len(kernels)):
        whole.get_function(f"kernel_{index}").linkage = "internal"
    whole.verify()
    return compiler.emit_object(whole)


def _module(text: str, machine: Machine, compiler: binding.TargetMachine) -> binding.ModuleRef:
    """A parsed module of the target's: its data layout decides how large pointers are."""
    lines = [line for line in text.splitlines() if not line.startswith(("target triple", "target datalayout"))]
    module = binding.parse_assembly(f'target datalayout = "{compiler.target_data}"\ntarget triple = "{machine.triple}"\n' + "\n".join(lines))
    module.verify()
    return module
