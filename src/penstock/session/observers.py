"""Observers of the runs of all sessions: ``penstock graph`` notes the steps of a program, ``tfprof.ProfileContext`` traces some of them."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tensorboard.compat.proto.config_pb2 import RunMetadata

from penstock.errors import OpError
from penstock.graph.graph import Graph
from penstock.graph.node import Tensor
from penstock.session.backend import Backend
from penstock.session.fetches import Fetches


@dataclass(slots=True)
class SessionRun:
    """One call of ``Session.run``; before it runs an observer may ask for more by other ``options`` and ``metadata``."""

    graph: Graph
    backend: Backend
    wanted: Fetches
    feeds: dict[Tensor, Any]
    options: Any  # RunOptions, or None
    metadata: RunMetadata | None


class RunObserver:
    """Is told of every run."""

    def before(self, run: SessionRun) -> None:
        """The run will begin; an error that is raised here goes to the program."""

    def after(self, run: SessionRun) -> None:
        """The run has ended without an error."""

    def failed(self, run: SessionRun, error: OpError) -> None:
        """The run has ended with an error, which goes on to the program."""


run_observers: list[RunObserver] = []


@contextmanager
def observing_runs(observer: RunObserver) -> Iterator[None]:
    """Tells ``observer`` of each run, of whichever session, inside the block."""
    run_observers.append(observer)
    try:
        yield
    finally:
        run_observers.remove(observer)
