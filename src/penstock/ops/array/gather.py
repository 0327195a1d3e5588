"""Gathering: elements picked by index or by mask."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph import raw_ops
from penstock.graph.attrs import TYPE
from penstock.graph.composite import IndexedSlices
from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.properties import Extents
from penstock.graph.scopes import colocate_with, name_scope
from penstock.graph.shape import TensorShape, unknown_shape
from penstock.graph.static import constant_value
from penstock.ops.array.cast import cast
from penstock.ops.array.pack import concat, runtime_axis, stack
from penstock.ops.array.permute import BroadcastTo, inverse, transpose
from penstock.ops.array.scatter_nd import ScatterNd, checked_positions, nd_shape
from penstock.ops.array.select import Where
from penstock.ops.array.sequences import range as range_
from penstock.ops.array.shape_ops import INDEX_32, as_array, expand_dims, known_elements, rank, reshape, shape, size, squeeze
from penstock.ops.common import INDEX, canonical_axis, shape_text


def check_indices(indices: np.ndarray, limit: int) -> None:
    """Raises for the first index outside [0, limit)."""
    if indices.size and not (indices.min() >= 0 and indices.max() < limit):
        place = tuple(np.argwhere((indices < 0) | (indices >= limit))[0].tolist())
        shown = ",".join(map(str, place))
        raise invalid_argument(f"indices{f'[{shown}]' if place else ''} = {indices[place]} is not in [0, {limit})")


# --- Gather ----------------------------------------------------------------------------------------------------------

@op("Gather", "params: Tparams, indices: Tindices -> output: Tparams", validate_indices=True, Tparams=TYPE, Tindices=INDEX)
class Gather:
    """Rows picked by index."""

    rearranges = borrows = gathers = True

    def shape(params, indices):
        rows = params.shape.with_rank_at_least(1)
        return indices.shape.concatenate(rows[1:] if rows.ndims is not None else None)

    def kernel(params, indices):
        indices = as_array(indices)
        check_indices(indices, params.shape[0])
        return params.take(indices, 0) if params.dtype != object else params[indices, ...]

    def native(emit, params, indices):
        return emit.index.gather(params, indices, 0)

    def gradient(op, dy):
        return [_row_gradient(op.inputs[0], op.inputs[1], dy), None]


def _row_gradient(params: Tensor, indices: Tensor, dy: Tensor) -> IndexedSlices:
    """The gradient of picking rows: the rows of ``dy``, to be added where they came from."""
    dy = to_tensor(dy)  # it is sparse itself if rows of the result were gathered
    with colocate_with(params.op):  # the shape is asked for where the rows live, often on another task
        params_shape = shape(params)
    tail = params.shape[1:]
    if tail.is_fully_defined():
        count = indices.shape.num_elements()
        values_shape: Any = [size(indices) if count is None and 0 in tail.as_list() else -1 if count is None else count, *tail.as_list()]
    else:
        values_shape = concat([reshape(size(indices), [1]), shape(params)[1:]], 0)
    values = dy if dy.shape.ndims is not None and indices.shape.ndims == 1 else reshape(dy, values_shape)
    flat = indices if indices.shape.ndims == 1 else reshape(indices, [-1])
    return IndexedSlices(values, flat, params_shape)


def _gather_nodes(op) -> int | None:
    """How many nodes TensorFlow's gradient has."""
    axis = known_elements(op.inputs[2])
    return None if axis is None or axis[0] is None or op.attrs["batch_dims"] else 13 if axis[0] == 0 else 55


@op("GatherV2", "params: Tparams, indices: Tindices, axis: Taxis -> output: Tparams", batch_dims=0, Tparams=TYPE, Tindices=INDEX,
    Taxis=INDEX)
