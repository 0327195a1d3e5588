"""Asks a running cluster how it is, through any of its tasks; see ``administration.py`` for what they tell."""
from __future__ import annotations

import json
from typing import Any

from penstock.distributed.client import connection
from penstock.distributed.messages import Message
from penstock.distributed.transports import DEFAULT

_PATIENCE = 10.0  # seconds; longer than a task gives the others


def cluster_status(target: str, all_tasks: bool = True) -> list[dict[str, Any]]:
    """The descriptions of the tasks of a cluster, that of the target first. UnavailableError if nothing answers there.

    Each is a dict of plain values: ``task``, ``address``, ``state`` ("up"; "lost" with a ``reason``), ``devices``, ``sessions``, ``variables``
    with their ``bytes``, ``steps``, ``steps_per_second``, ``errors``.
    """
    link = connection(target if "://" in target else f"{DEFAULT}://{target}")
    try:
        reply = link.call(Message("Describe", {"all": all_tasks}), _PATIENCE)
    finally:
        link.close()
    return json.loads(bytes(reply.blobs[0]))
