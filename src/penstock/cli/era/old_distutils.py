"""The parts of ``distutils``, gone since Python 3.12, that programs use: versions, flags, folders, and where a command is.

One module stands for the package and for its modules. Where setuptools is installed, its ``distutils`` is there, and this one is not used.
"""
from __future__ import annotations

import os
import re
import shutil
import sys
from functools import total_ordering
from pathlib import Path
from typing import Any

__path__: list[str] = []  # a package: ``import distutils.version``


@total_ordering
class LooseVersion:
    """Numbers and words of a version, compared one after the other: ``LooseVersion("1.15.0") < LooseVersion("1.15.5rc1")``."""

    def __init__(self, vstring: str | None = None) -> None:
        self.vstring = vstring or ""
        self.version: list[int | str] = [int(part) if part.isdigit() else part for part in re.findall(r"\d+|[a-z]+", self.vstring)]

    def __eq__(self, other: object) -> bool:
        return self.version == _version_of(other)

    def __lt__(self, other: object) -> bool:
        return self.version < _version_of(other)  # type: ignore[operator]

    def __hash__(self) -> int:
        return hash(tuple(self.version))

    def __str__(self) -> str:
        return self.vstring

    def __repr__(self) -> str:
        return f"{type(self).__name__} ('{self.vstring}')"


class StrictVersion(LooseVersion):
    """A version of two or three numbers, and a or b with another one: ``StrictVersion("1.4a2") < StrictVersion("1.4")``."""

    def __init__(self, vstring: str | None = None) -> None:
        super().__init__(vstring)
        parts = re.fullmatch(r"(\d+)\.(\d+)(?:\.(\d+))?(?:([ab])(\d+))?", self.vstring)
        if vstring and not parts:
            raise ValueError(f"invalid version number '{vstring}'")
        if parts:
            major, minor, patch, stage, number = parts.groups()
            self.version = [int(major), int(minor), int(patch or 0), stage or "c", int(number or 0)]


def _version_of(other: Any) -> list[int | str]:
    return (other if isinstance(other, LooseVersion) else LooseVersion(str(other))).version


def strtobool(val: str) -> int:
    """1 for y, yes, t, true, on and 1; 0 for n, no, f, false, off and 0."""
    lowered = val.lower()
    if lowered not in ("y", "yes", "t", "true", "on", "1", "n", "no", "f", "false", "off", "0"):
        raise ValueError(f"invalid truth value {lowered!r}")
    return int(lowered in ("y", "yes", "t", "true", "on", "1"))


def find_executable(executable: str, path: str | None = None) -> str | None:
    """Where a command is."""
    return shutil.which(executable, path=path)


def mkpath(name: str, mode: int = 0o777, verbose: int = 1, dry_run: int = 0) -> list[str]:
    """Makes a folder and those that it stands in."""
    os.makedirs(name, mode, exist_ok=True)
    return [name]


def copy_tree(src: str, dst: str, *options: Any, **named: Any) -> list[str]:
    """Copies what is in a folder into another one, which may be there; returns the files."""
    shutil.copytree(src, dst, dirs_exist_ok=True)
    return [str(Path(dst) / path.relative_to(src)) for path in sorted(Path(src).rglob("*")) if path.is_file()]


def remove_tree(directory: str, verbose: int = 1, dry_run: int = 0) -> None:
    """Removes a folder with what is in it."""
    shutil.rmtree(directory)


version = util = spawn = dir_util = sys.modules[__name__]  # ``from distutils import version``
