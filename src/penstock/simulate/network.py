"""Links: how long bytes take from one machine to another.

Each machine has one link with a direction out and a direction in. Messages stand in line at either end; in between they take the latency.
"""
from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.simulate.clock import Clock
from penstock.simulate.machine import SimulatedMachine

_UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


@dataclass(frozen=True)
class NetworkSpeed:
    """What is between machines: bytes per second of each link and direction, and seconds from end to end.

    >>> NetworkSpeed.parse("8Gbit,0.5ms")
    NetworkSpeed(bandwidth=1000000000.0, latency=0.0005)
    """

    bandwidth: float
    latency: float

    @classmethod
    def parse(cls, text: str) -> NetworkSpeed:
        """``10Gbit,50us``; ValueError if it is something else."""
        match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)bit(?:/s)?\s*,\s*([0-9]+(?:\.[0-9]+)?)\s*(s|ms|us|ns)", text.strip())
        if match is None or not float(match[1]):
            raise ValueError(f"{text!r} is not a network: 10Gbit,50us is one")
        return cls(float(match[1]) * _UNITS[match[2]] / 8, float(match[3]) * _TIMES[match[4]])


class NetworkLink:
    """A machine's end of the network. ``sent`` and ``received`` are bytes."""

    def __init__(self, network: NetworkSpeed) -> None:
        self.network = network
        self.sent = self.received = 0.0
        self.free_out = self.free_in = 0.0  # when the last message that stands in line has passed


class Fabric:
    """The links of all machines. Messages inside a machine pass none of them."""

    def __init__(self, clock: Clock, network: NetworkSpeed, local_latency: float) -> None:
        self.network, self.links = network, dict[SimulatedMachine, NetworkLink]()
        self._clock, self._local_latency = clock, local_latency

    def link(self, machine: SimulatedMachine) -> NetworkLink:
        """A machine's end."""
        if machine not in self.links:
            self.links[machine] = NetworkLink(self.network)
        return self.links[machine]

    def send(self, origin: SimulatedMachine, goal: SimulatedMachine, size: float, arrive: Callable[..., Any], *arguments: Any) -> None:
        """Calls ``arrive`` when the last byte is there."""
        if origin is goal:
            self._clock.after(self._local_latency, self._wake, origin, origin.waker, arrive, arguments)
            return
        there, here = self.link(goal), self.link(origin)
        here.sent += size
        there.received += size
        start = max(self._clock.now, here.free_out)
        here.free_out = start + size / here.network.bandwidth
        latency = max(here.network.latency, there.network.latency)
        began = max(there.free_in, start + latency)
        there.free_in = max(began + size / there.network.bandwidth, here.free_out + latency)  # not before the last byte has left
        self._clock.after(there.free_in - self._clock.now, arrive, *arguments)

    def _wake(self, machine: SimulatedMachine, core: int, arrive: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        machine.waker = core  # where the message was sent
        arrive(*arguments)
