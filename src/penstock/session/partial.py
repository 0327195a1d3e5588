"""A step that is run in parts: feeds come one by one, and what was computed once is kept until all parts have run."""
from __future__ import annotations

import threading
from typing import Any

from penstock import errors
from penstock.execute.environment import Environment
from penstock.execute.failures import describe
from penstock.execute.plan import kernel_of, references_of
from penstock.execute.step import Step, working_for
from penstock.graph.node import Operation, Tensor
from penstock.ops.transfer import Arg
from penstock.program.copies import with_copies
from penstock.program.ir import Node, Program
from penstock.program.placement import place
from penstock.session.fetches import Fetches, handed_out


class PartialRun:
    """The program of ``partial_run_setup`` with the values it has so far."""

    def __init__(self, program: Program, feeds: list[Tensor], wanted: Fetches, environment: Environment) -> None:
        place(program, environment.devices, environment.soft_placement)
        program = with_copies(program)
        self._order = {node: index for index, node in enumerate(program.nodes)}
        self._args = dict(zip(feeds, program.args))
        self._fetch_of = dict(zip(wanted.tensors, program.fetches))
        self._target_of: dict[Operation, Node] = {
            node.origin: node for node in program.nodes if node.origin is not None and node.definition is not Arg}
        self._targets = set(wanted.targets)
        self._environment = environment
        self._left: set[Any] = {*feeds, *wanted.tensors, *wanted.targets}
        self._values: dict[Node, list[Any]] = {}
        self._step = Step()
        self._lock = threading.Lock()

    def run(self, wanted: Fetches, feeds: dict[Tensor, Any]) -> list[Any]:
        """One part: takes these feeds, computes these fetches."""
        with self._lock, working_for(self._step):
            for element in (*wanted.tensors, *wanted.targets):
                if element not in self._left and (element in self._fetch_of or element in self._targets):
                    raise errors.InvalidArgumentError(None, None, f"The fetch {element.name} has already been fetched.")
            for tensor, value in feeds.items():
                node = self._args.get(tensor)
                if node is None:
                    raise errors.InvalidArgumentError(None, tensor.op, f"{tensor.name} was not declared as a feed in partial_run_setup")
                if node in self._values:
                    raise errors.InvalidArgumentError(None, tensor.op, f"The feed {tensor.name} has already been fed.")
                self._values[node] = [value]
            for target in wanted.targets:
                if target not in self._targets:
                    raise errors.InvalidArgumentError(None, target, f"{target.name} was not declared as a fetch in partial_run_setup")
                self._compute(self._target_of[target])
            values = [self._fetch(tensor) for tensor in wanted.tensors]
            self._left.difference_update(feeds, wanted.tensors, wanted.targets)
            return values

    @property
    def over(self) -> bool:
        """True when all has been fed and fetched."""
        return not self._left

    def _fetch(self, tensor: Tensor) -> Any:
        if tensor not in self._fetch_of:
            raise errors.InvalidArgumentError(None, tensor.op, f"{tensor.name} was not declared as a fetch in partial_run_setup")
        node, index = self._fetch_of[tensor]
        self._compute(node)
        return handed_out(self._values[node], index)

    def _compute(self, goal: Node) -> None:
        """Runs what ``goal`` needs and has not run yet, in order."""
        missing: set[Node] = set()
        stack = [goal]
        while stack:
            node = stack.pop()
            if node not in self._values and node not in missing:
                missing.add(node)
                stack.extend([*(producer for producer, _ in node.inputs), *node.control])
        for node in sorted(missing, key=self._order.__getitem__):
            if node.definition is Arg:
                raise errors.InvalidArgumentError(None, node.origin, (
                    f"Fetch {goal.name} can't be computed from the feeds that have been fed so far: "
                    f"{node.origin.name if node.origin else '?'} is missing."))
            self._run_node(node)

    def _run_node(self, node: Node) -> None:
        values = [self._values[producer][index] for producer, index in node.inputs]
        fed = {arg: 0 for arg in self._args.values()}
        try:
            for position in references_of(node, fed):
                values[position] = values[position].read()
            result = kernel_of(node, self._environment)(*values)
        except Exception as error:
            raise describe(error, node, values)  # noqa: B904 (it sets the cause)
        self._values[node] = [result] if len(node.output_dtypes) == 1 else list(result or ())
