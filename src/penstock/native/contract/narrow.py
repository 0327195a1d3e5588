"""Contractions of float16 and bfloat16: in float32, between a conversion of the factors and one of the result."""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np

from penstock.graph import dtypes
from penstock.graph.dtypes import DType
from penstock.native.calls import Array, Buffer, Code
from penstock.native.contract.product import PARTS, Epilogue, ranges
from penstock.native.machine import target
from penstock.native.vector.builder import VectorBuilder
from penstock.native.vector.elements import Elements
from penstock.native.vector.pieces import number
from penstock.native.vector.types import NARROW, memory_type
from penstock.native.vector.vectors import LANES
from penstock.native.vector.writer import Writer

if TYPE_CHECKING:
    from penstock.native.emitter import Emitter

P = ParamSpec("P")
_TYPES = frozenset(each.np for each in NARROW)
_WIDE = np.dtype(np.float32)
_MANY = 1 << 16  # elements from which on several threads pay


def by_float32(method: Callable[P, Array]) -> Callable[P, Array]:
    """A contraction that also takes narrow floats. An ``epilogue`` is applied in float32, before the result is rounded."""
    signature = inspect.signature(method)

    @functools.wraps(method)
    def contraction(*positional: P.args, **named: P.kwargs) -> Array:
        bound = signature.bind(*positional, **named)
        given: dict[str, Any] = bound.arguments
        dtypes = [value.dtype for value in given.values() if isinstance(value, Array) and value.dtype in _TYPES]
        if not dtypes:
            return method(*positional, **named)
        b: Emitter = given["self"].b
        into = given.pop("into", None)
        given.update({name: _widen(b, value) for name, value in given.items()})
        return _narrow(b, method(*bound.args, **bound.kwargs), dtypes[0], into)

    return contraction


def _widen(b: Emitter, value: Any) -> Any:
    """Narrow arrays as float32, and everything else as it is."""
    if isinstance(value, Epilogue) and value.added is not None:
        return replace(value, added=_widen(b, value.added))
    if not isinstance(value, Array) or value.dtype not in _TYPES:
        return value
    source = b.contiguous(value)
    result = b.empty(value.shape, _WIDE)
    b.contract.convert(source, result)
    return result


def _narrow(b: Emitter, wide: Array, dtype: np.dtype, into: Array | None) -> Array:
    """The array rounded: a new one whose axes have the same order in memory, or ``into``."""
    if into is not None and into.contiguous and wide.contiguous:
        b.contract.convert(wide, into)
        return into
    assert wide.nbytes == wide.buffer.nbytes  # there is nothing between its elements
    strides = tuple(stride * dtype.itemsize // _WIDE.itemsize for stride in wide.strides)
    result = Array(Buffer("arena", wide.size * dtype.itemsize), dtype, wide.shape, strides)
    b.contract.convert(wide, result)
    if into is None:
        return result
    b.copy(result, into)
    return into


def convert(b: Emitter, source: Array, result: Array) -> None:
    """Element after element, as they lie in memory."""
    kinds = dtypes.as_dtype(source.dtype), dtypes.as_dtype(result.dtype)
    if dtypes.float16 in kinds and not target.has_half():
        b.unsupported("this CPU has no instructions for float16")
    pieces = 1 if source.size < _MANY else b.threads * PARTS
    b.call(_code(*kinds), [source, result], list(ranges(source.size, pieces, LANES)), "convert")


def _code(source: DType, result: DType) -> Code:
    return Code.of(f"convert {source.name} {result.name}", lambda: _build(source, result))


def _build(source: DType, result: DType) -> str:
    w = Writer(["source", "target"], ["start", "stop"])
    v, elements = VectorBuilder(w.b), Elements(w.b)
    with w.range(w.stop, w.start, LANES) as index:
        left = w.b.sub(w.stop, index)
        whole = w.b.icmp_signed(">=", left, number(LANES))
        (value,) = elements.load(v, [(w.item(w.source, index, memory_type(source)), None, source)], whole, left)
        elements.store(v, [(w.item(w.target, index, memory_type(result)), v.cast(value, result))], whole, left)
    return w.finish()
