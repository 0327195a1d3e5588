"""The wrappers that TensorFlow's monitored session is made of, for programs that build their own loops of them.

Penstock's MonitoredSession is one object (``monitored_session.py``). Each of these does one of its tasks around any session, or around another
wrapper: calls hooks, reports to a coordinator, opens a new session when a task is lost.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.platform import logging
from penstock.train.coordinator import Coordinator
from penstock.train.hooked_run import run_with_hooks
from penstock.train.monitored_session import LOST, StepContext
from penstock.train.session_run_hook import SessionRunHook


class WrappedSession:
    """A session, or another wrapper. Closing it never fails because a task is lost."""

    def __init__(self, sess: Any) -> None:
        self._sess = sess

    @property
    def graph(self) -> Any:
        """The graph of the session."""
        return self._sess.graph

    @property
    def sess_str(self) -> Any:
        """The target of the session."""
        return self._sess.sess_str

    def should_stop(self) -> bool:
        """True if the session, or one that it wraps, is closed or has been asked to stop."""
        if self._check_stop() or self._sess is None:
            return True
        return isinstance(self._sess, WrappedSession) and self._sess.should_stop()

    def _check_stop(self) -> bool:
        """What a kind of wrapper adds to ``should_stop``."""
        return False

    def close(self) -> None:
        """Closes the session; a second call changes nothing."""
        sess, self._sess = self._sess, None
        if sess is not None:
            try:
                sess.close()
            except LOST as error:
                logging.warning("A task was lost while the session was being closed; it is not needed any more. Error: %s", error)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """``run`` of the session."""
        return self._sess.run(*args, **kwargs)

    def run_step_fn(self, step_fn: Callable[..., Any], raw_session: Any, run_with_hooks: Callable[..., Any] | None) -> Any:
        """Calls ``step_fn(step_context)``."""
        return step_fn(StepContext(raw_session, run_with_hooks or self.run))


class RecoverableSession(WrappedSession):
    """Has ``sess_creator`` make another session when the one that it made is lost, and repeats the run."""

    def __init__(self, sess_creator: Any) -> None:
        self._sess_creator = sess_creator
        super().__init__(self._create_session())

    def _create_session(self) -> Any:
        while True:
            try:
                return self._sess_creator.create_session()
            except LOST as error:
                logging.info("A task was lost while a session was being made; trying again. Error: %s", error)

    def _check_stop(self) -> bool:
        if self._sess is None:
            return True
        try:
            return isinstance(self._sess, WrappedSession) and self._sess._check_stop()
        except LOST as error:
            self._lose(error)
            self._sess = self._create_session()
            return False
        except Exception:  # what a thread reported: closing the session raises it
            return True

    def _lose(self, error: BaseException) -> None:
        logging.info("A task was lost. A new session is made. Error: %s", error)
        self.close()

    def _with_recovery(self, step: Callable[[], Any]) -> Any:
        while True:
            try:
                if self._sess is None:
                    self._sess = self._create_session()
                return step()
            except LOST as error:
                self._lose(error)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """``run``, repeated in a new session if this one is lost."""
        return self._with_recovery(lambda: self._sess.run(*args, **kwargs))

    def run_step_fn(self, step_fn: Callable[..., Any], raw_session: Any, run_with_hooks: Callable[..., Any] | None) -> Any:
        """``run_step_fn``, repeated in a new session if this one is lost."""
        return self._with_recovery(lambda: self._sess.run_step_fn(step_fn, raw_session, self._sess.run))


class CoordinatedSession(WrappedSession):
    """Stops with the threads of a coordinator. A run that failed because one of them had lost a task raises what that met."""

    def __init__(self, sess: Any, coord: Coordinator, stop_grace_period_secs: float = 120) -> None:
        super().__init__(sess)
        self._coord, self._stop_grace_period_secs = coord, stop_grace_period_secs

    def _check_stop(self) -> bool:
        self._coord.raise_requested_exception()
        return self._coord.should_stop()

    def close(self) -> None:
        """Stops the threads, and closes the session."""
        self._coord.request_stop()
        try:
            self._coord.join(stop_grace_period_secs=self._stop_grace_period_secs, ignore_live_threads=True)
        finally:
            super().close()

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """``run`` of the session."""
        try:
            return self._sess.run(*args, **kwargs)
        except LOST:
            raise
        except Exception as error:
            raise cause_of(error, self._coord) from None


def cause_of(error: Exception, coord: Coordinator) -> Exception:
    """The loss of a task that a thread has met before ``error`` came; otherwise the error itself."""
    try:
        coord.raise_requested_exception()
    except LOST as cause:
        return cause
    except Exception:  # a thread has failed of something else: the coordinator tells that at the end, and the run its own error
        return error
    return error


class HookedSession(WrappedSession):
    """Calls hooks around each run."""

    def __init__(self, sess: Any, hooks: Iterable[SessionRunHook]) -> None:
        super().__init__(sess)
        self._hooks = list(hooks)
        self._should_stop = False

    def _check_stop(self) -> bool:
        return self._should_stop

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """``run`` with hooks; one that asks to stop makes it the last."""
        if self.should_stop():
            raise RuntimeError("Run called even after should_stop requested.")
        values, stop = run_with_hooks(self._sess, self._hooks, fetches, feed_dict, options, run_metadata)
        self._should_stop = self._should_stop or stop
        return values
