"""Which items can share a loop: the space that each runs over, and what may stand together in one.

Axes of one element do not count. In a group with a reduction there are two levels: items over the whole space, and items over what the reduction
keeps of it. Something of the whole space may use a result of the reduction only if the kernel can go through a row once more.
"""
from __future__ import annotations

import enum
import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.graph.opdef import OpDef
from penstock.native.fusion.loop_nest import result_types
from penstock.native.fusion.lowering import why_not
from penstock.native.fusion.reducers import Folding
from penstock.native.items import Item, Value
from penstock.native.unsupported import Unsupported

_LONGEST_ROW = 1 << 15  # elements: a row that is run through several times has to stay in the cache
_FEWEST_ROWS = 16  # that are worth it if they are long: threads share rows
_SHORTEST_ROW = 33  # elements: what a row begins and ends with takes longer than one or two vectors of it, so one such loop over many rows is enough
_MANY = 1 << 15  # elements of all rows
_MOST_LOOPS = 6
_MOST_INPUTS = 400  # of an item: LLVM takes a second for so many, and a minute for ten times as many

FOLD_KINDS = {"sum": "sum", "mean": "sum", "prod": "prod", "max": "max", "min": "min", "and": "and", "or": "or"}


Level = tuple[bool, int]  # is it kept, and how many loops over the reduced axes have to be over before it is known


class Kind(enum.Enum):
    """What an item is for the fusion."""

    OTHER = 0  # not fused
    ELEMENT = 1  # an elementwise op, or an update of variables
    REDUCE = 2
    SAME = 3  # its output is its source, but for axes of one element
    SPREAD = 4  # its output is its source, broadcast


