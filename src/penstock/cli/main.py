"""``penstock``: the command line. Each command reads its own arguments."""
from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Sequence

from penstock import VERSION, __version__

USAGE = """\
commands:
  run         run a TensorFlow 1 program: penstock run prog.py --its --own --flags
  launch      run one as a cluster of tasks: penstock launch --ps 1 --workers 2 prog.py
  simulate    predict what one would do on a cluster: penstock simulate --ps 2 --workers 50 prog.py
  status      what a running cluster does: penstock status grpc://localhost:2222
  demo        learn to read handwritten digits, in less than a minute
  playground  train small networks on a page of your browser
  debug       run a program in the debugger of its sessions: penstock debug prog.py, penstock debug --browser prog.py
  explain     run a program, then tell where its steps spent their time: penstock explain prog.py --its --own --flags
  inspect     what is in a checkpoint, a SavedModel or a graph: penstock inspect model.ckpt
  export      compile a model for programs without Python: penstock export saved_model -o folder --target wasm32
  graph       draw a graph, and print it at each stage of a step: penstock graph model.pb, penstock graph prog.py
  coverage    which TensorFlow names of a program exist here: penstock coverage prog.py, penstock coverage folder --html page.html
  install-alias  make `import tensorflow` mean Penstock in this environment, for libraries; --remove takes it away
  capi        build libpenstock, TensorFlow's C API for programs in other languages: penstock capi --build DIR
  devices     the devices of this machine: CPUs and GPUs, and why there is no GPU
  cache       show or clear the compiled kernels that are kept on disk
  version     print the version

`penstock COMMAND --help` tells more about one of them."""


def _version(argv: list[str]) -> int:
    argparse.ArgumentParser(prog="penstock version", description="Print the version.").parse_args(argv)
    print(f"penstock {__version__} (the API of TensorFlow {VERSION}), Python {sys.version.split()[0]}")
    return 0


def _command(name: str) -> Callable[[list[str]], int]:
    def call(argv: list[str]) -> int:
        # Commands are imported when they are called: `version` should not wait for the others.
        code: int = importlib.import_module(f"penstock.cli.{name.replace('-', '_')}").main(argv)
        return code
    return call


_MODULES = "run launch simulate status demo playground debug explain inspect export graph coverage install-alias capi devices cache"
_PROGRAMS = ("run", "debug", "explain")  # what a user's program raises is shown as Python shows it
_CLOSED_PIPE = 128 + 13  # as the shell names the end by SIGPIPE
COMMANDS = {**{name: _command(name) for name in _MODULES.split()}, "version": _version}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    parser = argparse.ArgumentParser(prog="penstock", description="TensorFlow 1 programs on today's Python.", epilog=USAGE,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="store_true", help="print the version")
    parser.add_argument("command", nargs="?", choices=COMMANDS, metavar="COMMAND", help="see below")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="of the command")
    options = parser.parse_args(argv)
    if options.version:
        return _version([])
    if options.command is None:
        parser.print_help()
        return 2
    try:
        code = COMMANDS[options.command](options.arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # as in `penstock coverage folder | head`
        if options.command in _PROGRAMS:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that Python can flush it at its end
        return _CLOSED_PIPE
    return code
