"""Values on other machines: operations of imperative style run in the program's own process."""
from __future__ import annotations

from typing import Any, NoReturn

from penstock.errors import UnimplementedError


def _refuse(what: str) -> NoReturn:
    raise UnimplementedError(None, None, f"{what}: imperative style runs in this process only. A graph and a session with a target run on a cluster.")


def connect_to_remote_host(remote_host: Any = None, job_name: str = "worker") -> NoReturn:
    """UnimplementedError."""
    _refuse(f"connect_to_remote_host({remote_host!r})")


def set_server_def(server_def: Any) -> NoReturn:
    """UnimplementedError."""
    _refuse("set_server_def")


def enable_remote_eager_execution(config: Any = None, device_policy: Any = None, execution_mode: Any = None, server_def: Any = None) -> NoReturn:
    """UnimplementedError."""
    _refuse("enable_remote_eager_execution")
