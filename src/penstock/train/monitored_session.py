"""MonitoredSession: a session that calls hooks around its runs, stops with its threads, and is made anew when a task of the cluster is lost.

It is one object, in one of two states. *Open*: there is a session, whose variables have values, and a coordinator for its threads. *Lost*: an
AbortedError or UnavailableError ended the session; the next use opens another one, the run is repeated in it, and only the hooks
(``after_create_session``) notice. ``close`` ends it for good.
"""
from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

from penstock import errors
from penstock.graph.graph import Graph, default_graph
from penstock.graph.keys import GraphKeys
from penstock.platform import logging
from penstock.platform.inspection import fn_args
from penstock.train.coordinator import Coordinator
from penstock.train.hooked_run import run_with_hooks
from penstock.train.queue_runner import start_queue_runners
from penstock.train.scaffold import ChiefSessionCreator, Scaffold, SessionCreator
from penstock.train.session_manager import not_ready
from penstock.train.session_run_hook import SessionRunHook

LOST = (errors.AbortedError, errors.UnavailableError)  # a task went away: a new session can go on
_WITHOUT_VALUE = (errors.FailedPreconditionError, errors.NotFoundError)  # what reading and updating a variable that has none raise, as in TensorFlow
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0  # seconds between two attempts to open a session


class StepContext:
    """What a function given to ``run_step_fn`` gets: the session, and runs with hooks."""

    def __init__(self, session: Any, run_with_hooks_fn: Callable[..., Any]) -> None:
        self._session, self._run_with_hooks_fn = session, run_with_hooks_fn

    @property
    def session(self) -> Any:
        """The session itself: runs in it call no hooks."""
        return self._session

    def run_with_hooks(self, *args: Any, **kwargs: Any) -> Any:
        """``run`` of the monitored session."""
        return self._run_with_hooks_fn(*args, **kwargs)

    def request_stop(self) -> None:
        """Ends the loop: raises StopIteration, which the monitored session's ``with`` block takes as its regular end."""
        raise StopIteration("step_fn has requested the iterations to stop.")


