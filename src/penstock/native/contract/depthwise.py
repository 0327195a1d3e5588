"""Depthwise convolutions of the emitter, and their gradients: loops over pixels and taps, vectorised over channels.

As in the NumPy kernels, a channel with several filters is first made several channels with one filter each. Output and input gradient are one kernel
(``depthwise_lines``); where strides make gaps, one that *gathers*: a pixel's result is the sum over the taps whose pixel exists. The filter's
gradient is a sum over pixels for each tap.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from penstock.native.calls import Array, Code
from penstock.native.contract import depthwise_lines
from penstock.native.contract.convolution import Convolutions, Grid, from_channels_last, grids
from penstock.native.contract.product import PARTS, Epilogue, ranges
from penstock.native.contract.products import Products
from penstock.native.contract.tile import Tile, TileModule, tile_for
from penstock.native.vector.pieces import advance, loop, maximum, minimum, number
from penstock.native.vector.vectors import I64, IR, POINTER, allocate, zeros
from penstock.ops.nn import data_formats
from penstock.ops.nn.windows import Windows

Ints = tuple[int, ...]
_TAPS = 1024  # of a window, at most: their places are kept on the stack
_MANY = 1 << 16  # multiplications from which on several threads pay
# Tap t of pixel p is pixel (p * scale + offset + t * step) / divisor of the source, if that is a whole number and inside.
_AXIS = ("count", "extent", "taps", "scale", "offset", "step", "divisor")
_OPERANDS = ("source", "second", "target")
_WORDS = ("start", "stop", "channels", "source_image", "source_line", "source_pixel", *(f"{axis}_{name}" for axis in "yx" for name in _AXIS),
          "source_images")


class _Kernel:
    """A module with a kernel over the three operands."""

    def __init__(self, tile: Tile) -> None:
        self.m, self.tile = TileModule(tile), tile
        kernel = self.m.kernel()
        b = self.b = kernel.b
        self.source, self.second, self.target = kernel.operands(_OPERANDS).values()
        self.w = kernel.numbers(_WORDS)
        self.row = b.mul(self.w["channels"], number(tile.size))  # bytes of the channels of a pixel, or of a tap
        self.emit()
        b.ret_void()

    def emit(self) -> None:
        """The loops."""
        raise NotImplementedError

    def at_tap(self, axis: str, pixel: IR, tap: IR) -> tuple[IR, IR]:
        """The source's coordinate, and whether there is one."""
        b, w = self.b, self.w
        position = b.add(b.add(b.mul(pixel, w[axis + "_scale"]), w[axis + "_offset"]), b.mul(tap, w[axis + "_step"]))
        place = b.sdiv(position, w[axis + "_divisor"])
        whole = b.icmp_signed("==", b.mul(place, w[axis + "_divisor"]), position)
        return place, b.and_(whole, b.icmp_unsigned("<", place, w[axis + "_extent"]))

    def pixel(self, n: IR, y: IR, x: IR) -> IR:
        """Where a pixel of the source begins."""
        b, w = self.b, self.w
        return advance(b, self.source, b.add(b.mul(n, w["source_image"]), b.add(b.mul(y, w["source_line"]), b.mul(x, w["source_pixel"]))))

    def sum(self, start: IR, stop: IR, total: IR, mask: IR | None, places: Callable[[IR], Sequence[IR]]) -> IR:
        """total + sum over index of the product of the vectors at places(index)."""
        b = self.b
        before = b.block
        head, body, done = (b.append_basic_block(name) for name in ("head", "body", "done"))
        b.branch(head)
        b.position_at_end(head)
        index, result = b.phi(I64), b.phi(self.tile.vector)
        b.cbranch(b.icmp_signed("<", index, stop), body, done)
        b.position_at_end(body)
        left, right = (self.m.masked_load(b, place, mask) for place in places(index))
        for phi, first, again in ((index, start, b.add(index, number(1))), (result, total, self.m.fma(b, left, right, result))):
            phi.add_incoming(first, before)
            phi.add_incoming(again, b.block)
        b.branch(head)
        b.position_at_end(done)
        return result


