"""A region while it is made native: its nodes as items, the edges between them as values whose shapes are known."""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.graph.dtypes import DType, as_dtype
from penstock.native.calls import Array
from penstock.program.ir import Node


@dataclass(eq=False, slots=True, repr=False)
class Value:
    """An edge."""

    shape: tuple[int, ...]
    dtype: DType
    known: np.ndarray | None = None  # its value, if that is known while code is made
    item: Item | None = None  # the producer; None: an input of the region
    users: list[Item] = field(default_factory=list)
    wanted: bool = False  # needed outside of the region: it has to exist in memory
    array: Array | None = None  # where it is, once that is decided
    element: tuple[int, ...] | None = None  # of a list: the shape of its elements
    store: Any = None  # of a handle: the array of tensors, an ``arrays.Store``
    either: Either | None = None  # if its shape depends on a condition; its own is then that of the first case, and means nothing

    @property
    def nbytes(self) -> int:
        """Of its elements."""
        return math.prod(self.shape) * self.dtype.size

    def __repr__(self) -> str:
        return f"<{self.dtype.name}{list(self.shape)} of {self.item}>"


@dataclass(eq=False, slots=True, repr=False)
class Either:
    """A value in two cases, of different shapes: if a condition, which is computed in the step, is true, and if it is not."""

    condition: Value
    cases: tuple[Value, Value]
    source: Node  # the conditional that such shapes come from


@dataclass(eq=False, slots=True, repr=False)
class Item:
    """A node."""

    node: Node
    inputs: list[Value]
    outputs: list[Value]
    epilogue: list[Item] = field(default_factory=list)  # items that this one, a product, does on the way: see ``fusion/epilogues.py``
    after: list[Item] = field(default_factory=list)  # what has to run before: control dependencies, reads and writes of variables
    part_of: Item | None = None  # the item that was taken apart, if this is a part of one
    functions: list[Any] = field(default_factory=list)  # of a loop or a branch: see ``specialise/flow.py``

    def __repr__(self) -> str:
        return f"<item {self.node.name}>"


def held_as(dtype: DType) -> DType:
    """The type of a value in a region: of a quantized one, that of its integers."""
    base = dtype.base_dtype
    return as_dtype(base.np) if base.is_quantized else base


def reported_items(group: Sequence[Item]) -> list[Item]:
    """The items of the user's program that a group of items computes: what reports and errors are about."""
    return list(dict.fromkeys(each.part_of or each for item in group for each in (item, *item.epilogue)))


def is_reference(value: Value) -> bool:
    """True of a reference to a variable, which sees its new value, as an update hands it on."""
    if value.item is None:
        return False
    maker = value.item.epilogue[-1] if value.item.epilogue else value.item
    return bool(maker.node.output_dtypes[maker.outputs.index(value)].is_ref)
