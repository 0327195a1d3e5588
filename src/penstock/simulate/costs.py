"""What messages between tasks cost, in seconds of one core: measured once per machine (``calibration.py``) and kept in the user's cache folder.

The costs of a byte are those of sending and using it, if the arrays are in the cache that all cores share. A worker uses the same arrays in each of
its steps; the more bytes the tasks of its machine have moved since the last one, the fewer of them are still there (``Costs.coldness``). A profile
has been measured behind the bytes that its step moves itself: only those of others make what it computes slower than that (``Costs.slower_beside``).
"""
from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import platform
from dataclasses import dataclass
from pathlib import Path

from penstock.native.machine.cache import folder
from penstock.platform.cpus import available_cpus


@dataclass(frozen=True)
class Costs:
    """Seconds of one core in the interpreter, and the time that a message takes on its way inside a machine."""

    step: float  # a step of a session, for the task whose session it is
    order: float  # to have another task run its part, and to hear that it has
    part: float  # to run a part for another task, and to say so
    message: float  # to send a message with tensors, or to receive one
    send: float  # a tensor of it
    receive: float
    send_byte: float
    receive_byte: float
    latency: float  # inside a machine
    crowded: float  # times as long, if other tasks use all cores
    queued: float = 1.0  # times as long, if work had to wait for the interpreter: several messages are read at a time, and no thread is woken
    cold_bytes: float = 1.0  # times as long, if nothing is in the cache: what works on large arrays, bytes of messages and native code
    cache_bytes: float = 0.0  # of the cache that all cores share; 0: not known
    spread: float = 0.0  # how much times in the interpreter differ: the standard deviation of their logarithm
    network: Costs | None = None  # what differs between machines, where there is no shared memory

    def between(self, one_machine: bool) -> Costs:
        """The costs of a cluster on one machine, or on several."""
        return self.network if self.network is not None and not one_machine else self

    def coldness(self, moved: float) -> float:
        """Which part of its arrays a step has to get from memory, if so many bytes were moved since the last one."""
        return moved / (moved + self.cache_bytes) if self.cache_bytes else 0.0

    def slower(self, moved: float) -> float:
        """How many times as long bytes take then."""
        return 1.0 + (self.cold_bytes - 1.0) * self.coldness(moved)

    def slower_beside(self, moved: float, own: float) -> float:
        """How many times as long work on large arrays takes as where only ``own`` of these bytes were moved."""
        return max(self.slower(moved) / self.slower(own), 1.0)

    def replaced(self, used: float, own: float) -> float:
        """Which part of what a step would find in the cache with its own use of it, ``own``, it does not if so many bytes are used."""
        there = 1.0 - self.coldness(own)
        return max(self.coldness(used) - self.coldness(own), 0.0) / there if there else 0.0

    def to_json(self) -> str:
        """The costs as text."""
        return json.dumps(dataclasses.asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> Costs:
        """The costs in a text; ValueError if it has none."""
        try:
            fields = json.loads(text)
            network = fields.pop("network", None)
            return cls(**fields, network=None if network is None else cls(**network))
        except (AttributeError, TypeError) as error:
            raise ValueError(f"these are not the costs of messages: {error}") from None


def cache_file() -> Path:
    """Where the costs of this machine are kept."""
    machine = f"{platform.node()} {platform.machine()} {available_cpus()} {platform.python_version()}"
    return folder() / f"messages-8-{hashlib.sha256(machine.encode()).hexdigest()[:12]}.json"


def measured_before() -> Costs | None:
    """The costs that were measured on this machine before."""
    try:
        return Costs.from_json(cache_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):  # never measured, or by another version
        return None


def keep(costs: Costs) -> None:
    """Keeps them for next time."""
    path = cache_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}")
    partial.write_text(costs.to_json(), encoding="utf-8")
    partial.replace(path)
