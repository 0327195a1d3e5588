"""The debugger's command line on a whole screen: what commands tell above, in a part that scrolls, the line that is typed below.

Arrow keys, Page Up and Page Down, Home and End scroll; Up and Down go through the history while something is typed or was called back; Tab completes.
With the mouse: the wheel scrolls, and a click on the name of a tensor or node types the command that shows it (`config set mouse_mode false` leaves
the mouse to the terminal, to select text). ``Screen`` decides and knows no terminal; ``converse`` carries it out with curses.
"""
from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Protocol

try:
    import curses
except ImportError:  # Windows
    curses = None  # type: ignore[assignment]

PROMPT = "tfdbg> "
_NAME = re.compile(r"[\w./-]+(?::\d+)?")
_MOST_SUGGESTIONS = 40


class Commands(Protocol):
    """What a screen asks of a command line."""

    config: dict[str, Any]

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
        self.history = history if history is not None else []
        self._place = len(self.history)  # in the history
        self.note = ""
        self._keys: dict[str, Callable[[], None]] = {
            "ENTER": self._enter, "TAB": self._complete, "BACKSPACE": self._erase, "UP": lambda: self._recall(-1), "DOWN": lambda: self._recall(1),
            "PPAGE": lambda: self.scroll(-self.height), "NPAGE": lambda: self.scroll(self.height), "HOME": lambda: self.scroll(-len(self.lines)),
            "END": lambda: self.scroll(len(self.lines)), "WHEEL_UP": lambda: self.scroll(-3), "WHEEL_DOWN": lambda: self.scroll(3)}

    @property
    def height(self) -> int:
        """Lines of the part that scrolls: without the title, the note and the line that is typed."""
        return max(1, self.rows - 3)

    def run(self, command: str) -> None:
        """Runs a command and shows what it tells from its beginning."""
        answer = self._commands.dispatch(command)
        self.lines = [f"{PROMPT}{command}", *answer]
        self.top, self.note = 0, ""

    def key(self, key: str) -> None:
        """A character, or the name of a key."""
        action = self._keys.get(key)
        if action is not None:
            action()
        elif len(key) == 1 and key.isprintable():
            self.typed += key

    def click(self, row: int, column: int) -> None:
        """Types a command for what is clicked on."""
        index = self.top + row - 1
        line = self.lines[index] if 1 <= row <= self.height and index < len(self.lines) else ""
        word = next((match[0] for match in _NAME.finditer(line) if match.start() <= column < match.end()), "")
        if re.fullmatch(r".+:\d+", word):
            self.typed = f"pt {word}"
        elif word and self._commands.completions(f"ni {word}", word):
            self.typed = f"ni -a -d -t {word}"

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

    def _enter(self) -> None:
        command, self.typed = self.typed, ""
        if command.strip():
            self.history.append(command)
            self._place = len(self.history)
            self.run(command)

    def _erase(self) -> None:
        self.typed = self.typed[:-1]

    def _recall(self, step: int) -> None:
        """Through the history; without one, or before anything was typed, the arrow keys scroll."""
        if not self.typed and self._place == len(self.history) and len(self.lines) > self.height:
            self.scroll(step)
        elif 0 <= self._place + step <= len(self.history):
            self._place += step
            self.typed = self.history[self._place] if self._place < len(self.history) else ""

    def _complete(self) -> None:
        word = self.typed.rpartition(" ")[2]
        choices = self._commands.completions(self.typed, word)
        common = _common_beginning(choices)
        if len(choices) == 1:
            common += " "
        self.typed += common[len(word):]
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
        _draw(window, screen.visible())
        key = window.get_wch()
        if key == curses.KEY_RESIZE:
            screen.rows, screen.columns = window.getmaxyx()
        elif key == curses.KEY_MOUSE:
            _mouse(screen)
        elif key == "\x04":  # Ctrl-D
            raise EOFError
        else:
            screen.key(_KEYS.get(key, key if isinstance(key, str) else ""))


def _draw(window: Any, rows: Sequence[str]) -> None:
    window.erase()
    for number, text in enumerate(rows):
        emphasis = curses.A_BOLD if number == 0 else curses.A_DIM if number == len(rows) - 2 else curses.A_NORMAL
        try:
            window.addstr(number, 0, text, emphasis)
        except curses.error:  # the last cell of a screen cannot be written without a complaint
            continue
    window.move(len(rows) - 1, min(len(rows[-1]), window.getmaxyx()[1] - 1))
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
              curses.KEY_NPAGE: "NPAGE", curses.KEY_HOME: "HOME", curses.KEY_END: "END"}
