"""Where a session with a target runs: back ends, by the scheme of the target (``grpc://host:port``).

Behind the scheme of a transport is a master. A session without a target runs in this process and needs no back end.
"""
from __future__ import annotations

from typing import Any, Protocol

from penstock import errors
from penstock.distributed.transports import schemes
from penstock.graph.graph import Graph
from penstock.graph.node import Tensor
from penstock.program.devices import Device
from penstock.session.fetches import Fetches


class Backend(Protocol):
    """A session elsewhere."""

    def run(self, wanted: Fetches, feeds: dict[Tensor, Any], options: Any, run_metadata: Any) -> list[Any]:
        """The values of ``wanted.tensors``; runs ``wanted.targets``."""

    def partial_run_setup(self, wanted: Fetches, feeds: list[Tensor]) -> str:
        """Prepares a step that is run in parts; returns its handle."""

    def partial_run(self, handle: str, wanted: Fetches, feeds: dict[Tensor, Any]) -> list[Any]:
        """Goes on with a step that is run in parts; the values of ``wanted.tensors``."""

    def list_devices(self) -> list[Device]:
        """The devices that steps can use."""

    def close(self) -> None:
        """Ends the session; its steps are cancelled."""


class BackendKind(Protocol):
    """How to get at sessions behind targets of one scheme."""

    def connect(self, target: str, graph: Graph, config: Any) -> Backend:
        """A new session."""

    def reset(self, target: str, containers: list[str], config: Any) -> None:
        """Clears resource containers; all of them if none is named."""


def connect(target: str, graph: Graph, config: Any) -> Backend:
    """A session behind a target."""
    return _kind(target).connect(target, graph, config)


def reset(target: str, containers: list[str], config: Any) -> None:
    """Clears resource containers behind a target."""
    _kind(target).reset(target, containers, config)


def _kind(target: str) -> BackendKind:
    scheme, separator, _ = target.partition("://")
    if not separator or scheme not in schemes():
        raise errors.NotFoundError(None, None, f"No session factory registered for the given session options: {{target: {target!r}}}. A target is "
                                   f"empty, for this process, or begins with one of {[known + '://' for known in schemes()]}.")
    from penstock.distributed.client import Remote  # brings in the tasks of a cluster, which few sessions need

    return Remote()
