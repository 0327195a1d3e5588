"""The debugger's command line: commands with arguments, aliases, help, redirection; read with readline where there is a terminal.

A command is a function of parsed arguments that returns lines. One that raises ``Leave`` ends the command line with an answer for its caller.
"""
from __future__ import annotations

import argparse
import atexit
import os
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import metadata
from typing import Any, NoReturn

from penstock.debug.tfdbg import screen
from penstock.debug.tfdbg.config import Config

try:
    import readline
except ImportError:  # a Python without it reads plain lines
    readline = None  # type: ignore[assignment]

PROMPT = "tfdbg> "
HISTORY = os.path.join(os.path.expanduser("~"), ".tfdbg_history")
_TOKEN = re.compile(r"""(?:"[^"]*"|'[^']*'|\[[^\]]*\]|`[^`]*`|[^\s"'\[`])+""")

Handler = Callable[[argparse.Namespace], list[str]]


class Leave(Exception):
    """Ends the command line."""

    def __init__(self, answer: Any) -> None:
        super().__init__(answer)
        self.answer = answer


class BadCommand(Exception):
    """What a person asked for is not there; the message is shown."""


class Parser(argparse.ArgumentParser):
    """Of one command: it says what is wrong instead of ending the program."""

    def error(self, message: str) -> NoReturn:
        """A syntax error."""
        raise argparse.ArgumentError(None, message)


@dataclass
class _Command:
    name: str
    alias: str
    parser: Parser
    handler: Handler
    completions: Callable[[], Iterable[str]]


def tokens(line: str) -> list[str]:
    """The words of a command line; quotes and brackets hold words together.

    >>> tokens('pt "a b" x:0[1, :] > out.txt')
    ['pt', 'a b', 'x:0[1, :]', '>', 'out.txt']
    """
    words = _TOKEN.findall(line)
    return [word[1:-1] if word[0] in "\"'" and word[-1] == word[0] and len(word) > 1 else word for word in words]


