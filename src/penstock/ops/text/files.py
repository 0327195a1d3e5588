"""Whole files in and out of the graph."""
from __future__ import annotations

import errno
import glob
import os
from typing import Any

import numpy as np

from penstock import errors
from penstock.errors import KernelError
from penstock.graph.opdef import op
from penstock.ops.common import at_most, fixed, nothing, strings, unknown
from penstock.ops.public import function

_CLASSES = {FileNotFoundError: errors.NotFoundError, IsADirectoryError: errors.FailedPreconditionError,
            NotADirectoryError: errors.FailedPreconditionError, PermissionError: errors.PermissionDeniedError,
            FileExistsError: errors.AlreadyExistsError}
_EXHAUSTED = (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE)


def text(value: Any) -> bytes:
    """The bytes of a string scalar as a kernel gets it."""
    value = value.item() if isinstance(value, np.ndarray) else value
    return value.encode() if isinstance(value, str) else value


def path_of(value: Any) -> str:
    """The path in a string scalar: any bytes but zero."""
    path = text(value)
    if b"\0" in path:
        raise errors.invalid_argument(f"a path cannot hold a zero byte: {path!r}")
    return os.fsdecode(path)


def file_error(error: OSError, path: str) -> KernelError:
    """What a kernel raises for an error of the file system."""
    kind = errors.ResourceExhaustedError if error.errno in _EXHAUSTED else _CLASSES.get(type(error), errors.UnknownError)
    return KernelError(kind, f"{path}; {os.strerror(error.errno) if error.errno else error}")


@op("ReadFile", "filename: string -> contents: string")
class ReadFile:
    """The contents of a file."""

    touches = "files"
    ranks = {"filename": 0}
    shape = fixed()
    gradient = None
    blocking = stateful = True  # a file may change: it is never read while the graph is optimised

    def kernel(filename):
        path = path_of(filename)
        try:
            with open(path, "rb") as file:
                return np.asarray(file.read(), object)
        except OSError as error:
            raise file_error(error, path) from None


@op("WriteFile", "filename: string, contents: string ->")
class WriteFile:
    """Writes a file, and makes the directories that it needs."""

    touches = "files"
    ranks = {"filename": 0, "contents": 0}
    shape = nothing()
    gradient = None
    blocking = stateful = True

    def kernel(filename, contents):
        path = path_of(filename)
        try:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            with open(path, "wb") as file:
                file.write(text(contents))
        except OSError as error:
            raise file_error(error, path) from None
        return ()


@op("MatchingFiles", "pattern: string -> filenames: string")
class MatchingFiles:
    """The paths that match one of the patterns, in order."""

    touches = "files"
    ranks = {"pattern": at_most(1)}
    shape = unknown(1)
    gradient = None
    blocking = stateful = True

    def kernel(pattern):
        patterns = [path_of(item) for item in np.ravel(np.asarray(pattern, object))]
        return strings(os.fsencode(path) for path in sorted({path for item in patterns for path in glob.glob(item)}))


read_file = function(ReadFile, "read_file")
write_file = function(WriteFile, "write_file")
matching_files = function(MatchingFiles, "matching_files")
