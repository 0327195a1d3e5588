"""Padding: with zeros, with a value, with mirror images."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import raw_ops
from penstock.graph.attrs import TYPE, one_of
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.properties import Extents
from penstock.graph.shape import unknown_shape
from penstock.ops.array.sequences import all_axes
from penstock.ops.array.shape_ops import INDEX_32, as_array, known_elements, shape
from penstock.ops.array.slicing import Slice
from penstock.ops.common import shape_text

MIRRORS = one_of("REFLECT", "SYMMETRIC")


def _pairs(paddings: Tensor) -> list[tuple[int | None, int | None]] | None:
    """(before, after) per axis as far as they are known."""
    if paddings.shape.ndims is not None and (paddings.shape.ndims != 2 or paddings.shape.extents[1] not in (2, None)):
        raise ValueError(f"paddings must be a matrix with 2 columns, not of shape {paddings.shape}")
    flat = known_elements(paddings)
    return None if flat is None else list(zip(flat[::2], flat[1::2]))


def _padded_shape(input: Tensor, paddings: Tensor, sign: int = 1) -> Any:
    extents, pairs = input.shape.extents, _pairs(paddings)
    length = len(extents) if extents is not None else None if pairs is None else len(pairs)
    if extents is None or pairs is None:
        return unknown_shape(length)
    if len(pairs) != len(extents):
        raise ValueError(f"Dimension must be {len(pairs)} but is {len(extents)}: paddings has one row per axis of the input")
    result = []
    for extent, (before, after) in zip(extents, pairs):
        if any(amount is not None and amount < 0 for amount in (before, after)):
            raise ValueError(f"Paddings must be non-negative: {before}, {after}")
        result.append(None if None in (extent, before, after) else extent + sign * (before + after))
    return result


def _check_paddings(input: np.ndarray, paddings: np.ndarray) -> list[list[int]]:
    """The paddings as lists; raises if they do not fit."""
    if paddings.shape != (input.ndim, 2):
        raise invalid_argument(f"The first dimension of paddings must be the rank of inputs{shape_text(paddings)} {shape_text(input)}")
    if (paddings < 0).any():
        before, after = paddings[(paddings < 0).any(1)][0]
        raise invalid_argument(f"Paddings must be non-negative: {before} {after}")
    return paddings.tolist()


def surrounded(input: np.ndarray, pairs: list[list[int]], value: Any) -> np.ndarray:
    """``input`` with (before, after) elements of ``value`` around it on each axis: ``np.pad`` without its overhead."""
    result = np.full([before + extent + after for extent, (before, after) in zip(input.shape, pairs)], value, input.dtype)
    result[tuple(slice(before, before + extent) for extent, (before, _) in zip(input.shape, pairs))] = input
    return result


def _inner(op: Any, dy: Tensor) -> Tensor:
    """The part of ``dy`` that is not padding."""
    source, paddings = op.inputs[:2]
    pairs = _pairs(paddings)
    if pairs is not None and None not in [before for before, _ in pairs]:
        begin = np.array([before for before, _ in pairs], paddings.dtype.base_dtype.np)
    else:
        begin = paddings[:, 0]
    return Slice(dy, begin, shape(source, out_type=paddings.dtype.base_dtype))


@op("Pad", "input: T, paddings: Tpaddings -> output: T", T=TYPE, Tpaddings=INDEX_32)
class Pad:
    """Zeros around a tensor."""

    gradient_nodes = 9
    gradient_reads = lambda op: [op.inputs[1], Extents(op.inputs[0])]
    per_axis = ("paddings",)

    def shape(input, paddings):
        return _padded_shape(input, paddings)

    def kernel(input, paddings):
        input = as_array(input)
        return surrounded(input, _check_paddings(input, paddings), b"" if input.dtype == object else 0)

    def native(emit, input, paddings):
        return emit.move.pad(input, emit.known(paddings), emit.move.full((), 0, input.dtype))

    def gradient(op, dy):
        return [_inner(op, dy), None]


@op("PadV2", "input: T, paddings: Tpaddings, constant_values: T -> output: T", T=TYPE, Tpaddings=INDEX_32)
class PadV2:
    """A value around a tensor."""

    gradient_nodes = 9
    gradient_reads = lambda op: [op.inputs[1], Extents(op.inputs[0])]
    per_axis = ("paddings",)
    ranks = {"constant_values": 0}

    def shape(input, paddings, constant_values):
        return _padded_shape(input, paddings)

    def kernel(input, paddings, constant_values):
        input = as_array(input)
        return surrounded(input, _check_paddings(input, paddings), as_array(constant_values).reshape(()))

    def native(emit, input, paddings, constant_values):
        return emit.move.pad(input, emit.known(paddings), constant_values)

    def gradient(op, dy):
        inner = _inner(op, dy)
        return [inner, None, raw_ops.Sum(dy, all_axes(dy)) - raw_ops.Sum(inner, all_axes(inner))]


@op("MirrorPad", "input: T, paddings: Tpaddings -> output: T", T=TYPE, Tpaddings=INDEX_32, mode=MIRRORS)
class MirrorPad:
    """Mirror images of a tensor's edge around it: without (REFLECT) or with (SYMMETRIC) the edge itself."""

    per_axis = ("paddings",)

    def shape(input, paddings):
        return _padded_shape(input, paddings)

    def kernel(input, paddings, mode):
        input = as_array(input)
        pairs = _check_paddings(input, paddings)
        for axis, ((before, after), extent) in enumerate(zip(pairs, input.shape)):
            _check_mirror(before, after, extent, axis, mode)
        return np.pad(input, pairs, mode=mode.lower()) if input.ndim else input

    def native(emit, input, paddings, mode):
        return emit.move.mirror_pad(input, emit.known(paddings), int(mode == "REFLECT"))

    def gradient(op, dy):
        return [MirrorPadGrad(dy, op.inputs[1], mode=op.attrs["mode"]), None]


