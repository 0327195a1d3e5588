"""ProfilerHook: traces a step now and then, and writes it as a Chrome timeline."""
from __future__ import annotations

import os
from typing import Any

from tensorboard.compat.proto.config_pb2 import RunOptions

from penstock.debug.timeline import Timeline
from penstock.platform import logging
from penstock.summary.file_writer import FileWriterCache
from penstock.train.global_step import global_step_read
from penstock.train.hook_timers import SecondOrStepTimer
from penstock.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues


class ProfilerHook(SessionRunHook):
    """``tf.train.ProfilerHook``: writes ``timeline-STEP.json`` every so many steps or seconds; open it in chrome://tracing or Perfetto.

    The first step is never traced: it makes the plan.
    """

    def __init__(self, save_steps: int | None = None, save_secs: float | None = None, output_dir: str = "", show_dataflow: bool = True,
                 show_memory: bool = False) -> None:
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._pattern = os.path.join(output_dir, "timeline-{}.json")
        self._writer = FileWriterCache.get(output_dir)
        self._show_dataflow, self._show_memory = show_dataflow, show_memory

    def begin(self) -> None:
        """Finds the global step."""
        self._next_step: int | None = None
        self._step = global_step_read("ProfilerHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Has the step traced if it is time."""
        self._due = self._next_step is not None and self._timer.should_trigger_for_step(self._next_step)
        return SessionRunArgs({"global_step": self._step}, options=RunOptions(trace_level=RunOptions.FULL_TRACE) if self._due else None)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Writes the timeline."""
        fetched = int(run_values.results["global_step"])
        if self._next_step is None:
            self._timer.update_last_triggered_step(fetched)
        step = fetched + 1
        if self._due:
            step = int(run_context.session.run(self._step))
            self._timer.update_last_triggered_step(step)
            self._save(step, run_values.run_metadata)
        self._next_step = step + 1

    def _save(self, step: int, run_metadata: Any) -> None:
        path = self._pattern.format(step)
        logging.info("Saving timeline for %d into '%s'.", step, path)
        trace = Timeline(run_metadata.step_stats).generate_chrome_trace_format(self._show_dataflow, self._show_memory)
        with open(path, "w") as file:
            file.write(trace)
        self._writer.add_run_metadata(run_metadata, f"step_{step}", step)
