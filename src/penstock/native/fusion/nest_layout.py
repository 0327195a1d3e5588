"""How a nest is laid out over its space: axes collapsed, the work cut into parts, all of it written down as the words of a kernel."""
from __future__ import annotations

import math
import struct
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from penstock.native.kernels.axes import Strides, cut

_WORK = 1 << 17  # weighted elements from which on a second thread pays
_PARTS = 2  # per thread: a thread that is late leaves some to the others
_GRAIN = 256  # inner axes are cut at multiples of this


@dataclass(frozen=True)
class NestAxis:
    """An extent, and one stride (in bytes) per operand."""

    extent: int
    strides: Strides


@dataclass(frozen=True)
class NestPart:
    """The ranges of outer, row, middle and inner indices that one call of the kernel does."""

    ranges: tuple[tuple[int, int], ...]


class NestLayout:
    """The axes of a space: outer and middle are several, row and inner one each. ``form`` as in ``nest``."""

    def __init__(self, shape: Sequence[int], reduced: Collection[int], strides: Sequence[Strides], rows: bool = False) -> None:
        """``rows``: columns will not do, as there are several loops over the reduced axes."""
        axes = [(axis in reduced, NestAxis(extent, tuple(each[axis] for each in strides))) for axis, extent in enumerate(shape)]
        axes = _collapse(axes)
        none = NestAxis(1, (0,) * len(strides))
        self.elements = math.prod(shape)
        self.inner = none
        inner_reduced = rows or not reduced
        if axes and not (rows and not axes[-1][0]):
            inner_reduced, self.inner = axes.pop()
        kept = [axis for is_reduced, axis in axes if not is_reduced]
        over = [axis for is_reduced, axis in axes if is_reduced]
        self.form = "map" if not reduced else "rows" if inner_reduced or rows else "columns"
        last = over if self.form == "columns" else kept
        self.row = last.pop() if last else none
        self.outer, self.middle = kept, over
        self.sizes = tuple(math.prod(axis.extent for axis in group) for group in (self.outer, [self.row], self.middle, [self.inner]))

    @property
    def row_length(self) -> int:
        """Elements that one kept index has."""
        return self.sizes[2] * (self.sizes[1] if self.form == "columns" else self.sizes[3])

    def mode(self, operand: int, itemsize: int) -> str:
        """How an operand runs along the inner axis."""
        stride = self.inner.strides[operand]
        return "uniform" if stride == 0 else "plain" if stride == itemsize else "strided"

    def is_kept(self, operand: int) -> bool:
        """True if an operand does not run along the reduced axes (of a map: along the inner one)."""
        reduced = [*self.middle, self.row] if self.form == "columns" else [*self.middle, self.inner]
        return all(axis.strides[operand] == 0 for axis in reduced)

    def parts(self, threads: int, work: int, whole_rows: bool) -> tuple[list[NestPart], bool]:
        """The parts, and whether each has results of its own that have to be combined. ``whole_rows``: a row must not be cut."""
        whole = [(0, size) for size in self.sizes]
        if not self.elements and (self.form == "map" or not self.sizes[0] * self.sizes[3 if self.form == "columns" else 1]):
            return [], False
        if threads > 1 and work >= _WORK:
            wanted = threads * _PARTS
            columns, fold = self.form == "columns", self.form == "rows"
            choices = [(0, 1, False), (1, 1, columns), (3, 64 if columns else _GRAIN, fold), (2, 1, True)]  # axis, grain, partial
            if columns:
                choices = [choices[0], choices[2], choices[1], choices[3]]
            for axis, grain, partial in sorted(choices, key=lambda choice: choice[2]):
                if self.sizes[axis] >= wanted * grain and not (partial and whole_rows):
                    return [NestPart(tuple([*whole[:axis], each, *whole[axis + 1:]])) for each in cut(self.sizes[axis], wanted, grain)], partial
        return [NestPart(tuple(whole))], False

    def words(self, part: NestPart, origins: Sequence[int], itemsizes: Sequence[int] = ()) -> bytes:
        """As ``nest_kernel.WORDS`` says. ``itemsizes``: of scratch operands, which follow those that the layout was made for."""
        outer, row, middle, inner = part.ranges
        values = [*outer, *row, *middle, *inner, len(self.outer), len(self.middle), *origins]
        values += [*self.inner.strides, *itemsizes, *self.row.strides, *[0] * len(itemsizes)]
        for axis in self.outer:
            values += [axis.extent, *axis.strides, *[0] * len(itemsizes)]
        step = self.inner.extent
        rows = []
        for axis in reversed(self.middle):
            rows.append([axis.extent, *axis.strides, *[step * size for size in itemsizes]])
            step *= axis.extent
        for entry in reversed(rows):
            values += entry
        return struct.pack(f"{len(values)}q", *values)


def _collapse(axes: Sequence[tuple[bool, NestAxis]]) -> list[tuple[bool, NestAxis]]:
    """The same elements in the same order, with as few axes as possible; kept and reduced ones stay apart."""
    result: list[tuple[bool, NestAxis]] = []
    for is_reduced, axis in axes:
        if axis.extent == 1:
            continue
        if result and result[-1][0] == is_reduced and all(before == axis.extent * now for before, now in zip(result[-1][1].strides, axis.strides)):
            result[-1] = (is_reduced, NestAxis(result[-1][1].extent * axis.extent, axis.strides))
        else:
            result.append((is_reduced, axis))
    return result
