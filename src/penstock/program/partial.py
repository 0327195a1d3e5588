"""A step that is run in parts: feeds come one by one, and what was computed once is not computed again.

Each part is a step of its own, run by a local session, or by a master over its cluster. What later parts will need of it is fetched
along with what the client wants, kept here, and fed to them; an operation that has run is not waited for again. Handles of variables and other
resources are not values: the operations that give them have no effect and run in every part that needs them.
"""
from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

from penstock.errors import InvalidArgumentError
from penstock.graph import dtypes
from penstock.graph.node import Operation, Tensor
from penstock.graph.traverse import operations_behind
from penstock.program.ir import Program

# (feeds, fetches, targets, operations that have run in earlier parts) -> the values of the fetches
RunPart = Callable[[dict[Tensor, Any], list[Tensor], list[Operation], "frozenset[Operation]"], list[Any]]


class PartialSteps:
    """The steps of a session that are under way in parts, by their handles."""

    def __init__(self) -> None:
        self._steps: dict[str, PartialStep] = {}
        self._numbers = itertools.count()

    def setup(self, feeds: list[Tensor], fetches: list[Tensor], targets: list[Operation]) -> str:
        """Prepares a step; returns its handle."""
        if not fetches and not targets:
            raise InvalidArgumentError(None, None, "Must specify at least one target to fetch or execute.")
        handle = f"partial_run_{next(self._numbers)}"
        self._steps[handle] = PartialStep(feeds, fetches, targets)
        return handle

    def run(self, handle: str, feeds: dict[Tensor, Any], fetches: list[Tensor], targets: list[Operation], run_part: RunPart) -> list[Any]:
        """The values of the fetches of the next part."""
        step = self._steps.get(handle)
        if step is None:
            raise InvalidArgumentError(None, None, f"Must run 'setup' before performing partial runs! There is no handle {handle!r}.")
        with step.lock:
            wanted = step.begin(feeds, fetches, targets)
            values = dict(zip(wanted, run_part(step.values_to_feed(), wanted, [op for op in targets if op not in step.done], step.done)))
            if step.ended(values, [*feeds, *fetches, *targets]):
                self._steps.pop(handle, None)
            return [values[tensor] for tensor in fetches]


class PartialStep:
    """What a step in parts has computed so far; decides what each part has to run."""

    def __init__(self, feeds: list[Tensor], fetches: list[Tensor], targets: list[Operation]) -> None:
        self._feeds, self._declared = set(feeds), {*fetches, *targets}
        self._fetches = set(fetches)
        self._left: set[Any] = self._feeds | self._declared
        self._all = set(operations_behind(fetches, targets, self._feeds))
        self._known: dict[Tensor, Any] = {}
        self.done: frozenset[Operation] = frozenset()
        self.lock = threading.Lock()

    def begin(self, feeds: dict[Tensor, Any], fetches: list[Tensor], targets: list[Operation]) -> list[Tensor]:
        """Takes the feeds of a part; returns what to fetch in it: what the client wants, and what later parts will need."""
        self._check(feeds, [*fetches, *targets])
        known = {**self._known, **feeds}
        runs = {op for op in operations_behind(fetches, targets, known) if op not in self.done}
        missing = sorted(tensor.name for tensor in self._feeds if tensor not in known and tensor.op in runs)
        if missing:
            raise InvalidArgumentError(None, None, f"Fetches can't be computed from the feeds that have been fed so far: {missing} are missing.")
        self._known = known
        self._runs = frozenset(op for op in runs if not gives_handle(op))
        wanted = {tensor for op in self._all - runs - self.done for tensor in op.inputs} | self._fetches
        kept = [tensor for tensor in wanted if tensor.op in self._runs and tensor not in known]
        return list(dict.fromkeys([*fetches, *sorted(kept, key=lambda tensor: tensor.name)]))

    def _check(self, feeds: dict[Tensor, Any], asked: list[Any]) -> None:
        for tensor in feeds:
            if tensor not in self._feeds:
                raise InvalidArgumentError(None, None, f"The feed {tensor.name} was not specified in partial_run_setup.")
            if tensor in self._known:
                raise InvalidArgumentError(None, None, f"The feed {tensor.name} has already been fed.")
        for element in asked:
            if element not in self._declared:
                raise InvalidArgumentError(None, None, f"The fetch {element.name} was not specified in partial_run_setup.")
            if element not in self._left:
                raise InvalidArgumentError(None, None, f"The fetch {element.name} has already been fetched.")

    def replace(self, tensor: Tensor, value: Any) -> None:
        """Later parts go on with another value."""
        self._known[tensor] = value

    def values_to_feed(self) -> dict[Tensor, Any]:
        """What to feed in the part: all values that there are."""
        return dict(self._known)

    def ended(self, values: dict[Tensor, Any], given: list[Any]) -> bool:
        """The part has run; these are its values, and these the feeds and fetches of it. True if it was the last one."""
        self._left.difference_update(given)
        self._known.update((tensor, value) for tensor, value in values.items() if not gives_handle(tensor.op))
        self.done |= self._runs
        return not self._left


def gives_handle(op: Operation) -> bool:
    """True for a variable, a queue and the like."""
    return not op.inputs and any(tensor.dtype.is_ref or tensor.dtype.base_dtype in (dtypes.resource, dtypes.variant) for tensor in op.outputs)


def without(program: Program, done: frozenset[Operation], targets: list[Operation]) -> Program:
    """A program in which no node waits for operations that have run already, and they do not run again."""
    program = program.copy()
    for node in program.nodes:
        node.control = [other for other in node.control if other.origin not in done]
    goals = set(targets)
    stack = [node for node, _ in program.fetches] + [node for node in program.nodes if node.origin in goals and node not in program.args]
    needed_nodes = set(program.args)
    while stack:
        node = stack.pop()
        if node not in needed_nodes:
            needed_nodes.add(node)
            stack.extend(node.before)
    program.nodes = [node for node in program.nodes if node in needed_nodes]
    return program
