"""``tf.gfile``: files and directories, with TensorFlow's names and errors.

Paths are local; ``file://`` in front is understood, any other scheme (``gs://``, ``hdfs://``) is an UnimplementedError. The names are those of
``tf.gfile``; at the end stand their other names: of ``tf.io.gfile`` (lower case) and of ``tensorflow.python.lib.io.file_io``.
"""
from __future__ import annotations

import errno
import fnmatch
import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any, NamedTuple

from penstock.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnimplementedError,
    UnknownError,
)
from penstock.platform.compat import as_bytes, as_str_any, path_to_str

_CLASS_OF_ERRNO: dict[int, type[OpError]] = {
    errno.ENOENT: NotFoundError, errno.EEXIST: AlreadyExistsError, errno.EACCES: PermissionDeniedError, errno.EPERM: PermissionDeniedError,
    errno.EISDIR: FailedPreconditionError, errno.ENOTDIR: FailedPreconditionError, errno.ENOTEMPTY: FailedPreconditionError,
    errno.EINVAL: InvalidArgumentError, errno.EROFS: PermissionDeniedError,
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE), ResourceExhaustedError),
}
_MODES = ("r", "w", "a", "r+", "w+", "a+")


class FileStatistics(NamedTuple):
    """What `Stat` returns for a path."""

    length: int
    mtime_nsec: int
    is_directory: bool


def _local_path(path: Any) -> str:
    """The local path that ``path`` names."""
    text = as_str_any(path_to_str(path))
    scheme = re.match(r"([a-zA-Z][\w+.-]*)://", text)
    if scheme is None:
        return text
    if scheme[1] == "file":
        return text[scheme.end():]
    raise UnimplementedError(None, None, f"File system scheme '{scheme[1]}' not implemented (file: '{text}')")


@contextmanager
def _translate_errors(path: str) -> Iterator[None]:
    """Turns the errors of the operating system into TensorFlow's."""
    try:
        yield
    except OSError as error:
        cls = _CLASS_OF_ERRNO.get(error.errno or 0, UnknownError)
        raise cls(None, None, f"{error.filename or path}; {error.strerror}") from error


def open_file(path: Any, mode: str) -> IO[bytes]:
    """An open file, as Python's ``open`` gives it in a binary mode; but the errors are TensorFlow's."""
    path = _local_path(path)
    with _translate_errors(path):
        return open(path, mode)


