"""What a session asks of its back end: the one that runs its steps, in this process (``local.py``) or behind a target (``remote.py``)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from tensorboard.compat.proto.config_pb2 import RunMetadata, RunOptions

from penstock.execute.pipeline import Pipeline
from penstock.execute.probe import Probe
from penstock.graph.graph import Graph
from penstock.graph.node import Tensor
from penstock.program.devices import Device
from penstock.session.fetches import Fetches


@dataclass(frozen=True, slots=True)
class StepOptions:
    """How to run a step: its time limit, and what its RunMetadata should tell."""

    timeout_ms: int = 0
    trace: bool = False
    partition_graphs: bool = False
    metadata: bool = False  # there is a RunMetadata


PLAIN = StepOptions()


def step_options(options: Any, metadata_wanted: bool) -> StepOptions:
    """What a RunOptions asks for; nothing is traced if there is no RunMetadata to tell it."""
    if options is None:
        return StepOptions(metadata=True) if metadata_wanted else PLAIN
    return StepOptions(options.timeout_in_ms, metadata_wanted and options.trace_level > RunOptions.NO_TRACE,
                       metadata_wanted and options.output_partition_graphs, metadata_wanted)


class Backend(Protocol):
    """Runs the steps of one session."""

    def run(self, wanted: Fetches, feeds: dict[Tensor, Any], options: StepOptions) -> tuple[list[Any], RunMetadata | None]:
        """The values of ``wanted.tensors``; runs ``wanted.targets``."""

    def run_probed(self, wanted: Fetches, feeds: dict[Tensor, Any], probe: Probe) -> list[Any]:
        """The values of ``wanted.tensors``; ``probe`` is told of each node that has run, wherever that was."""

    def partial_run_setup(self, wanted: Fetches, feeds: list[Tensor]) -> str:
        """Prepares a step that is run in parts; returns its handle."""

    def partial_run(self, handle: str, wanted: Fetches, feeds: dict[Tensor, Any]) -> list[Any]:
        """Goes on with a step that is run in parts; the values of ``wanted.tensors``."""

    def list_devices(self) -> list[Device]:
        """The devices that steps can use."""

    @property
    def pipeline(self) -> Pipeline:
        """What plans the steps of the session: with its devices and its options."""

    def close(self) -> None:
        """Ends the session; its steps are cancelled."""


class BackendKind(Protocol):
    """How to get at sessions behind targets of one scheme."""

    def connect(self, target: str, graph: Graph, config: Any) -> Backend:
        """The back end of a new session."""

    def reset(self, target: str, containers: list[str], config: Any) -> None:
        """Clears resource containers; all of them if none is named."""
