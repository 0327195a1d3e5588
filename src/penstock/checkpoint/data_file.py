"""DataFile: a file with the values of a checkpoint, while it is written."""
from __future__ import annotations

import os
from typing import Any

from penstock.checkpoint.publish import remove_if_there

_BUFFER = 64 << 10  # bytes; larger pieces go to the file without a copy
_AHEAD = 32 << 20  # bytes, after which the disk may begin: waiting for it at the end then takes little time


class DataFile:
    """A new file, written from front to end. ``close`` waits until it is on the disk, ``discard`` removes it."""

    def __init__(self, path: str) -> None:
        self.path, self.size = path, 0
        self._file = open(path, "wb", buffering=_BUFFER)  # noqa: SIM115 (closed by close or discard)
        self._sent = 0

    def write(self, data: Any) -> None:
        """Appends bytes, or an array of them."""
        self._file.write(data)
        self.size += len(data)
        if self.size - self._sent >= _AHEAD and hasattr(os, "posix_fadvise"):
            # "We do not need these pages": Linux begins to write them out, and so the disk works while we do.
            os.posix_fadvise(self._file.fileno(), self._sent, self.size - self._sent, os.POSIX_FADV_DONTNEED)
            self._sent = self.size

    def close(self) -> None:
        """Ends the file and waits for the disk."""
        with self._file:
            self._file.flush()
            os.fsync(self._file.fileno())

    def discard(self) -> None:
        """Removes the file, if it has not been renamed by now."""
        self._file.close()
        remove_if_there(self.path)
