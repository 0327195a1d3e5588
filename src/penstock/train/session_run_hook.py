"""SessionRunHook: code that a monitored session calls around its runs, and the arguments of these calls.

The order of calls: ``begin`` once, while the graph can still grow; ``after_create_session`` for each session (there is a new one after a failure);
``before_run`` and ``after_run`` around each run; ``end`` once, unless an error ended the loop.
"""
from __future__ import annotations

from typing import Any, NamedTuple


class SessionRunArgs(NamedTuple):
    """``tf.train.SessionRunArgs``: what a hook adds to a run, or what the caller asked for."""

    fetches: Any
    feed_dict: Any = None
    options: Any = None


class SessionRunValues(NamedTuple):
    """``tf.train.SessionRunValues``: the values of what a hook fetched, with the options and the metadata of the run."""

    results: Any
    options: Any
    run_metadata: Any


class SessionRunContext:
    """``tf.train.SessionRunContext``: the run that is under way, as its hooks see it."""

    def __init__(self, original_args: SessionRunArgs, session: Any) -> None:
        self._original_args, self._session, self._stop_requested = original_args, session, False

    @property
    def original_args(self) -> SessionRunArgs:
        """What the caller of ``run`` asked for."""
        return self._original_args

    @property
    def session(self) -> Any:
        """The session itself: runs in it call no hooks."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """True if a hook asked to stop after this run."""
        return self._stop_requested

    def request_stop(self) -> None:
        """Ends the loop after this run: ``should_stop()`` is True from then on."""
        self._stop_requested = True


class SessionRunHook:
    """``tf.train.SessionRunHook``: the base of hooks; each method may be overridden.

    >>> import penstock as tf
    >>> class Show(tf.train.SessionRunHook):
    ...     def before_run(self, run_context):
    ...         return tf.train.SessionRunArgs("x:0")
    ...     def after_run(self, run_context, run_values):
    ...         print("x is", run_values.results)
    >>> with tf.Graph().as_default():
    ...     double = tf.constant(3, name="x") * 2
    ...     with tf.train.MonitoredSession(hooks=[Show()]) as sess:
    ...         result = sess.run(double)
    x is 3
    """

    def begin(self) -> None:
        """Called once, before the first session; the graph is finalized after it."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Called when a session was made: its variables have values, its queue runners run under ``coord``."""

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Called before each run; may add fetches, feeds and options to it."""
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Called after each run that did not fail; may ask to stop."""

    def end(self, session: Any) -> None:
        """Called once at the end, if no error (but the end of the input) ended the loop; the session can still be used."""
