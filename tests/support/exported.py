"""Exported models, called as their users do: from C, in this process by way of a shared library, or as a program of another machine."""
from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from penstock.export.linking import has_linker

needs_compiler = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
needs_linker = pytest.mark.skipif(not has_linker(), reason="needs ziglang: pip install 'penstock[export]'")


def needs_program(name: str, get: str) -> pytest.MarkDecorator:
    """Skips a test where a program is not installed."""
    return pytest.mark.skipif(shutil.which(name) is None, reason=f"needs {name} ({get})")


def emulator_of(machine: str) -> str | None:
    """qemu for programs of another machine: Debian has it as two packages, whose programs have different names."""
    return shutil.which(f"qemu-{machine}") or shutil.which(f"qemu-{machine}-static")


def needs_emulator(machine: str) -> pytest.MarkDecorator:
    """Skips a test where there is none."""
    return pytest.mark.skipif(emulator_of(machine) is None, reason=f"needs qemu-{machine} (apt install qemu-user)")


class Loaded:
    """A model of this machine in this process. The object file is linked by gcc."""

    def __init__(self, made, weights: bytes | None = None) -> None:
        library = made.files["header"].with_name(f"lib{made.name}.so")
        subprocess.run(["gcc", "-shared", "-o", library, made.files["object"], "-lm"], check=True)
        self._library, self._name = ctypes.CDLL(str(library)), made.name
        self._memory = (ctypes.c_char * (made.model_bytes + 64))()
        self.at = (ctypes.addressof(self._memory) + 63) & ~63
        self._weights = None if weights is None else ctypes.create_string_buffer(weights, len(weights) + 64)
        self.init()

    def init(self) -> None:
        """Begins anew."""
        places = [] if self._weights is None else [_aligned_copy(self._weights)]
        assert self._function("init")(self.at, *map(ctypes.c_void_p, places)) == 0

    def _function(self, name):
        function = getattr(self._library, f"{self._name}_{name}")
        function.restype = ctypes.c_char_p if name == "message" else ctypes.c_int
        return lambda model, *rest: function(ctypes.c_void_p(model), *rest)

    def status(self, entry: str, arrays, batch: int | None = None) -> int:
        """Calls an entry point."""
        places = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
        return self._function(entry)(self.at, *([] if batch is None else [ctypes.c_int64(batch)]), *places)

    def run(self, entry: str, inputs, shapes, batch: int | None = None, dtype=np.float32):
        """Its outputs: arrays of these shapes."""
        outputs = [np.full(shape, 77, dtype) for shape in shapes]
        assert self.status(entry, [*map(np.ascontiguousarray, inputs), *outputs], batch) == 0
        return outputs

    def message(self, status: int) -> str:
        """What a status means."""
        function = getattr(self._library, f"{self._name}_message")
        function.restype = ctypes.c_char_p
        return function(status).decode()


def _aligned_copy(buffer) -> int:
    """The address of the content, moved so that it is aligned."""
    at = (ctypes.addressof(buffer) + 63) & ~63
    ctypes.memmove(at, buffer, len(buffer) - 64)
    return at


_MAIN = """
#include "{name}.h"
#include <stdio.h>
static {name} instance;
static float x[{inputs}], y[{outputs}];
int main(int count, char **paths) {{
    FILE *file = fopen(paths[1], "rb");
    if (count != 3 || !file || fread(x, 4, {inputs}, file) != {inputs}) return 2;
    int status = {name}_init(&instance);
    if (!status) status = {name}_run(&instance, {batch}x, y);
    if (status) {{ printf("%s\\n", {name}_message(status)); return 3; }}
    file = fopen(paths[2], "wb");
    fwrite(y, 4, {outputs}, file);
    return fclose(file);
}}
"""


def run_program(made, x: np.ndarray, shape, batch: int | None = None, compiler: Sequence[str] = ("gcc",),
                emulator: Sequence[str] = ()) -> np.ndarray:
    """What a C program writes that runs the model once: of this machine, or of one that can be emulated."""
    folder: Path = made.files["header"].parent
    source, program, given, result = (folder / name for name in ("main.c", "main.exe", "x.bin", "y.bin"))
    size = int(np.prod(shape))
    source.write_text(_MAIN.format(name=made.name, inputs=x.size, outputs=size, batch="" if batch is None else f"{batch}, "))
    given.write_bytes(np.ascontiguousarray(x, np.float32).tobytes())
    files = ["-I", folder, source, made.files["object"], "-o", program]
    subprocess.run([*compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", *files, "-lm"], check=True)
    done = subprocess.run([*emulator, program, given, result], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    return np.frombuffer(result.read_bytes(), np.float32).reshape(shape)


# A program without a C library: what would have to be compiled for each machine first. It reads from 0, writes to 1.
_BARE = """
#include "{name}.h"
static {name} instance;
static float x[{inputs}], y[{outputs}];
typedef __SIZE_TYPE__ size;
void *memcpy(void *to, const void *from, size n) {{ for (size i = 0; i < n; i++) ((char *)to)[i] = ((const char *)from)[i]; return to; }}
void *memset(void *to, int c, size n) {{ for (size i = 0; i < n; i++) ((char *)to)[i] = (char)c; return to; }}
#ifdef __aarch64__
static long call(long number, long a, long b, long c) {{
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
}}
enum {{ READ = 63, WRITE = 64, EXIT = 93 }};
#else
static long call(long number, long a, long b, long c) {{
    register long r7 __asm__("r7") = number, r0 __asm__("r0") = a, r1 __asm__("r1") = b, r2 __asm__("r2") = c;
    __asm__ volatile("svc 0" : "+r"(r0) : "r"(r7), "r"(r1), "r"(r2) : "memory");
    return r0;
}}
enum {{ READ = 3, WRITE = 4, EXIT = 1 }};
#endif
void _start(void) {{
    long done = 0;
    while (done < (long)sizeof x) {{ long n = call(READ, 0, (long)x + done, sizeof x - done); if (n <= 0) call(EXIT, 2, 0, 0); done += n; }}
    int status = {name}_init(&instance);
    if (!status) status = {name}_run(&instance, {batch}x, y);
    call(WRITE, 1, (long)y, sizeof y);
    call(EXIT, status, 0, 0);
}}
"""


def run_bare(made, x: np.ndarray, shape, triple: str, machine: str, batch: int) -> np.ndarray:
    """The same on another machine, by an emulator."""
    folder: Path = made.files["header"].parent
    source, compiled, program = (folder / name for name in ("main.c", "main.o", "main"))
    source.write_text(_BARE.format(name=made.name, inputs=x.size, outputs=int(np.prod(shape)), batch=f"{batch}, "))
    zig = [sys.executable, "-m", "ziglang"]
    options = ["-target", triple, "-O1", "-fno-builtin", "-ffreestanding", "-fno-stack-protector", "-fno-sanitize=all"]
    subprocess.run([*zig, "cc", *options, "-c", "-I", folder, source, "-o", compiled], check=True)
    subprocess.run([*zig, "build-exe", compiled, made.files["object"], "-target", triple, "-fcompiler-rt", "--name", "main"], cwd=folder, check=True)
    done = subprocess.run([emulator_of(machine), program], input=np.ascontiguousarray(x, np.float32).tobytes(), capture_output=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return np.frombuffer(done.stdout, np.float32).reshape(shape)
