"""``penstock run prog.py args...``: a TensorFlow 1 program, unmodified, as ``python prog.py args...`` would run it.

``import tensorflow`` gives Penstock, and (unless ``--no-era``) the names that NumPy and the standard library had in 2016-2019 are there.
``__main__``, ``__file__``, ``sys.argv`` and ``sys.path[0]`` are as Python sets them; exit codes and exceptions pass through, with tracebacks that
begin in the program. Processes that the program starts run in the same way (``children.py``). Of a notebook the cells run one after the other
(``notebooks.py``).
"""
from __future__ import annotations

import argparse
import io
import os
import sys
import traceback
from collections.abc import Iterable
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Any

from penstock.api.alias import install_as_tensorflow
from penstock.cli import children, era, python2
from penstock.cli.notebook_commands import NotebookShell, end_threads
from penstock.cli.notebooks import NotANotebook, is_notebook, programs
from penstock.distributed.launch_guard import wait_at_gate
from penstock.graph.source import program_begins


def main(argv: list[str]) -> int:
    """Runs a program. Returns when it comes to its end; whatever it raises passes through."""
    parser = argparse.ArgumentParser(prog="penstock run", description="Run a TensorFlow 1 program, unmodified.",
                                     epilog="What stands behind the program goes to the program.")
    add_program(parser)
    return run_program(parser.parse_args(argv), parser.prog)


def run_program(options: argparse.Namespace, command: str) -> int:
    """Runs the program that ``options`` name; ``command`` is what was called to do so."""
    wait_at_gate()
    install_as_tensorflow()
    if options.era:
        era.activate()
    children.prepare(options.era)
    sys.excepthook = _show
    try:
        codes, attributes = _program(options)
    except (OSError, ImportError, NotANotebook) as error:
        print(f"{command}: can't open {options.program!r}: {error}", file=sys.stderr)
        return 2
    program = ModuleType("__main__")
    vars(program).update(attributes, __builtins__=__builtins__)
    sys.modules["__main__"] = program
    program_begins()
    for part in codes:
        exec(part, vars(program))
    if not options.module and not options.command and is_notebook(options.program):
        end_threads()
    return 0


def add_program(parser: argparse.ArgumentParser) -> None:
    """The arguments that name a program, and what it is given."""
    parser.add_argument("--era", action=argparse.BooleanOptionalAction, default=True,
                        help="the names of NumPy and the standard library that programs of 2016-2019 expect, such as np.float (default: on)")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("-m", dest="module", action="store_true", help="PROGRAM is a module, as in `python -m`")
    kind.add_argument("-c", dest="command", action="store_true", help="PROGRAM is its text, as in `python -c`")
    parser.add_argument("program", metavar="PROGRAM", help="a file, or a notebook (.ipynb); - is the standard input")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...")


def _program(options: argparse.Namespace) -> tuple[Iterable[CodeType], dict[str, Any]]:
    """The code of a program, part by part, and the attributes of its ``__main__``; sets ``sys.argv`` and ``sys.path[0]`` as Python would."""
    if options.module:
        code, attributes = _find_module(options)
    elif options.command:
        code, attributes = _text(options, options.program, "-c", "<string>")
    elif options.program == "-":
        code, attributes = _text(options, sys.stdin.read(), "-", "<stdin>")
    elif is_notebook(options.program):
        return _read_notebook(options)
    else:
        code, attributes = _read_file(options)
    return [code], attributes


def _read_notebook(options: argparse.Namespace) -> tuple[Iterable[CodeType], dict[str, Any]]:
    """As Jupyter runs it: in the folder of the notebook, without ``__file__``."""
    path = Path(options.program).resolve()
    codes = programs(path)
    sys.argv = [str(path), *options.arguments]
    os.chdir(path.parent)
    _set_first_path("")
    shell = NotebookShell()
    return codes, {"__spec__": None, "__package__": None, "get_ipython": lambda: shell, "display": shell.display}


def _text(options: argparse.Namespace, source: str, name: str, file: str) -> tuple[CodeType, dict[str, Any]]:
    sys.argv = [name, *options.arguments]
    _set_first_path("")
    return compile(source, file, "exec", dont_inherit=True), {"__spec__": None, "__package__": None}


def _read_file(options: argparse.Namespace) -> tuple[CodeType, dict[str, Any]]:
    path = os.path.abspath(options.program)
    with io.open_code(path) as file:
        source = file.read()
    sys.argv = [options.program, *options.arguments]
    _set_first_path(str(Path(path).resolve().parent))
    attributes = {"__file__": path, "__cached__": None, "__spec__": None, "__package__": None,
                  "__loader__": SourceFileLoader("__main__", path)}
    return compile(source, path, "exec", dont_inherit=True), attributes


def _set_first_path(folder: str) -> None:
    if not getattr(sys.flags, "safe_path", False):  # with `python -P` there is no such entry, and none is wanted
        sys.path[0] = folder


def _find_module(options: argparse.Namespace) -> tuple[CodeType, dict[str, Any]]:
    _set_first_path(os.getcwd())
    spec = find_spec(options.program)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = find_spec(f"{options.program}.__main__")
    code = _code(spec)
    if spec is None or code is None:
        raise ImportError(f"No module named {options.program}, or it cannot be executed")
    sys.argv = [spec.origin or options.program, *options.arguments]
    attributes = {"__file__": spec.origin, "__cached__": spec.cached, "__spec__": spec, "__package__": spec.parent, "__loader__": spec.loader}
    return code, attributes


def _code(spec: ModuleSpec | None) -> CodeType | None:
    get_code = getattr(spec and spec.loader, "get_code", None)
    return get_code(spec.name) if spec is not None and get_code is not None else None


def _show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Prints an uncaught exception as Python does, without the frames that lead from the interpreter to the program."""
    traceback.print_exception(kind, error, inside_program(trace))
    if isinstance(error, SyntaxError):
        hint = python2.explain(error)
        if hint:
            print(f"\npenstock run: {hint}", file=sys.stderr)


def inside_program(trace: TracebackType | None) -> TracebackType | None:
    """The part of a traceback below this file; all of it, if this file is not in it."""
    whole = trace
    while trace is not None:
        here = trace.tb_frame.f_code.co_filename
        trace = trace.tb_next
        if here == __file__:
            return trace if trace is None or trace.tb_frame.f_code.co_filename != __file__ else inside_program(trace)
    return whole
