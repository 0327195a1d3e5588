"""The debugger's command line on a whole screen: what commands tell above, in a part that scrolls, the line that is typed below.

Page Up and Page Down, Home and End scroll; Up and Down go through the history; Left and Right, and the control keys of shells (A, E, K, U), edit the
line; Tab completes. ``/REGEX`` marks what matches and goes to the first match, ``/`` to the next one; ``@[10, 0]`` goes to that element of the tensor
that is shown. With the mouse: the wheel scrolls, a click on the name of a tensor or node types the command that shows it (`mouse off`
leaves the mouse to the terminal, to select text). ``Screen`` decides and knows no terminal; ``converse`` carries it out with curses.
"""
from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, Protocol

from penstock.debug.tfdbg.elements import element_rows, parse_indices

try:
    import curses
except ImportError:  # Windows
    curses = None  # type: ignore[assignment]

PROMPT = "tfdbg> "
_NAME = re.compile(r"[\w./-]+(?::\d+)?")
_MOST_SUGGESTIONS = 40


class Commands(Protocol):
    """What a screen asks of a command line."""

    @property
    def config(self) -> Mapping[str, Any]:
        """What the command `config` shows."""

    def dispatch(self, line: str) -> list[str]:
        """Runs a command."""

    def completions(self, line: str, text: str) -> list[str]:
        """What a word can become."""


