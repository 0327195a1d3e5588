"""The machines that models can be exported for, in the words of LLVM and of ``ziglang``, which links."""
from __future__ import annotations

import platform
import sys
from dataclasses import dataclass

from llvmlite import binding

from penstock.native.machine.target import Machine

_V3 = "+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+popcnt,+sse3,+sse4.1,+sse4.2,+ssse3"
_V4 = f"{_V3},+avx512bw,+avx512cd,+avx512dq,+avx512f,+avx512vl"
# x86-64's levels, by LLVM's names: what kernels may ask of the CPU.
X86 = {"x86-64-v2": "+popcnt,+sse3,+sse4.1,+sse4.2,+ssse3", "x86-64-v3": _V3, "x86-64-v4": _V4}


@dataclass(frozen=True)
class Target:
    """A machine, and what files for it are called."""

    name: str
    machine: Machine
    zig: str  # what ``zig cc -target`` is given
    library: str = "lib{}.so"
    object: str = "{}.o"

    @property
    def is_wasm(self) -> bool:
        """Is it WebAssembly?"""
        return self.machine.triple.startswith("wasm")


def _x86(name: str, triple: str, zig: str, **names: str) -> Target:
    return Target(name, Machine(triple, "x86-64-v3", _V3), zig, **names)


def _arm64(name: str, triple: str, zig: str, **names: str) -> Target:
    return Target(name, Machine(triple, "generic", "+neon,+fp-armv8"), zig, **names)


_MAC = {"library": "lib{}.dylib"}
_WINDOWS = {"library": "{}.dll", "object": "{}.obj"}
TARGETS = {each.name: each for each in (
    _x86("x86_64-linux", "x86_64-unknown-linux-gnu", "x86_64-linux-gnu"),
    _arm64("aarch64-linux", "aarch64-unknown-linux-gnu", "aarch64-linux-gnu"),
    Target("armv7-linux", Machine("armv7-unknown-linux-gnueabihf", "cortex-a7", "+neon,+vfp4,+d32"), "arm-linux-gnueabihf"),
    _arm64("aarch64-android", "aarch64-linux-android21", "aarch64-linux-android"),
    _x86("x86_64-android", "x86_64-linux-android21", "x86_64-linux-android"),
    _x86("x86_64-macos", "x86_64-apple-macosx11.0", "x86_64-macos", **_MAC),
    _arm64("aarch64-macos", "arm64-apple-macosx11.0", "aarch64-macos", **_MAC),
    _x86("x86_64-windows", "x86_64-pc-windows-gnu", "x86_64-windows-gnu", **_WINDOWS),
    Target("wasm32", Machine("wasm32-unknown-wasi", "generic", "+simd128,+bulk-memory,+sign-ext,+nontrapping-fptoint"), "wasm32-wasi", "{}.wasm"),
)}


def host() -> str:
    """The name of the target that this machine is."""
    kind = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())
    return f"{kind}-{ {'darwin': 'macos', 'win32': 'windows'}.get(sys.platform, 'linux') }"


def host_cpu() -> str:
    """The CPU of this machine: the highest level of x86-64 that it has, or LLVM's name for it."""
    if not host().startswith("x86_64"):
        return str(binding.get_host_cpu_name())
    here = binding.get_host_cpu_features()
    able = [level for level, features in X86.items() if all(here.get(each[1:]) for each in features.split(","))]
    if not able:
        raise ValueError(f"this machine's CPU has less than models can be exported for: {next(iter(X86))}")
    return able[-1]


def find(name: str, cpu: str = "") -> Target:
    """The target of this name, for a CPU of this name: a level of x86-64, any that LLVM knows, or "host". ValueError if there is none."""
    target = TARGETS.get(host() if name == "host" else name)
    if target is None:
        raise ValueError(f"there is no target {name!r}: it can be host, {', '.join(TARGETS)}")
    if not cpu:
        return target
    if cpu == "host":
        if target.name != host():
            raise ValueError(f"{target.name} for the CPU 'host': this machine is {host()}")
        cpu = host_cpu()
    machine = target.machine
    if machine.triple.startswith("x86_64"):
        if cpu not in X86:
            raise ValueError(f"{target.name} for the CPU {cpu!r}: it can be {', '.join(X86)}")
        machine = Machine(machine.triple, cpu, X86[cpu])
    else:
        machine = Machine(machine.triple, cpu, machine.features)
    return Target(target.name, machine, target.zig, target.library, target.object)