class _Gather(_Kernel):
    """Rows of pixels of the target: for each the taps that exist, then all channels. ``second`` is the filter."""

    def emit(self) -> None:
        b, w = self.b, self.w
        self.lists = [allocate(b, POINTER, _TAPS) for _ in range(2)]
        counter = b.alloca(I64)
        with loop(b, w["start"], w["stop"]) as line, loop(b, number(0), w["x_count"]) as x:
            n, y = b.udiv(line, w["y_count"]), b.urem(line, w["y_count"])
            b.store(number(0), counter)
            with loop(b, number(0), w["y_taps"]) as i:
                row, inside = self.at_tap("y", y, i)
                with b.if_then(inside), loop(b, number(0), w["x_taps"]) as j:
                    column, there = self.at_tap("x", x, j)
                    with b.if_then(there):
                        count = b.load(counter, typ=I64)
                        tap = advance(b, self.second, b.mul(b.add(b.mul(i, w["x_taps"]), j), self.row))
                        for memory, place in zip(self.lists, (self.pixel(n, row, column), tap)):
                            b.store(place, b.gep(memory, [count], source_etype=POINTER))
                        b.store(b.add(count, number(1)), counter)
            self._channels(b.load(counter, typ=I64), advance(b, self.target, b.mul(b.add(b.mul(line, w["x_count"]), x), self.row)))

    def _channels(self, count: IR, target: IR) -> None:
        b = self.b
        for channel, mask in self.m.strips(b, self.w["channels"]):
            at = b.mul(channel, number(self.tile.size))

            def places(index: IR, at: IR = at) -> list[IR]:
                return [advance(b, b.load(b.gep(memory, [index], source_etype=POINTER), typ=POINTER), at) for memory in self.lists]

            self.m.masked_store(b, self.sum(number(0), count, zeros(self.tile.vector), mask, places), advance(b, target, at), mask)


class _Correlate(_Kernel):
    """For each tap and channel the sum over all pixels, line by line. ``second`` is the output's gradient; start and stop count taps."""

    def emit(self) -> None:
        b, w = self.b, self.w
        with loop(b, w["start"], w["stop"]) as tap:
            for channel, mask in self.m.strips(b, w["channels"]):
                self._vector(b.udiv(tap, w["x_taps"]), b.urem(tap, w["x_taps"]), b.mul(channel, number(self.tile.size)), mask)

    def _vector(self, i: IR, j: IR, at: IR, mask: IR | None) -> None:
        """Some channels of one tap."""
        b, w = self.b, self.w
        place = advance(b, self.target, b.add(b.mul(b.add(b.mul(i, w["x_taps"]), j), self.row), at))
        self.m.masked_store(b, zeros(self.tile.vector), place, mask)
        first, last = self._range(j)
        with loop(b, number(0), b.mul(w["source_images"], w["y_count"])) as line:
            n, y = b.udiv(line, w["y_count"]), b.urem(line, w["y_count"])
            row, inside = self.at_tap("y", y, i)
            with b.if_then(inside):
                origin = self.pixel(n, row, b.add(w["x_offset"], b.mul(j, w["x_step"])))
                pitch = b.mul(w["x_scale"], w["source_pixel"])
                grad = advance(b, self.second, b.mul(b.mul(line, w["x_count"]), self.row))

                def places(x: IR) -> list[IR]:
                    return [advance(b, advance(b, origin, b.mul(x, pitch)), at), advance(b, advance(b, grad, b.mul(x, self.row)), at)]

                total = self.sum(first, last, zeros(self.tile.vector), mask, places)
                self.m.masked_store(b, b.fadd(self.m.masked_load(b, place, mask), total), place, mask)

    def _range(self, tap: IR) -> tuple[IR, IR]:
        """The pixels x of a line for which the tap is inside: 0 <= x * scale + shift < extent."""
        b, w = self.b, self.w
        shift = b.add(w["x_offset"], b.mul(tap, w["x_step"]))
        first = b.udiv(b.add(maximum(b, b.neg(shift), number(0)), b.sub(w["x_scale"], number(1))), w["x_scale"])
        room = maximum(b, b.sub(w["x_extent"], shift), number(0))
        return first, minimum(b, b.udiv(b.add(room, b.sub(w["x_scale"], number(1))), w["x_scale"]), w["x_count"])


_KERNELS = {"gather": _Gather, "correlate": _Correlate}


def _code(name: str, size: int) -> Code:
    tile = tile_for(size)
    return Code.of(f"depthwise {name} {tile}", lambda: str(_KERNELS[name](tile).m.module))


def _forward_axis(grid: Grid) -> Ints:
    return grid.count, grid.extent, grid.taps, grid.stride, -grid.pad, grid.dilation, 1


def _backward_axis(grid: Grid) -> Ints:
    return grid.extent, grid.count, grid.taps, 1, grid.pad, -grid.dilation, grid.stride