class Screen:
    """What is shown, and what keys and clicks do with it.

    >>> class Echo:
    ...     config = {}
    ...     def dispatch(self, line): return [line.upper()]
    ...     def completions(self, line, text): return [word for word in ("print", "prune") if word.startswith(text)]
    >>> screen = Screen(Echo(), "title", rows=5, columns=20)
    >>> for key in "pri": screen.key(key)
    >>> screen.key("TAB"); screen.typed
    'print '
    >>> screen.key("ENTER"); screen.lines
    ['tfdbg> print ', 'PRINT ']
    """

    def __init__(self, commands: Commands, title: str, rows: int, columns: int, history: list[str] | None = None) -> None:
        self._commands, self.title = commands, title
        self.rows, self.columns = rows, columns
        self.lines: list[str] = []
        self.typed, self.top = "", 0
        self.search: re.Pattern[str] | None = None
        self._behind = 0  # characters behind the cursor
        self.history = history if history is not None else []
        self._place = len(self.history)  # in the history
        self.note = ""
        self._keys: dict[str, Callable[[], None]] = {
            "ENTER": self._enter, "TAB": self._complete, "BACKSPACE": self._erase, "UP": lambda: self._recall(-1), "DOWN": lambda: self._recall(1),
            "LEFT": lambda: self._move(1), "RIGHT": lambda: self._move(-1), "DELETE": self._delete,
            "\x01": lambda: self._move(len(self.typed)), "\x05": lambda: self._move(-len(self.typed)),
            "\x0b": lambda: self._keep(self.typed[:self.cursor], 0), "\x15": lambda: self._keep(self.typed[self.cursor:], self._behind),
            "PPAGE": lambda: self.scroll(-self.height), "NPAGE": lambda: self.scroll(self.height), "HOME": lambda: self.scroll(-len(self.lines)),
            "END": lambda: self.scroll(len(self.lines)), "WHEEL_UP": lambda: self.scroll(-3), "WHEEL_DOWN": lambda: self.scroll(3)}

    @property
    def height(self) -> int:
        """Lines of the part that scrolls: without the title, the note and the line that is typed."""
        return max(1, self.rows - 3)

    @property
    def cursor(self) -> int:
        """Before which character of the typed line something is inserted."""
        return max(0, len(self.typed) - self._behind)

    def run(self, command: str) -> None:
        """Runs a command and shows what it tells from its beginning."""
        answer = self._commands.dispatch(command)
        self.lines = [f"{PROMPT}{command}", *answer]
        self.top, self.note, self.search = 0, "", None

    def key(self, key: str) -> None:
        """A character, or the name of a key."""
        action = self._keys.get(key)
        if action is not None:
            action()
        elif len(key) == 1 and key.isprintable():
            self._insert(key)

    def click(self, row: int, column: int) -> None:
        """Types a command for what is clicked on."""
        index = self.top + row - 1
        line = self.lines[index] if 1 <= row <= self.height and index < len(self.lines) else ""
        word = next((match[0] for match in _NAME.finditer(line) if match.start() <= column < match.end()), "")
        if re.fullmatch(r".+:\d+", word):
            self._keep(f"pt {word}", 0)
        elif word and self._commands.completions(f"ni {word}", word):
            self._keep(f"ni -a -d -t {word}", 0)

    def scroll(self, lines: int) -> None:
        """Moves what is shown."""
        self.top = max(0, min(self.top + lines, len(self.lines) - self.height))

    def visible(self) -> list[str]:
        """What stands on each row of the screen."""
        body = [line[:self.columns] for line in self.lines[self.top:self.top + self.height]]
        body += [""] * (self.height - len(body))
        left = len(self.lines) - self.top - self.height
        place = f"--- {self.top + 1}-{min(len(self.lines), self.top + self.height)} of {len(self.lines)}" if left > 0 or self.top else "---"
        note = self.note or f"{place} {'-' * self.columns}"
        return [f"--- {self.title} {'-' * self.columns}"[:self.columns], *body, note[:self.columns], f"{PROMPT}{self.typed}"[-self.columns:]]

    def matches(self) -> list[tuple[int, int, str]]:
        """What the search has found of what is visible: row of the screen, column, text."""
        if self.search is None:
            return []
        shown = enumerate(self.visible()[1:1 + self.height], 1)
        return [(row, match.start(), match[0]) for row, line in shown for match in self.search.finditer(line)]

    def _enter(self) -> None:
        command = self.typed
        self._keep("", 0)
        if command.strip():
            self.history.append(command)
            self._place = len(self.history)
            if command.startswith("/"):
                self._find(command[1:])
            elif command.startswith("@"):
                self._go_to(command[1:])
            else:
                self.run(command)

    def _find(self, pattern: str) -> None:
        """Goes to the first match of a pattern, or without one to the next of the last."""
        first = 1 if pattern else self.top + 1  # row 0 is the command
        try:
            self.search = re.compile(pattern) if pattern else self.search
        except re.error as error:
            self.note = f"{pattern!r} is not a regular expression: {error}"
            return
        if self.search is None:
            self.note = "Nothing was searched for yet: /REGEX"
            return
        rows = [row for row in range(1, len(self.lines)) if self.search.search(self.lines[row])]
        self.note = f"--- {len(rows)} line(s) match /{self.search.pattern}/; / and Enter: the next"
        self.top = next((row for row in rows if row >= first), rows[0] if rows else self.top)

    def _go_to(self, text: str) -> None:
        """To an element of the tensor that is shown; of fewer indices than it has, to the first of that slice."""
        try:
            wanted = parse_indices(text)
        except ValueError as error:
            self.note = str(error)
            return
        row = next((row for place, row in element_rows(self.lines).items() if place[:len(wanted)] == wanted), None)
        if row is None:
            self.note = f"{list(wanted)} is not shown: pt TENSOR shows a tensor, pt -a TENSOR all of it"
        else:
            self.top, self.note = row, f"--- {list(wanted)} is in the first line"

    def _keep(self, text: str, behind: int) -> None:
        self.typed, self._behind = text, behind

    def _insert(self, text: str) -> None:
        self.typed = self.typed[:self.cursor] + text + self.typed[self.cursor:]

    def _move(self, left: int) -> None:
        self._behind = max(0, min(len(self.typed), self._behind + left))

    def _erase(self) -> None:
        if self.cursor:
            self.typed = self.typed[:self.cursor - 1] + self.typed[self.cursor:]

    def _delete(self) -> None:
        if self._behind:
            self._keep(self.typed[:self.cursor] + self.typed[self.cursor + 1:], self._behind - 1)

    def _recall(self, step: int) -> None:
        if 0 <= self._place + step <= len(self.history):
            self._place += step
            self._keep(self.history[self._place] if self._place < len(self.history) else "", 0)

    def _complete(self) -> None:
        line = self.typed[:self.cursor]
        word = line.rpartition(" ")[2]
        choices = self._commands.completions(line, word)
        common = _common_beginning(choices)
        if len(choices) == 1:
            common += " "
        self._insert(common[len(word):])
        self.note = "  ".join(choices[:_MOST_SUGGESTIONS]) if len(choices) > 1 else ""