class CommandLine:
    """Commands by name. ``introduction``: lines that the help begins with. ``ui``: "curses", for a screen where there is one, or "readline"."""

    def __init__(self, introduction: list[str] | None = None, ui: str = "readline", config: Config | None = None) -> None:
        self._ui = ui
        self._commands: dict[str, _Command] = {}
        self._introduction = introduction or []
        self.config = Config() if config is None else config
        self.add("help", "h", "Print this help.", self._help).add_argument("command", nargs="?", help="the command to tell of")
        self.add("version", "ver", "Print the versions of Penstock and of what it is made of.", lambda parsed: _versions())
        parser = self.add("config", "cfg", "Show or set how the command line behaves.", self._config)
        parser.add_argument("action", choices=("set", "show"), nargs="?", default="show")
        parser.add_argument("property_name", nargs="?")
        parser.add_argument("property_value", nargs="?")
        mouse = self.add("mouse", "m", "Show or set whether the mouse scrolls and clicks here, or is the terminal's.", self._mouse)
        mouse.add_argument("mode", choices=("on", "off"), nargs="?", type=str.lower)

    def add(self, name: str, alias: str, description: str, handler: Handler, completions: Callable[[], Iterable[str]] = tuple) -> Parser:
        """A new command; the arguments are added to what is returned."""
        parser = Parser(prog=name, description=description, add_help=False)
        self._commands[name] = _Command(name, alias, parser, handler, completions)
        return parser

    # --- dispatch ----------------------------------------------------------------------------------------------------

    def dispatch(self, line: str) -> list[str]:
        """Runs a command; ``> path`` behind it writes what it tells to a file, too."""
        words = tokens(line)
        if not words:
            return []
        if words[0] in ("exit", "quit"):
            raise Leave(None)
        command = self._find(words[0])
        if command is None:
            return [f'ERROR: Invalid command prefix "{words[0]}"']
        path = words[-1] if len(words) > 2 and words[-2] == ">" else ""
        lines = self._answer(command, words[0], words[1:-2] if path else words[1:])
        return lines + _write(path, lines) if path else lines

    def _find(self, word: str) -> _Command | None:
        return self._commands.get(word) or next((each for each in self._commands.values() if each.alias == word), None)

    def _answer(self, command: _Command, word: str, arguments: list[str]) -> list[str]:
        try:
            parsed = command.parser.parse_args(arguments)
        except argparse.ArgumentError:
            return [f"Syntax error for command: {word}", f'For help, do "help {word}"']
        try:
            return command.handler(parsed)
        except BadCommand as error:
            return [f"ERROR: {error}"]
        except Leave:
            raise
        except Exception as error:  # a person may ask for anything, and goes on asking
            return [f"Error occurred during handling of command: {' '.join([command.name, *arguments])}:", f"{type(error)}: {error}"]

    def _help(self, parsed: argparse.Namespace) -> list[str]:
        if parsed.command is None:
            return self._introduction + [line for name in sorted(self._commands) for line in [*self._help_of(self._commands[name]), "", ""]]
        command = self._find(parsed.command)
        if command is None:
            raise BadCommand(f'Invalid command prefix "{parsed.command}"')
        return self._help_of(command)

    def _help_of(self, command: _Command) -> list[str]:
        return [command.name, f"  Aliases: {command.alias}", "", *("  " + line for line in command.parser.format_help().rstrip().split("\n"))]

    def _config(self, parsed: argparse.Namespace) -> list[str]:
        if parsed.action == "set":
            if parsed.property_name not in self.config or parsed.property_value is None:
                raise BadCommand(f"{parsed.property_name} is not a valid property name, or has no value: there are {', '.join(self.config)}")
            self.config.set(parsed.property_name, parsed.property_value)
        return ["Command-line configuration:", "", *(f"  {name}: {value}" for name, value in self.config.items())]

    def _mouse(self, parsed: argparse.Namespace) -> list[str]:
        if parsed.mode is not None:
            self.config.change("mouse_mode", parsed.mode == "on")
        return [f"Mouse mode: {'on' if self.config['mouse_mode'] else 'off'}"]

    # --- the terminal ------------------------------------------------------------------------------------------------

    def converse(self, title: str, first: str) -> Any:
        """Prints a title, runs a first command, then reads commands until one ends it; None: the person left the debugger."""
        try:
            if self._ui == "curses" and screen.there_is_one():
                screen.converse(self, title, first)
            _prepare_readline(self.complete)
            print(title)
            self._print(self.dispatch(first))
            while True:
                self._print(self.dispatch(input(PROMPT)))
        except Leave as end:
            return end.answer
        except (EOFError, KeyboardInterrupt):
            print()
            return None

    @staticmethod
    def _print(lines: list[str]) -> None:
        print("\n".join([*lines, ""]), flush=True)

    def complete(self, text: str, state: int) -> str | None:
        """For readline: a command, or what the command of this line takes."""
        matches = self.completions(readline.get_line_buffer() if readline is not None else text, text)
        return matches[state] if state < len(matches) else None

    def completions(self, line: str, text: str) -> list[str]:
        """What the last word of a line, ``text``, can become."""
        words = line.split()
        command = self._find(words[0]) if words and line[len(words[0]):len(words[0]) + 1].isspace() else None
        choices = sorted(self._commands) if command is None else sorted(command.completions())
        return [choice for choice in choices if choice.startswith(text)]


def _write(path: str, lines: list[str]) -> list[str]:
    """Writes what a command tells to a file; the lines that say why, if that is not possible."""
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    except OSError as error:
        return [f"ERROR: {path} was not written: {error.strerror}"]
    return []


def _versions() -> list[str]:
    names = ("numpy", "llvmlite", "tensorboard", "protobuf")
    return [f"Penstock version: {metadata.version('penstock')}", *(f"  {name}: {metadata.version(name)}" for name in names)]


def _prepare_readline(complete: Callable[[str, int], str | None]) -> None:
    if readline is None or not sys.stdin.isatty():
        return
    readline.set_completer(complete)
    readline.set_completer_delims(" \t\n")
    readline.parse_and_bind("tab: complete")
    if not _history_loaded:
        _history_loaded.append(True)
        if os.path.exists(HISTORY):
            readline.read_history_file(HISTORY)
        atexit.register(_write_history)


_history_loaded: list[bool] = []


def _write_history() -> None:
    try:
        readline.write_history_file(HISTORY)
    except OSError as error:  # a home that cannot be written to
        print(f"tfdbg: {HISTORY}: {error.strerror}", file=sys.stderr)
