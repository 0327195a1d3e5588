"""Slices: ``Slice``, ``StridedSlice`` and their gradients."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import raw_ops
from penstock.graph.attrs import TYPE
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.properties import Extents
from penstock.graph.shape import Extent, unknown_shape
from penstock.ops.array.shape_ops import as_array, known_elements, known_shape, shape
from penstock.ops.common import INDEX, shape_text
from penstock.ops.constant import constant

MASKS = {"begin_mask": 0, "end_mask": 0, "ellipsis_mask": 0, "new_axis_mask": 0, "shrink_axis_mask": 0}


# --- Slice -----------------------------------------------------------------------------------------------------------

@op("Slice", "input: T, begin: Index, size: Index -> output: T", T=TYPE, Index=INDEX)
class Slice:
    """``size`` elements from ``begin`` on, per axis; a size of -1 is all that is left."""

    gradient_nodes = 12
    gradient_reads = lambda op: [Extents(op.outputs[0]), Extents(op.inputs[0]), op.inputs[1]]
    per_axis = ("begin", "size")
    ranks = {"begin": 1, "size": 1}
    rank_words = dict.fromkeys(
        ranks, (1, "Expected begin and size arguments to be 1-D tensors of size {first}, but got shapes {begin} and {size} instead."))
    aliases = rearranges = True

    def shape(input, begin, size):
        begins, sizes, extents = known_elements(begin), known_elements(size), input.shape.extents
        rank = next((len(known) for known in (extents, begins, sizes) if known is not None), None)
        if rank is None:
            return None
        for name, known in (("begin", begins), ("size", sizes)):
            if known is not None and len(known) != rank:
                raise ValueError(f"'{name}' has {len(known)} elements for an input of rank {rank}")
        nothing: list[Extent] = [None] * rank
        return [_slice_extent(*each) for each in zip(extents or nothing, begins or nothing, sizes or nothing)]

    def kernel(input, begin, size):
        input = as_array(input)
        if len(begin) != input.ndim or len(size) != input.ndim:
            raise invalid_argument(f"Expected begin and size arguments to be 1-D tensors of size {input.ndim}, but got shapes "
                                   f"[{len(begin)}] and [{len(size)}] instead.")
        index = []
        for axis, (start, length, extent) in enumerate(zip(begin.tolist(), size.tolist(), input.shape)):
            stop = extent if length == -1 else start + length
            if not 0 <= start <= extent:
                raise invalid_argument(f"Expected begin[{axis}] in [0, {extent}], but got {start}")
            if not start <= stop <= extent:
                raise invalid_argument(f"Expected size[{axis}] in [0, {extent - start}], but got {length}")
            index.append(slice(start, stop))
        return input[tuple(index)]

    def native(emit, input, begin, size):
        if begin.known is None and size.known is not None and (size.known >= 0).all():
            return emit.index.box(input, begin, size.known.tolist())
        return emit.move.view(Slice.kernel, input, begin, size)

    def gradient(op, dy):
        source, begin = op.inputs[0], op.inputs[1]
        extents, taken, start = source.shape.extents, op.outputs[0].shape.extents, known_elements(begin)
        if extents is not None and None not in (*extents, *(taken or [None]), *(start or [None])):
            return [raw_ops.Pad(dy, [[b, n - b - k] for b, n, k in zip(start, extents, taken)]), None, None]
        after = shape(source, out_type=begin.dtype) - shape(op.outputs[0], out_type=begin.dtype) - begin
        return [raw_ops.Pad(dy, raw_ops.Pack([begin, after], axis=1, name="stack")), None, None]


def _slice_extent(extent: Extent, start: Extent, length: Extent) -> Extent:
    """The extent that a Slice leaves of one axis."""
    if start is not None and (start < 0 or (extent is not None and start > extent)):
        raise ValueError(f"begin {start} is outside an axis of extent {extent}")
    if length is None:
        return None
    if length == -1:
        return None if extent is None or start is None else extent - start
    if length < -1:
        raise ValueError(f"size {length} must be >= 0, or -1")
    if extent is not None and start is not None and start + length > extent:
        raise ValueError(f"begin {start} plus size {length} is beyond an axis of extent {extent}")
    return length


def slice_(input_: Any, begin: Any, size: Any, name: str | None = None) -> Tensor:
    """``tf.slice``: ``size`` elements from ``begin`` on, per axis; a size of -1 is all that is left."""
    return Slice(input_, begin, size, name=name)


# --- StridedSlice ----------------------------------------------------------------------------------------------------

@dataclass
class _Spec:
    """How begin, end, strides and the five masks of a StridedSlice apply to an input: one entry per position."""

    entries: list[Any] = field(default_factory=list)  # "newaxis", "...", or (position, shrinks?)

    @classmethod
    def read(cls, length: int, ellipsis_mask: int, new_axis_mask: int, shrink_axis_mask: int) -> _Spec:
        spec = cls()
        for position in range(length):
            bit = 1 << position
            if ellipsis_mask & bit:
                if "..." in spec.entries:
                    raise ValueError("Multiple ellipses in slice spec not allowed")
                spec.entries.append("...")
            elif new_axis_mask & bit:
                spec.entries.append("newaxis")
            else:
                spec.entries.append((position, bool(shrink_axis_mask & bit)))
        if "..." not in spec.entries:
            spec.entries.append("...")
        return spec

    def whole_axes(self, rank: int) -> int:
        """How many axes the ellipsis stands for."""
        taken = sum(isinstance(entry, tuple) for entry in self.entries)
        if taken > rank:
            raise ValueError(f"Index out of range using input dim {rank}; input has only {rank} dims")
        return rank - taken


def strided_index(rank: int, begin: Any, end: Any, strides: Any, extents: Sequence[int], begin_mask: int, end_mask: int,
                   ellipsis_mask: int, new_axis_mask: int, shrink_axis_mask: int) -> tuple[Any, ...]:
    """The NumPy index of a StridedSlice; it always has an Ellipsis, so that indexing gives a view even for one element."""
    if not len(begin) == len(end) == len(strides):
        raise invalid_argument(f"Expected begin, end, and strides to be 1D equal size tensors, but got lengths {len(begin)}, {len(end)} and "
                               f"{len(strides)} instead.")
    try:
        spec = _Spec.read(len(begin), ellipsis_mask, new_axis_mask, shrink_axis_mask)
        whole = spec.whole_axes(rank)
    except ValueError as error:
        raise invalid_argument(str(error)) from None
    index: list[Any] = []
    axis = 0
    for entry in spec.entries:
        if entry == "...":
            index.append(Ellipsis)
            axis += whole
        elif entry == "newaxis":
            index.append(None)
        else:
            position, shrinks = entry
            bit, start, step = 1 << position, int(begin[position]), int(strides[position])
            if shrinks:
                index.append(_checked_position(start, step, axis, extents[axis]))
            elif step == 0:
                raise invalid_argument(f"strides[{position}] must be non-zero")
            else:
                index.append(slice(None if begin_mask & bit else start, None if end_mask & bit else int(end[position]), step))
            axis += 1
    return tuple(index)


def _checked_position(start: int, step: int, axis: int, extent: int) -> int:
    if step <= 0:
        raise invalid_argument("only stride 1 allowed on non-range indexing.")
    if not -extent <= start < extent:
        raise invalid_argument(f"slice index {start} of dimension {axis} out of bounds.")
    return start


@op("StridedSlice", "input: T, begin: Index, end: Index, strides: Index -> output: T", T=TYPE, Index=INDEX, **MASKS)
class StridedSlice:
    """``input[begin:end:strides]`` with an entry per axis; bits in the masks mark omitted bounds, Ellipsis, newaxis and single positions."""

    ranks = {"begin": 1, "end": 1, "strides": 1}
    rank_words = dict.fromkeys(
        ranks, (1, "Expected begin, end, and strides to be 1D equal size tensors, but got shapes {begin}, {end}, and {strides} instead."))
    aliases = rearranges = True

    def shape(input, begin, end, strides, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask):
        begins, ends, steps = known_elements(begin), known_elements(end), known_elements(strides)
        lengths = {len(known) for known in (begins, ends, steps) if known is not None}
        if len(lengths) > 1:
            raise ValueError("begin, end and strides must have one length")
        length = next(iter(lengths), None)
        if input.shape.extents is None or length is None:
            return unknown_shape()
        spec = _Spec.read(length, ellipsis_mask, new_axis_mask, shrink_axis_mask)
        whole = spec.whole_axes(len(input.shape.extents))
        remaining, result = list(input.shape.extents), []
        for entry in spec.entries:
            if entry == "...":
                result.extend(remaining[:whole])
                del remaining[:whole]
            elif entry == "newaxis":
                result.append(1)
            else:
                position, shrinks = entry
                extent, bit = remaining.pop(0), 1 << position
                start, stop, step = (None if known is None else known[position] for known in (begins, ends, steps))
                if shrinks:
                    _check_static_position(start, step, extent, len(input.shape.extents) - len(remaining) - 1)
                else:
                    result.append(_strided_extent(extent, start, stop, step, bool(begin_mask & bit), bool(end_mask & bit)))
        return result

    def kernel(input, begin, end, strides, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask):
        input = as_array(input)
        return input[strided_index(input.ndim, begin, end, strides, input.shape, begin_mask, end_mask, ellipsis_mask, new_axis_mask,
                                    shrink_axis_mask)]

    def native(emit, input, begin, end, strides, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask):
        return emit.move.view(StridedSlice.kernel, input, begin, end, strides, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)

    def gradient(op, dy):
        source, begin, end, strides = op.inputs
        masks = {name: op.attrs[name] for name in MASKS}
        return [StridedSliceGrad(shape(source, out_type=begin.dtype), begin, end, strides, dy, **masks), None, None, None]


def _check_static_position(start: Extent, step: Extent, extent: Extent, axis: int) -> None:
    if step is not None and step <= 0:
        raise ValueError("only stride 1 allowed on non-range indexing.")
    if start is not None and extent is not None and not -extent <= start < extent:
        raise ValueError(f"slice index {start} of dimension {axis} out of bounds.")


def _strided_extent(extent: Extent, start: Extent, stop: Extent, step: Extent, from_start: bool, to_end: bool) -> Extent:
    """The extent that a range leaves of an axis."""
    if step == 0:
        raise ValueError("strides must be non-zero")
    if extent is None or step is None or (start is None and not from_start) or (stop is None and not to_end):
        return None
    return len(range(*slice(None if from_start else start, None if to_end else stop, step).indices(extent)))


@op("StridedSliceGrad", "shape: Index, begin: Index, end: Index, strides: Index, dy: T -> output: T", T=TYPE, Index=INDEX, **MASKS)
class StridedSliceGrad:
    """``dy`` put where the StridedSlice took its elements from, zeros elsewhere."""

    ranks = {"shape": 1, "begin": 1, "end": 1, "strides": 1}

    def shape(shape):
        return known_shape(shape)

    def kernel(shape, begin, end, strides, dy, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask):
        dy = as_array(dy)
        extents = tuple(shape.tolist())
        result = np.zeros(extents, dy.dtype)
        target = result[strided_index(len(extents), begin, end, strides, extents, begin_mask, end_mask, ellipsis_mask, new_axis_mask,
                                       shrink_axis_mask)]
        if target.shape != dy.shape:
            raise invalid_argument(f"shape of dy was {shape_text(dy)} instead of {shape_text(target)}")
        target[...] = dy
        return result

    def native(emit, shape, begin, end, strides, dy, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask):
        bounds = emit.known(begin), emit.known(end), emit.known(strides)
        masks = begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask
        return emit.move.place_in_zeros(emit.known(shape), dy, lambda whole: StridedSlice.kernel(whole, *bounds, *masks), "slice_gradient")

    def gradient(op, dy):
        begin, end, strides = op.inputs[1:4]
        masks = {name: op.attrs[name] for name in MASKS}
        return [None, None, None, None, StridedSlice(dy, begin, end, strides, **masks)]


def strided_slice(input_: Any, begin: Any, end: Any, strides: Any = None, begin_mask: int = 0, end_mask: int = 0, ellipsis_mask: int = 0,
                  new_axis_mask: int = 0, shrink_axis_mask: int = 0, var: Any = None, name: str | None = None) -> Tensor:
    """``tf.strided_slice``: ``input_[begin:end:strides]`` per axis; see ``StridedSlice`` for the masks."""
    if strides is None and isinstance(begin, Tensor) and not begin.shape.is_fully_defined():
        strides = raw_ops.OnesLike(begin)
    elif strides is None:
        kind, extents = (begin.dtype.np, begin.shape.as_list()) if isinstance(begin, Tensor) else (np.int32, np.shape(begin))
        with default_graph().counting_as(3 if isinstance(begin, Tensor) else 4):  # TensorFlow fills the shape of begin with ones
            strides = constant(np.ones(extents, kind), name="ones_like")
    return StridedSlice(input_, begin, end, strides, begin_mask=begin_mask, end_mask=end_mask, ellipsis_mask=ellipsis_mask,
                        new_axis_mask=new_axis_mask, shrink_axis_mask=shrink_axis_mask, name=name)
