"""DataFile: a file with the values of a checkpoint, while it is written.

Copying into the file takes longer than everything else, so a thread of its own does that, in the order of the calls, while the caller computes
checksums. Pieces are handed over by reference: a gigabyte that is written needs no second gigabyte.
"""
from __future__ import annotations

import os
import queue
import threading
from typing import Any

from penstock.checkpoint.claims import create, remove_if_there
from penstock.checkpoint.publish import sync_if_wanted

_SMALL = 1 << 20  # bytes; what is smaller is collected first
_AT_ONCE = 1 << 18  # bytes of one write: while Linux takes many megabytes at once, other threads wait for fresh memory, and training with them
_WAITING = 4  # pieces that may wait for the thread


class DataFile:
    """A new file, written from front to end. ``finish`` ends it; then it may get another name. ``discard``, the last call, removes it if it has none.

    What is given to ``write`` must not change until ``finish``.
    """

    def __init__(self, path: str) -> None:
        self.path, self.size = path, 0
        self._descriptor = create(path)
        self._collected = bytearray()
        self._pieces: queue.Queue[Any] = queue.Queue(_WAITING)
        self._thread: threading.Thread | None = None
        self._error: OSError | None = None

    def write(self, data: Any) -> None:
        """Appends bytes, or an array of them."""
        self.size += len(data)
        if len(data) < _SMALL:
            self._collected.extend(memoryview(data))
            if len(self._collected) < _SMALL:
                return
            data = None
        self._hand_over_collected()
        if data is not None:
            self._hand_over(data)

    def finish(self) -> None:
        """Ends the file, which stays locked; raises what went wrong with it."""
        self._hand_over_collected()
        self._end_thread()
        if self._error is not None:
            raise self._error
        sync_if_wanted(self._descriptor)

    def discard(self) -> None:
        """Removes the file, if it has not been renamed by now."""
        self._end_thread()
        remove_if_there(self.path)
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _hand_over_collected(self) -> None:
        if self._collected:
            collected, self._collected = self._collected, bytearray()
            self._hand_over(collected)

    def _hand_over(self, data: Any) -> None:
        if self._error is not None:
            raise self._error
        if self._thread is None and self.size >= _SMALL:
            self._start_thread()
        if self._thread is None:
            self._write_now(data)
        else:
            self._pieces.put(data)

    def _start_thread(self) -> None:
        thread = threading.Thread(target=self._write_pieces, name="checkpoint writer", daemon=True)
        try:
            thread.start()
            self._thread = thread
        except RuntimeError:  # the interpreter is about to end: threads can no longer be started, but a save can still be finished
            self._thread = None

    def _write_pieces(self) -> None:
        """The thread: after an error it keeps taking pieces, so that the writer does not wait for it forever."""
        while (data := self._pieces.get()) is not None:
            if self._error is None:
                try:
                    self._write_now(data)
                except OSError as error:
                    self._error = error

    def _write_now(self, data: Any) -> None:
        rest = memoryview(data)
        while len(rest):
            rest = rest[os.write(self._descriptor, rest[:_AT_ONCE]):]

    def _end_thread(self) -> None:
        if self._thread is not None:
            self._pieces.put(None)
            self._thread.join()
            self._thread = None
