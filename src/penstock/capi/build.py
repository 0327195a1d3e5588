"""Building libpenstock: the library, the headers, and the names under which programs for libtensorflow look for it.

A folder gets what an installation of libtensorflow has:

    include/tensorflow/c/c_api.h      the C API
    include/penstock/client.h, ops.h  the front end in C++; ops.h is written from the registry
    lib/libpenstock.so                the library; libtensorflow.so, libtensorflow.so.1 and libtensorflow_framework.so are other names of it
    lib/pkgconfig/penstock.pc         for pkg-config
    node/penstock.js                  the binding for Node; `npm install --prefix node` fetches what it needs
"""
from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib.util import find_spec
from pathlib import Path

from penstock import VERSION, __version__
from penstock.capi import cpp_ops
from penstock.capi.declarations import FOLDER, STRUCTS, Declaration, forwarded
from penstock.capi.location import shared_library, static_library

NAMES = ("libtensorflow", "libtensorflow_framework")  # under which programs may look for the library


class CannotBuild(Exception):
    """What is missing, for people."""


def compiler() -> list[str]:
    """The command of a C compiler: $CC, or one that is installed. ``ziglang`` of PyPI will do."""
    if os.environ.get("CC"):
        return shlex.split(os.environ["CC"])
    for name in ("cc", "gcc", "clang"):
        if path := shutil.which(name):
            return [path]
    if find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc"]
    raise CannotBuild("A C compiler is needed, and none of cc, gcc and clang is installed. On Debian: apt install gcc; in any environment: "
                      "pip install ziglang. $CC names another one.")


def python_library() -> tuple[str, list[str]]:
    """The shared libpython that is loaded at run time, or an empty name and how to link it in."""
    shared = shared_library()
    if shared is not None:
        return shared, []
    archive = static_library()
    if archive is None:
        raise CannotBuild(f"{sys.executable} has neither a shared nor a static libpython. On Debian: apt install libpython3-dev; with pyenv: "
                          "PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install ...")
    libraries = " ".join(sysconfig.get_config_var(key) or "" for key in ("LIBS", "SYSLIBS"))
    return "", ["-Wl,--whole-archive", archive, "-Wl,--no-whole-archive", *libraries.split()]


# --- the source ------------------------------------------------------------------------------------------------------

def source() -> str:
    """The C file: ``shim.c``, and a function for each that Python has."""
    return "\n".join([(FOLDER / "shim.c").read_text(encoding="utf-8"), *(_forward(each, index) for index, each in enumerate(forwarded()))])


def _forward(declaration: Declaration, index: int) -> str:
    """A function that calls Python's, which is given structs by their addresses."""
    parameters = ", ".join(each.declaration for each in declaration.parameters) or "void"
    types = [f"{each.declared}*" if each.by_value else "void*" if each.type == "function" else each.declared for each in declaration.parameters]
    values = [f"&{each.name}" if each.by_value else f"(void*){each.name}" if each.type == "function" else each.name
              for each in declaration.parameters]
    returns, status = declaration.declared_returns, declaration.status
    named = "NULL" if status is None else declaration.parameters[status].name
    find = f'void* function = entry({index}, {named}, "{declaration.name}");'
    if declaration.returns in STRUCTS:
        call = f"((void (*)({', '.join([f'{returns}*', *types])}))function)({', '.join(['result', *values])})"
        return (f"{returns} {declaration.name}({parameters}) {{\n  _Alignas(16) char memory[sizeof({returns})] = {{0}};\n"
                f"  {returns}* result = ({returns}*)memory;\n  {find}\n  if (function != NULL) {call};\n  return *result;\n}}\n")
    call = f"(({returns} (*)({', '.join(types) or 'void'}))function)({', '.join(values)})"
    body = f"if (function != NULL) {call};" if returns == "void" else f"return function == NULL ? 0 : {call};"
    return f"{returns} {declaration.name}({parameters}) {{\n  {find}\n  {body}\n}}\n"


# --- the library -----------------------------------------------------------------------------------------------------

def build(folder: str | os.PathLike[str]) -> Path:
    """Builds everything into a folder; returns the path of the library. CannotBuild says what is missing."""
    root = Path(folder).absolute()
    _write_headers(root / "include")
    library = _compile(root / "lib", root / "include")
    for name in NAMES:
        for suffix in (library.suffix, f"{library.suffix}.1"):
            _link(library.with_name(name + suffix), library.name)
    _write_pkgconfig(root)
    shutil.copytree(FOLDER / "node", root / "node", dirs_exist_ok=True)
    return library


def _write_headers(include: Path) -> None:
    for header in sorted((FOLDER / "include").rglob("*.h")):
        target = include / header.relative_to(FOLDER / "include")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(header, target)
    (include / "penstock").mkdir(exist_ok=True)
    (include / "penstock" / "ops.h").write_text(cpp_ops.header(), encoding="utf-8")


def _compile(folder: Path, include: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    is_mac = sys.platform == "darwin"
    library = folder / f"libpenstock.{'dylib' if is_mac else 'so'}"
    path, linked = python_library()
    constants = {"LIBRARY": path, "PROGRAM": sys.executable, "VERSION": VERSION}
    with tempfile.TemporaryDirectory() as temporary:
        file, versions = Path(temporary, "libpenstock.c"), Path(temporary, "versions")
        defines = [f'#define {name} "{_escape(value)}"' for name, value in constants.items()] + [f"#define FUNCTIONS {len(forwarded())}"]
        file.write_text("\n".join([*defines, source()]), encoding="utf-8")
        versions.write_text(f"VERS_1.0 {{ global: TF_*; penstock_*;{' Py*; _Py*;' if linked else ''} local: *; }};\n", encoding="utf-8")
        special = ["-install_name", f"@rpath/{library.name}"] if is_mac else [f"-Wl,--version-script={versions}", "-Wl,-soname,libpenstock.so"]
        command = [*compiler(), "-std=c11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-Wall", f"-I{include}", str(file), "-o",
                   str(library), *special, *linked, "-lpthread", "-ldl"]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise CannotBuild(f"The compiler failed:\n{shlex.join(command)}\n{run.stderr.strip()}")
    return library


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _link(name: Path, target: str) -> None:
    name.unlink(missing_ok=True)
    name.symlink_to(target)


def _write_pkgconfig(root: Path) -> None:
    folder = root / "lib" / "pkgconfig"
    folder.mkdir(exist_ok=True)
    (folder / "penstock.pc").write_text(
        f"prefix={root}\nName: Penstock\nDescription: TensorFlow's C API over Penstock\nVersion: {__version__}\n"
        "Libs: -L${prefix}/lib -lpenstock\nCflags: -I${prefix}/include\n", encoding="utf-8")
