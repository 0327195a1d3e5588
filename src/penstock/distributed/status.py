"""Asks a running cluster how it is, through any of its tasks; see ``administration.py`` for what they tell."""
from __future__ import annotations

import json
from typing import Any

from penstock.distributed.client import connection
from penstock.distributed.messages import Message
from penstock.distributed.transports import DEFAULT

_PATIENCE = 10.0  # seconds; longer than a task gives the others


def record_cluster(target: str, steps: int, seconds: int) -> list[dict[str, Any]]:
    """The next steps of all masters of a cluster, as ``step_recording.py`` tells them.

    Each is ``{"task", "steps": [{"session", "devices": {device: rows}}]}``."""
    return _ask(target, Message("Record", {"all": True, "steps": steps, "seconds": seconds}), _PATIENCE + seconds)


def cluster_status(target: str, all_tasks: bool = True) -> list[dict[str, Any]]:
    """The descriptions of the tasks of a cluster, that of the target first. UnavailableError if nothing answers there.

    Each is a dict of plain values: ``task``, ``address``, ``state`` ("up"; "lost" with a ``reason``), ``devices``, ``sessions``, ``variables``
    with their ``bytes``, ``queues``, ``steps``, ``steps_per_second`` and their ``history``, ``waits``, ``errors``.
    """
    return _ask(target, Message("Describe", {"all": all_tasks}), _PATIENCE)


def _ask(target: str, message: Message, patience: float) -> list[dict[str, Any]]:
    link = connection(target if "://" in target else f"{DEFAULT}://{target}")
    try:
        reply = link.call(message, patience)
    finally:
        link.close()
    return json.loads(bytes(reply.blobs[0]))
