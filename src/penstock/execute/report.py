"""What a plan did: which kernels it ran, how long each took and how much it moved, and what NumPy ran instead of native code, and why.

What runs nodes together (a region) has a ``describe() -> PlanReport`` of what happened inside; ``penstock explain`` asks for it and prints all.
Seconds, operations and bytes are those of one step on average.
"""
from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from penstock.program.ir import Node


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
    """All kernels of a plan in the order in which they run; ``fallbacks`` are (name, op type, why) of nodes that NumPy runs.

    ``switches`` tell, for each region, when native code took over from NumPy, and why.
    """

    kernels: list[KernelReport]
    arena_bytes: int = 0
    fallbacks: list[tuple[str, str, str]] = field(default_factory=list)
    title: str = ""
    runs: int = 0
    first: float = 0.0  # seconds of a run before those, for which no native code was made
    switches: list[str] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """Of a step, in kernels."""
        return sum(kernel.seconds for kernel in self.kernels)


class Described(Protocol):
    """Something that runs several nodes as one, and knows what happened inside."""

    def describe(self) -> PlanReport:
        """Its kernels since it was made."""


class Stopwatch:
    """A kernel that counts its calls, seconds, operations and bytes."""

    def __init__(self, node: Node, kernel: Callable[..., Any], inside: Described | None = None) -> None:
        self.node, self._kernel, self._inside = node, kernel, inside
        self.calls, self.seconds, self.flops, self.bytes = 0, 0.0, 0.0, 0.0

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        start = time.perf_counter()
        result = self._kernel(*inputs, **options)
        self.seconds += time.perf_counter() - start
        self.calls += 1
        outputs = list(result) if isinstance(result, (tuple, list)) else [result]
        self.bytes += sum(map(_bytes, (*inputs, *outputs))) if inputs else 0  # a variable or a constant moves nothing
        self.flops += self._count(inputs, outputs)
        return result

    def _count(self, inputs: tuple[Any, ...], outputs: list[Any]) -> float:
        definition = self.node.definition
        if definition.flops is not None:
            return float(definition.flops(inputs, outputs))
        return float(sum(getattr(value, "size", 0) for value in outputs)) if definition.elementwise else 0.0

    def inside(self) -> PlanReport | None:
        """What a node that stands for several tells of them."""
        return self._inside.describe() if self._inside is not None else None

    def report(self, runs: int) -> KernelReport:
        """What it did per run of the plan."""
        return KernelReport(self.node.definition.type, (self.node.name,), self.seconds / runs, self.flops / runs, self.bytes / runs)


def _bytes(value: Any) -> int:
    """Of an array, or of the one that a variable holds."""
    return getattr(getattr(value, "value", value), "nbytes", 0)


class Watch:
    """Whether the time of each kernel is measured, which costs time too."""

    on = False


watch = Watch()
