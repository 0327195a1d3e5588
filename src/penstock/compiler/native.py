"""Native kernels of fused bodies: ``compile(body)`` gives one, calling it runs it.

A call checks everything that native code relies on (types, shapes, strides) before that code runs: with a kernel there is no way to
read or write outside the arrays. Arrays need not be aligned or contiguous. The GIL is released while native code runs.
"""
from __future__ import annotations

import ctypes
import functools
import math
import operator
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.compiler import target
from penstock.compiler.config import config
from penstock.compiler.costs import why_not
from penstock.compiler.folding import WIDE
from penstock.compiler.fusion_body import Body, Unsupported
from penstock.compiler.grouped_loops import module_for
from penstock.compiler.layout import Layout, plan
from penstock.compiler.loops import ARRAY_DATA, SYMBOL
from penstock.compiler.pool import pool

__all__ = ["NativeKernel", "Unsupported", "compile", "why_not"]

_LAYOUTS = 64  # that a kernel remembers
_COMBINE = {"sum": np.add, "mean": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
_RELIED_ON = operator.attrgetter("__class__", "dtype", "shape", "strides")  # of an array; what was checked once is looked up from then on
_Prototype = ctypes.CFUNCTYPE(None, ctypes.c_char_p)


def compile(body: Body) -> NativeKernel:
    """The kernel of a body, from the cache on disk or by way of LLVM (some 30 to 300 ms). Raises Unsupported."""
    if not _arrays_are_readable():
        raise Unsupported("array objects of this Python have an unknown layout")
    return NativeKernel(body, target.Library(target.object_code(module_for(body)), SYMBOL))


@functools.cache
def _arrays_are_readable() -> bool:
    """Native code takes the address of elements from the array object (NumPy's ABI): much faster than asking for it in Python."""
    probe = np.zeros(3)
    held = ctypes.c_size_t.from_address(id(probe) + ARRAY_DATA).value
    return bool(held == probe.__array_interface__["data"][0])


class NativeKernel:
    """Compiled code for a body, for arrays of any shape."""

    def __init__(self, body: Body, library: target.Library) -> None:
        self.body = body
        self._library = library  # keeps the code in memory
        self._function = _Prototype(library.address)
        self._input_dtypes = [dtype.np for dtype in body.input_dtypes]
        self._output_dtypes = [dtype.np for dtype in body.output_dtypes]
        self._pack = struct.Struct(f"{len(self._input_dtypes) + len(self._output_dtypes)}n").pack
        self._layouts: dict[Any, Layout] = {}

    def __call__(self, arrays: Sequence[np.ndarray], shape: tuple[int, ...], out: Sequence[np.ndarray] | None = None) -> list[np.ndarray]:
        """The outputs for these inputs, broadcast to ``shape``; into the arrays ``out`` if they are given.

        TypeError or ValueError if types or shapes do not fit. An array of ``out`` may be one of the inputs if that has the whole shape and there
        is no reduction; otherwise it must not share memory with them.
        """
        try:
            layout = self._layouts.get((shape, *map(_RELIED_ON, arrays)))
        except AttributeError:  # something that is not an array: _plan tells what
            layout = None
        if layout is None:
            arrays = [np.asarray(array) if np.isscalar(array) else array for array in arrays]
            layout = self._plan(arrays, shape)
        outputs = [np.empty(layout.shape, dtype) for dtype in self._output_dtypes] if out is None else self._checked(out, arrays, layout)
        parts = layout.parts
        if len(parts) == 1:
            self._function(self._pack(*map(id, arrays), *map(id, outputs)) + parts[0])
        elif not parts:
            self._fill(outputs)
        elif not layout.partial:
            objects = self._pack(*map(id, arrays), *map(id, outputs))
            pool.run(self._function, [objects + part for part in parts], config.threads)
        else:
            self._combine(arrays, outputs, layout)
        return outputs

    def _plan(self, arrays: Sequence[np.ndarray], shape: tuple[int, ...]) -> Layout:
        """The layout of a call, once its arrays are checked."""
        if len(arrays) != len(self._input_dtypes):
            raise TypeError(f"the kernel takes {len(self._input_dtypes)} arrays, not {len(arrays)}")
        for array, dtype in zip(arrays, self._input_dtypes):
            if type(array) is not np.ndarray:
                raise TypeError(f"the kernel takes arrays, not {type(array).__name__}")
            if array.dtype != dtype:
                raise TypeError(f"the kernel takes an array of {dtype}, not {array.dtype}")
        if any(not isinstance(extent, int) or extent < 0 for extent in shape):
            raise ValueError(f"not a shape: {shape}")
        layout = plan(tuple(shape), [(array.shape, array.strides) for array in arrays], self.body.reduce, config.threads)
        if len(self._layouts) >= _LAYOUTS:
            self._layouts.clear()
        key = (shape, *map(_RELIED_ON, arrays))
        self._layouts[key] = layout
        return layout

    def _checked(self, out: Sequence[np.ndarray], arrays: Sequence[np.ndarray], layout: Layout) -> list[np.ndarray]:
        if len(out) != len(self._output_dtypes):
            raise TypeError(f"the kernel gives {len(self._output_dtypes)} arrays, not {len(out)}")
        for position, (array, dtype) in enumerate(zip(out, self._output_dtypes)):
            if type(array) is not np.ndarray or array.dtype != dtype or array.shape != layout.shape:
                raise TypeError(f"output {position} has to be an array of {dtype} and shape {list(layout.shape)}")
            if not (array.flags.c_contiguous and array.flags.writeable):
                raise ValueError(f"output {position} has to be contiguous and writeable")
            for other in (*arrays, *out[:position]):
                in_place = other is array and self.body.reduce is None and not any(other is each for each in out[:position])
                if not in_place and np.may_share_memory(array, other):
                    raise ValueError(f"output {position} shares memory with another array")
        return list(out)

    def _fill(self, outputs: list[np.ndarray]) -> None:
        """What a reduction of nothing is."""
        kind = self.body.reduce.kind if self.body.reduce else "sum"
        for output in outputs:
            if kind in ("max", "min"):
                worst = np.inf if output.dtype.kind == "f" else np.iinfo(output.dtype).max
                least = -np.inf if output.dtype.kind == "f" else np.iinfo(output.dtype).min
                output.fill(least if kind == "max" else worst)
            else:
                output.fill({"sum": 0, "prod": 1, "mean": math.nan}[kind])

    def _combine(self, arrays: Sequence[np.ndarray], outputs: list[np.ndarray], layout: Layout) -> None:
        """Parts of a reduction, each into accumulators of its own, and these into the outputs."""
        assert self.body.reduce is not None
        kind = self.body.reduce.kind
        wide = [np.dtype(np.float64) if kind in WIDE and dtype.kind == "f" else dtype for dtype in self._output_dtypes]
        inputs = list(map(id, arrays))
        accumulators = [[np.empty(layout.shape, dtype) for dtype in wide] for _ in layout.parts]
        blocks = [self._pack(*inputs, *map(id, mine)) + part for mine, part in zip(accumulators, layout.parts)]
        pool.run(self._function, blocks, config.threads)
        with np.errstate(all="ignore"):
            for position, output in enumerate(outputs):
                total = functools.reduce(_COMBINE[kind], [mine[position] for mine in accumulators])
                np.copyto(output, total / layout.count if kind == "mean" else total, casting="same_kind")
