"""``tensorflow.python.pywrap_tensorflow.EventsWriter``: writes Event protos to one file, as loggers of libraries do."""
from __future__ import annotations

import os
import socket
import time

from tensorboard.compat.proto.event_pb2 import Event

from penstock.platform.compat import as_str_any
from penstock.platform.event_file import EventFile


class EventsWriter:
    """Events to the file ``prefix.out.tfevents.<seconds>.<host>``, which is made with the first of them."""

    def __init__(self, file_prefix: str | bytes) -> None:
        self._prefix, self._suffix = as_str_any(file_prefix), ""
        self._file: EventFile | None = None
        self._path = ""

    def InitWithSuffix(self, suffix: str | bytes) -> bool:
        """Opens the file, with something behind its name."""
        self._suffix = as_str_any(suffix)
        return self.Init()

    def Init(self) -> bool:
        """Opens the file."""
        if self._file is None:
            self._path = f"{self._prefix}.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}{self._suffix}"
            os.makedirs(os.path.dirname(self._path) or ".", exist_ok=True)
            self._file = EventFile(self._path)
        return True

    def FileName(self) -> bytes:
        """The name of the file."""
        self.Init()
        return self._path.encode()

    def WriteEvent(self, event: Event) -> None:
        """Adds an event."""
        self.Init()
        assert self._file is not None
        self._file.add(event)

    def Flush(self) -> bool:
        """Writes what is buffered to the file."""
        if self._file is not None:
            self._file.flush()
        return True

    def Close(self) -> bool:
        """Closes the file."""
        if self._file is not None:
            self._file.close()
            self._file = None
        return True
