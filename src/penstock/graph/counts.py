"""How many operations TensorFlow's graph has where a graph of ours stands: seeds that a program does not give are such counts.

One operation of ours may stand for several of TensorFlow's (a loop, a conditional), and the other way round; what builds it says by how many.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from penstock.graph.node import Operation, Tensor


class OperationCounts:
    """What a Graph knows of seeds."""

    _ops: list[Operation]

    def __init__(self) -> None:
        super().__init__()
        self.implied_operations = 0  # that TensorFlow has beside ours
        self._noted: set[Any] = set()
        self._seed: int | None = None

    @property
    def seed(self) -> int | None:
        """The graph-level seed of random ops."""
        return self._seed

    @seed.setter
    def seed(self, seed: int | None) -> None:
        self._seed = seed

    def imply(self, operations: int) -> None:
        """Counts operations that TensorFlow makes here and we do not (or, if negative, the other way round), for the seeds of random ops to come."""
        self.implied_operations += operations

    @contextmanager
    def counting_as(self, operations: int) -> Iterator[None]:
        """What is made inside counts as so many operations: those that TensorFlow makes in its place."""
        before = self.counted_operations()
        yield
        self.imply(operations - (self.counted_operations() - before))

    @contextmanager
    def reading(self, values: Sequence[Any]) -> Iterator[None]:
        """What is made inside reads these values of the forward pass: in the gradients of loops, each of them counts."""
        yield

    @contextmanager
    def zeros_in_place(self, tensor: Tensor) -> Iterator[None]:
        """Zeros that stand for the gradient of ``tensor`` are made inside."""
        yield

    def counted_operations(self) -> int:
        """The number of operations that TensorFlow's graph has."""
        return len(self._ops) + self.implied_operations

    def first_time(self, key: Any) -> bool:
        """True for a key that was not asked for before: what TensorFlow makes once per graph is counted once."""
        is_new = key not in self._noted
        self._noted.add(key)
        return is_new

    def next_op_seed(self) -> int:
        """What stands for the seed of a random op that has none, where the graph has one: the number of operations that TensorFlow's graph has."""
        return self.counted_operations()

    @property
    def has_branches_in_place(self) -> bool:
        """Do branches and loops stand among the operations of TensorFlow's graph? In functions they are functions, with a count of their own."""
        return True
