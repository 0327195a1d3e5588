"""From a group of items to calls: one loop nest, and a second small one where threads have parts of a reduction to put together."""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.graph.dtypes import DType, as_dtype
from penstock.native.calls import Array, Code, row_major
from penstock.native.fusion.loop_nest import Fold, Nest, NestInput, NestOutput, OpStep
from penstock.native.fusion.nest_kernel import module_for
from penstock.native.fusion.nest_layout import NestLayout, NestPart
from penstock.native.fusion.reducers import wide_dtype
from penstock.native.fusion.spills import last_reads, spills, step_cost
from penstock.native.kernels.axes import Strides

if TYPE_CHECKING:
    from penstock.native.emitter import Emitter

_SHORT, _LONG = 8, 256  # elements of an inner loop: too few, and enough,
_MANY = 1024  # in loops over that many
Ref = tuple[str, int, int]  # ("input", which, 0) or ("step", which, which of its results)


@dataclass
class Loop:
    """A nest in the making, over a space whose extents are known, and the arrays that it reads and writes."""

    shape: tuple[int, ...]
    reduced: frozenset[int] = frozenset()
    inputs: list[tuple[Array, Strides]] = field(default_factory=list)
    steps: list[tuple[OpStep | Fold, list[Ref]]] = field(default_factory=list)  # with their operands, which get ids when the nest is made
    outputs: list[tuple[Ref, Array, Strides, bool]] = field(default_factory=list)  # and whether it is stored per element

    def input(self, array: Array, strides: Strides) -> Ref:
        """An array that is read, with a stride along each axis of the space."""
        for index, (other, have) in enumerate(self.inputs):
            if have == strides and (other is array or _same_place(other, array)):
                return "input", index, 0
        self.inputs.append((array, strides))
        return "input", len(self.inputs) - 1, 0

    def step(self, step: OpStep | Fold, operands: Sequence[Ref]) -> list[Ref]:
        """One more step; its results."""
        self.steps.append((step, list(operands)))
        return [("step", len(self.steps) - 1, k) for k in range(len(step.dtypes))]

    def output(self, ref: Ref, array: Array, strides: Strides, whole: bool) -> None:
        """A value that is stored."""
        self.outputs.append((ref, array, strides, whole))

    def emit(self, b: Emitter, label: str) -> None:
        """Appends the calls."""
        self.prune()
        if self.reduced and not any(isinstance(step, Fold) for step, _ in self.steps):
            self._emit_apart(b, label)
            return
        b.run_nest(self, label)

    def emit_native(self, b: Emitter, label: str) -> None:
        """The calls of native code, after ``prune``."""
        nest, layout = self.nest()
        if layout.form == "map" and layout.inner.extent < _SHORT and layout.elements >= _MANY and self._straighten(b):
            nest, layout = self.nest()
        work = layout.elements * max(sum(step_cost(step, nest) for step in nest.steps), 8) // 8
        parts, partial = layout.parts(b.threads, work, nest.loops > 1)
        if partial:
            self._emit_partial(b, label, len(parts))
        elif parts:
            self._call(b, nest, layout, parts, label, [[0] * len(self.outputs) for _ in parts])

    def _straighten(self, b: Emitter) -> bool:
        """Copies inputs that make the inner loop a short one, such as a mirrored image or a number per channel: the last axes become one."""
        last = next(axis for axis in reversed(range(len(self.shape))) if axis == 0 or math.prod(self.shape[axis:]) >= _LONG)

        def is_straight(array: Array, strides: Strides) -> bool:
            return strides[last:] == row_major(self.shape[last:], array.dtype.itemsize) or not any(strides[last:])

        if not all(is_straight(array, strides) for _, array, strides, _ in self.outputs):
            return False
        for index, (array, strides) in enumerate(self.inputs):
            if not is_straight(array, strides):
                axes = [axis for axis, stride in enumerate(strides) if stride or axis >= last]
                copy = b.move.copy_of(b.view(array, [self.shape[axis] for axis in axes], [strides[axis] for axis in axes]))
                place = dict(zip(axes, copy.strides))
                self.inputs[index] = copy, tuple(place.get(axis, 0) for axis in range(len(strides)))
        return True

    def _emit_apart(self, b: Emitter, label: str) -> None:
        """The reductions are not needed: what is stored per element and what is kept are loops of their own."""
        kept = [axis for axis in range(len(self.shape)) if axis not in self.reduced]

        def over(axes: Sequence[int], strides: Strides) -> Strides:
            return tuple(strides[axis] for axis in axes)

        for axes, whole in ((range(len(self.shape)), True), (kept, False)):
            loop = Loop(over(axes, self.shape), frozenset(), [(array, over(axes, strides)) for array, strides in self.inputs], list(self.steps),
                        [(ref, array, over(axes, strides), True) for ref, array, strides, is_whole in self.outputs if is_whole is whole])
            if loop.outputs:
                loop.emit(b, label)

    def prune(self) -> None:
        """Drops what no output needs."""
        needed: set[Ref] = set()
        waiting = [ref for ref, _, _, _ in self.outputs]
        while waiting:
            ref = waiting.pop()
            if ref not in needed:
                needed.add(ref)
                if ref[0] == "step":
                    waiting.extend(self.steps[ref[1]][1])
        used = {kind: sorted({index for which, index, _ in needed if which == kind}) for kind in ("input", "step")}
        place = {(kind, index): position for kind, indices in used.items() for position, index in enumerate(indices)}

        def renumbered(ref: Ref) -> Ref:
            return ref[0], place[ref[0], ref[1]], ref[2]

        self.inputs = [self.inputs[index] for index in used["input"]]
        self.steps = [(step, list(map(renumbered, operands))) for step, operands in (self.steps[index] for index in used["step"])]
        self.outputs = [(renumbered(ref), array, strides, whole) for ref, array, strides, whole in self.outputs]

    def nest(self) -> tuple[Nest, NestLayout]:
        """What is computed, and how that is laid out over the space."""
        strides = [*[each for _, each in self.inputs], *[each for _, _, each, _ in self.outputs]]
        layout = NestLayout(self.shape, self.reduced, strides)
        nest = self._nest_for(layout)
        if layout.form == "columns" and nest is None:
            layout = NestLayout(self.shape, self.reduced, strides, rows=True)
            nest = self._nest_for(layout)
        assert nest is not None
        return nest, layout

    def _nest_for(self, layout: NestLayout) -> Nest | None:
        inputs = tuple(NestInput(_dtype(array), layout.mode(k, array.dtype.itemsize), layout.is_kept(k)) for k, (array, _) in enumerate(self.inputs))
        starts, at = [], len(inputs)
        for step, _ in self.steps:
            starts.append(at)
            at += len(step.dtypes)

        def number(ref: Ref) -> int:
            return ref[1] if ref[0] == "input" else starts[ref[1]] + ref[2]

        steps = tuple(step.on(tuple(map(number, operands))) for step, operands in self.steps)
        outputs = tuple(NestOutput(number(ref), whole) for ref, _, _, whole in self.outputs)
        if layout.form == "columns":
            trial = Nest("rows", inputs, steps, outputs)
            if any(output.whole and trial.phases[output.value] for output in outputs) or any(trial.phases[start] > 1 for start in trial.folds):
                return None
        return Nest(layout.form, inputs, steps, outputs, (bool(layout.outer), bool(layout.middle)))

    def _call(self, b: Emitter, nest: Nest, layout: NestLayout, parts: Sequence[NestPart], label: str, origins: Sequence[Sequence[int]]) -> None:
        """``origins``: where in its output each part begins, in bytes."""
        kept_over = spills(nest)
        sizes = [nest.dtypes[each].size for each in kept_over]
        scratch = [b.empty((len(parts), layout.row_length), nest.dtypes[each].np) for each in kept_over]
        words = []
        for index, (part, mine) in enumerate(zip(parts, origins)):
            places = [*[0] * len(self.inputs), *mine, *[index * layout.row_length * size for size in sizes]]
            words.append(layout.words(part, places, sizes))
        operands = [*[array for array, _ in self.inputs], *[array for _, array, _, _ in self.outputs], *scratch]
        code = Code.of("nest " + nest.key, lambda: module_for(nest), complete=nest.ours)
        b.call(code, operands, words, label, len(self.outputs) + len(scratch), layout.elements * len(nest.steps))
        b.calls[-1].over = self.overlaps(nest)

    def overlaps(self, nest: Nest) -> list[tuple[Array, Array]]:
        """Outputs and inputs that may share memory: element by element, the input is read before the output is written, and not after it."""
        reads = last_reads(nest)
        buffers = Counter(array.buffer for array, _ in self.inputs)
        alone = [(k, array, strides) for k, (array, strides) in enumerate(self.inputs)
                 if buffers[array.buffer] == 1 and array.nbytes == array.buffer.nbytes and k in reads]
        return [(output, array) for (_, output, along, whole), stored in zip(self.outputs, nest.outputs) if whole and output.buffer not in buffers
                for k, array, strides in alone
                if strides == along and array.dtype.itemsize == output.dtype.itemsize and reads[k] <= nest.phases[stored.value]]

    def _emit_partial(self, b: Emitter, label: str, count: int) -> None:
        """Parts of a reduction, each into accumulators of its own; then these into the outputs, in a fixed order."""
        kept = [axis for axis in range(len(self.shape)) if axis not in self.reduced]
        extents = tuple(self.shape[axis] for axis in kept)
        first = Loop(self.shape, self.reduced, self.inputs, list(self.steps), [each for each in self.outputs if each[3]])
        second = Loop((count, *extents), frozenset([0]))
        shifted: dict[Ref, Ref] = {}
        whole = len(first.outputs)
        for index, (step, operands) in enumerate(self.steps):
            if isinstance(step, Fold):
                wide = wide_dtype(step.kind, self.dtype_of(operands[0]))
                first.steps[index] = Fold(step.kind, (), wide), operands
                scratch = b.empty((count, *extents), wide.np)
                along = [0] * len(self.shape)
                for axis, stride in zip(kept, scratch.strides[1:]):
                    along[axis] = stride
                first.output(("step", index, 0), scratch, tuple(along), False)
                (shifted["step", index, 0],) = second.step(step, [second.input(scratch, scratch.strides)])
        for ref, array, strides, is_whole in self.outputs:
            if not is_whole:
                second.output(self.in_second_loop(second, shifted, ref, kept), array, (0, *[strides[axis] for axis in kept]), False)
        first.prune()
        nest, layout = first.nest()
        parts, _ = layout.parts(b.threads, 1 << 62, False)
        assert len(parts) == count
        origins = [[0] * whole + [index * array.nbytes // count for _, array, _, _ in first.outputs[whole:]] for index in range(count)]
        first._call(b, nest, layout, parts, label, origins)
        second.emit(b, f"{label} (parts)")

    def dtype_of(self, ref: Ref) -> DType:
        """The type of a value."""
        return _dtype(self.inputs[ref[1]][0]) if ref[0] == "input" else self.steps[ref[1]][0].dtypes[ref[2]]

    def in_second_loop(self, second: Loop, known: dict[Ref, Ref], ref: Ref, kept: Sequence[int]) -> Ref:
        """A kept value of this loop in the second one: computed there, of what the folds gave."""
        if ref not in known:
            kind, index, _ = ref
            if kind == "input":
                array, strides = self.inputs[index]
                known[ref] = second.input(array, (0, *[strides[axis] for axis in kept]))
            else:
                step, operands = self.steps[index]
                for k, made in enumerate(second.step(step, [self.in_second_loop(second, known, operand, kept) for operand in operands])):
                    known["step", index, k] = made
        return known[ref]


def _dtype(array: Array) -> DType:
    return as_dtype(array.dtype)


def _same_place(x: Array, y: Array) -> bool:
    return x.buffer is y.buffer and x.offset == y.offset and x.dtype == y.dtype
