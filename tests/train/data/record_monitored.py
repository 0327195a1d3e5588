"""What monitored sessions and hooks do, call by call: scenes that run under TensorFlow 1.15 and under Penstock.

Under TensorFlow, ``python record_monitored.py`` writes ``monitored.json``: what it did is what Penstock must do.
"""
import glob
import json
import os
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def scenes(tf):
    """{name: function of a log}; each runs in a graph of its own."""
    errors, train = tf.errors, tf.train

    class Noting(train.SessionRunHook):
        """Notes its calls; ``before`` and ``after`` are called with the context, and may be set to None by themselves."""

        def __init__(self, name, log, before=None, after=None, end=None):
            self.name, self.log, self.before, self.after, self.at_end = name, log, before, after, end
            self.coords = []

        def begin(self):
            self.log.append("%s.begin, finalized: %s" % (self.name, tf.get_default_graph().finalized))

        def after_create_session(self, session, coord):
            self.coords.append(coord)
            self.log.append("%s.after_create_session, finalized: %s" % (self.name, session.graph.finalized))

        def before_run(self, run_context):
            self.log.append("%s.before_run, fed: %s" % (self.name, run_context.original_args.feed_dict is not None))
            return self.before(run_context) if self.before else None

        def after_run(self, run_context, run_values):
            self.log.append("%s.after_run, results: %s" % (self.name, run_values.results))
            if self.after:
                self.after(run_context)

        def end(self, session):
            self.log.append("%s.end, finalized: %s" % (self.name, tf.get_default_graph().finalized))
            if self.at_end:
                self.at_end()

    def report(coord, error):
        with coord.stop_on_exception():
            raise error

    def once(hook, moment, error):
        """Has a hook fail at its next call."""
        def fail(_):
            setattr(hook, moment, None)
            raise error
        setattr(hook, moment, fail)

    def counter():
        return tf.assign_add(train.get_or_create_global_step(), 1)

    def order_of_calls(log):
        count = counter()
        fetch = tf.constant([10])
        hooks = [Noting("a", log, before=lambda _: train.SessionRunArgs(fetch)), Noting("b", log)]
        with train.MonitoredSession(hooks=hooks) as session:
            log.append("inside")
            session.run(count)
            session.run(count, feed_dict={})
            log.append(session.should_stop())
        log.append(session.should_stop())

    def stop_requested(log):
        count = counter()
        hooks = [Noting("a", log, after=lambda context: context.request_stop()), Noting("b", log)]
        with train.MonitoredSession(hooks=hooks) as session:
            session.run(count)
            log.append(session.should_stop())
            session.run(count)

    def lost_before(log):
        count, a, b = counter(), Noting("a", log), Noting("b", log)
        once(b, "before", errors.AbortedError(None, None, "lost"))
        with train.MonitoredSession(hooks=[a, b]) as session:
            log.append(int(session.run(count)))

    def lost_after(log):
        count, a, b = counter(), Noting("a", log), Noting("b", log)
        once(a, "after", errors.UnavailableError(None, None, "lost"))
        with train.MonitoredSession(hooks=[a, b]) as session:
            log.append(int(session.run(count)))

    def lost_in_a_step_function(log):
        count, a = counter(), Noting("a", log)
        once(a, "after", errors.UnavailableError(None, None, "lost"))

        def step(step_context):
            log.append("step")
            return step_context.run_with_hooks(count)

        with train.MonitoredSession(hooks=[a]) as session:
            log.append(int(session.run_step_fn(step)))

    def lost_and_restored(log):
        count, a, folder = counter(), Noting("a", log), tempfile.mkdtemp()
        with train.MonitoredTrainingSession(checkpoint_dir=folder, hooks=[a], save_checkpoint_secs=None, save_checkpoint_steps=2) as session:
            for _ in range(5):
                session.run(count)
            once(a, "after", errors.UnavailableError(None, None, "lost"))
            log.append(int(session.run(count)))

    def singular_does_not_recover(log):
        count, a = counter(), Noting("a", log)
        once(a, "after", errors.UnavailableError(None, None, "lost"))
        with train.SingularMonitoredSession(hooks=[a]) as session:
            session.run(count)

    def end_of_the_input(log):
        counter()
        with train.MonitoredSession(hooks=[Noting("a", log)]):
            raise errors.OutOfRangeError(None, None, "end")
        log.append("went on")

    def another_error(log):
        counter()
        with train.MonitoredSession(hooks=[Noting("a", log)]):
            raise ValueError("x")

    def thread_lost_a_task(log):
        count, a = counter(), Noting("a", log)
        with train.MonitoredSession(hooks=[a]) as session:
            report(a.coords[-1], errors.AbortedError(None, None, "in a thread"))
            log.append(session.should_stop())
            log.append(int(session.run(count)))

    def thread_failed(log):
        count, a = counter(), Noting("a", log)
        with train.MonitoredSession(hooks=[a]) as session:
            report(a.coords[-1], ValueError("in a thread"))
            log.append(session.should_stop())
            log.append(int(session.run(count)))

    def thread_failed_and_so_did_a_run(log):
        count, a = counter(), Noting("a", log)
        with train.MonitoredSession(hooks=[a]) as session:
            report(a.coords[-1], ValueError("in a thread"))
            once(a, "before", KeyError("in a run"))
            session.run(count)

    def thread_asked_to_stop(log):
        count, a = counter(), Noting("a", log)
        with train.MonitoredSession(hooks=[a]) as session:
            a.coords[-1].request_stop()
            log.append(session.should_stop())
            log.append(int(session.run(count)))

    def step_function(log):
        count = counter()

        def step(step_context):
            log.append(int(step_context.session.run(count)))
            log.append(int(step_context.run_with_hooks(count)))
            return 7

        def stop(step_context):
            step_context.request_stop()

        with train.MonitoredSession(hooks=[Noting("a", log)]) as session:
            log.append(session.run_step_fn(step))
            try:
                session.run_step_fn(lambda x: 1)
            except ValueError as error:
                log.append(str(error))
            session.run_step_fn(stop)
        log.append("went on")

    def fed_twice(log):
        x = tf.placeholder(tf.float32, [], name="x")
        y = x + 1.0
        with train.MonitoredSession(hooks=[train.FeedFnHook(lambda: {x: 1.0})]) as session:
            log.append(float(session.run(y)))
            session.run(y, {x: 2.0})

    def fed_by_two_hooks(log):
        x = tf.placeholder(tf.float32, [], name="x")
        y = x + 1.0
        with train.MonitoredSession(hooks=[train.FeedFnHook(lambda: {x: 1.0}), train.FeedFnHook(lambda: {x: 1.0})]) as session:
            session.run(y)

    def closed_twice(log):
        counter()
        session = train.MonitoredSession()
        session.close()
        log.append(session.should_stop())
        session.close()

    def end_fails(log):
        counter()

        def fail():
            raise ValueError("at the end")

        with train.MonitoredSession(hooks=[Noting("a", log, end=fail), Noting("b", log)]):
            pass

    def saves(log):
        """Every three steps, at the start and at the end; a listener hears of it, and stops it."""
        count, folder = counter(), tempfile.mkdtemp()

        class Listener(train.CheckpointSaverListener):
            def begin(self):
                log.append("listener.begin")

            def before_save(self, session, global_step_value):
                log.append("listener.before_save %d" % global_step_value)

            def after_save(self, session, global_step_value):
                log.append("listener.after_save %d" % global_step_value)
                return global_step_value >= 7

            def end(self, session, global_step_value):
                log.append("listener.end %d" % global_step_value)

        hook = train.CheckpointSaverHook(folder, save_steps=3, listeners=[Listener()])
        with train.SingularMonitoredSession(hooks=[hook], checkpoint_dir=folder) as session:
            while not session.should_stop():
                log.append("step %d" % session.run(count))
        state = train.get_checkpoint_state(folder)
        log.append([os.path.basename(path) for path in state.all_model_checkpoint_paths])

    def training_session(log):
        """The default hooks: what they write."""
        step = train.get_or_create_global_step()
        tf.summary.scalar("square", tf.cast(step * step, tf.float32))
        with tf.control_dependencies([tf.identity(step)]):
            count = tf.assign_add(step, 1)
        folder = tempfile.mkdtemp()
        with train.MonitoredTrainingSession(checkpoint_dir=folder, save_summaries_steps=2, log_step_count_steps=3, save_checkpoint_steps=4,
                                            hooks=[train.StopAtStepHook(last_step=9)]) as session:
            while not session.should_stop():
                session.run(count)
        tf.summary.FileWriterCache.clear()
        log.append(sorted(os.path.basename(name) for name in glob.glob(folder + "/*") if "tfevents" not in name))
        for path in glob.glob(folder + "/*tfevents*"):
            for event in train.summary_iterator(path):
                kind = event.WhichOneof("what")
                if "graph" in kind:
                    continue  # TensorFlow writes the graph twice
                detail = ""
                if kind == "summary":
                    detail = " ".join(value.tag for value in event.summary.value)
                elif kind == "session_log":
                    detail = str(event.session_log.status)
                log.append("%s %d %s" % (kind, event.step, detail))

    def logging_hook(log):
        x = tf.identity(counter(), name="x")

        def line(values):
            log.append("logged %s" % {key: int(value) for key, value in values.items()})
            return ""

        hook = train.LoggingTensorHook({"x": "x"}, every_n_iter=3, at_end=True, formatter=line)
        with train.MonitoredSession(hooks=[hook]) as session:
            for _ in range(5):
                session.run(x)

    def stops(log):
        count = counter()
        for hook in (train.StopAtStepHook(num_steps=3), train.StopAtStepHook(last_step=3)):
            with train.MonitoredSession(hooks=[hook]) as session:
                runs = 0
                while not session.should_stop():
                    session.run(count)
                    runs += 1
                log.append(runs)

    def bad_arguments(log):
        tf.Variable(1.0)
        calls = [lambda: train.StopAtStepHook(), lambda: train.StopAtStepHook(1, 2), lambda: train.SecondOrStepTimer(),
                 lambda: train.SecondOrStepTimer(1, 2), lambda: train.LoggingTensorHook([]), lambda: train.LoggingTensorHook([], every_n_iter=0),
                 lambda: train.StepCounterHook(None), lambda: train.SummarySaverHook(1),
                 lambda: train.CheckpointSaverHook("x", 1, saver=1, scaffold=2),
                 lambda: train.MonitoredSession(hooks=[train.StopAtStepHook(1)]), lambda: train.MonitoredSession(hooks=[train.StepCounterHook()]),
                 lambda: train.MonitoredSession(hooks=[train.GlobalStepWaiterHook(1)]), lambda: train.Scaffold(copy_from_scaffold=1),
                 lambda: train.SyncReplicasOptimizer(train.GradientDescentOptimizer(1.0), 1).get_chief_queue_runner()]
        for call in calls:
            try:
                call()
            except (ValueError, RuntimeError, TypeError) as error:
                log.append("%s: %s" % (type(error).__name__, error))

    functions = [order_of_calls, stop_requested, lost_before, lost_after, lost_in_a_step_function, lost_and_restored, singular_does_not_recover,
                 end_of_the_input, another_error, thread_lost_a_task, thread_failed, thread_failed_and_so_did_a_run, thread_asked_to_stop,
                 step_function, fed_twice, fed_by_two_hooks, closed_twice, end_fails, saves, training_session, logging_hook, stops, bad_arguments]
    return {function.__name__: function for function in functions}


def play(tf, scene):
    """The log of a scene, with the error that ended it."""
    log = []
    with tf.Graph().as_default():
        try:
            scene(log)
        except Exception as error:
            log.append("raised %s: %s" % (type(error).__name__, str(error).split("<")[0]))
        log.append("finalized: %s" % tf.get_default_graph().finalized)
    return log


if __name__ == "__main__":
    import tensorflow
    recorded = {name: play(tensorflow.compat.v1, scene) for name, scene in scenes(tensorflow.compat.v1).items()}
    with open(os.path.join(HERE, "monitored.json"), "w") as file:
        json.dump(recorded, file, indent=1, sort_keys=True)
        file.write("\n")