class GatherV2:
    """Slices along an axis, picked by index; the first ``batch_dims`` axes of params and indices go together."""

    gradient_nodes = _gather_nodes
    gradient_reads = lambda op: [Extents(op.inputs[0]), Extents(op.inputs[1]), op.inputs[1], *([] if _gather_nodes(op) == 13 else [op.inputs[2]])]
    ranks = {"axis": 0}
    rearranges = borrows = gathers = True

    def shape(params, indices, axis, batch_dims):
        extents, picks, axes = params.shape.extents, indices.shape.extents, known_elements(axis)
        if picks is not None and not -len(picks) <= batch_dims <= len(picks):
            raise ValueError(f"batch_dims {batch_dims} must be in [{-len(picks)}, {len(picks)}]")
        if extents is None or picks is None:
            return unknown_shape()
        batch = batch_dims + len(picks) if batch_dims < 0 else batch_dims
        if axes is None or axes[0] is None:
            return unknown_shape(len(extents) - 1 + len(picks) - batch)
        least = axes[0] + 1 if axes[0] >= 0 else -axes[0]
        if len(extents) < least:
            raise ValueError(f"Shape must be at least rank {least} but is rank {len(extents)}")
        where = canonical_axis(axes[0], len(extents), "gather axis")
        if where < batch:
            raise ValueError(f"batch_dims ({batch}) must be less than or equal to axis ({where})")
        front = TensorShape(extents[:batch]).merge_with(picks[:batch]).as_list()
        return [*front, *extents[batch:where], *picks[batch:], *extents[where + 1:]]

    def kernel(params, indices, axis, batch_dims):
        params, indices = as_array(params), as_array(indices)
        where = runtime_axis(axis, params.ndim, "GatherV2")
        check_indices(indices, params.shape[where])
        if not batch_dims:
            return params.take(indices, where)
        return _gather_batched(params, indices, where, batch_dims if batch_dims > 0 else batch_dims + indices.ndim)

    def native(emit, params, indices, axis, batch_dims):
        return emit.index.gather(params, indices, int(emit.known(axis)), batch_dims)

    def gradient(op, dy):
        params, indices, axis = op.inputs
        known = constant_value(axis)
        if not op.attrs["batch_dims"] and known is not None and known == 0:
            return [_row_gradient(params, indices, dy), None, None]
        if known is not None and params.shape.ndims is not None:
            where = int(known) % params.shape.ndims
        else:
            where = raw_ops.FloorMod(cast(axis, dt.int32), _rank(params))
        return [_axis_gradient(params, indices, where, op.attrs["batch_dims"], dy), None, None]


def _gather_batched(params: np.ndarray, indices: np.ndarray, axis: int, batch: int) -> np.ndarray:
    """A gather per entry of the leading ``batch`` axes."""
    if params.shape[:batch] != indices.shape[:batch]:
        raise invalid_argument(f"params.shape[:{batch}] = {list(params.shape[:batch])} must equal indices.shape[:{batch}] = "
                               f"{list(indices.shape[:batch])}")
    moved = np.moveaxis(params, axis, batch)
    entries = np.indices(indices.shape[:batch], sparse=True) if batch else ()
    aligned = tuple(entry.reshape(entry.shape + (1,) * (indices.ndim - batch)) for entry in entries)
    picked = moved[(*aligned, indices)]  # batch, picks, the other axes of params
    new = indices.ndim - batch
    return np.moveaxis(picked, range(batch, batch + new), range(axis, axis + new))


def _axis_gradient(params: Tensor, indices: Tensor, axis: Any, batch_dims: int, dy: Tensor) -> Tensor:
    """The gradient of a gather along any axis, by ScatterNd: the picked axis is moved behind the batch axes, and back in the end."""
    rank, picks = _rank(params), _rank(indices)
    batch = batch_dims + picks if batch_dims < 0 else batch_dims
    if batch and not isinstance(picks, int):
        raise NotImplementedError("the gradient of tf.gather with batch_dims needs to know the rank of indices")
    new = picks - batch
    order = _join(_axes(0, batch), _axes(axis, axis + new), _axes(batch, axis), _axes(axis + new, rank - 1 + new))
    moved = transpose(dy, order)  # batch, picks, the other axes of params
    to_front = to_tensor(_join(_axes(0, batch), [axis], _axes(batch, axis), _axes(axis + 1, rank)), dt.int32)
    coordinates = [_axis_positions(shape(indices), each, picks, indices.dtype.base_dtype) for each in range(batch)]
    positions = stack([*coordinates, indices], axis=-1) if batch else expand_dims(indices, -1)
    target = GatherV2(shape(params, out_type=indices.dtype.base_dtype), to_front, 0)
    return transpose(ScatterNd(positions, moved, target), inverse(to_front))


