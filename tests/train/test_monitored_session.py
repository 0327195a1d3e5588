"""What monitored sessions do beyond the recorded scenes: threads, lost variables, what they hold."""
from __future__ import annotations

import threading

import pytest

import penstock as tf
from penstock.train import monitored_session


def test_it_is_one_flat_object():
    tf.train.create_global_step()
    with tf.train.MonitoredSession() as session:
        assert type(session.raw_session()) is tf.Session and session.graph is tf.get_default_graph()
        assert session.raw_session() is session._tf_sess()
    assert session.raw_session() is None and session.graph is None


def test_queue_runners_run_and_their_end_ends_the_loop():
    value = tf.train.range_input_producer(4, num_epochs=1, shuffle=False).dequeue()
    seen = []
    with tf.train.MonitoredSession() as session:
        while not session.should_stop():
            seen.append(int(session.run(value)))
    assert seen == [0, 1, 2, 3]


def test_threads_are_started_anew_after_a_loss():
    """The queue of the new session is a new one, and is filled again."""
    value = tf.train.range_input_producer(4, shuffle=False).dequeue()

    class Lose(tf.train.SessionRunHook):
        sessions = 0

        def after_create_session(self, session, coord):
            self.sessions += 1

        def after_run(self, run_context, run_values):
            if self.sessions == 1:
                raise tf.errors.UnavailableError(None, None, "lost")

    hook = Lose()
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        assert [int(session.run(value)) for _ in range(5)] == [0, 1, 2, 3, 0] and hook.sessions == 2


@pytest.mark.parametrize("use", [lambda v: v + 1.0, lambda v: v.assign_add(1.0), lambda v: v * 1.0 + v], ids=["read", "update", "twice"])
@pytest.mark.parametrize("resource", [False, True], ids=["reference", "resource"])
def test_variables_that_vanish_are_a_loss(use, resource):
    """A task was restarted between two runs of this worker, and others noticed it first: all that is left to see is a variable without a value."""
    v = tf.Variable(1.0, name="v", use_resource=resource)
    tf.add_to_collection("local_init_op", tf.no_op())
    use, forget = use(v), threading.Event()

    class Forgetful(tf.train.ChiefSessionCreator):
        def create_session(self):
            session = super().create_session()
            session.run, run = (lambda *args, **kwargs: (session._backend.environment.clear() if forget.is_set() else None, forget.clear(),
                                                         run(*args, **kwargs))[2]), session.run
            return session

    with tf.train.MonitoredSession(Forgetful()) as session:
        assert session.run(use) == 2.0
        first = session.raw_session()
        forget.set()
        assert session.run(use) == 2.0 and session.raw_session() is not first


def test_a_variable_that_never_had_a_value_is_an_error():
    v = tf.Variable(1.0, collections=[], name="v")
    with tf.train.MonitoredSession() as session, pytest.raises(tf.errors.FailedPreconditionError, match="v"):
        session.run(v)


def test_opening_is_tried_again(monkeypatch):
    monkeypatch.setattr(monitored_session, "_FIRST_PAUSE", 0.001)
    tf.train.create_global_step()
    failures = [tf.errors.UnavailableError(None, None, "down"), tf.errors.AbortedError(None, None, "restarted")]

    class Flaky(tf.train.ChiefSessionCreator):
        def create_session(self):
            if failures:
                raise failures.pop()
            return super().create_session()

    with tf.train.MonitoredSession(Flaky()) as session:
        assert session.run(tf.train.get_global_step()) == 0 and not failures


def test_starting_over_without_a_checkpoint_is_said(caplog):
    count = tf.assign_add(tf.train.create_global_step(), 1)

    class Lose(tf.train.SessionRunHook):
        lost = False

        def after_run(self, run_context, run_values):
            if not self.lost:
                self.lost = True
                raise tf.errors.AbortedError(None, None, "lost")

    with tf.train.MonitoredSession(hooks=[Lose()]) as session:
        assert session.run(count) == 1
    assert "all variables are initialized again, and training starts over" in caplog.text


def test_options_and_metadata():
    x = tf.constant(2.0) * 3.0
    metadata = tf.RunMetadata()

    class Trace(tf.train.SessionRunHook):
        def before_run(self, run_context):
            return tf.train.SessionRunArgs(None, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE))

        def after_run(self, run_context, run_values):
            self.options, self.metadata = run_values.options, run_values.run_metadata

    hook, options = Trace(), tf.RunOptions(timeout_in_ms=5000)
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        assert session.run(x, options=options, run_metadata=metadata) == 6.0
    assert hook.metadata is metadata and metadata.step_stats.dev_stats
    assert hook.options.timeout_in_ms == 5000 and hook.options.trace_level == tf.RunOptions.FULL_TRACE
    assert options.trace_level == tf.RunOptions.NO_TRACE, "the caller's options are the caller's"
