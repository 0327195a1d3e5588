"""Kernels as PTX, the assembly of NVIDIA's GPUs: what the generator wrote in OpenCL C, compiled by Clang for LLVM's NVPTX target.

Sessions need none of this: NVIDIA's driver takes OpenCL C. It shows, on machines without such a GPU, that its own assembler (``ptxas``) accepts the
kernels. Clang comes with ``ziglang`` from PyPI, ``ptxas`` and the library of mathematical functions with ``nvidia-cuda-nvcc-cu12`` from there or with
a CUDA toolkit. Clang's header of OpenCL is not among them, so what kernels use of it stands here, in terms of the target's own instructions and of
that library.
"""
from __future__ import annotations

import importlib.util
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from penstock.errors import FailedPreconditionError

ARCHITECTURE = "sm_75"  # GPUs since 2018
PACKAGES = "ziglang nvidia-cuda-nvcc-cu12"
_ONE = ("exp expm1 log log1p tanh erf erfc sin cos tan asin acos atan sinh cosh asinh acosh atanh lgamma fabs sqrt floor ceil rint trunc round "
        "exp2 log2 rsqrt cbrt").split()
_TWO = "atan2 pow fmod fmax fmin remainder".split()
_LIBDEVICE = Path("nvvm", "libdevice", "libdevice.10.bc")
_INTEGERS = "char uchar short ushort int uint long ulong".split()
_HEAD = """
typedef unsigned char uchar; typedef unsigned short ushort; typedef unsigned int uint; typedef unsigned long ulong; typedef ulong size_t;
typedef ulong ulong2 __attribute__((ext_vector_type(2))); typedef uint uint4 __attribute__((ext_vector_type(4)));
#define OVER __attribute__((overloadable, always_inline))
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define CLK_LOCAL_MEM_FENCE 1
#define CLK_GLOBAL_MEM_FENCE 2
#define as_float(x) __builtin_astype((x), float)
#define as_double(x) __builtin_astype((x), double)
#define as_int(x) __builtin_astype((x), int)
#define as_uint(x) __builtin_astype((x), uint)
#define as_long(x) __builtin_astype((x), long)
#define as_ulong(x) __builtin_astype((x), ulong)
#define vload_half(i, p) __builtin_load_halff((p) + (i))
#define vstore_half_rte(x, i, p) __builtin_store_halff((x), (p) + (i))
#define isfinite(x) __builtin_isfinite(x)
#define barrier(flags) __asm__ volatile("bar.sync 0;" ::: "memory")
static OVER ulong mul_hi(ulong x, ulong y) { return (ulong)(((unsigned __int128)x * y) >> 64); }
static OVER uint mul_hi(uint x, uint y) { return (uint)(((ulong)x * y) >> 32); }
"""


def prelude() -> str:
    """What kernels use of OpenCL, for this target."""
    lines = [_HEAD]
    for name, register in (("get_local_id", "tid"), ("get_group_id", "ctaid"), ("get_local_size", "ntid"), ("get_num_groups", "nctaid")):
        parts = [f"__nvvm_read_ptx_sreg_{register}_{axis}()" for axis in "xyz"]
        lines.append(f"static size_t {name}(uint axis) {{ return axis == 0 ? {parts[0]} : axis == 1 ? {parts[1]} : {parts[2]}; }}")
    lines.append("static size_t get_global_id(uint axis) { return get_group_id(axis) * get_local_size(axis) + get_local_id(axis); }")
    for names, parameters, given in ((_ONE, "{0} x", "x"), (_TWO, "{0} x, {0} y", "x, y")):
        for name in names:
            for kind, suffix in (("float", "f"), ("double", "")):
                arguments = parameters.format(kind)
                lines.append(f"{kind} __nv_{name}{suffix}({arguments}); static OVER {kind} {name}({arguments}) "
                             f"{{ return __nv_{name}{suffix}({given}); }}")
    for kind in _INTEGERS:
        lines += [f"static OVER {kind} {name}({kind} x, {kind} y) {{ return x {sign} y ? x : y; }}" for name, sign in (("min", "<"), ("max", ">"))]
    return "\n".join([*lines, ""])


def _tools() -> Path | None:
    """The folder of NVIDIA's package, if it is installed, else that of a CUDA toolkit."""
    return next((place for place in _places() if (place / "bin" / "ptxas").exists() and (place / _LIBDEVICE).exists()), None)


def _places() -> Iterator[Path]:
    """Where the tools may be: among Python's packages, where CUDA_HOME or CUDA_PATH points, around the ``ptxas`` of the PATH, where CUDA goes."""
    spec = importlib.util.find_spec("nvidia")
    yield from () if spec is None else (Path(each) / "cuda_nvcc" for each in spec.submodule_search_locations or ())
    yield from (Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name))
    program = shutil.which("ptxas")
    yield from () if program is None else (Path(program).resolve().parent.parent,)
    yield Path("/usr/local/cuda")


def why_not() -> str:
    """What is missing, and how to get it; "" if nothing is."""
    missing = [name for name, there in (("ziglang", importlib.util.find_spec("ziglang") is not None), ("ptxas", _tools() is not None)) if not there]
    return f"no {' and no '.join(missing)}: pip install {PACKAGES}" if missing else ""


def compile_ptx(text: str, architecture: str = ARCHITECTURE) -> str:
    """The PTX of a kernel's text. FailedPreconditionError if a tool is missing, ValueError with Clang's words if it refuses the text."""
    if why_not():
        raise FailedPreconditionError(None, None, why_not())
    tools = _tools()
    assert tools is not None
    library = tools / _LIBDEVICE
    options = ["-x", "cl", "-cl-std=CL1.2", "-cl-no-stdinc", "-w", "--target=nvptx64-nvidia-nvcl", "-O2", "-S"]
    passed = ["-target-cpu", architecture, "-mlink-builtin-bitcode", str(library)]
    with tempfile.TemporaryDirectory(prefix="penstock-ptx-") as folder:
        source, result = Path(folder, "kernel.cl"), Path(folder, "kernel.ptx")
        source.write_text(prelude() + text, encoding="utf-8")
        command = [sys.executable, "-m", "ziglang", "clang", *options, *(word for each in passed for word in ("-Xclang", each))]
        _run([*command, "-o", str(result), str(source)], "Clang")
        return result.read_text(encoding="utf-8")


def assemble(ptx: str, architecture: str = ARCHITECTURE) -> bytes:
    """The machine code that ``ptxas`` makes of PTX. ValueError with its words if it refuses it."""
    tools = _tools()
    if tools is None:
        raise FailedPreconditionError(None, None, why_not())
    with tempfile.TemporaryDirectory(prefix="penstock-ptx-") as folder:
        source, result = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(ptx, encoding="utf-8")
        program = tools / "bin" / "ptxas"
        if not os.access(program, os.X_OK):  # wheels of some versions come without the bit
            program.chmod(program.stat().st_mode | stat.S_IXUSR)
        _run([str(program), f"-arch={architecture}", "-o", str(result), str(source)], "ptxas")
        return result.read_bytes()


def _run(command: list[str], name: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise ValueError(f"{name} refuses a kernel:\n{(done.stderr or done.stdout).strip()}")
