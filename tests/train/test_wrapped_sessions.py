"""The wrappers of sessions: hooks, coordinators, recovery, one at a time and around each other."""
from __future__ import annotations

import threading

import pytest

import penstock as tf
from penstock.train.wrapped_sessions import CoordinatedSession, HookedSession, RecoverableSession, WrappedSession

pytestmark = pytest.mark.process


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


class Failing:
    """A session whose runs raise these errors first."""

    def __init__(self, session, *errors):
        self._session, self.errors, self.closed = session, list(errors), 0
        self.graph, self.sess_str = session.graph, session.sess_str

    def run(self, *args, **kwargs):
        if self.errors:
            raise self.errors.pop(0)
        return self._session.run(*args, **kwargs)

    def close(self):
        self.closed += 1


class Creator:
    """Gives these sessions, one after the other."""

    def __init__(self, *sessions):
        self.sessions = list(sessions)

    def create_session(self):
        session = self.sessions.pop(0)
        if isinstance(session, Exception):
            raise session
        return session


def lost(kind=tf.errors.AbortedError):
    return kind(None, None, "a task went away")


def test_wrapping(session):
    value = tf.constant(3.0)
    wrapped = WrappedSession(WrappedSession(session))
    assert wrapped.graph is session.graph and wrapped.sess_str == session.sess_str
    assert wrapped.run(value) == 3.0 and not wrapped.should_stop()
    assert wrapped.run_step_fn(lambda context: context.run_with_hooks(value) + context.session.run(value), session, None) == 6.0
    wrapped.close()
    assert wrapped.should_stop()
    wrapped.close()


def test_closing_a_lost_session(session):
    broken = Failing(session)
    broken.close = lambda: (_ for _ in ()).throw(lost())
    WrappedSession(broken).close()


def test_hooks(session):
    a, b = tf.constant(2.0), tf.placeholder(tf.float32)
    calls = []

    class Hook(tf.train.SessionRunHook):
        def before_run(self, run_context):
            calls.append(run_context.original_args.fetches)
            return tf.train.SessionRunArgs(a, feed_dict={b: 5.0})

        def after_run(self, run_context, run_values):
            calls.append(run_values.results)
            run_context.request_stop()

    hooked = HookedSession(session, [Hook()])
    assert hooked.run(b * 2.0) == 10.0 and calls[1] == 2.0 and hooked.should_stop()
    with pytest.raises(RuntimeError, match="Run called even after should_stop requested"):
        hooked.run(a)
    with pytest.raises(RuntimeError, match="Same tensor is fed by a SessionRunHook and user"):
        HookedSession(session, [Hook()]).run(a, {b: 1.0})
    with pytest.raises(RuntimeError, match="Same tensor is fed by two hooks"):
        HookedSession(session, [Hook(), Hook()]).run(a)


@pytest.mark.parametrize("kind", [tf.errors.AbortedError, tf.errors.UnavailableError])
def test_recovery(session, kind):
    value = tf.constant(1.0)
    first, second = Failing(session, lost(kind)), Failing(session)
    recoverable = RecoverableSession(Creator(lost(kind), first, lost(kind), second))
    assert recoverable.run(value) == 1.0 and first.closed == 1 and second.closed == 0
    second.errors.append(ValueError("ours"))
    with pytest.raises(ValueError, match="ours"):
        recoverable.run(value)
    recoverable.close()
    assert second.closed == 1 and recoverable.should_stop()


def test_recovery_of_step_functions(session):
    value = tf.constant(1.0)
    recoverable = RecoverableSession(Creator(WrappedSession(Failing(session, lost())), WrappedSession(session)))
    assert recoverable.run_step_fn(lambda context: context.run_with_hooks(value), session, None) == 1.0


def test_stopping_with_threads(session):
    coord = tf.train.Coordinator()
    coordinated = CoordinatedSession(session, coord)
    ended = []
    thread = threading.Thread(target=lambda: (coord.wait_for_stop(), ended.append(True)))
    coord.register_thread(thread)
    thread.start()
    assert coordinated.run(tf.constant(4)) == 4 and not coordinated.should_stop()
    coordinated.close()
    assert ended == [True] and coordinated.should_stop()


def test_errors_of_threads(session):
    coord = tf.train.Coordinator()
    coordinated = CoordinatedSession(Failing(session, ValueError("of the run"), ValueError("of the run")), coord)
    with pytest.raises(ValueError, match="of the run"):
        coordinated.run(tf.constant(1))
    coord.request_stop(lost())
    with pytest.raises(tf.errors.AbortedError, match="a task went away"):
        coordinated.run(tf.constant(1))
    with pytest.raises(tf.errors.AbortedError):
        coordinated.should_stop()


def test_a_thread_that_met_the_loss_of_a_task_has_the_session_made_anew(session):
    coord = tf.train.Coordinator()
    recoverable = RecoverableSession(Creator(CoordinatedSession(session, coord), WrappedSession(session)))
    coord.request_stop(lost())
    assert not recoverable.should_stop()


def test_options_go_to_the_session_as_they_are():
    class Session:
        graph = tf.Graph()

        def run(self, fetches, **arguments):
            self.arguments = arguments
            return {"caller": [0]}

    inner = Session()
    assert HookedSession(inner, []).run("x", feed_dict="a feed", options="an option", run_metadata="metadata") == [0]
    assert (inner.arguments["options"], inner.arguments["run_metadata"]) == ("an option", "metadata")


def test_paths_of_tensorflow():
    from penstock.api.paths import NAMES
    assert NAMES["training.monitored_session"]["_HookedSession"] == "penstock.train.wrapped_sessions:HookedSession"