@dataclass(frozen=True)
class Space:
    """A shape without axes of one element, and which of its axes are reduced."""

    shape: tuple[int, ...]
    reduced: frozenset[int] = frozenset()

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def kept_axes(self) -> tuple[int, ...]:
        """The axes that are not reduced."""
        return tuple(axis for axis in range(len(self.shape)) if axis not in self.reduced)

    @property
    def result(self) -> tuple[int, ...]:
        """The shape of what is kept."""
        return tuple(self.shape[axis] for axis in self.kept_axes)

    def join(self, other: Space) -> Space | None:
        """The space of both, if there is one."""
        if self == other:
            return self
        if self.reduced and other.reduced:
            return None
        larger, smaller = (self, other) if self.reduced else (other, self)
        return larger if smaller.shape in (larger.shape, larger.result) else None

    @property
    def rows(self) -> bool:
        """True if rows are such that a kernel can go through them several times."""
        if len(self.shape) - 1 not in self.reduced:
            return False
        length = math.prod(self.shape[axis] for axis in self.reduced)
        if length < _SHORTEST_ROW and self.size > _MANY:
            return False
        return length <= _LONGEST_ROW and (self.size <= 1 << 17 or self.size // max(length, 1) >= _FEWEST_ROWS)

    def _is_aligned(self, operand: tuple[int, ...], shape: tuple[int, ...]) -> bool:
        """True if a kept value, broadcast to an item of the whole space, runs along the kept axes."""
        padded = (1,) * (len(shape) - len(operand)) + operand
        along = [mine for mine, extent in zip(padded, shape) if extent != 1]
        return along == [1 if axis in self.reduced else extent for axis, extent in enumerate(self.shape)]

    def level(self, item: Item, kind: Kind, levels: Mapping[Value, Level]) -> Level | None:
        """The level of an item among others, by their values' levels; None if it cannot stand there."""
        inner = [(value, *levels[value]) for value in item.inputs if value in levels]
        phase = max((when for _, _, when in inner), default=0)
        if kind is Kind.REDUCE:
            return (True, phase + 1) if not any(kept for _, kept, _ in inner) else None
        shape = item_shape(item)
        if without_ones(shape) == self.shape:
            return (False, phase) if all(not kept or self._is_aligned(value.shape, shape) for value, kept, _ in inner) else None
        return (True, phase) if all(kept and without_ones(value.shape) == self.result for value, kept, _ in inner) else None

    def admits(self, level: Level, with_updates: bool) -> bool:
        """True if a group over this space may have an item of this level."""
        kept, phase = level
        again = phase > 1 if kept else phase > 0
        return not again or (phase < _MOST_LOOPS and self.rows and not with_updates)


def without_ones(shape: Sequence[int]) -> tuple[int, ...]:
    """A shape without axes of one element."""
    return tuple(extent for extent in shape if extent != 1)


def item_shape(item: Item) -> tuple[int, ...]:
    """The shape of what an elementwise item computes."""
    return item.outputs[0].shape if item.outputs else updated_variables(item)[0].shape


def updated_variables(item: Item) -> list[Value]:
    """The variables that an item writes to, in the order of its op's ``updates``."""
    definition = item.node.definition
    by_name = {arg.name: values for arg, values in definition.group(item.inputs, item.node.attrs)}
    return [value for name in definition.updates for value in by_name[name]]


def operands(item: Item) -> list[bool]:
    """For each input: does ``lower`` take it?"""
    return used_inputs(item.node.definition, item.node.attrs, len(item.inputs))


@functools.cache
def _operand_positions(definition: OpDef) -> frozenset[int]:
    """Which arguments ``lower`` takes."""
    assert definition.lower is not None
    return frozenset(index for index in definition.parameters_of(definition.lower) if isinstance(index, int))


def used_inputs(definition: OpDef, attrs: dict[str, Any], count: int) -> list[bool]:
    """For each flat input: does ``lower`` take it?"""
    taken = _operand_positions(definition)
    if not definition.has_lists:
        return [index in taken for index in range(count)]
    return [index in taken for index, (_, values) in enumerate(definition.group(list(range(count)), attrs)) for _ in values]


def axes_of(item: Item) -> frozenset[int] | None:
    """The axes of a reduction, counted without axes of one element; None if they are not known."""
    known, shape = item.inputs[1].known, item.inputs[0].shape
    if known is None:
        return None
    axes = {int(axis) for axis in np.ravel(known)}
    if not all(-len(shape) <= axis < len(shape) for axis in axes):
        return None
    reduced = [axis in axes or axis - len(shape) in axes for axis in range(len(shape))]
    return frozenset(place for place, is_reduced in enumerate(each for each, extent in zip(reduced, shape) if extent != 1) if is_reduced)


def source(item: Item) -> Value:
    """What an item hands on, in another shape."""
    definition = item.node.definition
    return item.inputs[definition.position[definition.broadcasts] if definition.broadcasts else 0]


def kind_of(item: Item) -> Kind:
    """What an item is for the fusion."""
    definition = item.node.definition
    if definition.reduces:
        axes = axes_of(item)
        if axes is None or not _foldable(item):
            return Kind.OTHER
        return Kind.REDUCE if axes else Kind.SAME
    if definition.keeps_order:
        return Kind.SAME if without_ones(item.inputs[0].shape) == without_ones(item.outputs[0].shape) else Kind.OTHER
    if definition.broadcasts:
        return Kind.SPREAD if _fits(source(item).shape, item.outputs[0].shape) else Kind.OTHER
    return Kind.ELEMENT if _elementwise(item) else Kind.OTHER


def _foldable(item: Item) -> bool:
    definition, dtype = item.node.definition, item.inputs[0].dtype
    if definition.reduces == "mean" and not dtype.is_floating:
        return False
    try:
        Folding(FOLD_KINDS[definition.reduces], dtype, dtype)
    except Unsupported:
        return False
    return True


def _elementwise(item: Item) -> bool:
    definition, attrs = item.node.definition, item.node.attrs
    if definition.lower is None or not (definition.updates or (definition.elementwise and not definition.stateful)):
        return False
    if len(item.inputs) > _MOST_INPUTS or len(item.outputs) > 1 or (not definition.updates and len(item.outputs) != 1):
        return False
    shape = item_shape(item)
    used = operands(item)
    for value, takes in zip(item.inputs, used):
        if takes and value.shape not in (shape, ()) and not (definition.broadcasts_inputs and _fits(value.shape, shape)):
            return False
    if definition.updates and any(value.shape != shape or value.dtype is not updated_variables(item)[0].dtype for value in updated_variables(item)):
        return False
    dtypes = [value.dtype for value in item.inputs]
    return why_not(definition, attrs, dtypes) is None and bool(result_types(definition, attrs, len(definition.updates)))


def _fits(own: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    missing = len(shape) - len(own)
    return missing >= 0 and all(extent in (1, wanted) for extent, wanted in zip(own, shape[missing:]))


def space_of(item: Item, kind: Kind) -> Space | None:
    """The space that an item runs over by itself."""
    if kind is Kind.OTHER:
        return None
    if kind is Kind.REDUCE:
        return Space(without_ones(item.inputs[0].shape), axes_of(item) or frozenset())
    return Space(without_ones(item_shape(item)))
