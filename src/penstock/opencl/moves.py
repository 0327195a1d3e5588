"""Data movement on a device: views are those of ``native/kernels/moves.py``; copies and sums of views are kernels of their own."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING

from penstock.graph.dtypes import as_dtype
from penstock.native.calls import Array
from penstock.native.kernels.axes import broadcast_strides, collapse
from penstock.native.kernels.moves import Moves
from penstock.opencl.source import WORDS, Operand, kernel_text, loaded, memory_name, stored

if TYPE_CHECKING:
    from penstock.opencl.queue import Traits

_STRIP = 4096  # elements that a work item of a CPU moves


class DeviceMoves(Moves):
    """The methods are named after what they do to their first argument."""

    def copy(self, source: Array, target: Array, label: str = "copy") -> None:
        """Copies elements; both may be views, the source is broadcast to the target's shape."""
        if source.dtype.hasobject or source.dtype.itemsize != target.dtype.itemsize:
            self.emit.unsupported(f"elements of type {source.dtype} cannot be copied on a device")
        strides = broadcast_strides(source.shape, source.strides, target.shape)
        if target.size:
            element = WORDS[target.dtype.itemsize]
            self._elementwise(source, strides, target, element, "y[{1}] = x[{0}];", label)

    def accumulate(self, source: Array, target: Array, label: str) -> None:
        """Adds elements to others; both may be views of one shape, the target one in which no element is seen twice."""
        if target.size:
            dtype = as_dtype(target.dtype)
            total = f"{loaded(dtype, 'y[{1}]')} + {loaded(dtype, 'x[{0}]')}"
            self._elementwise(source, source.strides, target, memory_name(dtype), stored(dtype, "y[{1}]", total), label, target.size)

    def _elementwise(self, source: Array, strides: tuple[int, ...], target: Array, element: str, statement: str, label: str, flops: int = 0) -> None:
        size = target.dtype.itemsize
        axes = collapse([(extent, (a // size, b // size)) for extent, a, b in zip(target.shape, strides, target.strides)]) or [(1, (0, 0))]
        extents = [extent for extent, _ in axes]
        text, numbers = _text(axes, element, statement, self.emit.traits, source.buffer is not target.buffer)
        if self.emit.traits.strips:
            rows = max(1, _STRIP // extents[-1])
            strip = min(extents[-1], _STRIP)
            size_of = (-(-extents[-1] // strip), -(-math.prod(extents[:-1]) // rows))
            self.emit.launch(text, [source, target], [*numbers, strip, rows], size_of, label, flops=flops, group=(1, 1))
        else:
            self.emit.launch(text, [source, target], [*numbers, 1, 1], (extents[-1], math.prod(extents[:-1])), label, flops=flops)


def _text(axes: list[tuple[int, tuple[int, ...]]], element: str, statement: str, traits: Traits, apart: bool) -> tuple[str, list[int]]:
    """The kernel over some axes; extents, and the strides of both arrays in elements, are its numbers, but for steps of 0 and 1 along the last."""
    names: dict[str, int] = {f"e{k}": extent for k, (extent, _) in enumerate(axes)}
    last = len(axes) - 1

    def place(which: int) -> str:
        terms = []
        for k, (_, steps) in enumerate(axes):
            step = steps[which]
            if step and not (k == last and step == 1):
                names[f"s{which}_{k}"] = step
                terms.append(f"i{k} * s{which}_{k}")
            elif step:
                terms.append(f"i{k}")
        return " + ".join(terms) or "0"

    inner = statement.format(place(0), place(1))
    indices = ["long rest = row;"]
    for k in reversed(range(last)):
        indices += [f"long i{k} = rest % e{k};", f"rest /= e{k};"]
    total = " * ".join(f"e{k}" for k in range(last)) or "1"
    if traits.strips:
        body = [f"long row0 = get_global_id(1) * rows, row1 = min(row0 + rows, (long)({total}));",
                f"long start = get_global_id(0) * strip, stop = min(start + strip, e{last});",
                "for (long row = row0; row < row1; row++) {", *indices, "#pragma clang loop vectorize(assume_safety)",
                f"for (long i{last} = start; i{last} < stop; i{last}++) {{ {inner} }}", "}"]
    else:
        body = [f"long row = get_global_id(1), i{last} = get_global_id(0); if (row >= {total} || i{last} >= e{last}) return;", *indices, inner]
    operands = [Operand("x", element, apart), Operand("y", element, apart)]
    return kernel_text(operands, [*names, "strip", "rows"], "\n".join(body)), list(names.values())
