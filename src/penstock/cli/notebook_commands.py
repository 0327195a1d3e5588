"""What ``get_ipython()`` gives in a notebook that ``penstock run`` runs: the commands (``%cd``, ``!ls``, ``%%bash``) that a program may depend on.

What only concerns a screen is passed over, and so is what would install packages; both are what a person who runs a notebook as a program wants.
Everything else that is not known is told on the standard error, with its cell.
"""
from __future__ import annotations

import atexit
import os
import re
import runpy
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from penstock.cli import notebooks

_OF_THE_SCREEN = set("""matplotlib load_ext reload_ext autoreload aimport config tensorflow_version precision xmode pdb colors html HTML javascript js
    latex markdown svg tensorboard who whos pinfo pinfo2 notebook""".split())
_INSTALLS = re.compile(r"\s*(sudo\s+)?(\S*python[\d.]*\s+-m\s+)?(pip[\d.]*|conda|mamba|apt|apt-get|brew|npm)\s+(-\S+\s+)*"
                       r"(install|uninstall|update|upgrade)\b")
_VARIABLE = re.compile(r"\{\{|\}\}|\{(?P<expression>[^{}]+)\}|\$\$|\$(?P<name>[A-Za-z_]\w*)")
_PROGRAMS = ("ls", "mkdir", "cat", "cp", "mv", "rm", "rmdir", "pip", "conda")
_AS_CODE = ("capture", "prun", "lprun", "memit", "mprun", "snakeviz")


class NotebookShell:
    """The commands of the notebook that is the program of this process."""

    def __init__(self) -> None:
        self._lines: dict[str, Callable[[str], Any]] = {
            "cd": self._change_folder, "env": self._set_variable, "set_env": self._set_variable, "run": self._run_file, "pwd": lambda _: os.getcwd(),
            "time": self._timed, "timeit": self._timed, "pylab": self._import_pylab, "sx": self.getoutput, "system": self.getoutput,
            **{name: partial(self._program, name) for name in _PROGRAMS}, **dict.fromkeys(_AS_CODE, self._execute)}
        self._cells: dict[str, Callable[[str, str], Any]] = {
            "bash": self._run_script, "sh": self._run_script, "writefile": self._write_file, "file": self._write_file,
            "time": lambda _, cell: self._timed(cell), "timeit": lambda _, cell: self._timed(cell),
            **dict.fromkeys(_AS_CODE, lambda _, cell: self._execute(cell))}

    @property
    def _namespace(self) -> dict[str, Any]:
        return vars(sys.modules["__main__"])

    @staticmethod
    def display(*values: object) -> None:
        """``display(x)``: as the value of a cell is shown."""
        for value in values:
            print(repr(value))

    def magic(self, text: str) -> Any:
        """``%text``: as older notebooks export it."""
        name, _, rest = text.partition(" ")
        return self.run_line_magic(name, rest)

    def run_line_magic(self, name: str, line: str) -> Any:
        """``%name line``."""
        if name in self._lines:
            return self._lines[name](line)
        return None if name in _OF_THE_SCREEN else self._leave_out(f"%{name}")

    def run_cell_magic(self, name: str, line: str, cell: str) -> Any:
        """``%%name line`` with the rest of its cell."""
        if name in self._cells:
            return self._cells[name](line, cell)
        return None if name in _OF_THE_SCREEN else self._leave_out(f"%%{name}")

    def system(self, command: str) -> None:
        """``!command``: by the shell of the machine, unless it installs packages."""
        self._shell(command, capture=False)

    def getoutput(self, command: str) -> list[str]:
        """``lines = !command``."""
        return self._shell(command, capture=True).splitlines()

    def _program(self, name: str, rest: str) -> None:
        self.system(f"{name} {rest}")

    def _shell(self, command: str, capture: bool) -> str:
        if _INSTALLS.match(command):
            self._leave_out(f"!{command}")
            return ""
        sys.stdout.flush()
        done = subprocess.run(self._filled(command), shell=True, check=False, text=True, stdout=subprocess.PIPE if capture else None)
        return done.stdout or ""

    def _filled(self, command: str) -> str:
        """The command with the program's variables in the place of ``{expressions}`` and ``$names``; those that the program does not have stay."""
        def value(found: re.Match[str]) -> str:
            if found["expression"] is not None:
                try:
                    return str(eval(found["expression"], self._namespace))
                except Exception:    # whatever it raises, it was meant for the shell: awk '{print $1}'
                    return found[0]
            if found["name"] is not None:
                return str(self._namespace[found["name"]]) if found["name"] in self._namespace else found[0]
            return found[0][0]
        return _VARIABLE.sub(value, command)

    def _execute(self, text: str) -> None:
        for code in notebooks.compiled(text, f"{_calling_cell()}, a command"):
            exec(code, self._namespace)

    def _timed(self, text: str) -> None:
        begin = time.perf_counter()
        self._execute(re.sub(r"^(-\w+\s*\d*\s+)+", "", text))
        print(f"Wall time: {time.perf_counter() - begin:.3g} s")

    def _change_folder(self, folder: str) -> None:
        os.chdir(os.path.expanduser(self._filled(folder).strip("'\"") or "~"))

    def _set_variable(self, text: str) -> None:
        name, _, value = text.partition("=") if "=" in text else text.partition(" ")
        if value:
            os.environ[name.strip()] = self._filled(value.strip())

    def _run_file(self, line: str) -> None:
        file, *arguments = line.split()
        before, sys.argv = sys.argv, [file, *arguments]
        try:
            self._namespace.update(runpy.run_path(file, run_name="__main__"))
        finally:
            sys.argv = before

    def _import_pylab(self, _: str) -> None:
        self._execute("import numpy\nimport matplotlib\nfrom matplotlib import pylab, mlab, pyplot\nnp = numpy\nplt = pyplot\nfrom pylab import *")

    def _run_script(self, _: str, cell: str) -> None:
        sys.stdout.flush()
        subprocess.run(["bash", "-c", cell], check=False)

    def _write_file(self, line: str, cell: str) -> None:
        *options, file = line.split()
        with Path(file).open("a" if "-a" in options else "w", encoding="utf-8") as out:
            out.write(cell)

    def _leave_out(self, command: str) -> None:
        print(f"penstock run: {_calling_cell()}: {command} is left out", file=sys.stderr)


def end_threads(patience: float = 2.0) -> None:
    """Ends the process if threads of the notebook go on when its last cell has run, as Jupyter's kernel does that is shut down: notebooks start queue
    runners and servers that nobody stops. What is to be done at the end of a process is done."""
    others = [thread for thread in threading.enumerate() if not thread.daemon and thread is not threading.current_thread()]
    deadline = time.monotonic() + patience
    for thread in others:
        thread.join(max(0.0, deadline - time.monotonic()))
    names = [thread.name for thread in others if thread.is_alive()]
    if names:
        print(f"penstock run: the notebook is at its end; threads that it has not stopped end with it: {', '.join(names)}", file=sys.stderr)
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _calling_cell() -> str:
    """The file name of the cell whose command this is."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename == __file__ and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code.co_filename
