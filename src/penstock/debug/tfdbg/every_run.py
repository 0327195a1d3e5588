"""The debugger around a whole program: every run of every session, without a change to the program."""
from __future__ import annotations

import threading
from typing import Any

from tensorboard.compat.proto.config_pb2 import RunMetadata, RunOptions

from penstock.debug.tfdbg.local_cli import Debugger
from penstock.errors import OpError
from penstock.session.observers import RunObserver, SessionRun


class EveryRun(RunObserver):
    """Has the runs of the main thread debugged on the terminal, each graph by a debugger of its own; other threads fill queues, and go on."""

    def __init__(self, ui_type: str = "curses") -> None:
        self._ui_type = ui_type
        self._debuggers: dict[Any, Debugger] = {}

    def before(self, run: SessionRun) -> None:
        """Talks with the person, and adds what is watched."""
        if not _is_main():
            return
        debugger = self._debuggers.get(run.graph)
        if debugger is None:
            debugger = self._debuggers[run.graph] = Debugger(run.graph, None, self._ui_type)
        names = [tensor.name for tensor in run.wanted.tensors] + [op.name for op in run.wanted.targets]
        watched = debugger.before(names, {tensor.name: value for tensor, value in run.feeds.items()})
        if watched is not None:
            options = RunOptions()
            if run.options is not None:
                options.CopyFrom(run.options)
            options.MergeFrom(watched)
            run.options, run.metadata = options, run.metadata or RunMetadata()

    def after(self, run: SessionRun) -> None:
        """Shows what was watched."""
        if _is_main():
            self._debuggers[run.graph].after(run.metadata)

    def failed(self, run: SessionRun, error: OpError) -> None:
        """Shows what was watched before the error."""
        if _is_main():
            self._debuggers[run.graph].after(run.metadata, error)


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()
