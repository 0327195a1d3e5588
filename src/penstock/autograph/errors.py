"""The errors of AutoGraph, and the values that stand for what a program has not set."""
from __future__ import annotations

from typing import Any


class AutoGraphError(Exception):
    """The base of what goes wrong in a conversion."""


class ConversionError(AutoGraphError):
    """A function cannot be converted: it has no source, or uses what graphs do not have."""


class _Absent:
    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


UNDEFINED: Any = _Absent("<undefined>")  # the value of a variable before its first assignment
NO_RETURN: Any = _Absent("<nothing returned>")  # what a function returns before its ``return``
