"""Fused loops (``native/fusion``) as kernels: how the work of one is shared, and what calls it becomes. ``nest_source.py`` writes the text."""
from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.native.fusion.cluster_code import Loop, Ref
from penstock.native.fusion.loop_nest import Fold, Nest
from penstock.native.fusion.nest_layout import NestLayout
from penstock.native.unsupported import Unsupported
from penstock.opencl.nest_source import NestSource, accumulated

if TYPE_CHECKING:
    from penstock.opencl.emitter import DeviceEmitter

_LONG = 2048  # elements of a reduction from which on several work items share it
_MANY = 4096  # results that are enough work for all of a GPU
_STRIP = 4096  # elements that a work item of a CPU does, at least
_PARTS = 4  # that a compute unit of a CPU gets


def emit_nest(b: DeviceEmitter, loop: Loop, label: str) -> None:
    """Appends the kernels of a loop."""
    nest, layout = loop.nest()
    if not layout.elements and (layout.form == "map" or not _result_count(layout)):
        return
    count = _parts(b, nest, layout)
    if count > 1 and (pair := _split(b, loop, count)) is not None:
        first, second = pair
        emit_nest(b, first, label)
        second.emit(b, f"{label} (parts)")
        return
    _emit(b, loop, nest, layout, label)


def _result_count(layout: NestLayout) -> int:
    """How many results a reduction has."""
    outer, row, _, inner = layout.sizes
    return outer * (inner if layout.form == "columns" else row)


def _parts(b: DeviceEmitter, nest: Nest, layout: NestLayout) -> int:
    """Into how many parts a reduction is cut, so that there is work for all."""
    if layout.form == "map" or nest.loops > 1 or layout.row_length < _LONG:
        return 1
    kept = _result_count(layout)
    if b.traits.strips:
        return 1 if kept >= (64 if layout.form == "columns" else 1) * b.traits.units * 2 else b.traits.units * _PARTS
    own = 1 if layout.form == "columns" else b.traits.group
    return 1 if kept * own >= _MANY else min(-(-_MANY // (kept * own)), layout.row_length // 64)


def _emit(b: DeviceEmitter, loop: Loop, nest: Nest, layout: NestLayout, label: str) -> None:
    operands = [*[array for array, _ in loop.inputs], *[array for _, array, _, _ in loop.outputs]]
    written = [array.buffer for _, array, _, _ in loop.outputs]
    alone = [sum(array.buffer is other.buffer for other in operands) == 1 or (array.buffer not in written) for array in operands]
    group = 1
    if layout.form == "rows" and not b.traits.strips and layout.row_length >= 64:
        group = min(b.traits.group, 1 << (layout.row_length // 4).bit_length())
    source = NestSource(nest, layout, b.traits, alone, group)
    if 16 * len(operands) + 8 * len(source.numbers) > b.traits.parameter_bytes:
        raise Unsupported(f"a kernel of {len(operands)} arrays has more arguments than the device takes")
    size, numbers = _work_items(b, layout, source)
    launch = b.launch(source.text, operands, numbers, size, label, len(loop.outputs), layout.elements * len(nest.steps),
                      (group, 1, 1) if group > 1 else (1, 1, 1) if b.traits.strips else None)
    if layout.form == "map":
        launch.over = loop.overlaps(nest)


def _work_items(b: DeviceEmitter, layout: NestLayout, source: NestSource) -> tuple[tuple[int, ...], list[int]]:
    """The work items, and all numbers of the kernel. On a CPU each does a strip of the inner axis and some rows."""
    outer, row, _, inner = layout.sizes
    if layout.form == "rows":
        inner_items, inner_strip = source.group, 1
        length = layout.row_length
    else:
        length = inner * (layout.row_length if layout.form == "columns" else 1)
        inner_strip = 1
        if b.traits.strips:
            inner_strip = source.columns if layout.form == "columns" else min(inner, max(_STRIP, inner * row * outer // (b.traits.units * 64)))
        inner_items = -(-inner // inner_strip)
    row_items, row_strip = (1, 1) if layout.form == "columns" else (row, 1)
    if b.traits.strips and layout.form != "columns":
        each = max(length if layout.form == "rows" else inner_strip, 1)
        row_strip = max(1, min(-(-row // (b.traits.units * _PARTS)), _STRIP // each))
        row_items = -(-row // row_strip)
    return (inner_items, row_items, outer), [*source.numbers, inner_strip, row_strip]


def _split(b: DeviceEmitter, loop: Loop, wanted: int) -> tuple[Loop, Loop] | None:
    """The loop as two: one of its reduced axes is cut, each part has results of its own, and a second loop puts these together in a fixed order."""
    axis = max(loop.reduced, key=lambda each: loop.shape[each])
    count = max((each for each in range(1, min(2 * wanted, loop.shape[axis]) + 1) if loop.shape[axis] % each == 0), default=1)
    if count < max(wanted // 4, 2):
        return None

    def cut(strides: tuple[int, ...]) -> tuple[int, ...]:
        return (*strides[:axis], strides[axis] * (loop.shape[axis] // count), *strides[axis:])

    shape = (*loop.shape[:axis], count, loop.shape[axis] // count, *loop.shape[axis + 1:])
    reduced = frozenset(each + (each >= axis) for each in loop.reduced)
    first = Loop(shape, reduced, [(array, cut(strides)) for array, strides in loop.inputs], list(loop.steps),
                 [(ref, array, cut(strides), True) for ref, array, strides, whole in loop.outputs if whole])
    kept = [each for each in range(len(loop.shape)) if each not in loop.reduced]
    extents = tuple(loop.shape[each] for each in kept)
    second = Loop((count, *extents), frozenset([0]))
    known: dict[Ref, Ref] = {}
    for index, (step, operands) in enumerate(loop.steps):
        if isinstance(step, Fold):
            wide = accumulated(step.kind, loop.dtype_of(operands[0]), b.traits.doubles)
            first.steps[index] = Fold(step.kind, (), wide), operands
            scratch = b.empty((count, *extents), wide.np)
            along = dict(zip((axis, *[each + (each >= axis) for each in kept]), scratch.strides))
            first.output(("step", index, 0), scratch, tuple(along.get(each, 0) for each in range(len(shape))), False)
            (known["step", index, 0],) = second.step(step, [second.input(scratch, scratch.strides)])
    for ref, array, strides, whole in loop.outputs:
        if not whole:
            second.output(loop.in_second_loop(second, known, ref, kept), array, (0, *[strides[each] for each in kept]), False)
    first.prune()
    return first, second
