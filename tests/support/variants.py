"""Examples of ops in other sizes, shapes and types: what the compiler is held against, beside the examples themselves.

A size is changed wherever it occurs: an axis of 3 elements becomes one of 17 in every input that has such an axis, and a 3 in a vector of whole
numbers, which may be a shape, becomes 17, or stays: both are tried. Ops do not say which changes make sense: those that its shape function and
its NumPy kernel accept.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from penstock.graph import dtypes
from penstock.graph.opdef import REGISTRY
from support.casting import to_type
from support.examples import Example, State, plain

TYPES = [dtypes.as_dtype(name) for name in ("float32", "float64", "float16", "bfloat16", "int32", "int64", "uint8", "int8", "int16", "bool")]
SIZES = (0, 1, 17)  # nothing, nothing to vectorise, vectors and a rest
# Shapes of the inputs of an elementwise op: the same for all, then pairs that are broadcast.
SAME = [(), (1,), (33,), (3, 5), (2, 1, 17), (1, 2, 3, 2, 3), (0,), (3, 0, 2)]
PAIRS = [((), (7,)), ((17,), (3, 17)), ((3, 1), (1, 5)), ((2, 1, 4), (3, 1)), ((5, 1), (0,)), ((1,), (2, 0, 3)), ((2, 3, 1, 5), (1, 4, 1))]


def in_types(example: Example) -> Iterator[Example]:
    """The example with its inputs in each type that the signature allows."""
    for attr, declared in REGISTRY[example.op_type].attrs.items():
        if declared.kind == "type" and attr not in example.attrs:
            for dtype in TYPES:
                if declared.allowed is None or dtype in declared.allowed:
                    cast = to_type(example, attr, dtype)
                    if cast is not None:
                        yield replace(cast, label=f"{example.label} {attr}={dtype.name}")


def in_sizes(example: Example) -> Iterator[Example]:
    """The example with one of its extents changed, everywhere."""
    arrays = [array for array in map(_array, _leaves(example.inputs)) if array is not None]
    for old in sorted({extent for array in arrays for extent in array.shape}):
        for new in SIZES:
            if new != old:
                told = any(array.dtype.kind == "i" and array.ndim < 2 and (array == old).any() for array in arrays)
                for values in (True, False) if told else (False,):
                    changed = _mapped(example.inputs, partial(_resized, old=old, new=new, values=values))
                    yield replace(example, inputs=changed, label=f"{example.label} {old}->{new}{' also in values' if values else ''}")


def in_shapes(example: Example) -> Iterator[Example]:
    """The example of an elementwise op with inputs of other shapes, made of its own elements."""
    floating = [index for index, value in enumerate(example.inputs) if isinstance(_array(value), np.ndarray)]
    shapes = [dict.fromkeys(floating, shape) for shape in SAME]
    if len(floating) == 2:
        shapes += [dict(zip(floating, order)) for pair in PAIRS for order in (pair, pair[::-1])]
    for shape in shapes:
        inputs = tuple(_mapped(value, lambda array, shape=shape[index]: _drawn(array, shape)) if index in shape else value
                       for index, value in enumerate(example.inputs))
        yield replace(example, inputs=inputs, label=f"{example.label} {list(shape.values())}")


def is_empty(example: Example) -> bool:
    """True if some input has no elements."""
    return any(array is not None and not array.size for array in map(_array, _leaves(example.inputs)))


def _drawn(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    if not array.size:
        return np.zeros(shape, array.dtype)
    return np.asarray(array.ravel()[np.random.RandomState(len(shape)).randint(0, array.size, shape)], array.dtype).reshape(shape)


def _resized(array: np.ndarray, old: int, new: int, values: bool) -> np.ndarray:
    if values and array.dtype.kind == "i" and array.ndim < 2:
        array = np.where(array == old, new, array).astype(array.dtype)
    if not old or not array.size:
        return np.zeros([new if extent == old else extent for extent in array.shape], array.dtype)
    for axis, extent in enumerate(array.shape):
        if extent == old:
            array = np.take(array, np.arange(new) % old, axis)
    return array


def _leaves(values: Any) -> list[Any]:
    return [leaf for value in values for leaf in (value if isinstance(value, (list, tuple)) else [value])]


def _array(leaf: Any) -> np.ndarray | None:
    if isinstance(leaf, State):
        return leaf.value
    return None if callable(leaf) or isinstance(leaf, (list, tuple)) else plain(leaf)


def _mapped(value: Any, change: Callable[[np.ndarray], np.ndarray]) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_mapped(item, change) for item in value)
    if isinstance(value, State):
        return State(change(value.value), value.is_resource)
    return value if callable(value) else change(plain(value))
