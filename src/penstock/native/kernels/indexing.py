"""Reading and writing by index: gather, scatter, segments, the sparse updates of optimizers. What ``emit.index`` is.

Indices are checked before anything is written: a kernel that finds one out of range says so, and the op's NumPy kernel raises the error.
"""
from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from penstock.graph import dtypes as dt
from penstock.graph.dtypes import as_dtype
from penstock.native.calls import Array
from penstock.native.kernels.axes import collapse, split_work
from penstock.native.kernels.row_rules import row_rule
from penstock.native.kernels.rows import Change, RowRule, change_code, check_code, flatten_code, gather_code, refuse_code, row_parts
from penstock.native.kernels.segments import check_sorted_code, narrow_code, weigh_code, weights_code
from penstock.native.vector.builder import VectorBuilder
from penstock.native.vector.types import NARROW, VectorValue

_LARGE = 1 << 17  # bytes moved, from which on several threads pay
_LONG = 8  # rows of a segment, on average, from which on its sum is kept as float64
_WORDS = {1: dt.uint8, 2: dt.uint16, 4: dt.uint32, 8: dt.uint64}


def _binary(name: str) -> Change:
    def change(v: VectorBuilder, states: list[VectorValue], updates: list[VectorValue], scalars: list[VectorValue]) -> list[VectorValue]:
        return [getattr(v, name)(states[0], (updates or scalars)[0])]
    return change


def _replace(v: VectorBuilder, states: list[VectorValue], updates: list[VectorValue], scalars: list[VectorValue]) -> list[VectorValue]:
    return [(updates or scalars)[0]]


def _add_wide(v: VectorBuilder, states: list[VectorValue], updates: list[VectorValue], scalars: list[VectorValue]) -> list[VectorValue]:
    return [v.add(states[0], v.cast(updates[0], dt.float64))]


CHANGES: dict[str, Change] = {"Update": _replace, "Add": _binary("add"), "Sub": _binary("sub"), "Mul": _binary("mul"), "Div": _binary("div"),
                              "Min": _binary("minimum"), "Max": _binary("maximum")}


class RowLayout(NamedTuple):
    """How rows lie in an array: the same again so many times; how many there are, of how many elements; bytes from one time, and row, to the next."""

    times: int
    rows: int
    length: int
    times_step: int
    row_step: int


def _layout(params: Array) -> RowLayout:
    """That of an array of axes [times, rows, elements]."""
    return RowLayout(*params.shape, *params.strides[:2]) if params.rank == 3 else RowLayout(1, 0, 1, 0, 0)


