"""Folders and files that only this user can have written: for secrets, and for code that is loaded into the process.

What is checked is what is opened: the owner and the mode come from the descriptor, and symbolic links are not followed, so that nothing can be
exchanged between the check and the use. Folders above need no check: a user who can rename a folder cannot make one that belongs to this user.
"""
from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

_WRITABLE, _ACCESSIBLE = 0o022, 0o077  # by others than the owner


class NotPrivate(PermissionError):
    """A folder or file that another user may have written."""


@contextmanager
def private_folder(path: str | os.PathLike[str], make: bool = False) -> Iterator[int]:
    """The descriptor of a folder that only this user can write to; NotPrivate if it belongs to another. With ``make`` it is made if missing."""
    if make:
        os.makedirs(path, mode=0o700, exist_ok=True)
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _check(folder, os.fspath(path), _WRITABLE)
        yield folder
    finally:
        os.close(folder)


def read_private(name: str, folder: int, hidden: bool = False) -> bytes:
    """The content of a file in a private folder; NotPrivate if others can write it, or, with ``hidden``, read it."""
    file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)  # (a pipe must not make us wait)
    with os.fdopen(file, "rb") as content:
        _check(file, name, _ACCESSIBLE if hidden else _WRITABLE)
        return content.read()


def _check(descriptor: int, name: str, forbidden: int) -> None:
    status = os.fstat(descriptor)
    if status.st_uid != os.geteuid():
        raise NotPrivate(f"{name} belongs to user {status.st_uid}, not to user {os.geteuid()}, as whom this process runs")
    if stat.S_IMODE(status.st_mode) & forbidden:
        verb = "read or write" if forbidden == _ACCESSIBLE else "write to"
        raise NotPrivate(f"others may {verb} {name}: chmod {'go=' if forbidden == _ACCESSIBLE else 'go-w'} {name}")
