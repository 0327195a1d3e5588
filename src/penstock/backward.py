"""The graph of a backward function, and how many operations TensorFlow 1.15 has in its place: seeds that are not given follow from their number.

There a gradient is built beside what it belongs to. That of a branch uses the branch's tensors themselves. That of a loop cannot: each iteration of
the forward loop *pushes* a value that is read onto a stack, and the backward loop *pops* it. Constants are made anew, what the loop does not change
*enters* the backward loop, and shapes are computed in the forward loop, so that they are what is pushed. Each happens once per loop and value.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from penstock.graph.composite import IndexedSlices
from penstock.graph.dtypes import DType
from penstock.graph.function import FuncGraph
from penstock.graph.graph import Graph, default_graph
from penstock.graph.node import Operation, Tensor
from penstock.graph.properties import Extents
from penstock.graph.shape import TensorShape
from penstock.graph.stacks import gated_calls

_PUSH = 3  # a constant (no limit), the stack, the push
_POP = 1


class Backward(FuncGraph):
    """The graph of a backward function: tensors of the forward function are obtained through ``saved``."""

    def __init__(self, name: str, forward: FuncGraph, saved: Callable[[Backward, Tensor], Tensor], loop: LoopReads | None = None) -> None:
        super().__init__(name, default_graph())
        self._forward, self._saved = forward, saved
        self._known: dict[Tensor, Tensor] = {}
        self._sources: dict[Tensor, Tensor] = {}  # the other way round
        self._observes = True
        self.loop = loop  # what TensorFlow pushes and pops, if this is the body of a loop

    @property
    def has_branches_in_place(self) -> bool:
        """Where it is used, it stands in place."""
        return self.outer.has_branches_in_place

    def add_input(self, dtype: DType, shape: TensorShape, name: str) -> Tensor:
        """A further argument: a tensor of the forward pass, which TensorFlow uses itself."""
        self.imply(-1)
        return super().add_input(dtype, shape, name)

    def can_capture(self, graph: Graph) -> bool:
        """The forward function, and what stands around this one."""
        return graph is self._forward or super().can_capture(graph)

    def capture(self, tensor: Tensor) -> Tensor:
        """A tensor of the forward function as it was when that ran, or a tensor from outside."""
        if tensor.op.graph is not self._forward:
            return super().capture(tensor)
        if tensor not in self._known:
            self._known[tensor] = self._from_forward(tensor)
            self._sources[self._known[tensor]] = tensor
        return self._known[tensor]

    def _from_forward(self, tensor: Tensor) -> Tensor:
        outer = self._forward.outer_tensor(tensor)
        if outer is not None:  # it does not change while the forward function runs
            return super().capture(outer)
        with self.counting_as(0):
            if _is_constant(tensor):
                return tensor.op.definition.add_node(self, self.unique_name("constant"), (), dict(tensor.op.attrs)).outputs[0]
            return self._saved(self, tensor)

    # --- what is read of the forward pass ------------------------------------------------------------------------------

    def _add(self, definition: Any, name: str, inputs: tuple[Tensor, ...], *rest: Any) -> Operation:
        op = super()._add(definition, name, inputs, *rest)
        if self._observes:
            for tensor in inputs:
                source = self._sources.get(tensor)
                if source is not None:
                    self._read(Extents(source) if definition.shape_only else source)
        return op

    @contextmanager
    def reading(self, values: Sequence[Tensor | Extents]) -> Iterator[None]:
        """What is made inside reads these values in TensorFlow."""
        observes, self._observes = self._observes, False
        yield
        self._observes = observes
        for value in values:
            self._read(value)

    def _read(self, value: Tensor | Extents) -> None:
        place = Place(self)
        if place.loop is not None:
            place.loop.read(value, place)

    @contextmanager
    def zeros_in_place(self, tensor: Tensor) -> Iterator[None]:
        """Zeros for a tensor of the forward pass are made inside: in a loop, of its shape then."""
        if Place(self).loop is None:
            yield
            return
        known = tensor.shape.is_fully_defined()
        with self.counting_as(1 if known else 3), self.reading([] if known else [Extents(tensor)]):
            yield


def _entry(tensor: Tensor, graphs: Sequence[Backward]) -> tuple[Tensor, int, LoopReads] | None:
    """If a loop does not change ``tensor``: what it is outside of the innermost one, and where and which loop that is."""
    for position in range(len(graphs) - 1, -1, -1):
        graph = graphs[position]
        while tensor.op.definition.forwards_reference and tensor.op._inputs:
            tensor = tensor.op._inputs[0]
        outer = graph._forward.outer_tensor(tensor)
        if outer is None or (graph.loop is not None and tensor in graph.loop.read_inside):
            return None
        if graph.loop is not None:
            return outer, position, graph.loop
        tensor = outer
    return None


def _is_constant(tensor: Tensor) -> bool:
    return tensor.op.definition.static is not None and not tensor.op._inputs


class Place:
    """Where the forward function of a backward one stands: the loops and branches around it that have gradients, from the outermost one on."""

    def __init__(self, graph: Graph) -> None:
        self.graphs: list[Backward] = []
        while isinstance(graph, FuncGraph):
            if isinstance(graph, Backward):
                self.graphs.insert(0, graph)
            graph = graph.outer
        self.loops = [each.loop for each in self.graphs if each.loop is not None]

    @property
    def loop(self) -> LoopReads | None:
        """The innermost loop."""
        return self.loops[-1] if self.loops else None

    @property
    def inner_branches(self) -> int:
        """How many branches there are in the innermost loop."""
        return next((number for number, each in enumerate(reversed(self.graphs)) if each.loop is not None), len(self.graphs))

    @property
    def outer_branches(self) -> int:
        """How many branches there are around the innermost loop."""
        return len(self.graphs) - len(self.loops) - self.inner_branches

    def push_and_pop(self, dead_branch: bool = False) -> int:
        """The operations of one value that goes from the forward to the backward loop. In the branch that is not taken, nothing guards the push."""
        loop, guarded = self.loop, self.inner_branches + self.outer_branches > 0
        assert loop is not None
        inner = 0 if dead_branch else self.inner_branches
        number = _PUSH + _POP + 2 * len(self.loops) + self.outer_branches + inner + guarded
        number += loop.first_time("backward order") and loop.is_parallel
        if self.inner_branches:
            return number + loop.first_time("forward order")
        return number + (self._predicate() if guarded else 0)

    def _predicate(self) -> int:
        """The predicate of the nearest branch around the loop enters it, and the loops between them, too."""
        branch = next(each for each in reversed(self.graphs) if each.loop is None)
        inside = [each.loop for each in self.graphs[self.graphs.index(branch):] if each.loop is not None]
        return sum(loop.first_time(("predicate", branch._forward)) for loop in inside)


class LoopReads:
    """What the gradient of one loop reads of the forward pass, and how many operations TensorFlow has for that."""

    def __init__(self, is_parallel: bool, read_inside: set[Tensor]) -> None:
        self.is_parallel = is_parallel
        self.read_inside = read_inside  # captures of the forward loop that TensorFlow computes there: variables are read in it
        self.operations = 0
        self._noted: set[Any] = set()

    def first_time(self, key: Any) -> bool:
        """True for a key that was not asked for before."""
        is_new = key not in self._noted
        self._noted.add(key)
        return is_new

    def read(self, value: Tensor | Extents, place: Place) -> None:
        """``value`` is used by an operation of the backward function at ``place``."""
        if isinstance(value, Extents):
            if value.computed or not value.tensor.shape.is_fully_defined():  # a constant otherwise
                self.operations += place.push_and_pop()  # each question has a node of its own
        elif self.first_time(value):
            self.operations += self._enter(value, place)

    def _enter(self, tensor: Tensor, place: Place) -> int:
        """A value that loops do not change enters them; else it is pushed where it is computed."""
        graphs, passed = list(place.graphs), list[LoopReads]()
        while (entry := _entry(tensor, graphs)) is not None:
            tensor, position, loop = entry
            del graphs[position:]
            passed.insert(0, loop)
        remaining = Place(graphs[-1]) if graphs else None
        if remaining is None or remaining.loop is None:
            return sum(loop.first_time(("entered", tensor)) for loop in passed)
        number = 1 if _is_constant(tensor) else remaining.push_and_pop()
        return number + (0 if _is_constant(tensor) else len(passed))


# --- how many operations TensorFlow's gradients of loops and branches have -----------------------------------------------

_COUNTERS = 18  # of the iterations, forwards and backwards
_SUM = 6  # Enter, Merge, Switch, Add, NextIteration, Exit
_SWITCH = 6  # of what a branch takes from outside: Switch, Identity, zeros for the branch that is not taken, Merge
_SMALL = 1000  # elements of a constant; more are a Fill


def nodes_of_counters(outside: Place) -> int:
    """The counters of iterations; that of an inner loop goes through the stack of the outer one."""
    return _COUNTERS + (outside.push_and_pop() if outside.loop else 0)


def nodes_of_exit(tensor: Tensor, has_gradient: bool, outside: Place) -> int:
    """What leaves the forward loop enters the backward one, as zeros if it has no gradient."""
    if has_gradient:
        return 1
    if tensor.shape.is_fully_defined():
        return 1 + _nodes_of_zeros(tensor.shape)
    return 1 + (3 + outside.push_and_pop() if outside.loop else 1)


def _nodes_of_zeros(shape: TensorShape) -> int:
    return 1 if (shape.num_elements() or 0) < _SMALL else 3


def nodes_of_merge() -> int:
    """The gradient of a Merge is a Switch, both of whose outputs wait for each other if all gradients of an operation do."""
    return 4 if gated_calls.top() else 1


def nodes_of_variable(start: Tensor, is_used: bool) -> int:
    """Merge, Switch, NextIteration and Exit; if no iteration uses what the one before has computed, zeros go around."""
    return 3 + nodes_of_merge() + (0 if is_used else 1 if start.shape.is_fully_defined() else 4)


def nodes_of_sum(grad: Any, tensor: Tensor, outside: Place) -> int:
    """The gradients of what the loop does not change are added up; those of rows are put one behind the other."""
    if isinstance(grad, IndexedSlices):
        extents = grad.dense_shape is not None
        return (1 if grad.values.shape.is_fully_defined() else 10) + 1 + extents + 14 + 6 * extents
    if grad.shape.is_fully_defined():
        return 1 + _SUM
    return 3 + (outside.push_and_pop() if outside.loop else 0) + _SUM


def nodes_of_predicate(op: Operation) -> int:
    """The predicate of a conditional in a loop, as the backward loop knows it."""
    place = Place(default_graph())
    return place.push_and_pop() if place.loop is not None and place.loop.first_time(("condition", op)) else 0


def nodes_of_switch(source: Tensor, branch: Backward) -> int:
    """The gradient of what a branch takes from outside, and the zeros for the other branch."""
    place = Place(branch)
    if place.loop is None:
        return _SWITCH
    return 3 if source.shape.is_fully_defined() else 5 + place.push_and_pop(dead_branch=True)
