"""Coordinator: several threads that stop together, and report the first error among them.

Each thread asks ``should_stop()`` now and then; any of them may ask all to stop, with an exception if something failed. ``join`` waits for them and
raises that exception in the thread that started them.
"""
from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from penstock import errors
from penstock.platform import logging

_LONGEST_PAUSE = 0.05  # seconds between two looks at the threads while no stop is requested


class Coordinator:
    """``tf.train.Coordinator``: a flag that stops threads, and the first exception that one of them reported.

    >>> coord = Coordinator()
    >>> def work():
    ...     with coord.stop_on_exception():
    ...         raise ValueError("in a thread")
    >>> thread = threading.Thread(target=work)
    >>> thread.start()
    >>> coord.join([thread])
    Traceback (most recent call last):
    ValueError: in a thread
    """

    def __init__(self, clean_stop_exception_types: tuple[type[BaseException], ...] | None = None) -> None:
        self._clean = (errors.OutOfRangeError,) if clean_stop_exception_types is None else tuple(clean_stop_exception_types)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._joined = False
        self._threads: set[threading.Thread] = set()

    @property
    def _registered_threads(self) -> set[threading.Thread]:
        """For programs that know it by this name."""
        return self._threads

    # --- asking to stop ----------------------------------------------------------------------------------------------

    def request_stop(self, ex: Any = None) -> None:
        """Asks all threads to stop. ``ex``, an exception or ``sys.exc_info()``, is raised by ``join`` if it is the first and not a clean stop."""
        error = ex[1] if isinstance(ex, tuple) else ex
        if error is None or isinstance(error, self._clean):
            if error is not None:
                logging.info("Coordinator stopped cleanly: %s, %s", type(error).__name__, error)
            self._stop.set()
            return
        with self._lock:
            if self._joined:
                raise error  # no thread is left that could report it
            if not self._stop.is_set() and self._error is None:
                logging.info("Error reported to Coordinator: %s, %s", type(error).__name__, error)
                self._error = error
        self._stop.set()

    def clear_stop(self) -> None:
        """Makes the coordinator as good as new: no stop is requested."""
        with self._lock:
            self._joined, self._error = False, None
        self._stop.clear()

    def should_stop(self) -> bool:
        """True once a stop has been requested."""
        return self._stop.is_set()

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Waits until a stop is requested; False if ``timeout`` seconds pass first."""
        return self._stop.wait(timeout)

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """For the body of a thread: an exception inside asks all threads to stop, and goes no further here."""
        try:
            yield
        except BaseException:
            self.request_stop(sys.exc_info())

    # --- waiting for the threads -------------------------------------------------------------------------------------

    def register_thread(self, thread: threading.Thread) -> None:
        """Has ``join`` wait for this thread too."""
        with self._lock:
            self._threads.add(thread)

    def join(self, threads: Iterable[threading.Thread] | None = None, stop_grace_period_secs: float = 120, ignore_live_threads: bool = False) -> None:
        """Waits for the threads (and the registered ones) to end; then raises the exception that was reported, if any.

        Once a stop is requested they have ``stop_grace_period_secs``; RuntimeError names those that still run then, unless that is ignored.
        """
        with self._lock:
            waited = self._threads | set(threads or ())
        pause = 0.001
        while any(thread.is_alive() for thread in waited) and not self._stop.wait(pause):
            pause = min(2 * pause, _LONGEST_PAUSE)
        deadline = time.monotonic() + stop_grace_period_secs
        for thread in (thread for thread in waited if thread.is_alive()):  # one that was never started cannot be waited for
            thread.join(max(0.0, deadline - time.monotonic()))
        left = sorted(thread.name for thread in waited if thread.is_alive())
        with self._lock:
            self._joined = True
            self._threads.clear()
            error = self._error
        if left and ignore_live_threads:
            logging.info("Coordinator stopped with threads still running: %s", " ".join(left))
        if error is not None:
            raise error
        if left and not ignore_live_threads:
            raise RuntimeError(f"Coordinator stopped with threads still running: {' '.join(left)}")

    @property
    def joined(self) -> bool:
        """True after ``join``."""
        return self._joined

    def raise_requested_exception(self) -> None:
        """Raises the exception that was reported, if any."""
        if self._error is not None:
            raise self._error


class LooperThread(threading.Thread):
    """``tf.train.LooperThread``: a thread that calls ``target`` every ``timer_interval_secs`` (again at once, if None) until it is asked to stop."""

    def __init__(self, coord: Coordinator, timer_interval_secs: float | None, target: Callable[..., Any] | None = None, args: Any = None,
                 kwargs: dict[str, Any] | None = None) -> None:
        if not isinstance(coord, Coordinator):
            raise ValueError(f"'coord' argument must be a Coordinator: {coord}")
        super().__init__(daemon=True)
        self._coord, self._interval = coord, timer_interval_secs
        if (args or kwargs) and target is None:
            raise ValueError("'args' and 'kwargs' argument require that you also pass 'target'")
        self._function, self._positional, self._named = target, tuple(args or ()), dict(kwargs or {})
        coord.register_thread(self)

    @staticmethod
    def loop(coord: Coordinator, timer_interval_secs: float | None, target: Callable[..., Any], args: Any = None,
             kwargs: dict[str, Any] | None = None) -> LooperThread:
        """Starts a thread that calls ``target`` again and again."""
        looper = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        looper.start()
        return looper

    def run(self) -> None:
        """The body of the thread."""
        with self._coord.stop_on_exception():
            self.start_loop()
            if self._interval is None:
                while not self._coord.should_stop():
                    self.run_loop()
            else:
                self._run_timed(self._interval)
            self.stop_loop()

    def _run_timed(self, interval: float) -> None:
        due = time.monotonic()  # the first call is due now; a late one does not shift those after it
        while not self._coord.wait_for_stop(max(0.0, due - time.monotonic())):
            due += interval
            self.run_loop()

    def start_loop(self) -> None:
        """Called when the thread starts."""

    def stop_loop(self) -> None:
        """Called when the thread stops."""

    def run_loop(self) -> None:
        """Called at each round: calls ``target``."""
        if self._function is not None:
            self._function(*self._positional, **self._named)
