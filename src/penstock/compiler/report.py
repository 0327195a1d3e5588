"""What a plan did: which kernels it ran, how long each took and how much it moved, and what NumPy ran instead of native code, and why.

Whoever runs nodes together (a region) has a ``describe() -> PlanReport`` of what happened inside; ``penstock explain`` asks for it and prints all.
Seconds, operations and bytes are those of one step on average.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable


@dataclass
class KernelReport:
    """One kernel: the names of the nodes that it computes, and what it costs in a step."""

    name: str
    nodes: tuple[str, ...]
    seconds: float
    flops: float = 0.0
    bytes: float = 0.0


@dataclass
class PlanReport:
    """All kernels of a plan in the order in which they run; ``fallbacks`` are (name, op type, why) of nodes that NumPy runs."""

    kernels: list[KernelReport]
    arena_bytes: int = 0
    fallbacks: list[tuple[str, str, str]] = field(default_factory=list)
    title: str = ""
    runs: int = 0

    @property
    def seconds(self) -> float:
        """Of a step, in kernels."""
        return sum(kernel.seconds for kernel in self.kernels)


@runtime_checkable
class Described(Protocol):
    """Something that runs several nodes as one, and knows what happened inside."""

    def describe(self) -> PlanReport:
        """Its kernels since it was made."""


class Watch:
    """Whether somebody wants to know the time of each kernel: measuring it costs time too."""

    on = False


watch = Watch()
