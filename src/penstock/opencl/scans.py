"""Sums and products of all elements up to each one, one-hot rows, bands of matrices, reversed sequences, on a device."""
from __future__ import annotations

import math

from penstock.graph.dtypes import as_dtype
from penstock.native.calls import Array
from penstock.native.kernels.scans import Scans
from penstock.opencl.builder import SourceBuilder, literal
from penstock.opencl.source import WORDS, Operand, kernel_text, loaded, name_of, operand, stored


class DeviceScans(Scans):
    """Rows are independent of each other."""

    def cumulative(self, array: Array, axis: int, how: str, exclusive: bool, reverse: bool) -> Array:
        """Sums ("add") or products ("mul") along an axis."""
        if not -array.rank <= axis < array.rank:
            self.emit.unsupported(f"axis {axis} of rank {array.rank}")
        kind = as_dtype(array.dtype)
        result = self.emit.empty(array.shape, array.dtype)
        if not array.size:
            return result
        axis %= array.rank
        count, inner = array.shape[axis], math.prod(array.shape[axis + 1:])
        builder = SourceBuilder()
        total = builder.variable("total", kind)
        value = builder.variable(loaded(kind, "x[at]"), kind)
        after = getattr(builder, how)(total, value)
        store = stored(kind, "y[at]", str(total.ir if exclusive else after.ir))
        place = "(count - 1 - k)" if reverse else "k"
        body = "\n".join(["long i = get_global_id(0), row = get_global_id(1); if (i >= inner || row >= rows) return;",
                          f"{name_of(kind)} total = {literal(int(how == 'mul'), kind)};", "for (long k = 0; k < count; k++) {",
                          f"long at = (row * count + {place}) * inner + i;", *builder.lines, store, f"total = {after.ir};", "}"])
        text = kernel_text([operand("x", array.dtype), operand("y", array.dtype)], ["rows", "count", "inner"], body)
        rows = array.size // (count * inner)
        self.emit.launch(text, [self.emit.contiguous(array), result], [rows, count, inner], (inner, rows), "cumulative", flops=array.size)
        return result

    def one_hot(self, indices: Array, depth: int, on_value: Array, off_value: Array, axis: int) -> Array:
        """``off_value`` everywhere but where an index says."""
        if depth < 0 or not -1 <= axis <= indices.rank:
            self.emit.unsupported("the depth or the axis does not fit")
        axis = indices.rank if axis == -1 else axis
        result = self.emit.empty([*indices.shape[:axis], depth, *indices.shape[axis:]], on_value.dtype)
        if result.size:
            inner, element = math.prod(indices.shape[axis:]), WORDS[on_value.dtype.itemsize]
            body = """
  long i = get_global_id(0), d = get_global_id(1), row = get_global_id(2); if (i >= inner || d >= depth) return;
  result[(row * depth + d) * inner + i] = (long)indices[row * inner + i] == d ? *on : *off;"""
            names = [operand("indices", indices.dtype), Operand("on", element), Operand("off", element), Operand("result", element)]
            self.emit.launch(kernel_text(names, ["inner", "depth"], body), [self.emit.contiguous(indices), on_value, off_value, result],
                             [inner, depth], (inner, depth, math.prod(indices.shape[:axis])), "one_hot")
        return result

    def band(self, array: Array, lower: int, upper: int) -> Array:
        """Matrices with zeros outside a band around the main diagonal; a negative width keeps the whole triangle."""
        rows, columns = array.shape[-2:]
        if lower > rows or upper > columns:
            self.emit.unsupported("the band does not fit")
        result = self.emit.empty(array.shape, array.dtype)
        if result.size:
            element = WORDS[array.dtype.itemsize]
            body = """
  long j = get_global_id(0), line = get_global_id(1); if (j >= columns || line >= lines) return;
  long i = line % rows; bool inside = i - j <= lower && j - i <= upper;
  y[line * columns + j] = inside ? x[line * columns + j] : 0;"""
            text = kernel_text([Operand("x", element), Operand("y", element)], ["rows", "columns", "lines", "lower", "upper"], body)
            numbers = [rows, columns, array.size // columns, rows if lower < 0 else lower, columns if upper < 0 else upper]
            self.emit.launch(text, [self.emit.contiguous(array), result], numbers, (columns, array.size // columns), "band")
        return result

    def reverse_sequence(self, array: Array, lengths: Array, seq_axis: int, batch_axis: int) -> Array:
        """Per entry of the batch, the first elements of a sequence backwards."""
        rank = array.rank
        apart = seq_axis != batch_axis and 0 <= seq_axis < rank and 0 <= batch_axis < rank
        if not apart or lengths.shape != (array.shape[batch_axis],):
            self.emit.unsupported("the axes or the lengths do not fit")
        lengths = self.emit.index.check(lengths, array.shape[seq_axis] + 1)
        array, result = self.emit.contiguous(array), self.emit.empty(array.shape, array.dtype)
        if not array.size:
            return result
        low, high = sorted((seq_axis, batch_axis))
        outer, middle, inner = (math.prod(array.shape[a:b]) for a, b in ((0, low), (low + 1, high), (high + 1, rank)))
        entry, position, line = ("k", "i", "at * middle + m") if seq_axis < batch_axis else ("i", "k", "i * middle + m")
        behind = "k" if seq_axis < batch_axis else "at"
        body = f"""
  long e = get_global_id(0), k = get_global_id(1), rest = get_global_id(2); if (e >= inner || k >= second) return;
  long m = rest % middle, i = rest / middle % first, o = rest / middle / first;
  long length = (long)lengths[{entry}], at = {position} < length ? length - 1 - {position} : {position};
  y[(((o * first + i) * middle + m) * second + k) * inner + e] = x[((o * first * middle + {line}) * second + {behind}) * inner + e];"""
        element = WORDS[array.dtype.itemsize]
        names = [Operand("x", element), operand("lengths", lengths.dtype), Operand("y", element)]
        numbers = [array.shape[low], middle, array.shape[high], inner]
        self.emit.launch(kernel_text(names, ["first", "middle", "second", "inner"], body), [array, lengths, result], numbers,
                         (inner, array.shape[high], outer * array.shape[low] * middle), "reverse_sequence")
        return result
