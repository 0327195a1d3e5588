"""What the op files share: sets of types, shape functions, small helpers for kernels."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from penstock.graph import dtypes as dt
from penstock.graph.members import with_parameters
from penstock.graph.shape import TensorShape, brackets, broadcast, broadcast_all, scalar

# Sets of types, for ``T=...`` in a declaration.
FLOATS = frozenset([dt.float16, dt.bfloat16, dt.float32, dt.float64])
COMPLEX = frozenset([dt.complex64, dt.complex128])
INTS_SIGNED = frozenset([dt.int8, dt.int16, dt.int32, dt.int64])
INTS_UNSIGNED = frozenset([dt.uint8, dt.uint16, dt.uint32, dt.uint64])
INTEGERS = INTS_SIGNED | INTS_UNSIGNED
INEXACT = FLOATS | COMPLEX
REAL = FLOATS | INTEGERS
NUMERIC = REAL | COMPLEX
INDEX = frozenset([dt.int32, dt.int64])
ANY = NUMERIC | {dt.bool_, dt.string, dt.resource, dt.variant}

ShapeFunction = Callable[..., Any]


def like(argument: str) -> ShapeFunction:
    """The output has the shape of this input."""
    return with_parameters(lambda tensor: tensor.shape, [argument])


def broadcasting(*arguments: str) -> ShapeFunction:
    """The output has the shape that these inputs broadcast to."""
    if len(arguments) == 2:
        function = with_parameters(lambda a, b: broadcast(a.shape, b.shape), arguments)
    else:
        function = with_parameters(lambda *tensors: broadcast_all(tensor.shape for tensor in tensors), arguments)
    function.broadcasts = True  # type: ignore[attr-defined]
    return function


def merge(a: TensorShape, b: TensorShape) -> TensorShape:
    """What is known of two shapes that must be the same one; ValueError in TensorFlow's words if they cannot be."""
    x, y = a.extents, b.extents
    if x is None or y is None:
        return b if x is None else a
    if len(x) != len(y):
        raise ValueError(f"Shapes must be equal rank, but are {len(x)} and {len(y)}")
    for axis, (p, q) in enumerate(zip(x, y)):
        if p is not None and q is not None and p != q:
            raise ValueError(f"Dimension {axis} in both shapes must be equal, but are {p} and {q}. Shapes are {brackets(x)} and {brackets(y)}.")
    return a.merge_with(b)


def fixed(*extents: int | None) -> ShapeFunction:
    """The output always has this shape; ``fixed()`` is a scalar."""
    shape = TensorShape(extents) if extents else scalar()
    return with_parameters(lambda: shape, [])


def unknown(rank: int | None = None) -> ShapeFunction:
    """Nothing but the rank, or nothing at all, is known before it runs."""
    shape = TensorShape(None) if rank is None else TensorShape([None] * rank)
    return with_parameters(lambda: shape, [])


def nothing() -> ShapeFunction:
    """For an op without outputs."""
    return with_parameters(lambda: [], [])


def at_least(rank: int) -> range:
    """For ``ranks``: this rank or a higher one."""
    return range(rank, 255)


def at_most(rank: int) -> range:
    """For ``ranks``: this rank or a lower one."""
    return range(rank + 1)


def canonical_axis(axis: int, rank: int, what: str = "axis") -> int:
    """A non-negative axis; ValueError if it is out of range."""
    if not -rank <= axis < rank:
        raise ValueError(f"{what} {axis} is out of range for a tensor of rank {rank}: it must be in [{-rank}, {rank})")
    return axis + rank if axis < 0 else axis


def shape_text(array: Any) -> str:
    """The shape of an array as TensorFlow's kernels write it in messages: ``[2,3]``."""
    return brackets(np.shape(array))


class Ragged(NamedTuple):
    """The vectors of many elements, one after the other in ``values``, and the length of each: tensors, or arrays."""

    values: Any
    lengths: Any


def itemwise(op: Any, inputs: list[Any], stacked: set[int]) -> list[Any]:
    """``batched`` of an op that treats all items of its inputs alike, wherever they stand in an array; see ``ops/data/vectorised.py``."""
    return list(op.definition.add_node(inputs[0].op.graph, op.name, tuple(inputs), op.attrs).outputs)


def sparse_rows(values: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The (indices, values, shape) of a sparse matrix whose rows, of these lengths, follow each other in ``values``."""
    indices = np.empty((len(values), 2), np.int64)
    indices[:, 0] = np.repeat(np.arange(len(lengths)), lengths)
    indices[:, 1] = np.arange(len(values)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return indices, values, np.array([len(lengths), lengths.max(initial=0)], np.int64)


def strings(values: Any, shape: Any = None) -> np.ndarray:
    """An array of bytes objects from an iterable of them."""
    values = list(values)
    result = np.empty(len(values), object)
    result[:] = values
    return result if shape is None else result.reshape(shape)
