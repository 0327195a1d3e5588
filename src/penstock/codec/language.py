"""A small language for native code: Python functions over 64-bit integers, floats and addresses, which ``translation.py`` makes LLVM IR of.

    @native
    def length(at: int, end: int) -> int:
        count = 0
        while at < end and load8(at) != 0:
            at += 1
            count += 1
        return count

What there is: ``if``, ``while``, ``for ... in range``, ``break``, ``continue``, ``return``, assignments, arithmetic, comparisons, ``and``, ``or``,
``not``, constants of the module, calls of other native functions and of those in ``primitives.py``. An integer has 64 bits and wraps around; ``>>``
shifts zeros in; comparisons are signed. A float has 64 bits, or 32 (``load_single``), and is rounded after each operation. *Lanes* are 16 integers
of 32 bits side by side (``load_lanes``), whose ``>>`` keeps the sign; an integer beside lanes stands for 16 of it. A variable keeps the type of its
first value. Addresses are integers. ``x if condition else y`` computes both.

A function without a ``return`` at its end returns 0. Whatever else Python knows is a ``SyntaxError`` when the function is compiled.
"""
from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any


class Native:
    """A function of this language, named as in Python. ``scope`` is where its constants and functions are looked up."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.name: str = function.__name__
        self.scope: dict[str, Any] = function.__globals__
        self.parameters = list(inspect.signature(function).parameters)
        self._function = function
        self.__doc__ = function.__doc__

    @property
    def source(self) -> str:
        """The text of the function; OSError where there is none."""
        return textwrap.dedent(inspect.getsource(self._function))


class Primitive:
    """What functions may call beside each other: ``translation.py`` knows by its name what becomes of it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *arguments: Any) -> Any:
        raise TypeError("this is a part of native code, which Python does not run")


def native(function: Callable[..., Any]) -> Any:
    """Says that a function is written in this language."""
    return Native(function)
