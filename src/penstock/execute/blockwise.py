"""Large arrays in blocks: a kernel whose elements, or rows, have nothing to do with each other can run over some of them at a time.

Its result can then be written over an input that is not needed any more, and its temporaries stay in the cache. So a step of NumPy kernels
needs little more memory than one of native code.
"""
from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.program.ir import Node

Kernel = Callable[..., Any]
LARGE = 1 << 19  # bytes of an array that is worth it
_BLOCK = 1 << 18  # bytes of it that a kernel sees at a time
_WIDEST = 16  # bytes of an element


def in_blocks(node: Node, kernel: Kernel) -> Kernel:
    """The kernel of a node, in blocks if its op allows it and the arrays may be large. It takes ``spare``: arrays that may be written over."""
    if not runs_in_blocks(node):
        return kernel
    rows, definition = _with_rows(node), node.definition
    broadcasts = getattr(definition.shape, "broadcasts", False)

    def run(*inputs: Any, spare: Sequence[np.ndarray] = ()) -> Any:
        whole = max((value for value in inputs if isinstance(value, np.ndarray)), key=_nbytes, default=None)
        if whole is None or whole.nbytes < LARGE or whole.dtype.hasobject:
            return kernel(*inputs)
        if rows:
            return _rowwise(kernel, inputs, rows, spare)
        homes = [array for array in spare if array.shape == whole.shape]
        if not homes or not _fits(inputs, whole.shape, broadcasts):
            return kernel(*inputs)
        return definition.ufunc(*inputs, out=homes[0]) if definition.ufunc is not None else _elementwise(kernel, inputs, whole.shape, homes)

    return run


def _fits(inputs: Sequence[Any], shape: tuple[int, ...], broadcasts: bool) -> bool:
    """Has the result this shape, or does the kernel have to say what is wrong?"""
    shapes = {np.shape(value) for value in inputs}
    return shapes == {shape} or (broadcasts and np.broadcast_shapes(*shapes) == shape)


def runs_in_blocks(node: Node) -> bool:
    """Can a node run in blocks, and may it be worth it? Its kernel, as ``in_blocks`` gives it, then takes ``spare``."""
    definition = node.definition
    if not (definition.elementwise or definition.rows) or definition.stateful or definition.forwards or definition.borrows:
        return False
    sizes = [tensor.shape.num_elements() for tensor in node.origin.outputs] if node.origin is not None else [None]
    return any(size is None or size * _WIDEST >= LARGE for size in sizes)


def unshared_arrays(values: Sequence[Any], positions: Sequence[int]) -> list[np.ndarray]:
    """The large arrays at these positions of a list, or a tuple, that alone holds them: they are neither in use nor a part of something that is."""
    return [values[position] for position in positions if sys.getrefcount(values[position]) <= _SOLE_HOLDER and _is_own(values[position])]


def _is_own(value: Any) -> bool:
    return type(value) is np.ndarray and value.nbytes >= LARGE and value.base is None and value.flags.owndata and value.flags.carray


def _sole_holder_count() -> int:
    """What ``sys.getrefcount(values[0])`` says when the list alone holds the value."""
    values = [np.zeros(())]
    return sys.getrefcount(values[0])


_SOLE_HOLDER = _sole_holder_count()


def _with_rows(node: Node) -> tuple[bool, ...]:
    """Per input of an op that works row by row: has it one row per row of the outputs?"""
    names = node.definition.rows
    return tuple(arg.name in names for arg, values in node.definition.group(node.inputs, node.attrs) for _ in values) if names else ()


def _nbytes(array: np.ndarray) -> int:
    return array.nbytes


def _elementwise(kernel: Kernel, inputs: Sequence[Any], shape: tuple[int, ...], spare: Sequence[np.ndarray]) -> Any:
    """By elements, if all inputs are single numbers or alike; else by what broadcasting takes for rows."""
    if all(np.size(value) == 1 or (value.shape == shape and value.flags.c_contiguous) for value in inputs):
        flat = [np.reshape(value, -1 if np.shape(value) == shape else ()) for value in inputs]
        return _run(kernel, flat, [value.ndim == 1 for value in flat], spare, shape)
    return _rowwise(kernel, inputs, [np.shape(value)[:1] == shape[:1] and np.ndim(value) == len(shape) for value in inputs], spare)


def _rowwise(kernel: Kernel, inputs: Sequence[Any], cut: Sequence[bool], spare: Sequence[np.ndarray]) -> Any:
    lengths = {np.shape(value)[:1] for value, each in zip(inputs, cut) if each}
    if len(lengths) != 1 or lengths <= {(), (0,), (1,)} or max(map(np.ndim, inputs)) < 2:  # nothing to cut, or the kernel says what does not fit
        return kernel(*inputs)
    return _run(kernel, inputs, cut, [array for array in spare if any(array is value for value, each in zip(inputs, cut) if each)])


def _run(kernel: Kernel, inputs: Sequence[Any], cut: Sequence[bool], spare: Sequence[np.ndarray], shape: tuple[int, ...] = ()) -> Any:
    """The outputs of a kernel that sees only blocks of the inputs that are cut. Its output gets this shape, if inputs were made flat."""
    length, size = max((len(value), value.nbytes) for value, each in zip(inputs, cut) if each)
    step = max(1, _BLOCK * length // size)
    homes: list[np.ndarray] = []
    for start in range(0, length, step):
        block = slice(start, start + step)
        output = kernel(*[value[block] if each else value for value, each in zip(inputs, cut)])
        results = output if isinstance(output, tuple) else (output,)
        if not homes:
            free = list(spare)
            homes = [_home(free, shape or (length, *result.shape[1:]), result.dtype) for result in results]
        for home, result in zip(homes, results):
            (home.reshape(-1) if shape else home)[block] = result
    return tuple(homes) if isinstance(output, tuple) else homes[0]


def _home(free: list[np.ndarray], shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Memory for an output: that of a free array, if one fits."""
    for position, array in enumerate(free):
        if array.shape == shape and array.dtype == dtype:
            return free.pop(position)
    return np.empty(shape, dtype)