class _MonitoredSession:
    """What both kinds share."""

    StepContext = StepContext

    def __init__(self, session_creator: SessionCreator, hooks: Iterable[SessionRunHook] | None, should_recover: bool,
                 stop_grace_period_secs: float = 120) -> None:
        self._graph_was_finalized = default_graph().finalized
        self._hooks = list(hooks or ())
        self._creator, self._should_recover, self._grace = session_creator, should_recover, stop_grace_period_secs
        self._sess: Any = None
        self._coord: Coordinator | None = None
        self._stop_requested = self._closed = False
        for hook in self._hooks:
            hook.begin()
        self._open()

    # --- running -----------------------------------------------------------------------------------------------------

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """``Session.run`` with hooks; repeated in a new session if this one is lost."""
        return self._run_with_recovery(lambda: self._run_with_hooks(fetches, feed_dict, options, run_metadata))

    def run_step_fn(self, step_fn: Callable[..., Any]) -> Any:
        """Calls ``step_fn(step_context)``, which may run several things in the session, with hooks or without; repeated if the session is lost."""
        arguments = fn_args(step_fn)
        if arguments not in (("step_context",), ("self", "step_context")):
            raise ValueError("`step_fn` may either have one `step_context` argument, or `self` and `step_context` arguments if it's an instance "
                             f"method. Got {arguments} instead.")
        return self._run_with_recovery(lambda: step_fn(StepContext(self._sess, self._run_with_hooks)))

    def should_stop(self) -> bool:
        """True if a hook or a thread asked to stop, or the session is closed."""
        if self._closed:
            return True
        if self._coord is None:  # lost: the next run opens it
            return False
        try:
            self._coord.raise_requested_exception()
        except LOST as error:
            if not self._should_recover:
                raise
            self._lose(error)
            self._open()
            return False
        except Exception:
            if not self._should_recover:
                raise
            return True  # close() raises it
        return self._stop_requested or self._coord.should_stop()

    def _run_with_recovery(self, step: Callable[[], Any]) -> Any:
        while True:
            if self._closed:
                raise RuntimeError("Session is already closed.")
            if self._sess is None:
                self._open()
            try:
                return step()
            except LOST as error:
                if not self._should_recover:
                    raise
                self._lose(error)

    def _run_with_hooks(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        if self._stop_requested:
            raise RuntimeError("Run called even after should_stop requested.")
        try:
            values, stop = run_with_hooks(self._sess, self._hooks, fetches, feed_dict, options, run_metadata)
        except Exception as error:
            cause = self._root_cause(error)
            if cause is error:
                raise
            raise cause from error
        self._stop_requested = self._stop_requested or stop
        return values

    def _root_cause(self, error: Exception) -> Exception:
        """A run can fail because of something that happened elsewhere: a thread met the loss of a task first, or variables were lost with one."""
        if isinstance(error, LOST) or self._coord is None:
            return error
        try:
            self._coord.raise_requested_exception()
        except LOST as cause:
            return cause
        except Exception:  # a thread has failed of something else: the coordinator tells that at the end, and the run its own error
            return error
        if isinstance(error, _WITHOUT_VALUE) and self._should_recover:
            missing = not_ready(getattr(self._creator, "ready_op", None), self._sess)
            if missing is not None:  # they had values when the session was opened
                return errors.AbortedError(None, None, f"a task was restarted and its variables are lost. {missing}")
        return error

    # --- opening and losing ------------------------------------------------------------------------------------------

    def _open(self) -> None:
        """Makes a session and starts its threads; again and again, if tasks are lost meanwhile and a lost session is to be recovered."""
        pause = _FIRST_PAUSE
        while True:
            try:
                self._sess = self._creator.create_session()
                self._start()
                return
            except LOST as error:
                if not self._should_recover:
                    self._abandon()
                    raise
                logging.info("A task was lost while a session was being made; trying again in %.2f s. Error: %s", pause, error)
                self._abandon()
            except BaseException:
                self._abandon()
                raise
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _start(self) -> None:
        self._coord = Coordinator(clean_stop_exception_types=())
        self._stop_requested = False
        if default_graph().get_collection(GraphKeys.QUEUE_RUNNERS):
            start_queue_runners(sess=self._sess, coord=self._coord)
        for hook in self._hooks:
            hook.after_create_session(self._sess, self._coord)

    def _lose(self, error: BaseException) -> None:
        logging.info("A task was lost. A new session restores the last checkpoint, or waits until the chief has done so. Error: %s", error)
        self._abandon()

    def _abandon(self) -> None:
        """Drops a broken session. It is closed before its threads are joined, which ends what they wait for."""
        sess, coord, self._sess, self._coord = self._sess, self._coord, None, None
        if coord is not None:
            coord.request_stop()
        if sess is not None:
            _close_quietly(sess)
        if coord is not None:
            try:
                coord.join(stop_grace_period_secs=self._grace, ignore_live_threads=True)
            except Exception as error:  # what a thread met when the session broke
                logging.info("A thread of the lost session ended with: %s", error)

    # --- the end -----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Calls the hooks' ``end``, stops the threads, closes the session."""
        self._close(None)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        if kind in (errors.OutOfRangeError, StopIteration):  # the regular end of the input
            kind = None
        self._close(kind)
        return kind is None

    def _close(self, kind: Any) -> None:
        try:
            if kind is None and self._sess is not None:
                for hook in self._hooks:
                    hook.end(self._sess)
        finally:
            try:
                if self._closed:
                    raise RuntimeError("Session is already closed.")
                self._closed = True
                self._stop_threads()
            finally:
                if not self._graph_was_finalized:
                    default_graph()._unsafe_unfinalize()

    def _stop_threads(self) -> None:
        """Threads get their time to end by themselves, then the session is closed; raises what one of them reported."""
        sess, coord, self._sess, self._coord = self._sess, self._coord, None, None
        try:
            if coord is not None:
                coord.request_stop()
                coord.join(stop_grace_period_secs=self._grace, ignore_live_threads=True)
        except LOST as error:
            if not self._should_recover:
                raise
            logging.error("A task was lost while the session was being closed; it is not needed any more. Error: %s", error)
        finally:
            if sess is not None:
                _close_quietly(sess)

    # --- what is inside ----------------------------------------------------------------------------------------------

    @property
    def graph(self) -> Graph | None:
        """The graph of the session; None after ``close``."""
        return None if self._sess is None else self._sess.graph

    def raw_session(self) -> Any:
        """The session itself: for things that need one, such as ``saver.save``. It is another one after a failure."""
        return self._sess

    _tf_sess = raw_session  # programs know it by this name

    @property
    def _coordinated_creator(self) -> SimpleNamespace:
        """The session and its coordinator, where programs look for them."""
        return SimpleNamespace(tf_sess=self._sess, coord=self._coord)

    def _is_closed(self) -> bool:
        return self._closed


class MonitoredSession(_MonitoredSession):
    """``tf.train.MonitoredSession``: calls hooks, initializes or restores variables, and recovers from lost tasks.

    >>> import penstock as tf
    >>> with tf.Graph().as_default():
    ...     step = tf.assign_add(tf.train.get_or_create_global_step(), 1)
    ...     with tf.train.MonitoredSession(hooks=[tf.train.StopAtStepHook(last_step=3)]) as sess:
    ...         while not sess.should_stop():
    ...             print(sess.run(step))
    1
    2
    3
    """

    def __init__(self, session_creator: SessionCreator | None = None, hooks: Iterable[SessionRunHook] | None = None,
                 stop_grace_period_secs: float = 120) -> None:
        super().__init__(session_creator or ChiefSessionCreator(), hooks, True, stop_grace_period_secs)


class SingularMonitoredSession(_MonitoredSession):
    """``tf.train.SingularMonitoredSession``: calls hooks, but does not recover: the loss of a task is an error."""

    def __init__(self, hooks: Iterable[SessionRunHook] | None = None, scaffold: Scaffold | None = None, master: str = "", config: Any = None,
                 checkpoint_dir: str | None = None, stop_grace_period_secs: float = 120, checkpoint_filename_with_path: str | None = None) -> None:
        creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path)
        super().__init__(creator, hooks, False, stop_grace_period_secs)


def _close_quietly(sess: Any) -> None:
    try:
        sess.close()
    except errors.OpError as error:
        logging.info("Closing the session failed: %s", error)
