"""What a server answers beside steps: how it is (``Describe``), what its next steps do (``Record``), and where tasks have gone (``SetAddresses``).

A description is plain JSON. Asked for the whole cluster, a server asks the other tasks for theirs, and gives those that do not answer within
``PATIENCE`` seconds as lost. A recording is plain JSON, too, and asked for in the same way.
"""
from __future__ import annotations

import json
import os
import re
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from penstock.distributed.cluster_spec import task_of
from penstock.distributed.master import Master
from penstock.distributed.messages import MalformedMessage, Message
from penstock.distributed.peers import Peers
from penstock.distributed.worker import Worker
from penstock.errors import OpError
from penstock.state.queues import Queue
from penstock.state.resources import Ref

PATIENCE = 3.0  # seconds for the description of another task
MOST_STEPS, MOST_SECONDS = 50, 8  # of a recording; within the patience of who asks
_SECONDS_SHOWN = 0.02  # a wait that is shorter is none

_EDGE = re.compile(r"^edge_\d+_")  # of the names that tensors travel by

Answers = Callable[[float], list[dict[str, Any]]]  # (seconds to wait) -> what others have told


def handlers(master: Master, worker: Worker) -> dict[str, Callable[[Message, Any], Message]]:
    """The methods of this file, for ``service.Service``."""
    def describe_task(message: Message, caller: Any) -> Message:
        asked = _ask_others(master.peers, worker.task, Message("Describe")) if message.fields.get("all") is True else _no_others
        described = [describe(master, worker)]
        return Message("ok", {}, [json.dumps(described + asked(PATIENCE)).encode()])

    def record(message: Message, caller: Any) -> Message:
        steps, seconds = _number_field(message, "steps", MOST_STEPS), _number_field(message, "seconds", MOST_SECONDS)
        request = Message("Record", {"steps": steps, "seconds": seconds})
        asked = _ask_others(master.peers, worker.task, request) if message.fields.get("all") is True else _no_others
        recorded = master.recorder.record(steps, seconds if master.sessions() else 0)  # (a ps has none, and need not be waited for)
        return Message("ok", {}, [json.dumps([{"task": worker.task, "state": "up", "steps": recorded}, *asked(seconds + PATIENCE)]).encode()])

    def set_addresses(message: Message, caller: Any) -> Message:
        master.peers.addresses.update(checked_addresses(message.fields["addresses"]))
        return Message("ok")

    return {"Describe": describe_task, "Record": record, "SetAddresses": set_addresses}


def _number_field(message: Message, name: str, most: int) -> int:
    value = message.fields.get(name)
    if type(value) is not int or not 1 <= value <= most:
        raise MalformedMessage(f"{name} is {value!r}, not a number from 1 to {most}")
    return value


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
        "history": activity.history(), "variables": _variables(worker), "queues": _queues(worker), "waits": _waits(master, worker),
        "errors": activity.errors()}


def _variables(worker: Worker) -> list[dict[str, Any]]:
    descriptions = []
    for (container, name, _), resource in worker.resources.items():
        if isinstance(resource, Ref):
            value = resource.value
            descriptions.append({"name": name, "container": container, "dtype": resource.dtype.name, "initialized": value is not None,
                          "shape": None if value is None else list(value.shape), "bytes": 0 if value is None else int(value.nbytes)})
    return sorted(descriptions, key=lambda item: item["name"])


def _queues(worker: Worker) -> list[dict[str, Any]]:
    """Queues, and how full they are; a negative capacity is none."""
    queues = []
    for (container, name, _), resource in worker.resources.items():
        if isinstance(resource, Queue):
            enqueuing, dequeuing = resource.waiting()
            queues.append({"name": name, "container": container, "kind": resource.kind, "size": len(resource), "capacity": resource.capacity,
                          "enqueuing": enqueuing, "dequeuing": dequeuing, "closed": resource.closed})
    return sorted(queues, key=lambda item: item["name"])


def _waits(master: Master, worker: Worker) -> list[dict[str, Any]]:
    """What running steps wait for: tensors of other tasks, elements of queues, and masters for the parts of other tasks."""
    tensors = [{"for": task_of(key.split(";")[0]), "what": _EDGE.sub("", key.split(";")[2]), "seconds": round(seconds, 2)}
               for key, seconds in worker.steps.awaited(time.monotonic()) if seconds > _SECONDS_SHOWN]
    queues = [{"for": queue["name"], "what": f"{queue[line]} to {verb}", "seconds": None} for queue in _queues(worker)
              for line, verb in (("enqueuing", "enqueue"), ("dequeuing", "dequeue")) if queue[line]]
    parts = [{"for": task, "what": "its part of a step", "seconds": round(seconds, 2)} for session in master.sessions()
             for task, seconds in session.awaited() if task != worker.task and seconds > _SECONDS_SHOWN]
    return tensors + queues + parts


def _resident_bytes() -> int:
    """The memory that the process occupies; 0 where it is not told."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:  # not Linux
        return 0


def _no_others(patience: float) -> list[dict[str, Any]]:
    """The answers if no other task is asked."""
    return []


def _ask_others(peers: Peers, own: str, request: Message) -> Answers:
    """Asks all other tasks at the same time; what is returned waits for their answers."""
    tasks = [task for task in peers.addresses_by_task() if task != own]
    answers: dict[str, dict[str, Any]] = {}
    all_there = threading.Semaphore(0)

    def ask(task: str) -> Callable[[], None]:
        def done(reply: Message | None, error: OpError | None) -> None:
            answers[task] = json.loads(bytes(reply.blobs[0]))[0] if reply is not None else _row_of(peers, task, str(error.message if error else ""))
            all_there.release()

        return peers.start(task, request, done).cancel

    give_up = [ask(task) for task in tasks]

    def wait(patience: float) -> list[dict[str, Any]]:
        end = time.monotonic() + patience
        for _ in tasks:
            all_there.acquire(timeout=max(0.0, end - time.monotonic()))
        told = [answers.get(task) or _row_of(peers, task, f"no answer within {patience:g} s") for task in tasks]
        for cancel in give_up:
            cancel()
        return told

    return wait


def _row_of(peers: Peers, task: str, reason: str) -> dict[str, Any]:
    """A task that does not answer; one that was not there at the start may simply have left."""
    return {"task": task, "address": peers.addresses_by_task()[task], "state": "lost" if task in peers.addresses else "gone", "reason": reason}
