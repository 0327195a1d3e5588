"""Stops inside of a step: behind a node, at nodes that a line of Python made, where a filter holds, or behind every node.

``Stops`` is told of each node that has run (``execute/probe.py``). Where it wants to stop it calls ``at_stop``, which returns when the step is
to go on; meanwhile values can be looked at and changed: a node's own outputs, which the nodes behind it are then given. The numbers of a step that
stops, and of which nothing is changed, are those of a step that is watched.
"""
from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.debug.tfdbg.dump_dir import BAD_VALUE_FILTERS
from penstock.execute.probe import AT_BAD_VALUES, EVERYWHERE, NOWHERE, Frames, Probe, replaced
from penstock.graph.node import Operation
from penstock.program.ir import Node
from penstock.session.watches import probes
from penstock.state.resources import held_value

Filter = Callable[[Any, Any], bool]
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Breakpoint:
    """Where to stop: ``node`` and its name, ``line`` and ``file.py:12``, ``filter`` and its name."""

    kind: str
    where: str

    def __str__(self) -> str:
        return f"{self.kind} {self.where}"


@dataclass(frozen=True)
class Stop:
    """The step waits behind a node."""

    node: Node
    device: str
    why: str
    frames: Frames  # the loops and functions that it lies in, and how many iterations or calls came before
    changeable: bool  # will the nodes behind it see a change?


@dataclass(frozen=True)
class Datum:
    """What a filter is told of a tensor, as of a dumped one."""

    node_name: str
    output_slot: int

    @property
    def tensor_name(self) -> str:
        """Such as ``y:0``."""
        return f"{self.node_name}:{self.output_slot}"


class Stops(Probe):
    """The breakpoints of a debugger, and the values of the run at hand. ``url`` is its address in watches."""

    def __init__(self, filters: dict[str, Filter], at_stop: Callable[[Stop], None]) -> None:
        self.filters, self._at_stop = filters, at_stop
        self.name = f"stops{next(_numbers)}"
        self.url = f"probe://{self.name}"
        probes[self.name] = self
        self.breakpoints: list[Breakpoint] = []
        self.stepping = False
        self.watching = False  # values are kept, and nothing stops
        self.values: dict[str, Any] = {}  # by the names of tensors, in the order in which they were computed last
        self.nodes: dict[str, Node] = {}
        self._changes: dict[int, Any] = {}
        self._passed: set[str] = set()  # filters that have held in this run: where they hold first is what counts
        self._lock = threading.Lock()

    def close(self) -> None:
        """Nothing is watched any more."""
        probes.pop(self.name, None)

    @property
    def wanted(self) -> bool:
        """Does a run have to be watched?"""
        return self.stepping or self.watching or bool(self.breakpoints)

    def begin(self, fed: dict[str, Any]) -> None:
        """A run begins, with these feeds."""
        self.values, self.nodes, self._passed = dict(fed), {}, set()

    def toggle(self, breakpoint: Breakpoint) -> bool:
        """Sets a breakpoint, or takes it away if it is there; True if it is there now."""
        if breakpoint in self.breakpoints:
            self.breakpoints.remove(breakpoint)
            return False
        self.breakpoints.append(breakpoint)
        return True

    def change(self, slot: int, value: Any) -> None:
        """While the step waits behind a node: what the node gives instead."""
        self._changes[slot] = value

    # --- the probe ---------------------------------------------------------------------------------------------------

    @property
    def waits(self) -> str:
        if self.stepping or any(each.kind != "filter" or self.filters[each.where] not in BAD_VALUE_FILTERS for each in self.breakpoints):
            return EVERYWHERE
        return AT_BAD_VALUES if self.breakpoints else NOWHERE

    def tell(self, frames: Frames, device: str, node: Node, outputs: list[Any], waits: bool = True) -> list[Any] | None:
        with self._lock:  # nodes of other devices wait, too
            self.nodes[node.name] = node
            held = [held_value(value) for value in outputs]
            for slot, value in enumerate(held):
                if isinstance(value, (np.ndarray, np.generic)):
                    name = f"{node.name}:{slot}"
                    self.values.pop(name, None)
                    self.values[name] = value
            why = self._why(node, held)
            if not why:
                return None
            self._changes = {}
            self._at_stop(Stop(node, device, why, frames, waits))
            self.values.update((f"{node.name}:{slot}", value) for slot, value in self._changes.items())
            return replaced(outputs, self._changes) if self._changes else None

    def _why(self, node: Node, outputs: list[Any]) -> str:
        if self.stepping:
            return "step"
        for each in self.breakpoints:
            if (each.kind == "filter" and each.where not in self._passed
                    and any(self._passes(each.where, node.name, slot, value) for slot, value in enumerate(outputs))):
                self._passed.add(each.where)
                return str(each)
            if (node.origin is not None and _is_at(each, node.origin)) or each == Breakpoint("node", node.name):
                return str(each)
        return ""

    def _passes(self, name: str, node: str, slot: int, value: Any) -> bool:
        return isinstance(value, (np.ndarray, np.generic)) and bool(self.filters[name](Datum(node, slot), np.asarray(value)))


def user_line(operation: Operation | None) -> tuple[str, int, str]:
    """(file, line, text) of the program's innermost line that made an operation; ("", 0, "") if there is none."""
    frames = operation.traceback if operation is not None else []
    return (frames[-1][0], frames[-1][1], frames[-1][3]) if frames else ("", 0, "")


def _is_at(breakpoint: Breakpoint, operation: Operation) -> bool:
    if breakpoint.kind == "node":
        return breakpoint.where == operation.name
    if breakpoint.kind != "line" or not operation.inputs:  # (constants of a line have nothing to tell)
        return False
    file, line, _ = user_line(operation)
    path, _, number = breakpoint.where.rpartition(":")
    return str(line) == number and (file == path or os.path.basename(file) == path)


def converted(value: Any, like: Any) -> Any:
    """A person's number, or nested list of numbers, as a value in the place of another one; ValueError if it does not fit."""
    like = np.asarray(like)
    try:
        array = np.asarray(value).astype(like.dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{value!r} is no {like.dtype}: {error}") from None
    if array.shape == like.shape:
        return array
    if array.ndim == 0:
        return np.broadcast_to(array, like.shape).copy()
    raise ValueError(f"a value of shape {list(array.shape)} does not fit {list(like.shape)}")