@op("MirrorPadGrad", "input: T, paddings: Tpaddings -> output: T", T=TYPE, Tpaddings=INDEX_32, mode=MIRRORS)
class MirrorPadGrad:
    """The gradient of MirrorPad: what lies in the mirror images is added to what it is an image of."""

    def shape(input, paddings):
        return _padded_shape(input, paddings, -1)

    def kernel(input, paddings, mode):
        result = np.array(input)
        for axis, (before, after) in enumerate(_check_paddings(result, paddings)):
            _check_mirror(before, after, result.shape[axis] - before - after, axis, mode)
            result = _fold(result, axis, before, after, int(mode == "REFLECT"))
        return result

    def native(emit, input, paddings, mode):
        return emit.move.mirror_pad_gradient(input, emit.known(paddings), int(mode == "REFLECT"))

    def gradient(op, dy):
        return [MirrorPad(dy, op.inputs[1], mode=op.attrs["mode"]), None]


def _check_mirror(before: int, after: int, extent: int, axis: int, mode: str) -> None:
    """InvalidArgumentError if an axis of this extent has no image that is wide enough."""
    if max(before, after) > extent - (mode == "REFLECT"):
        limit = "less than" if mode == "REFLECT" else "no greater than"
        raise invalid_argument(f"paddings must be {limit} the dimension size: {before}, {after} {limit} {extent} (axis {axis})")


def _fold(padded: np.ndarray, axis: int, before: int, after: int, edge: int) -> np.ndarray:
    """Adds the images at both ends of an axis to their originals and drops them."""
    moved = np.moveaxis(padded, axis, 0)
    extent = len(moved) - before - after
    result = moved[before:before + extent].copy()
    result[edge:edge + before] += moved[:before][::-1]
    result[extent - edge - after:extent - edge] += moved[before + extent:][::-1]
    return np.moveaxis(result, 0, axis)


def pad(tensor: Any, paddings: Any, mode: str = "CONSTANT", name: str | None = None, constant_values: Any = 0) -> Tensor:
    """``tf.pad``: a constant, or mirror images (REFLECT, SYMMETRIC), around a tensor; ``paddings`` is (before, after) per axis.

    >>> pad([[1, 2, 3]], [[0, 1], [2, 0]]).shape.as_list()
    [2, 5]
    """
    mode = mode.upper()
    if mode == "CONSTANT":
        if not isinstance(constant_values, Tensor) and np.ndim(constant_values) == 0 and constant_values == 0:
            return Pad(tensor, paddings, name=name)
        return PadV2(tensor, paddings, constant_values, name=name)
    if mode not in ("REFLECT", "SYMMETRIC"):
        raise ValueError(f"Unknown padding mode: {mode}")
    return MirrorPad(to_tensor(tensor), paddings, mode=mode, name=name)