class GFile:
    """A file. Modes are Python's, with ``b`` for bytes; it is opened when it is first used, as TensorFlow does, so a missing file shows then.

    One that is read and written has a place of its own for either, as TensorFlow's have: reading begins at the start, and shows what was written
    when that has been flushed. The first write in the mode ``r+`` makes the file anew.
    """

    def __init__(self, name: Any, mode: str = "r") -> None:
        self._name, self._mode, self._binary = path_to_str(name), mode.replace("b", ""), "b" in mode
        self._reader: IO[bytes] | None = None
        self._writer: IO[bytes] | None = None
        if self._mode not in _MODES:
            raise InvalidArgumentError(None, None, f"mode {mode!r} is not one of {', '.join(map(repr, _MODES))}, with or without 'b'")

    @property
    def name(self) -> Any:
        """The path it was made with."""
        return self._name

    @property
    def mode(self) -> str:
        """The mode it was made with, without ``b``."""
        return self._mode

    @property
    def _readable(self) -> bool:
        return self._mode == "r" or "+" in self._mode

    def _for_reading(self) -> IO[bytes]:
        if not self._readable:
            raise PermissionDeniedError(None, None, "File isn't open for reading")
        if self._reader is None:
            self._reader = open_file(self._name, "rb")
        return self._reader

    def _for_writing(self) -> IO[bytes]:
        if self._mode == "r":
            raise PermissionDeniedError(None, None, "File isn't open for writing")
        if self._writer is None:
            self._writer = open_file(self._name, "ab" if "a" in self._mode else "wb")
        return self._writer

    def _file_with_place(self) -> IO[bytes]:
        """What ``seek`` and ``tell`` are about."""
        return self._for_reading() if self._readable else self._for_writing()

    def _value(self, data: bytes) -> Any:
        return data if self._binary else data.decode("utf-8")

    def read(self, n: int = -1) -> Any:
        """The rest of the file, or at most ``n`` bytes of it."""
        return self._value(self._for_reading().read(n))

    def readline(self) -> Any:
        """The next line, with its line end; empty at the end of the file."""
        return self._value(self._for_reading().readline())

    def readlines(self) -> list[Any]:
        """The lines that are left."""
        return list(self)

    def write(self, file_content: Any) -> None:
        """Writes text (as UTF-8) or bytes."""
        self._for_writing().write(as_bytes(file_content))

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Goes to a place in the file; ``position`` is the old name of ``offset``."""
        if offset is not None and position is not None:
            raise TypeError("seek(): offset and position may not be set simultaneously.")
        target = offset if position is None else position
        if target is None:
            raise TypeError("seek(): offset argument required")
        if whence not in (0, 1, 2):
            raise InvalidArgumentError(None, None, f"Invalid whence argument: {whence}. Valid values are 0, 1, or 2.")
        if whence == 0 and target < 0:
            raise InvalidArgumentError(None, None, f"Seeking to a negative position: {target}")
        file = self._file_with_place()
        with _translate_errors(as_str_any(self._name)):
            file.seek(target, whence)

    def tell(self) -> int:
        """The place in the file."""
        return self._file_with_place().tell()

    def seekable(self) -> bool:
        """Always: files are local."""
        return True

    def size(self) -> int:
        """The length of the file in bytes."""
        self.flush()
        return Stat(self._name).length

    def flush(self) -> None:
        """Hands what was written to the operating system."""
        if self._writer is not None:
            self._writer.flush()

    def close(self) -> None:
        """Closes the file; using it again opens it again."""
        files, self._reader, self._writer = (self._reader, self._writer), None, None
        for file in files:
            if file is not None:
                file.close()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.readline, self._value(b""))

    def __next__(self) -> Any:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    next = __next__

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


FileIO = GFile
Open = GFile


class FastGFile(GFile):
    """A `GFile`; TensorFlow's older name."""


def Exists(filename: Any) -> bool:
    """Whether a file or directory is there."""
    return os.path.exists(_local_path(filename))


def IsDirectory(dirname: Any) -> bool:
    """Whether ``dirname`` is a directory."""
    return os.path.isdir(_local_path(dirname))


def Stat(filename: Any) -> FileStatistics:
    """Length, time of change, and whether it is a directory."""
    path = _local_path(filename)
    with _translate_errors(path):
        status = os.stat(path)
    return FileStatistics(status.st_size, status.st_mtime_ns, os.path.isdir(path))


def Remove(filename: Any) -> None:
    """Deletes a file."""
    path = _local_path(filename)
    with _translate_errors(path):
        os.remove(path)


def MkDir(dirname: Any) -> None:
    """Makes a directory; its parent must be there. One that exists is left alone."""
    path = _local_path(dirname)
    if not os.path.isdir(path):
        with _translate_errors(path):
            os.mkdir(path)


def MakeDirs(dirname: Any) -> None:
    """Makes a directory and those above it that are missing."""
    path = _local_path(dirname)
    with _translate_errors(path):
        os.makedirs(path, exist_ok=True)


def DeleteRecursively(dirname: Any) -> None:
    """Deletes a directory and all that is in it."""
    path = _local_path(dirname)
    with _translate_errors(path):
        shutil.rmtree(path)


def Copy(oldpath: Any, newpath: Any, overwrite: bool = False) -> None:
    """Copies a file."""
    source, target = _local_path(oldpath), _target(newpath, overwrite)
    with _translate_errors(source):
        shutil.copyfile(source, target)


