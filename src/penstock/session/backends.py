"""The back ends of sessions, by the scheme of a target: "" is this process, behind the scheme of a transport (``grpc://host:port``) is a master."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock import errors
from penstock.distributed.transports import schemes
from penstock.graph.graph import Graph
from penstock.session.backend import Backend, BackendKind
from penstock.session.local import LocalKind

_kinds: dict[str, Callable[[], BackendKind]] = {"": LocalKind}


def register(scheme: str, load: Callable[[], BackendKind]) -> None:
    """Makes targets that begin with ``scheme://`` known; ``load`` is called when one is used."""
    _kinds[scheme] = load


def connect(target: str, graph: Graph, config: Any) -> Backend:
    """The back end of a new session."""
    return _kind(target).connect(target, graph, config)


def reset(target: str, containers: list[str], config: Any) -> None:
    """Clears resource containers behind a target."""
    _kind(target).reset(target, containers, config)


def _kind(target: str) -> BackendKind:
    scheme, separator, _ = target.partition("://")
    if target and not separator:
        raise _unknown_target(target)
    if scheme in _kinds:
        return _kinds[scheme]()
    if scheme not in schemes():
        raise _unknown_target(target)
    from penstock.session.remote import Remote  # brings in the tasks of a cluster, which few sessions need

    return Remote()


def _unknown_target(target: str) -> errors.OpError:
    known = [scheme + "://" for scheme in (*_kinds, *schemes()) if scheme]
    return errors.NotFoundError(None, None, f"No session factory registered for the given session options: {{target: {target!r}}}. A target is "
                                f"empty, for this process, or begins with one of {known}.")
