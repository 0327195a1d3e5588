"""``tf.train.Supervisor``: the training loop of the first releases: sessions, checkpoints, summaries and threads under one coordinator."""
from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

from tensorboard.compat.proto.event_pb2 import SessionLog

from penstock import errors
from penstock.graph.graph import Graph, default_graph
from penstock.graph.keys import GraphKeys
from penstock.platform import logging
from penstock.summary.file_writer import FileWriter
from penstock.summary.summary import merge_all
from penstock.train import meta_graph
from penstock.train.coordinator import Coordinator, LooperThread
from penstock.train.global_step import global_step as read_global_step
from penstock.train.saver import Saver
from penstock.train.session_manager import SessionManager
from penstock.train.supervisor_threads import SVStepCounterThread, SVSummaryThread, SVTimerCheckpointThread
from penstock.train.training_ops import TrainingOps, collected_or_new, initialize_local_state
from penstock.variables.initialization import (
    global_variables,
    global_variables_initializer,
    report_uninitialized_variables,
)


class Supervisor(TrainingOps):
    """``tf.train.Supervisor``: ``managed_session`` gives a session with initialized or restored variables; threads save checkpoints and summaries.

    >>> import penstock as tf
    >>> with tf.Graph().as_default():
    ...     step = tf.assign_add(tf.train.get_or_create_global_step(), 1)
    ...     supervisor = tf.train.Supervisor()
    ...     with supervisor.managed_session() as sess:
    ...         while not supervisor.should_stop():
    ...             if sess.run(step) == 3:
    ...                 supervisor.request_stop()
    """

    USE_DEFAULT: Any = 0  # "take it from the graph, or make it"; None means that there is none

    def __init__(self, graph: Graph | None = None, ready_op: Any = USE_DEFAULT, ready_for_local_init_op: Any = USE_DEFAULT, is_chief: bool = True,
                 init_op: Any = USE_DEFAULT, init_feed_dict: Any = None, local_init_op: Any = USE_DEFAULT, logdir: str | None = None,
                 summary_op: Any = USE_DEFAULT, saver: Any = USE_DEFAULT, global_step: Any = USE_DEFAULT, save_summaries_secs: float = 120,
                 save_model_secs: float = 600, recovery_wait_secs: float = 30, stop_grace_secs: float = 120, checkpoint_basename: str = "model.ckpt",
                 session_manager: SessionManager | None = None, summary_writer: Any = USE_DEFAULT, init_fn: Callable[[Any], None] | None = None,
                 local_init_run_options: Any = None) -> None:
        self._graph = graph or default_graph()
        self._is_chief, self._coord = is_chief, Coordinator()
        self._recovery_wait_secs, self._stop_grace_secs = recovery_wait_secs, stop_grace_secs
        self._init_feed_dict, self._init_fn, self._local_init_run_options = init_feed_dict, init_fn, local_init_run_options
        with self._graph.as_default():
            self._ready_op = self._given_or_default(ready_op, GraphKeys.READY_OP, report_uninitialized_variables)
            self._ready_for_local_init_op = self._given_or_default(ready_for_local_init_op, GraphKeys.READY_FOR_LOCAL_INIT_OP)
            self._init_op = self._given_or_default(init_op, GraphKeys.INIT_OP, global_variables_initializer)
            self._local_init_op = self._given_or_default(local_init_op, GraphKeys.LOCAL_INIT_OP, initialize_local_state)
            self._saver = self._given_or_default(saver, GraphKeys.SAVERS, lambda: Saver() if global_variables() else None)
            self._summary_op = self._given_or_default(summary_op, GraphKeys.SUMMARY_OP, merge_all)
            self._global_step = self._find_global_step() if global_step is Supervisor.USE_DEFAULT else global_step
        self._logdir = logdir if is_chief else None
        self._save_path = os.path.join(logdir, checkpoint_basename) if is_chief and logdir else None
        self._save_model_secs = save_model_secs if is_chief else None
        self._save_summaries_secs = save_summaries_secs if is_chief else None
        self._summary_writer: Any = None
        if is_chief:
            self._summary_writer = summary_writer if summary_writer is not Supervisor.USE_DEFAULT else FileWriter(logdir) if logdir else None
        self._graph_added = False
        self._session_manager = session_manager or SessionManager(
            local_init_op=self._local_init_op, ready_op=self._ready_op, ready_for_local_init_op=self._ready_for_local_init_op, graph=self._graph,
            recovery_wait_secs=recovery_wait_secs, local_init_run_options=local_init_run_options)
        self._verify_setup()
        self._graph.finalize()

    def _given_or_default(self, given: Any, collection: str, make: Callable[[], Any] = lambda: None) -> Any:
        """What was given; by default the first of a collection, or what ``make`` makes, which joins the collection."""
        if given is not Supervisor.USE_DEFAULT:
            return given
        return collected_or_new(self._graph, collection, make)

    def _find_global_step(self) -> Any:
        collected = self._graph.get_collection(GraphKeys.GLOBAL_STEP)
        if collected:
            return collected[0]
        try:
            step = self._graph.get_tensor_by_name("global_step:0")
        except KeyError:
            return None
        if step.dtype.base_dtype.is_integer:
            return step
        logging.warning("Found 'global_step' is not an int type: %s", step.dtype)
        return None

    def _verify_setup(self) -> None:
        """A worker whose variables have no device would train variables of its own."""
        if self._is_chief:
            return
        for op in self._graph.get_operations():
            if op.type in ("Variable", "VariableV2") and not op.device:
                raise ValueError(f"When using replicas, all Variables must have their device set: {op}")

    # --- sessions ----------------------------------------------------------------------------------------------------

    def prepare_or_wait_for_session(self, master: str = "", config: Any = None, wait_for_checkpoint: bool = False, max_wait_secs: float = 7200,
                                    start_standard_services: bool = True) -> Any:
        """A session with initialized or restored variables; a worker that is not the chief waits for the chief. Starts the queue runners."""
        self._coord.clear_stop()
        if self._summary_writer is not None:
            self._summary_writer.reopen()
        if self._is_chief:
            sess = self._session_manager.prepare_session(
                master, init_op=self._init_op, saver=self._saver, checkpoint_dir=self._logdir, wait_for_checkpoint=wait_for_checkpoint,
                max_wait_secs=max_wait_secs, config=config, init_feed_dict=self._init_feed_dict, init_fn=self._init_fn)
            self._write_graph()
            if start_standard_services:
                logging.info("Starting standard services.")
                self.start_standard_services(sess)
        else:
            sess = self._session_manager.wait_for_session(master, config=config, max_wait_secs=max_wait_secs)
        if start_standard_services:
            logging.info("Starting queue runners.")
            self.start_queue_runners(sess)
        return sess

    @contextlib.contextmanager
    def managed_session(self, master: str = "", config: Any = None, start_standard_services: bool = True,
                        close_summary_writer: bool = True) -> Iterator[Any]:
        """A context manager: a session that is closed at its end, after all threads have stopped; errors of theirs are raised there."""
        sess = None
        try:
            sess = self.prepare_or_wait_for_session(master, config, start_standard_services=start_standard_services)
            yield sess
        except Exception as error:
            self.request_stop(error)
        finally:
            try:
                self.stop(close_summary_writer=close_summary_writer)
            finally:
                if sess is not None:
                    with contextlib.suppress(errors.OpError):  # the tasks may be gone
                        sess.close()

    def _write_graph(self) -> None:
        graph_def = self._graph.as_graph_def(add_shapes=True)
        if self._logdir:
            meta_graph.write_graph(graph_def, self._logdir, "graph.pbtxt")
        if self._summary_writer is not None and not self._graph_added:
            self._summary_writer.add_graph(graph_def)
            saver_def = self._saver.saver_def if self._saver is not None else None
            self._summary_writer.add_meta_graph(meta_graph.export_scoped_meta_graph(graph_def=graph_def, graph=self._graph, saver_def=saver_def)[0])
            self._graph_added = True

    # --- threads -----------------------------------------------------------------------------------------------------

    def start_standard_services(self, sess: Any) -> list[LooperThread] | None:
        """Starts the threads that write summaries, steps per second and checkpoints."""
        if not self._is_chief:
            raise RuntimeError("Only chief supervisor can start standard services. Because only chief supervisors can write events.")
        if not self._logdir:
            logging.warning("Standard services need a 'logdir' passed to the SessionManager")
            return None
        if self._global_step is not None and self._summary_writer is not None:
            self._summary_writer.add_session_log(SessionLog(status=SessionLog.START), read_global_step(sess, self._global_step))
        threads: list[LooperThread] = []
        if self._save_summaries_secs and self._summary_writer is not None:
            if self._summary_op is not None:
                threads.append(SVSummaryThread(self, sess))
            if self._global_step is not None:
                threads.append(SVStepCounterThread(self, sess))
        if self._saver is not None and self._save_model_secs:
            threads.append(SVTimerCheckpointThread(self, sess))
        for thread in threads:
            thread.start()
        return threads

    def start_queue_runners(self, sess: Any, queue_runners: Any = None) -> list[Any]:
        """Starts the threads of queue runners, by default of all in the graph."""
        runners = self._graph.get_collection(GraphKeys.QUEUE_RUNNERS) if queue_runners is None else queue_runners
        return [thread for runner in runners for thread in runner.create_threads(sess, coord=self._coord, daemon=True, start=True)]

    def loop(self, timer_interval_secs: float | None, target: Callable[..., Any], args: Any = None, kwargs: Any = None) -> LooperThread:
        """Starts a thread that calls ``target`` again and again until it is asked to stop."""
        return LooperThread.loop(self._coord, timer_interval_secs, target, args, kwargs)

    # --- stopping ----------------------------------------------------------------------------------------------------

    def stop(self, threads: Any = None, close_summary_writer: bool = True, ignore_live_threads: bool = False) -> None:
        """Stops all threads and waits for them; raises what one of them reported."""
        self._coord.request_stop()
        try:
            self._coord.join(threads, stop_grace_period_secs=self._stop_grace_secs, ignore_live_threads=ignore_live_threads)
        finally:
            if close_summary_writer and self._summary_writer is not None:  # last: a thread may have been using it
                self._summary_writer.add_session_log(SessionLog(status=SessionLog.STOP))
                self._summary_writer.close()
                self._graph_added = False

    def request_stop(self, ex: Any = None) -> None:
        """Asks all threads to stop; see Coordinator."""
        self._coord.request_stop(ex)

    def should_stop(self) -> bool:
        """True once a stop has been requested."""
        return self._coord.should_stop()

    def stop_on_exception(self) -> Any:
        """A context manager for the body of a thread; see Coordinator."""
        return self._coord.stop_on_exception()

    def wait_for_stop(self) -> None:
        """Waits until a stop is requested."""
        self._coord.wait_for_stop()

    def summary_computed(self, sess: Any, summary: Any, global_step: Any = None) -> None:
        """Writes a summary that the program has computed."""
        if self._summary_writer is None:
            raise RuntimeError("Writing a summary requires a summary writer.")
        if global_step is None and self._global_step is not None:
            global_step = read_global_step(sess, self._global_step)
        self._summary_writer.add_summary(summary, global_step)

    # --- what it holds -----------------------------------------------------------------------------------------------

    @property
    def is_chief(self) -> bool:
        """True for the one worker that initializes, saves and writes."""
        return self._is_chief

    @property
    def session_manager(self) -> SessionManager:
        """Makes the sessions."""
        return self._session_manager

    @property
    def coord(self) -> Coordinator:
        """Stops the threads."""
        return self._coord

    @property
    def summary_writer(self) -> Any:
        """Writes the event file; None without ``logdir``, and for workers that are not the chief."""
        return self._summary_writer

    @property
    def save_summaries_secs(self) -> Any:
        """Seconds between summaries."""
        return self._save_summaries_secs

    @property
    def global_step(self) -> Any:
        """The tensor of the global step; None if there is none."""
        return self._global_step

    @property
    def save_model_secs(self) -> Any:
        """Seconds between checkpoints."""
        return self._save_model_secs

    @property
    def save_path(self) -> str | None:
        """Where checkpoints go."""
        return self._save_path

    # The names of the first release.
    PrepareSession = prepare_or_wait_for_session
    StartQueueRunners = start_queue_runners
    StartStandardServices = start_standard_services
    Stop = stop
    RequestStop = request_stop
    Loop = loop
    ShouldStop = should_stop
    StopOnException = stop_on_exception
    SummaryComputed = summary_computed
    WaitForStop = wait_for_stop