def Rename(oldname: Any, newname: Any, overwrite: bool = False) -> None:
    """Moves a file or directory within one file system."""
    source, target = _local_path(oldname), _target(newname, overwrite)
    with _translate_errors(source):
        os.replace(source, target)


def _target(path: Any, overwrite: bool) -> str:
    local = _local_path(path)
    if not overwrite and os.path.exists(local):
        raise AlreadyExistsError(None, None, f"{local}; file already exists. Pass overwrite=True to replace it.")
    return local


def ListDirectory(dirname: Any) -> list[str]:
    """The names in a directory, sorted, without ``.`` and ``..``."""
    path = _local_path(dirname)
    if not os.path.isdir(path):
        raise NotFoundError(None, None, f"Could not find directory {path}")
    with _translate_errors(path):
        return sorted(os.listdir(path))


def Glob(filename: Any) -> list[str]:
    """The paths that match a pattern (or a list of patterns), sorted. ``*`` matches hidden files too, but no ``/``.

    NotFoundError if the folder before the first such sign is not there.
    """
    patterns = [_local_path(pattern) for pattern in (filename if isinstance(filename, (list, tuple)) else [filename])]
    for pattern in patterns:
        _check_folder(os.path.dirname(re.split(r"[*?[]", pattern, maxsplit=1)[0]))
    return [path for pattern in patterns for path in _matching_paths(pattern)]


def _check_folder(folder: str) -> None:
    with _translate_errors(folder):
        os.scandir(folder or ".").close()


def _matching_paths(pattern: str) -> list[str]:
    # The standard library's glob leaves hidden files out (and has an option for them only since Python 3.11).
    if not any(sign in pattern for sign in "*?["):
        return [pattern] if os.path.lexists(pattern) else []
    head, tail = os.path.split(pattern)
    folders = _matching_paths(head) if head else ["."]
    return sorted(os.path.join(folder, name) for folder in folders if os.path.isdir(folder) for name in fnmatch.filter(os.listdir(folder), tail))


def Walk(top: Any, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """(directory, directories in it, files in it) for ``top`` and all below; ``in_order`` gives a directory before what is in it."""
    return walk_sorted(top, in_order, None)


def walk_sorted(top: Any, topdown: bool, onerror: Callable[[OSError], object] | None) -> Iterator[tuple[str, list[str], list[str]]]:
    """What `Walk` gives; ``onerror`` is called with the errors."""
    for folder, folders, files in os.walk(_local_path(top), topdown, onerror):
        folders.sort()  # in place: the order in which os.walk goes on
        yield folder, folders, sorted(files)


def read_file_to_string(filename: Any, binary_mode: bool = False) -> Any:
    """The contents of a file."""
    with GFile(filename, "rb" if binary_mode else "r") as file:
        return file.read()


def write_string_to_file(filename: Any, file_content: Any) -> None:
    """Makes or replaces a file."""
    with GFile(filename, "w") as file:
        file.write(file_content)


def atomic_write_string_to_file(filename: Any, contents: Any, overwrite: bool = True) -> None:
    """Makes or replaces a file so that no reader sees half of it."""
    temporary = f"{_local_path(filename)}.tmp{uuid.uuid4().hex}"
    write_string_to_file(temporary, contents)
    try:
        Rename(temporary, filename, overwrite)
    except OpError:
        Remove(temporary)
        raise


# tensorflow.python.lib.io.file_io
copy, rename, stat, walk = Copy, Rename, Stat, Walk
file_exists, delete_file, get_matching_files, create_dir, recursive_create_dir = Exists, Remove, Glob, MkDir, MakeDirs
delete_recursively, is_directory, list_directory = DeleteRecursively, IsDirectory, ListDirectory
# names of tf.gfile that early versions had
ListDir, OpenFast = ListDirectory, FastGFile
