"""EventFile: records that are appended to a file. A disk that is full loses events, not the training that they tell of."""
from __future__ import annotations

import contextlib
import os
import time

from tensorboard.compat.proto.event_pb2 import Event

from penstock.platform import logging
from penstock.platform.records import frame


class EventFile:
    """A new event file. It holds whole records only: what could not be written is dropped, with a warning, and the next ``flush`` tries again."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
        self._size = 0  # of what is in the file
        self._pending: list[bytes] = []
        self._dropped = 0  # events, since a write failed
        self._version = frame(Event(wall_time=time.time(), file_version="brain.Event:2").SerializeToString())
        self.flush()

    def __len__(self) -> int:
        """How many events wait to be written."""
        return len(self._pending)

    def add(self, event: Event) -> None:
        """Appends an event, at the next ``flush``."""
        self._pending.append(frame(event.SerializeToString()))

    def flush(self) -> None:
        """Writes what has been added."""
        data = b"".join([self._version, *self._pending] if not self._size else self._pending)
        count, self._pending = len(self._pending), []
        if not data:
            return
        try:
            _write_at(self._descriptor, data, self._size)
        except OSError as error:
            self._drop(count, error)
            return
        self._size += len(data)
        if self._dropped:
            logging.warning("Events are written to %s again; %d were lost.", self._path, self._dropped)
            self._dropped = 0

    def _drop(self, count: int, error: OSError) -> None:
        with contextlib.suppress(OSError):  # half a record hides what follows it; if it cannot go, the next write begins at its place
            os.ftruncate(self._descriptor, self._size)
        if not self._dropped:
            logging.warning("Events cannot be written to %s (%s): they are dropped until they can. Training goes on.", self._path,
                            error.strerror or error)
        self._dropped += max(count, 1)

    def close(self) -> None:
        """Writes the rest and ends the file."""
        self.flush()
        try:
            os.close(self._descriptor)
        except OSError as error:  # some file systems say only now that there is no room
            logging.warning("The last events may not be in %s: %s", self._path, error.strerror or error)


def _write_at(descriptor: int, data: bytes, position: int) -> None:
    rest = memoryview(data)
    while len(rest):
        count = os.pwrite(descriptor, rest, position)
        rest, position = rest[count:], position + count
