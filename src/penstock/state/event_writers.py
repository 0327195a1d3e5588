"""The event file that operations of a graph write to. What is added is in the file after ``max_queue`` events, some time, or a flush."""
from __future__ import annotations

import threading
import time

from tensorboard.compat.proto.event_pb2 import Event

from penstock.errors import FailedPreconditionError, KernelError
from penstock.platform.event_file import EventFile
from penstock.platform.event_names import new_event_path


class EventWriter:
    """A file that is opened by an op, once: opening it again changes nothing."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._file: EventFile | None = None
        self._max_queue, self._flush_seconds, self._flushed = 10, 120.0, 0.0

    def open(self, logdir: str, max_queue: int, flush_millis: int, suffix: str) -> None:
        """Begins a new file in ``logdir``."""
        with self._lock:
            if self._file is None:
                self._max_queue, self._flush_seconds = max_queue, flush_millis / 1000
                self._file, self._flushed = EventFile(new_event_path(logdir, suffix)), time.monotonic()

    def add(self, event: Event) -> None:
        """Adds an event, at its time unless that is set."""
        if not event.wall_time:
            event.wall_time = time.time()
        with self._lock:
            file = self._open()
            file.add(event)
            if len(file) > self._max_queue or time.monotonic() - self._flushed >= self._flush_seconds:
                self._flush(file)

    def flush(self) -> None:
        """Writes what has been added."""
        with self._lock:
            self._flush(self._open())

    def _flush(self, file: EventFile) -> None:
        file.flush()
        self._flushed = time.monotonic()

    def _open(self) -> EventFile:
        if self._file is None:
            raise KernelError(FailedPreconditionError, f"the summary writer {self._name} is not open",
                              hint="run tf.contrib.summary.summary_writer_initializer_op() in this session first")
        return self._file

    def close(self) -> None:
        """Ends the file."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None
