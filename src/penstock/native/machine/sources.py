"""Which version of the package made the kernels of this process: machine code on disk is kept under its name.

The name is a digest of the files, which is that of the modules that were loaded only as long as no file has changed since then. A process that finds
one changed knows no name any more: it neither uses nor stores kernels, as its modules may be of either version, or of both.
"""
from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from penstock.native.machine import cache
from penstock.platform.loading import LOADED_SINCE

_FOLDERS = ("native", "ops", "graph", "codec")  # what machine code depends on
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_lock = threading.Lock()
if hasattr(os, "register_at_fork"):  # as in ``codegen.py``
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


class LoadedSources:
    """The files that modules are loaded from, and the name of their version."""

    def __init__(self, package: str = _PACKAGE, since: float = LOADED_SINCE) -> None:
        self._package, self._since = package, since
        self._name: str | None = None  # None before it is asked for, and when there is none any more
        self._changed = False
        self._modules = 0  # how many this process had when it last looked

    def version(self) -> str | None:
        """The digest; None if a file has changed since the package was loaded."""
        with _lock:
            if self._name is None and not self._changed:
                self._look()
            return self._name

    def still(self, version: str) -> bool:
        """True if modules that were loaded after ``version`` was asked for are of that version as well."""
        with _lock:
            if not self._changed and len(sys.modules) != self._modules:
                self._look()
            return self._name == version

    def _look(self) -> None:
        self._modules = len(sys.modules)  # before the files: what is loaded meanwhile is looked at the next time
        files = sorted(entry for folder in _FOLDERS for entry in _source_files(os.path.join(self._package, folder)))
        self._changed = any(status.st_ctime >= self._since for _, status in files)
        if self._changed:
            self._name = None
        elif self._name is None:
            self._name = _digest(self._package, files)


def _digest(package: str, files: list[tuple[str, os.stat_result]]) -> str:
    """Of the content of files, which are read once for each state that the file system shows them in."""
    # Times of content may be those of another version's files; the time of the last change, of content or of anything else, is the system's own.
    state = "\n".join(f"{path} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_dev} {status.st_ino}" for path, status in files)
    name = hashlib.sha256(f"sources\n{state}".encode()).hexdigest()
    known = cache.load(name)
    if known is not None:
        return known.decode()
    digest = hashlib.sha256()
    for path, _ in files:
        content = Path(path).read_bytes()
        digest.update(f"{os.path.relpath(path, package)} {len(content)}\n".encode())
        digest.update(content)
    cache.store(name, digest.hexdigest().encode())
    return digest.hexdigest()


def _source_files(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                yield entry.path, entry.stat()
            elif entry.is_dir():
                yield from _source_files(entry.path)


loaded = LoadedSources()
