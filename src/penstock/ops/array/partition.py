"""Dividing rows among several tensors, and putting them together again."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.codec.row_division import divide, put_together
from penstock.errors import invalid_argument
from penstock.graph.attrs import TYPE, Attr, count
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.shape import TensorShape, brackets, unknown_shape
from penstock.graph.static import constant_value
from penstock.ops.array.gather import gather
from penstock.ops.array.sequences import range as range_
from penstock.ops.array.shape_ops import as_array, reshape, shape, size
from penstock.ops.common import shape_text


@op("DynamicPartition", "data: T, partitions: int32 -> outputs: num_partitions * T", num_partitions=Attr("int", minimum=1), T=TYPE)
class DynamicPartition:
    """The entries of ``data`` divided among several outputs: ``partitions`` says to which each goes."""

    dynamic_shape = True

    def shape(data, partitions, num_partitions):
        rank = partitions.shape.ndims
        if rank is None or data.shape.ndims is None:
            return [unknown_shape()] * num_partitions
        data.shape.with_rank_at_least(rank)[:rank].assert_is_compatible_with(partitions.shape)
        return [TensorShape([None]).concatenate(data.shape[rank:])] * num_partitions

    def kernel(data, partitions, num_partitions):
        data, partitions = as_array(data), as_array(partitions)
        if data.shape[:partitions.ndim] != partitions.shape:
            raise invalid_argument(f"data.shape must start with partitions.shape, got data.shape = {shape_text(data)}, partitions.shape = "
                                   f"{shape_text(partitions)}")
        results = divide(data, partitions, num_partitions)
        if results is not None:
            return tuple(results)
        outside = (partitions < 0) | (partitions >= num_partitions)
        if outside.any():
            place = tuple(np.argwhere(outside)[0].tolist())
            raise invalid_argument(f"partitions{brackets(place) if place else ''} = {partitions[place]} is not in [0, {num_partitions})")
        return tuple(data[partitions == number] for number in range(num_partitions))

    def gradient(op, *dys):
        """The places of the entries, divided in the same way, say where their gradients go."""
        data, partitions = op.inputs
        places = reshape(range_(size(partitions)), shape(partitions))
        divided = DynamicPartition(places, partitions, num_partitions=op.attrs["num_partitions"])
        rows = ParallelDynamicStitch(divided, list(dys))
        return [reshape(rows, shape(data)), None]


def dynamic_partition(data: Any, partitions: Any, num_partitions: int, name: str | None = None) -> list[Tensor]:
    """``tf.dynamic_partition``: the entries of ``data`` divided among ``num_partitions`` tensors."""
    return DynamicPartition(data, partitions, num_partitions=num_partitions, name=name)


def _stitched_shape(indices: list[Tensor], data: list[Tensor]) -> TensorShape:
    rest = unknown_shape()
    for places, entries in zip(indices, data):
        rank = places.shape.ndims
        if rank is None or entries.shape.ndims is None:
            continue
        entries.shape.with_rank_at_least(rank)[:rank].assert_is_compatible_with(places.shape)
        rest = rest.merge_with(entries.shape[rank:])
    values = [constant_value(places) for places in indices]
    known = all(value is not None for value in values)
    rows = max((int(value.max()) for value in values if value.size), default=-1) + 1 if known else None
    return TensorShape([rows]).concatenate(rest)


def _stitch(indices: list[Any], data: list[Any]) -> np.ndarray:
    """Later entries win over earlier ones at the same place."""
    indices, data = [as_array(places) for places in indices], [as_array(entries) for entries in data]
    rest = data[0].shape[indices[0].ndim:]
    for number, (places, entries) in enumerate(zip(indices, data)):
        if entries.shape != places.shape + rest:
            raise invalid_argument(f"data[{number}].shape = {shape_text(entries)} does not start with indices[{number}].shape = "
                                   f"{shape_text(places)}, or its rest is not {list(rest)}")
    result = put_together(indices, data)
    return _stitched(indices, data, rest) if result is None else result


def _stitched(indices: list[np.ndarray], data: list[np.ndarray], rest: tuple[int, ...]) -> np.ndarray:
    """The same by NumPy: for elements that are objects, and for bad indices."""
    rows = max((int(places.max()) for places in indices if places.size), default=-1) + 1
    result = np.full((rows, *rest), b"", object) if data[0].dtype == object else np.zeros((rows, *rest), data[0].dtype)
    for places, entries in zip(indices, data):
        if places.size and places.min() < 0:
            raise invalid_argument(f"indices[{int(np.flatnonzero(np.ravel(places) < 0)[0])}] is out of range")
        result[places, ...] = entries  # a string itself, not an array that holds it
    return result


class _Stitch:
    def shape(indices, data):
        return _stitched_shape(indices, data)

    def kernel(indices, data):
        return _stitch(indices, data)

    def gradient(op, dy):
        number = op.attrs["N"]
        return [*[None] * number, *[gather(dy, places) for places in op.inputs[:number]]]


@op("DynamicStitch", "indices: N * int32, data: N * T -> merged: T", N=count(1), T=TYPE)
class DynamicStitch(_Stitch):
    """The entries of several tensors put together: ``indices`` say which row each becomes."""


@op("ParallelDynamicStitch", "indices: N * int32, data: N * T -> merged: T", N=count(1), T=TYPE)
class ParallelDynamicStitch(_Stitch):
    """DynamicStitch for indices of which no two are the same."""


def dynamic_stitch(indices: Any, data: Any, name: str | None = None) -> Tensor:
    """``tf.dynamic_stitch``: ``merged[indices[m][i]] = data[m][i]``."""
    return DynamicStitch(indices, data, name=name)


def parallel_stitch(indices: Any, data: Any, name: str | None = None) -> Tensor:
    """``tf.contrib.framework.parallel_stitch``: ``dynamic_stitch`` without an order among equal indices."""
    return ParallelDynamicStitch(indices, data, name=name)
