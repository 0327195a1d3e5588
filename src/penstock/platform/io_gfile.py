"""``tf.io.gfile``: the functions of ``tf.gfile`` (``gfile.py``) with the names, also of their arguments, that later versions have."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from penstock.platform import gfile


def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copies a file."""
    gfile.Copy(src, dst, overwrite)


def exists(path: Any) -> bool:
    """Whether a file or directory is there."""
    return gfile.Exists(path)


def glob(pattern: Any) -> list[str]:
    """The paths that match a pattern (or a list of patterns), sorted."""
    return gfile.Glob(pattern)


def isdir(path: Any) -> bool:
    """Whether ``path`` is a directory."""
    return gfile.IsDirectory(path)


def listdir(path: Any) -> list[str]:
    """The names in a directory, sorted."""
    return gfile.ListDirectory(path)


def makedirs(path: Any) -> None:
    """Makes a directory and those above it that are missing."""
    gfile.MakeDirs(path)


def mkdir(path: Any) -> None:
    """Makes a directory; its parent must be there. One that exists is left alone."""
    gfile.MkDir(path)


def remove(path: Any) -> None:
    """Deletes a file."""
    gfile.Remove(path)


def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Moves a file or directory within one file system."""
    gfile.Rename(src, dst, overwrite)


def rmtree(path: Any) -> None:
    """Deletes a directory and all that is in it."""
    gfile.DeleteRecursively(path)


def stat(path: Any) -> gfile.FileStatistics:
    """Length, time of change, and whether it is a directory."""
    return gfile.Stat(path)


def walk(top: Any, topdown: bool = True, onerror: Callable[[OSError], object] | None = None) -> Iterator[tuple[str, list[str], list[str]]]:
    """(directory, directories in it, files in it) for ``top`` and all below; ``topdown`` gives a directory before what is in it."""
    return gfile.walk_sorted(top, topdown, onerror)
