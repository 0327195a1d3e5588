"""Hooks that write files: checkpoints, summaries, the speed of training."""
from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from tensorboard.compat.proto.event_pb2 import SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary

from penstock.graph.graph import default_graph
from penstock.graph.keys import GraphKeys
from penstock.platform import logging
from penstock.summary.file_writer import FileWriterCache
from penstock.train import meta_graph
from penstock.train.global_step import get_global_step, global_step_read
from penstock.train.hook_timers import SecondOrStepTimer
from penstock.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues

_WARNINGS = 5  # how often a step that does not count is mentioned


class CheckpointSaverListener:
    """``tf.train.CheckpointSaverListener``: code around each save of a CheckpointSaverHook; each method may be overridden."""

    def begin(self) -> None:
        """Called when the hook begins: the graph can still grow."""

    def before_save(self, session: Any, global_step_value: int) -> None:
        """Called before a checkpoint is written."""

    def after_save(self, session: Any, global_step_value: int) -> bool | None:
        """Called after it; True asks to stop training."""
        return None

    def end(self, session: Any, global_step_value: int) -> None:
        """Called at the end of training."""


class CheckpointSaverHook(SessionRunHook):
    """``tf.train.CheckpointSaverHook``: saves a checkpoint at the start, every so many steps or seconds, and at the end."""

    def __init__(self, checkpoint_dir: str, save_secs: float | None = None, save_steps: int | None = None, saver: Any = None,
                 checkpoint_basename: str = "model.ckpt", scaffold: Any = None, listeners: Iterable[CheckpointSaverListener] | None = None) -> None:
        logging.info("Create CheckpointSaverHook.")
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        self._saver, self._scaffold, self._folder = saver, scaffold, checkpoint_dir
        self._save_path = os.path.join(checkpoint_dir, checkpoint_basename)
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._listeners = list(listeners or ())

    def begin(self) -> None:
        """Finds the global step."""
        self._writer = FileWriterCache.get(self._folder)
        self._step = global_step_read("CheckpointSaverHook")
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Writes the graph, and the first checkpoint: a failure never loses more than the timer allows."""
        step = int(session.run(self._step))
        graph, saver = default_graph(), self._get_saver()
        graph_def = graph.as_graph_def(add_shapes=True)
        meta_graph.write_graph(graph_def, self._folder, "graph.pbtxt")
        self._writer.add_graph(graph_def)
        self._writer.add_meta_graph(meta_graph.export_scoped_meta_graph(graph_def=graph_def, graph=graph, saver_def=saver.saver_def)[0])
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetches the step."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Saves if it is time. The fetched step may be from before the update, so it is read again when it is near."""
        if not self._timer.should_trigger_for_step(int(run_values.results) + 1):
            return
        step = int(run_context.session.run(self._step))
        if self._timer.should_trigger_for_step(step):
            self._timer.update_last_triggered_step(step)
            if self._save(run_context.session, step):
                run_context.request_stop()

    def end(self, session: Any) -> None:
        """Saves the last step, if that has not been done."""
        step = int(session.run(self._step))
        if step != self._timer.last_triggered_step():
            self._save(session, step)
        for listener in self._listeners:
            listener.end(session, step)

    def _save(self, session: Any, step: int) -> bool:
        """Saves; True if a listener wants to stop."""
        logging.info("Saving checkpoints for %d into %s.", step, self._save_path)
        for listener in self._listeners:
            listener.before_save(session, step)
        self._get_saver().save(session, self._save_path, global_step=step)
        self._writer.add_session_log(SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=self._save_path), step)
        stop = False
        for listener in self._listeners:
            if listener.after_save(session, step):
                logging.info("A CheckpointSaverListener requested that training be stopped. listener: %s", listener)
                stop = True
        return stop

    def _get_saver(self) -> Any:
        if self._saver is not None:
            return self._saver
        if self._scaffold is not None:
            return self._scaffold.saver
        savers = default_graph().get_collection(GraphKeys.SAVERS)
        if len(savers) != 1:
            raise RuntimeError(f"{'More than one item' if savers else 'No items'} in collection {GraphKeys.SAVERS}. Please give the saver (or the "
                               "scaffold) to the constructor of the hook.")
        self._saver = savers[0]
        return self._saver


