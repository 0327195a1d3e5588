"""The functions of the C API, read from the header that is shipped: its names and types stand there and nowhere else."""
from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
HEADER = FOLDER / "include" / "tensorflow" / "c" / "c_api.h"
STRUCTS = ("TF_Output", "TF_Input", "TF_Buffer", "TF_AttrMetadata", "TF_WhileParams")  # that are passed or returned by value


@dataclass(frozen=True)
class Parameter:
    """A parameter: its type as C writes it, without ``const``, and its name."""

    type: str
    name: str
    declared: str  # with ``const``

    @property
    def declaration(self) -> str:
        """As a function has it in C."""
        return self.declared if self.type == "function" else f"{self.declared} {self.name}"

    @property
    def by_value(self) -> bool:
        """A struct, which Python is given the address of."""
        return self.type in STRUCTS


@dataclass(frozen=True)
class Declaration:
    """A function of the header."""

    name: str
    returns: str
    declared_returns: str
    parameters: tuple[Parameter, ...]

    @property
    def status(self) -> int | None:
        """Which parameter is the status; None if there is none."""
        return next((index for index, each in enumerate(self.parameters) if each.type == "TF_Status*"), None)


_FUNCTION = re.compile(r"TF_CAPI_EXPORT extern (?P<returns>[^;()]*?)\s*(?P<name>TF_\w+)\((?P<parameters>(?:[^()]|\([^()]*\))*)\);", re.S)


@functools.cache
def declarations() -> tuple[Declaration, ...]:
    """All functions, in the order of the header."""
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(encoding="utf-8"), flags=re.S)
    return tuple(_declaration(match) for match in _FUNCTION.finditer(text))


@functools.cache
def defined_in_c() -> frozenset[str]:
    """The functions that ``shim.c`` has itself."""
    return frozenset(re.findall(r"^\w[\w* ]*?\b(TF_\w+)\([^;]*?\)\s*\{", (FOLDER / "shim.c").read_text(encoding="utf-8"), flags=re.M))


@functools.cache
def forwarded() -> tuple[Declaration, ...]:
    """Those that Python has; the library and Python know each by its place in this list."""
    return tuple(each for each in declarations() if each.name not in defined_in_c())


def _declaration(match: re.Match[str]) -> Declaration:
    text = " ".join(match["parameters"].split())
    parts = [] if text == "void" else _split(text)
    return Declaration(match["name"], _plain(match["returns"]), match["returns"], tuple(map(_parameter, parts)))


def _split(text: str) -> list[str]:
    """At the commas outside of parentheses."""
    return [part.strip() for part in re.split(r",(?![^()]*\))", text)]


def _parameter(text: str) -> Parameter:
    pointer = re.fullmatch(r"(.*)\(\*(\w+)\)\((.*)\)", text)
    if pointer is not None:
        return Parameter("function", pointer[2], text)
    kind, name = re.fullmatch(r"(.*?)\s*(\w+)", text).groups()  # type: ignore[union-attr]
    return Parameter(_plain(kind), name, kind)


def _plain(kind: str) -> str:
    """Without ``const`` and spaces: ``TF_Operation**``."""
    return re.sub(r"\bconst\b", " ", kind).replace(" ", "").replace("unsignedchar", "unsigned char")