def _rank(tensor: Tensor) -> Any:
    return rank(tensor) if tensor.shape.ndims is None else tensor.shape.ndims


def _axes(start: Any, stop: Any) -> Any:
    """The axes [start, stop): a list if the bounds are numbers, else a vector."""
    return list(range(start, stop)) if isinstance(start, int) and isinstance(stop, int) else range_(start, stop)


def _join(*parts: Any) -> Any:
    """Lists and vectors of axes, one after the other."""
    if all(isinstance(item, int) for part in parts if isinstance(part, list) for item in part) and not any(isinstance(p, Tensor) for p in parts):
        return [axis for part in parts for axis in part]
    return concat([to_tensor(part, dt.int32) for part in parts], 0)


def _axis_positions(sizes: Tensor, axis: int, rank: int, dtype: Any) -> Tensor:
    """A tensor of shape ``sizes`` whose elements are their own positions along ``axis``."""
    along = reshape(range_(sizes[axis]), [-1 if each == axis else 1 for each in range(rank)])
    return cast(BroadcastTo(along, sizes), dtype)


def gather(params: Any, indices: Any, validate_indices: Any = None, name: str | None = None, axis: Any = None, batch_dims: int = 0) -> Tensor:
    """``tf.gather``: slices of ``params`` along an axis, picked by index."""
    if axis is None:
        axis = batch_dims
    sparse_read = getattr(params, "sparse_read", None)  # a resource variable gathers without reading all of itself
    if sparse_read is not None and not batch_dims and isinstance(axis, int) and axis == 0:
        return sparse_read(indices, name=name)
    return GatherV2(params, indices, axis, batch_dims=batch_dims, name=name)


def batch_gather(params: Any, indices: Any, name: str | None = None) -> Tensor:
    """``tf.batch_gather``: a gather along the last axis of ``indices``, per entry of the axes before it."""
    with name_scope(name, "BatchGather", [params, indices]):
        indices, params = to_tensor(indices, None, "indices"), to_tensor(params, None, "params")
        if indices.shape.ndims is None:
            raise ValueError("batch_gather does not allow indices with unknown shape.")
        return GatherV2(params, indices, indices.shape.ndims - 1, batch_dims=indices.shape.ndims - 1)


# --- GatherNd --------------------------------------------------------------------------------------------------------

@op("GatherNd", "params: Tparams, indices: Tindices -> output: Tparams", Tparams=TYPE, Tindices=INDEX)
class GatherNd:
    """Slices picked by positions: the last axis of ``indices`` holds coordinates in the first axes of ``params``."""

    borrows = True

    def shape(params, indices):
        return nd_shape(indices.shape, params.shape)

    def kernel(params, indices):
        params, indices = as_array(params), as_array(indices)
        if not indices.shape[-1]:  # no coordinates: every position is the whole
            return np.broadcast_to(params, (*indices.shape[:-1], *params.shape)).copy()
        if not params.size and indices.size:
            raise invalid_argument(f"Requested more than 0 entries, but params is empty.  Params shape: {shape_text(params)}")
        return params[checked_positions(indices, params.shape, "param shape")]

    def native(emit, params, indices):
        return emit.index.gather_nd(params, indices)

    def gradient(op, dy):
        params, indices = op.inputs
        dy = to_tensor(dy)
        if indices.shape.ndims == 2 and indices.shape.extents[1] == 1:
            return [IndexedSlices(dy, squeeze(indices, axis=-1), shape(params, out_type=indices.dtype.base_dtype)), None]
        return [ScatterNd(indices, dy, shape(params, out_type=indices.dtype.base_dtype)), None]


def gather_nd(params: Any, indices: Any, name: str | None = None, batch_dims: int = 0) -> Tensor:
    """``tf.gather_nd``: slices of ``params`` at positions, the last axis of ``indices``."""
    if batch_dims:
        return _batch_gather_nd(params, indices, batch_dims, name)
    nd_read = getattr(params, "gather_nd", None)  # a resource variable gathers without reading all of itself
    if nd_read is not None:
        return nd_read(indices, name=name)
    return GatherNd(params, indices, name=name)