class SummarySaverHook(SessionRunHook):
    """``tf.train.SummarySaverHook``: evaluates the summaries every so many steps or seconds, and writes them to an event file."""

    def __init__(self, save_steps: int | None = None, save_secs: float | None = None, output_dir: str | None = None, summary_writer: Any = None,
                 scaffold: Any = None, summary_op: Any = None) -> None:
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._summary_op, self._scaffold, self._writer, self._folder = summary_op, scaffold, summary_writer, output_dir
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)

    def begin(self) -> None:
        """Opens the event file."""
        if self._writer is None and self._folder:
            self._writer = FileWriterCache.get(self._folder)
        self._next_step: int | None = None
        self._behind = True  # True if the step is read before the run updates it; in one graph that hardly ever changes
        self._step = global_step_read("SummarySaverHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetches the summaries if it is time."""
        self._due = self._next_step is None or self._timer.should_trigger_for_step(self._next_step)
        fetches: dict[str, Any] = {"global_step": self._step}
        summaries = self._summaries() if self._due else None
        if summaries is not None:
            fetches["summary"] = summaries
        return SessionRunArgs(fetches)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Writes them."""
        if self._writer is None:
            return
        read = int(run_values.results["global_step"])
        step = read + self._behind
        if self._due:
            step = int(run_context.session.run(self._step))
            self._behind = step > read
            if self._next_step is None:
                self._writer.add_session_log(SessionLog(status=SessionLog.START), step)
            self._timer.update_last_triggered_step(step)
            for summary in run_values.results.get("summary", ()):
                self._writer.add_summary(summary, step)
        self._next_step = step + 1

    def end(self, session: Any = None) -> None:
        """Makes sure that all is in the file."""
        if self._writer is not None:
            self._writer.flush()

    def _summaries(self) -> list[Any] | None:
        summary_op = self._summary_op if self._summary_op is not None else self._scaffold.summary_op
        return summary_op if summary_op is None or isinstance(summary_op, list) else [summary_op]


class StepCounterHook(SessionRunHook):
    """``tf.train.StepCounterHook``: logs the steps per second, and writes them to an event file."""

    def __init__(self, every_n_steps: int | None = 100, every_n_secs: float | None = None, output_dir: str | None = None,
                 summary_writer: Any = None) -> None:
        if (every_n_steps is None) == (every_n_secs is None):
            raise ValueError("exactly one of every_n_steps and every_n_secs should be provided.")
        self._timer = SecondOrStepTimer(every_steps=every_n_steps, every_secs=every_n_secs)
        self._writer, self._folder = summary_writer, output_dir
        self._previous: int | None = None
        self._standing = 0

    def begin(self) -> None:
        """Opens the event file."""
        if self._writer is None and self._folder:
            self._writer = FileWriterCache.get(self._folder)
        self._step = global_step_read("StepCounterHook")
        self._tag = get_global_step().op.name + "/sec"

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetches the step."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Logs the speed if it is time."""
        fetched = int(run_values.results)
        if self._timer.should_trigger_for_step(fetched + 1):
            step = int(run_context.session.run(self._step))
            if self._timer.should_trigger_for_step(step):
                seconds, steps = self._timer.update_last_triggered_step(step)
                if seconds is not None and steps is not None:
                    self._log_and_record(steps, seconds, step)
        self._notice_standstill(fetched)

    def _log_and_record(self, elapsed_steps: int, elapsed_time: float, global_step: int) -> None:
        speed = elapsed_steps / elapsed_time if elapsed_time else float("inf")
        if self._writer is not None:
            self._writer.add_summary(Summary(value=[Summary.Value(tag=self._tag, simple_value=speed)]), global_step)
        logging.info("%s: %g", self._tag, speed)

    def _notice_standstill(self, step: int) -> None:
        if step != self._previous:
            self._standing = 0
        elif self._standing < _WARNINGS:
            self._standing += 1
            logging.warning("The global step does not grow: it was and is %s. Pass tf.train.get_global_step() to Optimizer.minimize or "
                            "Optimizer.apply_gradients, so that steps are counted.", step)
        self._previous = step
