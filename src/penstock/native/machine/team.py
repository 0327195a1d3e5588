"""The team: Python threads that spend their lives in native code, working on whatever the driver writes on the board. One team per process.

A thread that finds nothing to do for a while comes back from native code and is parked here; ``wake`` before a run sends it in again. A run never
waits for a thread to arrive: the caller takes every part that no thread has taken.
"""
from __future__ import annotations

import atexit
import ctypes
import os
import threading

from penstock.native.machine import driver, stacks, target

_LOSSES = ("until", "factor", "spent", "lost", "resting")  # words of the board
_IDLE = 10.0  # seconds after which a parked thread ends


class _Caller(threading.local):
    alone = False


caller = _Caller()


class native_alone:
    """While the block lasts, native calls of this thread get no help of others, whatever their size: for short work beside busy processes."""

    __slots__ = ("_alone", "_before")

    def __init__(self, alone: bool) -> None:
        self._alone = alone

    def __enter__(self) -> None:
        self._before, caller.alone = caller.alone, self._alone

    def __exit__(self, *error: object) -> None:
        caller.alone = self._before


_linked: dict[str, target.LinkedCode] = {}


def native_driver() -> target.LinkedCode:
    """The driver's code. If several threads link it at once, all get the first: another one would vanish under the threads that run it."""
    library = _linked.get("driver")
    if library is None:
        library = _linked.setdefault("driver", target.LinkedCode(target.object_code(driver.text()), "run", "serve", "release"))
    return library


class Team:
    """The board and its threads."""

    def __init__(self) -> None:
        self._memory = ctypes.create_string_buffer(2 * driver.BOARD_BYTES + 64)
        self.board = (ctypes.addressof(self._memory) + 63) & ~63
        self.board_of_nobody = self.board + driver.BOARD_BYTES  # always taken: whoever calls with it does all parts
        self._runs, self._stop, self._helpers = (ctypes.c_int64.from_address(self.board + driver.board_offset(name))
                                                 for name in ("runs", "stop", "helpers"))
        self.start()

    def start(self) -> None:
        """No threads yet, an empty board. Also called in a forked process: the threads stay with the parent, the board is where tables know it."""
        ctypes.memset(self._memory, 0, len(self._memory))
        ctypes.c_int64.from_address(self.board_of_nobody + driver.board_offset("busy")).value = 1
        self._parked: list[threading.Lock] = []
        self._lock = threading.Lock()
        self._threads: set[threading.Thread] = set()

    def take_losses(self) -> list[int]:
        """What calls have lost in a crowd, and until when the team rests for that; the team forgets it. For those who measure."""
        words = [ctypes.c_int64.from_address(self.board + driver.board_offset(name)) for name in _LOSSES]
        losses = [word.value for word in words]
        for word in words:
            word.value = 0
        return losses

    def give_losses(self, losses: list[int]) -> None:
        """Reminds the team of what was taken."""
        for name, value in zip(_LOSSES, losses):
            ctypes.c_int64.from_address(self.board + driver.board_offset(name)).value = value

    def wake(self, threads: int) -> None:
        """Has ``threads`` threads, the caller among them, look at the board."""
        if len(self._threads) < threads - 1:
            self._grow(threads - 1)
        while self._parked:
            try:
                self._parked.pop().release()
            except IndexError:  # another caller woke it
                return

    def _grow(self, helpers: int) -> None:
        with self._lock:
            while len(self._threads) < helpers and not self._stop.value:
                thread = threading.Thread(target=self._work, name=f"penstock-team-{len(self._threads) + 1}", daemon=True)
                self._threads.add(thread)
                if not stacks.start(thread):
                    self._threads.discard(thread)  # the others do its work
                    break
            self._helpers.value = len(self._threads)

    def _work(self) -> None:
        serve, stop = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(native_driver().addresses["serve"]), self._stop
        while not stop.value:
            serve(self.board)
            bed = threading.Lock()
            bed.acquire()
            self._parked.append(bed)
            if not bed.acquire(timeout=0 if self._runs.value else _IDLE):
                try:
                    self._parked.remove(bed)
                except ValueError:  # woken at this very moment
                    continue
                if not self._runs.value:
                    break
        with self._lock:
            self._threads.discard(threading.current_thread())
            self._helpers.value = len(self._threads)

    def close(self) -> None:
        """Sends all threads home: at the end of the program none may be in native code."""
        self._stop.value = 1
        self.wake(0)
        for thread in list(self._threads):
            thread.join(1.0)


team = Team()
atexit.register(team.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=team.start)