def _common_beginning(words: list[str]) -> str:
    first, last = (min(words), max(words)) if words else ("", "")
    return next((first[:index] for index, pair in enumerate(zip(first, last)) if pair[0] != pair[1]), first)


def there_is_one() -> bool:
    """Is there a terminal with a screen?"""
    return curses is not None and sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in ("", "dumb")


_history: list[str] = []


def converse(commands: Commands, title: str, first: str) -> NoReturn:
    """Runs a first command, then those that are typed, until one of them raises, or the person presses Ctrl-D (EOFError)."""
    curses.wrapper(lambda window: _loop(window, commands, title, first))
    raise EOFError


def _loop(window: Any, commands: Commands, title: str, first: str) -> None:
    rows, columns = window.getmaxyx()
    curses.set_escdelay(25)
    if curses.has_colors():
        curses.use_default_colors()
    screen = Screen(commands, title, rows, columns, _history)
    screen.run(first)
    window.clearok(True)  # the program may have printed since
    has_mouse = None
    while True:
        if has_mouse != commands.config.get("mouse_mode", True):
            has_mouse = commands.config.get("mouse_mode", True)
            curses.mousemask(curses.ALL_MOUSE_EVENTS if has_mouse else 0)
        _draw(window, screen)
        key = window.get_wch()
        if key == curses.KEY_RESIZE:
            screen.rows, screen.columns = window.getmaxyx()
        elif key == curses.KEY_MOUSE:
            _mouse(screen)
        elif key == "\x04":  # Ctrl-D
            raise EOFError
        else:
            screen.key(_KEYS.get(key, key if isinstance(key, str) else ""))


def _draw(window: Any, screen: Screen) -> None:
    window.erase()
    rows = screen.visible()
    for number, text in enumerate(rows):
        emphasis = curses.A_BOLD if number == 0 else curses.A_DIM if number == len(rows) - 2 else curses.A_NORMAL
        try:
            window.addstr(number, 0, text, emphasis)
        except curses.error:  # the last cell of a screen cannot be written without a complaint
            continue
    for row, column, text in screen.matches():
        window.addstr(row, column, text, curses.A_REVERSE)
    window.move(len(rows) - 1, max(0, min(len(rows[-1]) - (len(screen.typed) - screen.cursor), window.getmaxyx()[1] - 1)))
    window.refresh()


def _mouse(screen: Screen) -> None:
    try:
        _, column, row, _, kind = curses.getmouse()
    except curses.error:  # an event that was not asked for
        return
    if kind & getattr(curses, "BUTTON4_PRESSED", 0):
        screen.key("WHEEL_UP")
    elif kind & getattr(curses, "BUTTON5_PRESSED", 0):
        screen.key("WHEEL_DOWN")
    elif kind & (curses.BUTTON1_CLICKED | curses.BUTTON1_RELEASED):
        screen.click(row, column)


_KEYS: dict[Any, str] = {"\n": "ENTER", "\r": "ENTER", "\t": "TAB", "\x7f": "BACKSPACE", "\b": "BACKSPACE"}
if curses is not None:
    _KEYS |= {curses.KEY_ENTER: "ENTER", curses.KEY_BACKSPACE: "BACKSPACE", curses.KEY_UP: "UP", curses.KEY_DOWN: "DOWN", curses.KEY_PPAGE: "PPAGE",
              curses.KEY_NPAGE: "NPAGE", curses.KEY_HOME: "HOME", curses.KEY_END: "END", curses.KEY_LEFT: "LEFT", curses.KEY_RIGHT: "RIGHT",
              curses.KEY_DC: "DELETE"}