class Indexing:
    """Rows are what lies behind the axes that are indexed."""

    def __init__(self, emit: Any) -> None:
        self.emit = emit

    # --- reading -----------------------------------------------------------------------------------------------------

    def gather(self, params: Array, indices: Array, axis: int, batch: int = 0) -> Array:
        """Slices along an axis. The first ``batch`` axes of params and indices go together; then the axis has to follow them."""
        batch = batch + indices.rank if batch < 0 else batch
        if not -params.rank <= axis < params.rank or (batch and axis % params.rank != batch) or params.shape[:batch] != indices.shape[:batch]:
            self.emit.unsupported(f"axis {axis} of {list(params.shape)} by {list(indices.shape)} with {batch} axes of a batch")
        axis %= params.rank
        front, limit, row = params.shape[:axis], params.shape[axis], params.shape[axis + 1:]
        result = self.emit.empty([*front, *indices.shape[batch:], *row], params.dtype)
        if not result.size:
            self.check(indices, limit)
            return result
        params = self._with_whole_rows(params, axis)
        flat = self.emit.move.reshape(params, [math.prod(front), limit, math.prod(row)]) if limit else self.emit.contiguous(params)
        self._gather(flat, self.emit.contiguous(indices), result, math.prod(indices.shape[batch:]), bool(batch), _layout(flat))
        return result

    def box(self, array: Array, begin: Array, sizes: Sequence[int]) -> Array:
        """A part of the array: its size is known, where it begins is computed in the step, and checked."""
        extents = array.shape
        if not array.rank or begin.shape != (array.rank,) or len(sizes) != array.rank or any(map(operator.gt, sizes, extents)):
            self.emit.unsupported("the sizes do not fit")
        array, result = self.emit.contiguous(array), self.emit.empty(sizes, array.dtype)
        first = self.flatten_indices(begin, extents, [extent - size + 1 for size, extent in zip(sizes, extents)])
        whole = array.rank - 1  # from this axis on, elements follow each other
        while whole and sizes[whole] == extents[whole]:
            whole -= 1
        outer = collapse([(size, (stride,)) for size, stride in zip(sizes[:whole], array.strides)])
        if len(outer) > 1:
            self.emit.unsupported("the part is not made of rows at one distance")
        if result.size:
            times, (step,) = outer[0] if outer else (1, (0,))
            rows = RowLayout(times, array.size, math.prod(sizes[whole:]), step, array.dtype.itemsize)
            self._gather(array, first, result, 1, False, rows)
        return result

    def _with_whole_rows(self, params: Array, axis: int) -> Array:
        """The array, or a copy if the elements of a row do not follow each other, or the axes before cannot be taken as one."""
        front, row = params.shape[:axis], params.shape[axis + 1:]
        rows = Array(params.buffer, params.dtype, row, params.strides[axis + 1:])
        stride = params.strides[axis - 1] if axis else 0
        for extent, own in zip(reversed(front), reversed(params.strides[:axis])):
            if extent != 1 and own != stride:
                return self.emit.contiguous(params)
            stride *= extent
        return params if rows.contiguous else self.emit.contiguous(params)

    def _gather(self, params: Array, indices: Array, result: Array, picks: int, batched: bool, layout: RowLayout) -> None:
        """Rows of params; all times use the same indices, or each its own ``picks``."""
        size = params.dtype.itemsize
        times, limit, length, times_step, row = layout
        numbers = [times_step, picks * indices.dtype.itemsize * batched, picks * length * size]
        ranges, outer = [(0, picks)], [(0, times)]
        if picks >= times:
            ranges = split_work(picks, self.emit.threads, result.nbytes, _LARGE)
        else:
            outer = split_work(times, self.emit.threads, result.nbytes, _LARGE)
        self.emit.call(gather_code(indices.dtype, size, length == 1), [params, indices, result, self.emit.status],
                       [[*each, limit, length, row, *times_range, *numbers] for each in ranges for times_range in outer], "gather", writes=2)

    def gather_nd(self, params: Array, indices: Array) -> Array:
        """Slices at positions: the last axis of the indices names coordinates in the first axes."""
        depth = indices.shape[-1]
        if not depth:
            return self.emit.move.broadcast(params, [*indices.shape[:-1], *params.shape])
        rows = self.flatten_indices(indices, params.shape)
        plain = self.emit.move.reshape(params, [math.prod(params.shape[:depth]), *params.shape[depth:]])
        return self.emit.move.reshape(self.gather(plain, rows, 0), [*indices.shape[:-1], *params.shape[depth:]])

    def flatten_indices(self, indices: Array, shape: Sequence[int], ends: Sequence[int] | None = None) -> Array:
        """Positions in the first axes of a shape as row numbers; they must be inside of the shape, and before ``ends``."""
        depth = indices.shape[-1]
        if depth > len(shape):
            self.emit.unsupported("more coordinates than axes")
        count = indices.size // max(depth, 1)
        result = self.emit.empty([count], np.int64)
        steps = [math.prod(shape[axis + 1:depth]) for axis in range(depth)]
        table = [number for pair in zip(ends or shape, steps) for number in pair]
        if count:
            operands = [self.emit.contiguous(indices), result, self.emit.status]
            self.emit.call(flatten_code(indices.dtype), operands, [[count, depth, *table]], "positions", writes=2)
        return result

    def check(self, indices: Array, limit: int, negatives: bool = False) -> Array:
        """Fails the step if an index is not below the limit, or negative. The indices, contiguous."""
        indices = self.emit.contiguous(indices)
        if indices.size:
            self.emit.call(check_code(indices.dtype, negatives), [indices, self.emit.status], [[indices.size, limit]], "check")
        return indices

    def refuse(self, bad: Array, needed: Sequence[Array]) -> None:
        """Fails the step if a number, an int64, is not 0. What is ``needed`` to say why is in memory until then."""
        self.emit.call(refuse_code(len(needed)), [bad, *needed, self.emit.status], [[]], "check")

    # --- writing -----------------------------------------------------------------------------------------------------

    def scatter(self, target: Array, indices: Array, updates: Array, how: str) -> Array:
        """Rows of the target, in place: they are replaced by, or combined with, the updates. One scalar may be the update of all."""
        if updates.shape not in ((*indices.shape, *target.shape[1:]), ()) or not target.rank or updates.dtype != target.dtype:
            self.emit.unsupported("the shapes do not fit")
        self.change(how, target, self.check(indices, target.shape[0]), updates)
        return target

    def scatter_nd(self, target: Array, indices: Array, updates: Array, how: str) -> Array:
        """Slices of the target at positions, in place."""
        depth = indices.shape[-1] if indices.rank else -1
        if depth < 0 or updates.shape != (*indices.shape[:-1], *target.shape[depth:]) or updates.dtype != target.dtype:
            self.emit.unsupported("the shapes do not fit")
        rows = self.flatten_indices(indices, target.shape)
        if not depth:
            self.emit.unsupported("positions without coordinates")
        self.change(how, self.emit.view(target, [math.prod(target.shape[:depth]), *target.shape[depth:]]), rows, updates)
        return target

    def segments(self, data: Array, ids: Array, number: int, how: str, empty: Any) -> Array:
        """Rows of data with the same id combined into one, beginning with ``empty``; rows with negative ids are left out."""
        if data.shape[:ids.rank] != ids.shape or number < 0 or as_dtype(data.dtype) in NARROW:
            self.emit.unsupported("the shapes do not fit, or sums would have to be kept in a wider type")
        ids = self.check(ids, number, negatives=True)
        if how == "Add" and data.dtype == np.float32 and ids.size > _LONG * number:
            return self._wide_sums(data, ids, number)
        result = self.emit.move.copy_of(self.emit.move.full([number, *data.shape[ids.rank:]], empty, data.dtype), "segments")
        self.change(how, result, ids, data)
        return result

    def _wide_sums(self, data: Array, ids: Array, number: int) -> Array:
        """Sums of many rows of float32, kept as float64."""
        shape = [number, *data.shape[ids.rank:]]
        sums = self.emit.move.copy_of(self.emit.move.full(shape, 0, np.float64), "segments")
        self.apply(RowRule("Add wide", _add_wide, (dt.float64,), (dt.float32,)), "Add", [sums], ids, [data], [])
        result = self.emit.empty(shape, np.float32)
        parts = split_work(result.size, self.emit.threads, sums.nbytes, _LARGE)
        self.emit.call(narrow_code(), [sums, result], [list(part) for part in parts], "segments: narrow")
        return result

    def sparse_segments(self, data: Array, indices: Array, ids: Array, number: int, power: float) -> Array:
        """The sums of segments, by sorted ids, of the rows that ``indices`` name, each divided by its number of rows to a power: 0, 1/2 or 1."""
        ids = self._sorted_ids(indices, ids, number)
        result = self.segments(self.gather(data, indices, 0), ids, number, "Add", 0)
        return self._weight(result, ids, power, result) if power else result

    def sparse_segments_gradient(self, grad: Array, indices: Array, ids: Array, rows: int, power: float) -> Array:
        """The gradient of ``sparse_segments`` for data of this many rows."""
        if not grad.rank or not grad.shape[0] or rows <= 0 or indices.rank != 1 or ids.shape != indices.shape:
            self.emit.unsupported("the shapes do not fit, or there are no rows")
        ids = self.check(ids, grad.shape[0])
        scaled = self._weight(self.emit.contiguous(grad), ids, power, self.emit.empty(grad.shape, grad.dtype))
        indices = self.check(indices, rows)
        return self.segments(self.gather(scaled, ids, 0), indices, rows, "Add", 0)

    def sparse_product(self, indices: Array, values: Array, shape: Sequence[int], dense: Array, adjoint: bool) -> Array:
        """A sparse matrix, transposed if ``adjoint``, times a dense one: rows of that, weighed by the values, are added up."""
        if indices.rank != 2 or indices.shape[1] != 2 or values.shape != indices.shape[:1] or len(shape) != 2 or dense.rank != 2:
            self.emit.unsupported("these are not two matrices")
        if dense.shape[0] != shape[0 if adjoint else 1] or values.dtype != dense.dtype:
            self.emit.unsupported("the matrices do not fit together")
        rows, columns = (self.check(self.emit.move.view(lambda x, k=k: x[:, k], indices), int(shape[k])) for k in range(2))
        rows, columns = (columns, rows) if adjoint else (rows, columns)
        picked = self.gather(dense, columns, 0)
        if picked.size:
            self._weigh(picked, self.emit.contiguous(values), picked)
        return self.segments(picked, rows, int(shape[1 if adjoint else 0]), "Add", 0)

    def sparse_to_dense(self, indices: Array, shape: Sequence[int], values: Array, default: Array, ordered: bool) -> Array:
        """Values at positions, and a default everywhere else. ``ordered``: the positions have to be in order, none of them twice."""
        rows = indices if indices.rank == 2 else self.emit.move.reshape(indices, [indices.size, 1])
        if rows.shape[1] != len(shape) or not shape or min(shape) < 0 or values.shape not in ((), rows.shape[:1]) or default.rank:
            self.emit.unsupported("the shapes do not fit")
        result = self.emit.move.copy_of(self.emit.move.broadcast(default, shape), "default")
        places = self.flatten_indices(rows, shape)
        if places.size and ordered:
            self._check_sorted(places, result.size, True, "check order")
        self.change("Update", self.emit.view(result, [result.size]), places, values)
        return result

    def _sorted_ids(self, indices: Array, ids: Array, number: int) -> Array:
        if indices.rank != 1 or ids.shape != indices.shape or number < 0:
            self.emit.unsupported("there is not one segment id per index")
        ids = self.emit.contiguous(ids)
        if ids.size:
            self._check_sorted(ids, number, False, "check segments")
        return ids

    def _check_sorted(self, ids: Array, limit: int, strict: bool, label: str) -> None:
        """Fails the step unless the ids are in order, none of them (``strict``) twice, and all below the limit."""
        self.emit.call(check_sorted_code(ids.dtype, strict), [ids, self.emit.status], [[ids.size, limit]], label)

    def _weight(self, source: Array, ids: Array, power: float, result: Array) -> Array:
        """Rows, one per segment, times the segments' weights."""
        number = source.shape[0]
        weights = self.emit.empty([number], source.dtype)
        self.emit.call(weights_code(ids.dtype, source.dtype, power == 0.5), [ids, weights], [[ids.size, number]], "segment weights")
        if source.size:
            self._weigh(source, weights, result)
        return result

    def _weigh(self, source: Array, weights: Array, result: Array) -> None:
        """Each row times a number."""
        if source.dtype.kind != "f":
            self.emit.unsupported("rows are weighed as floats")
        parts = split_work(source.shape[0], self.emit.threads, source.nbytes, _LARGE)
        self.emit.call(weigh_code(source.dtype), [source, weights, result], [[*part, source.size // source.shape[0]] for part in parts],
                       "weigh rows", flops=source.size)

    def change(self, how: str, target: Array, rows: Array, updates: Array) -> None:
        """``target[rows[i]]`` combined with ``updates[i]`` (or a scalar), one after the other. The rows are checked already, or skipped."""
        kind = as_dtype(target.dtype)
        if how == "Update" and kind.size in _WORDS:
            kind = _WORDS[kind.size]  # they are only moved
        if how == "Div" and kind.is_integer:
            self.emit.unsupported("a division of integers can fail")
        kinds = (kind,)
        rule = RowRule(how, CHANGES[how], kinds, () if not updates.rank else kinds, kinds if not updates.rank else ())
        self.apply(rule, how, [target], rows, [updates] if updates.rank else [], [] if updates.rank else [updates])

    def apply(self, rule: RowRule, name: str, states: Sequence[Array], rows: Array, updates: Sequence[Array], scalars: Sequence[Array],
              distinct: bool = False) -> None:
        """Changes rows of the states, which all have one shape, by a rule; people know it by its name. ``distinct``: no row is named twice."""
        width = math.prod(states[0].shape[1:])
        if not rows.size or not states[0].size:
            return
        assert all(state.contiguous for state in states)
        plain = all(kind in (dt.float32, dt.float64) for kind in (*rule.states, *rule.updates))
        code = change_code(rule, rows.dtype, single=distinct and width == 1 and plain)
        traffic = rows.size * width * sum(state.dtype.itemsize for state in states)
        parts = row_parts([rows.size, width, states[0].shape[0]], width * states[0].dtype.itemsize,
                          self.emit.threads if traffic >= _LARGE else 1)
        self.emit.call(code, [rows, *[self.emit.contiguous(each) for each in updates], *scalars, *states], parts, f"rows {name}",
                       writes=len(states), flops=rows.size * width)

    def sparse_update(self, rule: Callable[..., None], states: Sequence[Array], given: dict[str, Any], grad: str, padded: bool) -> None:
        """The rows of a variable and its slots that ``indices`` name, changed by an optimizer's rule, a NumPy function. ``padded``: negative indices
        are left out, and the others are distinct."""
        gradient, indices = given[grad], given["indices"]
        if any(state.shape != states[0].shape or state.dtype != gradient.dtype for state in states) or not states[0].rank:
            self.emit.unsupported("var and its slots do not have the same shape and type")
        if indices.rank != 1 or gradient.shape != (*indices.shape, *states[0].shape[1:]):
            self.emit.unsupported("the gradient does not have one row per index")
        traced, scalars = row_rule(rule, len(states), given, grad)
        rows = self.check(indices, states[0].shape[0], negatives=padded)
        self.apply(traced, rule.__name__.strip("_"), states, rows, [gradient], scalars, distinct=padded)

