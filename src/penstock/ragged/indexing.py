"""``ragged[key]``: rows, slices and new axes.

Integers select along the first axis, and along those below it once a row is selected; a ragged dimension that is not the first can only be sliced.
"""
from __future__ import annotations

from typing import Any

from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.array.cast import cast
from penstock.ops.array.select import where
from penstock.ops.array.sequences import range as sequence
from penstock.ops.math.elementwise import maximum, minimum
from penstock.ragged.gathering import row_pieces
from penstock.ragged.partition import row_count
from penstock.ragged.tensor import RaggedTensor


def getitem(value: RaggedTensor, key: Any) -> Any:
    """``value[key]``."""
    keys = list(key) if isinstance(key, (list, tuple)) else [key]
    with name_scope(None, "RaggedGetItem", [value, *[item for item in keys if isinstance(item, Tensor)]]):
        return _outer(value, _expand(keys, value))


def _expand(keys: list[Any], value: RaggedTensor) -> list[Any]:
    """The keys with the ellipsis replaced by full slices."""
    places = [index for index, key in enumerate(keys) if key is Ellipsis]
    if not places:
        return keys
    if len(places) > 1:
        raise ValueError("Only one ellipsis is allowed in a key.")
    ndims = value.shape.ndims
    if ndims is None:
        raise ValueError("Ellipsis not supported for unknown shape RaggedTensors")
    given = sum(key is not None and key is not Ellipsis for key in keys)
    return [*keys[:places[0]], *[slice(None)] * (ndims - given), *keys[places[0] + 1:]]


def _outer(value: Any, keys: list[Any]) -> Any:
    if not keys:
        return value
    if not isinstance(value, RaggedTensor):
        return value[tuple(keys)]
    first, rest = keys[0], keys[1:]
    if first is None:
        inner = _outer(value, rest)
        dtype = value.row_splits.dtype.base_dtype
        count = inner.nrows(dtype) if isinstance(inner, RaggedTensor) else row_count(inner, dtype)
        return RaggedTensor.from_row_lengths(inner, count[None], validate=False)
    if isinstance(first, slice):
        whole = first == slice(None)
        return _inner(value if whole else row_pieces(value.values, value.row_starts()[first], value.row_lengths()[first]), rest)
    place = first if isinstance(first, (int, Tensor)) else to_tensor(first)
    start, limit = value.row_splits[:-1][place], value.row_splits[1:][place]
    return _outer(value.values[start:limit], rest)


def _inner(value: RaggedTensor, keys: list[Any]) -> Any:
    """Applies keys to the dimensions below the first."""
    if not keys:
        return value
    first, rest = keys[0], keys[1:]
    if first is None:
        inner = _inner(value, rest)
        return RaggedTensor.from_row_splits(inner, sequence(value.nrows() + 1), validate=False)
    if not isinstance(first, slice):
        raise ValueError("Cannot index into an inner ragged dimension: its rows may be too short. Slice it, or select a row first.")
    sliced = value if first == slice(None) else _sliced_rows(value, first)
    if not rest:
        return sliced
    if isinstance(sliced.values, RaggedTensor):
        return sliced.with_values(_inner(sliced.values, rest))
    return sliced.with_values(sliced.values[(slice(None), *rest)])


def _sliced_rows(value: RaggedTensor, key: slice) -> RaggedTensor:
    """Each row with the same slice of it."""
    lengths = value.row_lengths()
    step = 1 if key.step is None else int(key.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    lowest, highest = (lengths * 0, lengths) if step > 0 else (lengths * 0 - 1, lengths - 1)

    def bound(given: Any, default: Tensor) -> Tensor:
        if given is None:
            return default
        place = cast(to_tensor(given), lengths.dtype.base_dtype) + lengths * 0
        return minimum(maximum(where(place < 0, place + lengths, place), lowest), highest)

    start = bound(key.start, lowest if step > 0 else highest)
    stop = bound(key.stop, highest if step > 0 else lowest)
    wanted = (stop - start + (step - 1 if step > 0 else step + 1)) // step
    return row_pieces(value.values, value.row_starts() + start, maximum(wanted, lengths * 0), step)