def _batch_gather_nd(params: Any, indices: Any, batch_dims: int, name: str | None) -> Tensor:
    """``gather_nd`` per entry of the first axes: the entry's own position is put in front of the coordinates."""
    with name_scope(name, "BatchGatherND", [params, indices]):
        params, indices = to_tensor(params, None, "params"), to_tensor(indices, None, "indices")
        if not isinstance(batch_dims, int) or indices.shape.ndims is None or not 0 <= batch_dims < indices.shape.ndims:
            raise ValueError(f"batch_dims = {batch_dims} must be less than rank(indices) = {indices.shape.ndims}")
        sizes = shape(indices)[:-1]
        rank = indices.shape.ndims - 1
        entries = stack([_axis_positions(sizes, axis, rank, indices.dtype.base_dtype) for axis in range(batch_dims)], axis=-1)
        return GatherNd(params, concat([entries, indices], -1))


@op("UnravelIndex", "indices: Tidx, dims: Tidx -> output: Tidx", Tidx=INDEX_32)
class UnravelIndex:
    """The coordinates, one row per axis, of elements that are numbered through a whole tensor."""

    def shape(indices, dims):
        axes = dims.shape.with_rank(1).as_list()
        picks = indices.shape.with_rank_at_most(1)
        return unknown_shape() if picks.ndims is None else [*axes, *picks.as_list()]

    def kernel(indices, dims):
        try:
            return np.stack(np.unravel_index(indices, tuple(dims.tolist()))).astype(dims.dtype)
        except ValueError:
            raise invalid_argument("index is out of bound as with dims") from None

    gradient = None


def unravel_index(indices: Any, dims: Any, name: str | None = None) -> Tensor:
    """``tf.unravel_index``: the coordinates of elements that are numbered through a whole tensor of shape ``dims``."""
    return UnravelIndex(indices, dims, name=name)


# --- masks -----------------------------------------------------------------------------------------------------------

def boolean_mask(tensor: Any, mask: Any, name: str = "boolean_mask", axis: int | None = None) -> Tensor:
    """``tf.boolean_mask``: the entries of ``tensor`` where ``mask``, laid over the axes from ``axis`` on, is True."""
    with name_scope(name, None, [tensor, mask]):
        tensor, mask = to_tensor(tensor, None, "tensor"), to_tensor(mask, None, "mask")
        rank, start = mask.shape.ndims, 0 if axis is None else int(axis)
        if rank == 0:
            raise ValueError("mask cannot be scalar.")
        if rank is None:
            raise ValueError("Number of mask dimensions must be specified, even if some dimensions are None.  E.g. shape=[None] is ok, but "
                             "shape=None is not.")
        if start < 0 and tensor.shape.ndims is not None:
            start += tensor.shape.ndims
        tensor.shape[start:start + rank].assert_is_compatible_with(mask.shape)
        with default_graph().counting_as(27):  # TensorFlow asks for the shape of the tensor at run time
            flat = merge_axes(tensor, start, rank)
            places = squeeze(Where(reshape(mask, [-1])), axis=[1])
            return gather(flat, places, axis=start)


def merge_axes(tensor: Tensor, start: int, rank: int) -> Tensor:
    """The axes [start, start + rank) as one. A Reshape even for a single axis: behind it, the gradient of a gather is dense, as in TensorFlow."""
    extents = tensor.shape.extents
    if extents is not None and None not in extents[:start] + extents[start + rank:] and 0 not in extents:
        return reshape(tensor, [*extents[:start], -1, *extents[start + rank:]])
    sizes = shape(tensor)
    length = raw_ops.Prod(sizes[start:start + rank], [0])
    merged = reshape(tensor, concat([sizes[:start], [length], sizes[start + rank:]], 0))
    if extents is not None:
        merged.set_shape([*extents[:start], TensorShape(extents[start:start + rank]).num_elements(), *extents[start + rank:]])
    return merged
