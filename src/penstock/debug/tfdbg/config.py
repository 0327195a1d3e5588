"""How the command line behaves: what the command ``config`` shows and sets, kept in a file for the next program."""
from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any

PATH = os.path.join("~", ".tfdbg_config")
_DEFAULTS: dict[str, int | bool] = {"graph_recursion_depth": 20, "mouse_mode": True}
_SWITCHES = {**dict.fromkeys(("1", "true", "t", "yes", "y", "on"), True), **dict.fromkeys(("0", "false", "f", "no", "n", "off"), False)}


class Config(Mapping[str, int | bool]):
    """Values by name. ``path``: of the file, by default that of this user; "": none."""

    def __init__(self, path: str | None = None) -> None:
        self._path = os.path.expanduser(PATH if path is None else path)
        self._values = dict(_DEFAULTS)
        stored = _read(self._path)
        self._values.update({name: stored[name] for name, value in _DEFAULTS.items() if type(stored.get(name)) is type(value)})

    def __getitem__(self, name: str) -> int | bool:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def change(self, name: str, value: int | bool) -> None:
        """Sets a value for this program."""
        self._values[name] = value

    def set(self, name: str, text: str) -> None:
        """Sets a value from what a person has typed, for the next programs too. Raises ValueError if it is none of its kind."""
        if isinstance(_DEFAULTS[name], bool) and text.lower() not in _SWITCHES:
            raise ValueError(f"Invalid string value for bool type: {text}")
        self.change(name, _SWITCHES[text.lower()] if isinstance(_DEFAULTS[name], bool) else int(text))
        if self._path:
            try:
                with open(self._path, "w", encoding="utf-8") as file:
                    json.dump(self._values, file)
            except OSError as error:  # a home that cannot be written to
                print(f"tfdbg: {self._path}: {error.strerror}", file=sys.stderr)


def _read(path: str) -> dict[str, Any]:
    """What a file holds; nothing, if there is none. One that cannot be read is told of, and the debugger goes on with its defaults."""
    try:
        with open(path, encoding="utf-8") as file:
            stored = json.load(file)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        print(f"tfdbg: {path}: {error}", file=sys.stderr)
        return {}
    return stored if isinstance(stored, dict) else {}
