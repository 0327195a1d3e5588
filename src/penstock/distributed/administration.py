"""What a server answers beside steps: how it is (``Describe``), and where tasks have gone (``SetAddresses``).

A description is plain JSON. Asked for the whole cluster, a server asks the other tasks for theirs, and gives those that do not answer within
``PATIENCE`` seconds as lost.
"""
from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from penstock.distributed.master import Master
from penstock.distributed.messages import MalformedMessage, Message
from penstock.distributed.peers import Peers
from penstock.distributed.worker import Worker
from penstock.errors import OpError
from penstock.state.resources import Ref

PATIENCE = 3.0  # seconds for the description of another task


def handlers(master: Master, worker: Worker) -> dict[str, Callable[[Message, Any], Message]]:
    """The methods of this file, for ``service.Service``."""
    def describe_task(message: Message, caller: Any) -> Message:
        described = [describe(master, worker)]
        if message.fields.get("all") is True:
            described += _others(master.peers, worker.task)
        return Message("ok", {}, [json.dumps(described).encode()])

    def set_addresses(message: Message, caller: Any) -> Message:
        master.peers.addresses.update(checked_addresses(message.fields["addresses"]))
        return Message("ok")

    return {"Describe": describe_task, "SetAddresses": set_addresses}


def checked_addresses(value: Any) -> dict[str, str]:
    """{task: address} out of a message; MalformedMessage if it is none."""
    if not isinstance(value, dict) or not all(isinstance(task, str) and isinstance(address, str) for task, address in value.items()):
        raise MalformedMessage(f"{value!r} is not a table of addresses")
    return value


# --- descriptions ----------------------------------------------------------------------------------------------------

def describe(master: Master, worker: Worker) -> dict[str, Any]:
    """This task: who it is, what it holds and what it does."""
    activity = worker.activity
    return {
        "task": worker.task, "address": master.peers.addresses.get(worker.task, ""), "state": "up", "incarnation": worker.incarnation,
        "pid": os.getpid(), "python": sys.version.split()[0], "uptime": round(time.monotonic() - activity.since, 1), "memory": _resident_bytes(),
        "cpu": round(time.process_time(), 4),
        "devices": [device.name for device in worker.devices], "steps": activity.total, "steps_per_second": round(activity.rate(), 2),
        "sessions": [session.description() for session in master.sessions()],
        "variables": _variables(worker), "errors": activity.errors()}


def _variables(worker: Worker) -> list[dict[str, Any]]:
    descriptions = []
    for (container, name, _), resource in worker.resources.items():
        if isinstance(resource, Ref):
            value = resource.value
            descriptions.append({"name": name, "container": container, "dtype": resource.dtype.name, "initialized": value is not None,
                          "shape": None if value is None else list(value.shape), "bytes": 0 if value is None else int(value.nbytes)})
    return sorted(descriptions, key=lambda item: item["name"])


def _resident_bytes() -> int:
    """The memory that the process occupies; 0 where it is not told."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:  # not Linux
        return 0


def _others(peers: Peers, own: str) -> list[dict[str, Any]]:
    """The descriptions of all other tasks, asked for at the same time."""
    tasks = [task for task in peers.known() if task != own]
    answers: dict[str, dict[str, Any]] = {}
    all_there = threading.Semaphore(0)

    def ask(task: str) -> Callable[[], None]:
        def done(reply: Message | None, error: OpError | None) -> None:
            answers[task] = json.loads(bytes(reply.blobs[0]))[0] if reply is not None else _lost(peers, task, str(error.message if error else ""))
            all_there.release()

        return peers.start(task, Message("Describe"), done).cancel

    give_up = [ask(task) for task in tasks]
    end = time.monotonic() + PATIENCE
    for _ in tasks:
        all_there.acquire(timeout=max(0.0, end - time.monotonic()))
    descriptions = [answers.get(task) or _lost(peers, task, f"no answer within {PATIENCE:g} s") for task in tasks]
    for cancel in give_up:
        cancel()
    return descriptions


def _lost(peers: Peers, task: str, reason: str) -> dict[str, Any]:
    """A task that does not answer; one that was not there at the start may simply have left."""
    return {"task": task, "address": peers.known()[task], "state": "lost" if task in peers.addresses else "gone", "reason": reason}
