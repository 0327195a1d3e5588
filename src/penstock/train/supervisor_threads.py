"""The threads of a Supervisor: each does one thing every so many seconds."""
from __future__ import annotations

import time
from typing import Any

from tensorboard.compat.proto.event_pb2 import SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary

from penstock.platform import logging
from penstock.train.coordinator import LooperThread
from penstock.train.global_step import global_step as read_global_step


class SVSummaryThread(LooperThread):
    """Evaluates and writes the summaries."""

    def __init__(self, sv: Any, sess: Any) -> None:
        super().__init__(sv.coord, sv.save_summaries_secs)
        self._sv, self._sess = sv, sess

    def run_loop(self) -> None:
        """One round."""
        if self._sv.global_step is None:
            summaries, step = self._sess.run(self._sv.summary_op), None
        else:
            summaries, step = self._sess.run([self._sv.summary_op, self._sv.global_step])
        logging.info("Recording summary at step %s.", step)
        self._sv.summary_writer.add_summary(summaries, step)


class SVStepCounterThread(LooperThread):
    """Writes how many steps were taken per second."""

    def __init__(self, sv: Any, sess: Any, step_counter: Any = None) -> None:
        super().__init__(sv.coord, sv.save_summaries_secs)
        self._sv, self._sess = sv, sess
        self._counter = sv.global_step if step_counter is None else step_counter
        self._tag = f"{self._counter.op.name}/sec"
        self._time, self._step = 0.0, 0

    def start_loop(self) -> None:
        """Notes where it starts."""
        self._time, self._step = time.monotonic(), read_global_step(self._sess, self._counter)

    def run_loop(self) -> None:
        """One round."""
        now, step = time.monotonic(), read_global_step(self._sess, self._counter)
        speed = (step - self._step) / (now - self._time) if now > self._time else float("inf")
        self._time, self._step = now, step
        self._sv.summary_writer.add_summary(Summary(value=[Summary.Value(tag=self._tag, simple_value=speed)]), step)
        logging.info("%s: %g", self._tag, speed)


class SVTimerCheckpointThread(LooperThread):
    """Saves checkpoints."""

    def __init__(self, sv: Any, sess: Any) -> None:
        super().__init__(sv.coord, sv.save_model_secs)
        self._sv, self._sess = sv, sess

    def run_loop(self) -> None:
        """One round."""
        logging.info("Saving checkpoint to path %s", self._sv.save_path)
        self._sv.saver.save(self._sess, self._sv.save_path, global_step=self._sv.global_step)
        if self._sv.summary_writer is not None and self._sv.global_step is not None:
            step = read_global_step(self._sess, self._sv.global_step)
            self._sv.summary_writer.add_session_log(SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=self._sv.save_path), step)