class Depthwise(Products, Convolutions):
    """``depthwise`` and its two gradients."""

    def depthwise(self, input: Array, filter: Array, strides: Ints, padding: str, data_format: str, dilations: Ints,
                  epilogue: Epilogue | None = None) -> Array:
        """Each channel convolved with its own filters. What the epilogue adds has its channels last, or is a vector with an element per channel."""
        w = self._depthwise_windows(input.shape, filter.shape, input.dtype, strides, padding, data_format, dilations)
        x = self._repeat_channels(self.image(input, data_format), filter.shape[3])
        result = self.b.empty((x.shape[0], *w.output, x.shape[3]), x.dtype)
        self._gather(x, filter, result, [_forward_axis(grid) for grid in grids(w)], "depthwise", epilogue)
        return from_channels_last(result, data_format)

    def depthwise_backprop_input(self, input_sizes: Array, filter: Array, out_backprop: Array, strides: Ints, padding: str, data_format: str,
                                 dilations: Ints) -> Array:
        """The gradient for the input."""
        sizes = tuple(int(extent) for extent in self.b.known(input_sizes))
        w = self._depthwise_windows(sizes, filter.shape, filter.dtype, strides, padding, data_format, dilations)
        channels, multiplier = math.prod(filter.shape[2:]), filter.shape[3]
        dy = self._gradient(out_backprop, data_format, (sizes[0], *w.output, channels))
        result = self.b.empty((sizes[0], *w.size, channels), dy.dtype)
        self._gather(dy, filter, result, [_backward_axis(grid) for grid in grids(w)], "depthwise input gradient")
        if multiplier != 1:  # the sum over the filters of a channel
            ones = self.b.constant(np.ones((multiplier, 1), result.dtype))
            summed = self.matmul(self.b.view(result, (result.size // multiplier, multiplier)), ones)
            result = self.b.view(summed, (*result.shape[:3], filter.shape[2]))
        return from_channels_last(result, data_format)

    def depthwise_backprop_filter(self, input: Array, filter_sizes: Array, out_backprop: Array, strides: Ints, padding: str, data_format: str,
                                  dilations: Ints) -> Array:
        """The gradient for the filter."""
        shape = tuple(int(extent) for extent in self.b.known(filter_sizes))
        w = self._depthwise_windows(input.shape, shape, input.dtype, strides, padding, data_format, dilations)
        x = self._repeat_channels(self.image(input, data_format), shape[3])
        dy = self.b.contiguous(self._gradient(out_backprop, data_format, (x.shape[0], *w.output, x.shape[3])))
        result = self.b.empty(shape, x.dtype)
        axes = [_forward_axis(grid) for grid in grids(w)]
        self._call("correlate", [x, dy, result], axes, shape[0] * shape[1], dy.size * shape[0] * shape[1], "depthwise filter gradient")
        return result

    def _depthwise_windows(self, shape: Ints, filter_shape: Ints, dtype: np.dtype, strides: Ints, padding: str, data_format: str,
                           dilations: Ints) -> Windows:
        if dtype not in (np.float32, np.float64):
            self.b.unsupported(f"depthwise convolutions of {dtype} are left to NumPy")
        w = self.windows(shape, filter_shape, strides, dilations, padding, data_format)
        if data_formats.channels(shape, data_format) != filter_shape[2] or math.prod(filter_shape[:2]) > _TAPS:
            self.b.unsupported("the filter does not fit the input's channels, or has too many taps")
        return w

    def _repeat_channels(self, x: Array, multiplier: int) -> Array:
        """Images in which each channel stands once for each of its filters."""
        if multiplier == 1:
            return x
        wide = self.b.empty((*x.shape, multiplier), x.dtype)
        self.b.copy(self.b.view(x, (*x.shape, 1), (*x.strides, 0)), wide)
        return self.b.view(wide, (*x.shape[:3], x.shape[3] * multiplier))

    def _gather(self, source: Array, filter: Array, result: Array, axes: list[Ints], label: str, epilogue: Epilogue | None = None) -> None:
        lines, work = result.shape[0] * result.shape[1], result.size * math.prod(filter.shape[:2])
        filter = self.b.contiguous(filter)
        if any(axis[-1] != 1 for axis in axes):
            self._call("gather", [source, filter, result], axes, lines, work, label)
        elif result.size:
            epilogue, step = self._with_added(epilogue, result.shape)
            added = result if epilogue.added is None else epilogue.added
            self._call_lines([source, filter, added, result], axes, {**epilogue.words(result.dtype), "added_pixel": step}, lines, work, label)

    def _call_lines(self, operands: list[Array], axes: list[Ints], words: dict[str, int], lines: int, work: int, label: str) -> None:
        source = operands[0]
        words |= {"channels": source.shape[3], **dict(zip(("source_image", "source_line", "source_pixel"), source.strides))}
        words |= {f"{axis}_{name}": value for axis, values in zip("yx", axes) for name, value in zip(depthwise_lines.AXIS, values)}
        parts = [{**words, "start": start, "stop": stop} for start, stop in ranges(lines, self._pieces(work, lines), 1)]
        code = depthwise_lines.code(source.dtype.itemsize, words["x_taps"], words["x_scale"], words["x_step"])
        self.b.call(code, operands, [[part.get(name, 0) for name in depthwise_lines.WORDS] for part in parts], label, 1, 2 * work)

    def _pieces(self, work: int, extent: int) -> int:
        return 1 if work < _MANY else min(self.b.threads * PARTS, extent)

    def _call(self, name: str, operands: list[Array], axes: list[Ints], extent: int, work: int, label: str) -> None:
        source, _, result = operands
        if not result.size:
            return
        words = [source.shape[3], *source.strides[:3], *axes[0], *axes[1], source.shape[0]]
        parts = [[start, stop, *words] for start, stop in ranges(extent, self._pieces(work, extent), 1)]
        self.b.call(_code(name, result.dtype.itemsize), operands, parts, label, 1, 2 * work)

