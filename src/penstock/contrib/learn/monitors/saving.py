"""Monitors that save: checkpoints and summaries."""
from __future__ import annotations

import os
import time
from typing import Any

from tensorboard.compat.proto.event_pb2 import SessionLog

from penstock.contrib.learn.monitors.base import BaseMonitor, EveryN, output_of
from penstock.contrib.learn.monitors.watching import PrintTensor
from penstock.platform import logging
from penstock.summary.file_writer import FileWriter, FileWriterCache


class SummarySaver(EveryN):
    """``tf.contrib.learn.monitors.SummarySaver``: writes summaries to an event file."""

    def __init__(self, summary_op: Any, save_steps: int = 100, output_dir: str | None = None, summary_writer: Any = None,
                 scaffold: Any = None) -> None:
        super().__init__(every_n_steps=save_steps)
        self._summary_op, self._scaffold = summary_op, scaffold
        self._writer = FileWriter(output_dir) if summary_writer is None and output_dir else summary_writer

    def set_estimator(self, estimator: Any) -> None:
        """The event file is in the folder of the estimator, if no other is given."""
        super().set_estimator(estimator)
        self._writer = FileWriter(estimator.model_dir) if self._writer is None else self._writer

    def every_n_step_begin(self, step: int) -> list[Any]:
        """Asks for the summaries."""
        if self._summary_op is None and self._scaffold is not None:
            self._summary_op = self._scaffold.summary_op
        return [] if self._summary_op is None else [self._summary_op]

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> bool | None:
        """Writes them."""
        if self._summary_op is not None and self._writer:
            self._writer.add_summary(output_of(outputs, self._summary_op), step)
        return False

    def end(self, session: Any = None) -> None:
        """Writes what is left."""
        super().end(session=session)
        if self._writer:
            self._writer.flush()


class CheckpointSaver(BaseMonitor):
    """``tf.contrib.learn.monitors.CheckpointSaver``: saves after the first step, every so many seconds or steps, and at the end."""

    def __init__(self, checkpoint_dir: str, save_secs: float | None = None, save_steps: int | None = None, saver: Any = None,
                 checkpoint_basename: str = "model.ckpt", scaffold: Any = None) -> None:
        logging.info("Create CheckpointSaver.")
        super().__init__()
        if save_steps is None and save_secs is None:
            raise ValueError("Either save_steps or save_secs should be provided")
        if save_steps is not None and save_secs is not None:
            raise ValueError("Can not provide both save_steps and save_secs.")
        self._path, self._writer = os.path.join(checkpoint_dir, checkpoint_basename), FileWriterCache.get(checkpoint_dir)
        self._saver, self._scaffold, self._save_secs, self._save_steps = saver, scaffold, save_secs, save_steps

    def begin(self, max_steps: int | None = None) -> None:
        """Nothing is saved yet."""
        super().begin(max_steps)
        self._saved: tuple[int, float] | None = None
        self._step: int | None = None

    def step_begin(self, step: int) -> list[Any]:
        """Remembers the step."""
        self._step = step
        return super().step_begin(step)

    def post_step(self, step: int, session: Any) -> None:
        """Saves, if it is time."""
        super().post_step(step, session)
        if self._saved is None or (self._save_steps is not None and step >= self._saved[0] + self._save_steps) or (
                self._save_secs is not None and time.time() >= self._saved[1] + self._save_secs):
            self._save(step, session)

    def end(self, session: Any = None) -> None:
        """Saves the last step."""
        super().end(session)
        if self._step is not None:
            self._save(self._step, session)

    def _save(self, step: int, session: Any) -> None:
        if self._saved is not None and step == self._saved[0]:
            return
        logging.info("Saving checkpoints for %d into %s.", step, self._path)
        self._saved = step, time.time()
        (self._scaffold.saver if self._saver is None else self._saver).save(session, self._path, global_step=step)
        self._writer.add_session_log(SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=self._path), step)


def get_default_monitors(loss_op: Any = None, summary_op: Any = None, save_summary_steps: int = 100, output_dir: str | None = None,
                         summary_writer: Any = None) -> list[Any]:
    """``tf.contrib.learn.monitors.get_default_monitors``: one that logs the loss, one that writes summaries, as far as they are given."""
    monitors: list[Any] = [] if loss_op is None else [PrintTensor(tensor_names={"loss": loss_op.name})]
    if summary_op is not None:
        monitors.append(SummarySaver(summary_op, save_steps=save_summary_steps, output_dir=output_dir, summary_writer=summary_writer))
    return monitors
