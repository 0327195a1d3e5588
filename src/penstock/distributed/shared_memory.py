"""Large messages between processes of one host: written to a file in /dev/shm, whose name travels in place of the
bytes.

Contract. The writer makes a file that only its user can open, under a name that nobody can guess; the reader maps it
and takes its name away, so that the memory is freed with the last array that lives in it. A file that nobody takes is
removed by its writer after a minute, or when it closes; what a killed writer left behind is removed by the next server
of the same user. Where this does not work (another host, no /dev/shm, no space), messages go over the network.
"""
from __future__ import annotations

import mmap
import os
import re
import secrets
import stat
import threading
import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from penstock.distributed.messages import MalformedMessage

FOLDER = "/dev/shm"
_NAME = re.compile(r"penstock-(\d+)-[0-9a-f]{32}")
_SECONDS = 60.0  # an untaken file is kept this long


class SharedFiles:
    """The files that this process has written and nobody may have taken yet."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._written: dict[str, float] = {}

    def write(self, buffers: Iterable[Any]) -> str | None:
        """The name of a new file with these bytes; None if there is no room for them."""
        name = f"penstock-{os.getpid()}-{secrets.token_hex(16)}"
        path = os.path.join(FOLDER, name)
        try:
            with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600), "wb", buffering=0) as file:
                for buffer in buffers:
                    _write_all(file, buffer)
        except OSError:
            _unlink(path)
            return None
        now = time.monotonic()
        with self._lock:
            old = [item for item, when in self._written.items() if now - when > _SECONDS]
            for item in old:
                del self._written[item]
            self._written[name] = now
        for item in old:
            _unlink(os.path.join(FOLDER, item))
        return name

    def close(self) -> None:
        """Removes what nobody took."""
        with self._lock:
            written, self._written = list(self._written), {}
        for name in written:
            _unlink(os.path.join(FOLDER, name))


def _write_all(file: Any, buffer: Any) -> None:
    view = memoryview(buffer)
    while len(view):
        view = view[file.write(view):]


def take(name: str) -> np.ndarray:
    """The bytes of a file, which from now on are this process's alone; MalformedMessage if it is not one that this user wrote for this."""
    if not _NAME.fullmatch(name):
        raise MalformedMessage("no name of a shared file")
    path = os.path.join(FOLDER, name)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise MalformedMessage(f"the shared file cannot be opened: {error}") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid():
            raise MalformedMessage("the shared file belongs to somebody else")
        _unlink(path)
        return np.frombuffer(mmap.mmap(descriptor, status.st_size), np.uint8) if status.st_size else np.empty(0, np.uint8)
    finally:
        os.close(descriptor)


def sweep() -> None:
    """Removes the files of processes that are gone."""
    try:
        names = os.listdir(FOLDER)
    except OSError:
        return
    for name in names:
        found = _NAME.fullmatch(name)
        if found and not os.path.exists(f"/proc/{found[1]}"):
            _unlink(os.path.join(FOLDER, name))


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return  # it was taken, or is somebody else's
