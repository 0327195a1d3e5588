"""Variables as resources: a handle names the variable, and only explicit ops read or write it.

A resource edge carries the resource itself, here a ``state.resources.Ref``. What the handle refers to, (dtype, shape), is known while the graph
is built: see ``handle_data``. A write is an op without outputs; what must see it waits for it.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import FailedPreconditionError, KernelError, NotFoundError, invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import INT, SHAPE, TYPE, types
from penstock.graph.composite import IndexedSlices
from penstock.graph.dtypes import DType
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.properties import Extents
from penstock.graph.shape import TensorShape, brackets, unknown_shape
from penstock.graph.static import extents_as_array
from penstock.ops.array.gather import GatherNd, GatherV2
from penstock.ops.array.pack import concat
from penstock.ops.array.scatter_nd import ScatterNd, check_scatter_nd
from penstock.ops.array.shape_ops import reshape
from penstock.ops.common import INDEX, NUMERIC, at_least, fixed, merge, nothing
from penstock.ops.constant import constant
from penstock.ops.state.scattering import check_scatter, scatter, scatter_nd
from penstock.ops.state.state import count_up

KIND = "Var"  # of resource, in the table of the task


@op("VarHandleOp", "-> resource: resource", container="", shared_name="", dtype=TYPE, shape=SHAPE)
class VarHandleOp:
    """The handle of a variable, which is made without a value the first time."""

    stateful = True
    refers_to = ("dtype", "shape")
    shape = fixed()

    def kernel(ctx, container, shared_name, dtype):
        return ctx.resources.variable(container, shared_name or ctx.op.name, KIND, dtype)

    gradient = None


def handle_data(handle: Tensor) -> tuple[DType | None, TensorShape]:
    """(dtype, shape) of what a resource handle refers to, as far as it is known: found by following the handle to the op that made it."""
    while True:
        if handle._handle_data is not None:
            return handle._handle_data
        made_by = handle.op
        if not made_by.definition.aliases:
            return None, unknown_shape()
        handle = made_by.inputs[0]


def handle_shape(handle: Tensor) -> TensorShape:
    """The shape of the variable that a handle refers to."""
    return handle_data(handle)[1]


def checked_shape(handle: Tensor, dtype: DType) -> TensorShape:
    """The shape of the variable that a handle refers to; ValueError if the variable is known to have another type."""
    kept, shape = handle_data(handle)
    if kept is not None and kept is not dtype:
        raise ValueError(f"Trying to use a variable with wrong dtype. Expected {kept.name} got {dtype.name}")
    return shape


def variable_handle(dtype: Any, shape: Any, name: str | None = None, shared_name: str = "", container: str = "") -> Tensor:
    """A handle that knows what it refers to."""
    handle = VarHandleOp(dtype=dtype, shape=shape, shared_name=shared_name, container=container, name=name)
    handle._handle_data = (handle.op.attrs["dtype"], handle.op.attrs["shape"])
    return handle


def readable(resource: Any) -> Any:
    """A resource variable that is about to be read; FailedPreconditionError if it has no value."""
    if not resource.initialized:
        raise KernelError(FailedPreconditionError,
                          f"Error while reading resource variable {resource.name} from Container: localhost. This could mean that the variable "
                          f"was uninitialized. Not found: Resource localhost/{resource.name}/{KIND} does not exist.")
    return resource


def _existing(resource: Any) -> Any:
    """A resource variable that is about to be updated; NotFoundError if there is nothing to update."""
    if not resource.initialized:
        raise KernelError(NotFoundError, f"Resource localhost/{resource.name}/{KIND} does not exist.")
    return resource


@op("ReadVariableOp", "resource: resource -> value: dtype", dtype=TYPE)
class ReadVariableOp:
    """The value that the variable has when this op runs."""

    stateful = snapshot = True

    def shape(resource, dtype):
        return checked_shape(resource, dtype)

    def kernel(resource):
        return readable(resource).read()

    def native(emit, resource):
        return resource  # the compiler copies it before it is written to

    def gradient(op, dy):
        return dy  # the handle stands for the value


@op("VarIsInitializedOp", "resource: resource -> is_initialized: bool")
class VarIsInitializedOp:
    """True once the variable has a value."""

    stateful = True
    shape = fixed()

    def kernel(resource):
        return np.bool_(resource.initialized)

    gradient = None


@op("_ResourceInitializedValue", "resource: resource, initial_value: dtype -> output: dtype", dtype=TYPE)
class ResourceInitializedValue:
    """The value of a variable if it has one, else ``initial_value``."""

    stateful = True

    def shape(resource, initial_value, dtype):
        kept = checked_shape(resource, dtype)
        return kept if kept.is_fully_defined() else initial_value.shape

    def kernel(resource, initial_value):
        with resource.lock:
            return resource.read() if resource.initialized else initial_value

    gradient = None


@op("VariableShape", "input: resource -> output: out_type", out_type=types(dt.int32, dt.int64, default=dt.int32))
class VariableShape:
    """The shape of the variable's value."""

    stateful = True

    def shape(input):
        return [handle_shape(input).ndims]

    def static(input):
        return extents_as_array(handle_shape(input))

    def kernel(input, out_type):
        return np.array(readable(input).extents(), out_type.np)

    gradient = None


@op("DestroyResourceOp", "resource: resource ->", ignore_lookup_error=True)
class DestroyResourceOp:
    """Forgets a resource."""

    stateful = True
    shape = nothing()

    def kernel(resource, ctx, ignore_lookup_error):
        if not ignore_lookup_error and not getattr(resource, "initialized", True):
            _existing(resource)
        ctx.resources.remove(resource)
        if hasattr(resource, "clear"):
            resource.clear()
        return ()

    gradient = None


@op("AssignVariableOp", "resource: resource, value: dtype ->", dtype=TYPE)
class AssignVariableOp:
    """Replaces the value of a variable."""

    stateful = True
    updates = ("resource",)

    def shape(resource, value, dtype):
        merge(checked_shape(resource, dtype), value.shape)
        return []

    def kernel(resource, value):
        resource.assign(value)
        return ()

    def lower(b, value):
        return value

    gradient = None


def _check_update(resource: Any, value: Any) -> None:
    current = _existing(resource).extents()
    if current != np.shape(value):
        raise invalid_argument(f"Cannot update variable with shape {brackets(current)} using a Tensor with shape {brackets(np.shape(value))}, "
                               "shapes must be equal.")


class _Update:
    gradient = None
    stateful = True
    updates = ("resource",)

    def shape(resource, value, dtype):
        merge(checked_shape(resource, dtype), value.shape)
        return []


@op("AssignAddVariableOp", "resource: resource, value: dtype ->", dtype=TYPE)
class AssignAddVariableOp(_Update):
    """Adds to a variable."""

    def kernel(resource, value):
        _check_update(resource, value)
        resource.apply(np.add, value)
        return ()

    def lower(b, resource, value):
        return b.add(resource, value)


@op("AssignSubVariableOp", "resource: resource, value: dtype ->", dtype=TYPE)
class AssignSubVariableOp(_Update):
    """Subtracts from a variable."""

    def kernel(resource, value):
        _check_update(resource, value)
        resource.apply(np.subtract, value)
        return ()

    def lower(b, resource, value):
        return b.sub(resource, value)


@op("ResourceCountUpTo", "resource: resource -> output: T", limit=INT, T=INDEX)
class ResourceCountUpTo:
    """The value of a scalar variable before it is incremented; fails once the limit is reached."""

    stateful = True

    def shape(resource, T):
        return merge(checked_shape(resource, T), TensorShape(()))

    def kernel(resource, limit):
        return count_up(_existing(resource), limit)

    gradient = None


# --- sparse reads and updates ----------------------------------------------------------------------------------------

@op("ResourceGather", "resource: resource, indices: Tindices -> output: dtype", batch_dims=0, validate_indices=True, dtype=TYPE, Tindices=INDEX)
class ResourceGather:
    """Rows of a variable, read without reading the rest."""

    gradient_nodes = 12
    gradient_reads = lambda op: [*op.inputs, Extents(op.inputs[1])]
    stateful = True

    def shape(resource, indices, batch_dims, dtype):
        kept = checked_shape(resource, dtype)
        if kept.ndims is None or indices.shape.ndims is None:
            return unknown_shape()
        kept = kept.with_rank_at_least(batch_dims + 1)
        return kept[:batch_dims].concatenate(indices.shape[batch_dims:]).concatenate(kept[batch_dims + 1:])

    def kernel(resource, indices, batch_dims):
        return readable(resource).lend(GatherV2.kernel, indices, np.int32(batch_dims), batch_dims)

    def native(emit, resource, indices, batch_dims):
        return emit.index.gather(resource, indices, batch_dims, batch_dims)

    def gradient(op, dy):
        handle, indices = op.inputs
        row = handle_shape(handle)[1:]
        if not row.is_fully_defined():
            whole = VariableShape(handle)
            return [IndexedSlices(reshape(dy, _leading_axis_free(whole)), reshape(indices, [-1]), whole), None]
        values = reshape(dy, [-1, *row.as_list()])
        extent = handle_shape(handle).extents[0]
        whole = VariableShape(handle) if extent is None else constant([extent, *row.as_list()], dt.int32)
        return [IndexedSlices(values, reshape(indices, [-1]), whole), None]


def _leading_axis_free(shape: Tensor) -> Tensor:
    """The shape with -1 in front: the number of rows is what it turns out to be."""
    return concat([[-1], shape[1:]], 0)  # type: ignore[index]


@op("ResourceGatherNd", "resource: resource, indices: Tindices -> output: dtype", dtype=TYPE, Tindices=INDEX)
class ResourceGatherNd:
    """Slices of a variable, each named by an index vector."""

    ranks = {"indices": at_least(1)}
    stateful = True

    def shape(resource, indices, dtype):
        kept, index_shape = checked_shape(resource, dtype), indices.shape
        if kept.ndims is None or index_shape.ndims is None or index_shape.extents[-1] is None:
            return unknown_shape()
        return index_shape[:-1].concatenate(kept[index_shape.extents[-1]:])

    def kernel(resource, indices):
        return readable(resource).lend(GatherNd.kernel, indices)

    def native(emit, resource, indices):
        return emit.index.gather_nd(resource, indices)

    def gradient(op, dy):
        return [ScatterNd(op.inputs[1], dy, VariableShape(op.inputs[0], out_type=op.inputs[1].dtype)), None]


class _ScatterRows:
    """What writes to rows of a variable have in common."""

    stateful = True
    updates = ("resource",)
    gradient = None

    def shape(resource, indices, updates):
        check_scatter(checked_shape(resource, updates.dtype.base_dtype), indices.shape, updates.shape)
        return []

    def kernel(resource, indices, updates, _how):
        with _existing(resource).lock:
            scatter(resource.mutable(), indices, updates, _how)
        return ()

    def native(emit, resource, indices, updates, _how):
        emit.index.scatter(resource, indices, updates, _how)


class _ScatterSlices:
    """What writes to slices of a variable have in common; TensorFlow calls the variable ``ref`` here."""

    ranks = {"indices": at_least(1), "updates": at_least(1)}
    stateful = True
    updates = ("ref",)
    gradient = None

    def shape(ref, indices, updates):
        check_scatter_nd(checked_shape(ref, updates.dtype.base_dtype), indices.shape, updates.shape)
        return []

    def kernel(ref, indices, updates, _how):
        with _existing(ref).lock:
            scatter_nd(ref.mutable(), indices, updates, _how)
        return ()

    def native(emit, ref, indices, updates, _how):
        emit.index.scatter_nd(ref, indices, updates, _how)


_ROWS = "resource: resource, indices: Tindices, updates: dtype ->"
_SLICES = "ref: resource, indices: Tindices, updates: T ->"


@op("ResourceScatterUpdate", _ROWS, dtype=TYPE, Tindices=INDEX)
class ResourceScatterUpdate(_ScatterRows):
    """Replaces rows of a variable."""

    _how = "Update"


@op("ResourceScatterAdd", _ROWS, dtype=NUMERIC, Tindices=INDEX)
class ResourceScatterAdd(_ScatterRows):
    """Adds to rows of a variable; a row that is named twice gets both updates."""

    _how = "Add"


@op("ResourceScatterSub", _ROWS, dtype=NUMERIC, Tindices=INDEX)
class ResourceScatterSub(_ScatterRows):
    """Subtracts from rows of a variable."""

    _how = "Sub"


@op("ResourceScatterMul", _ROWS, dtype=NUMERIC, Tindices=INDEX)
class ResourceScatterMul(_ScatterRows):
    """Multiplies rows of a variable."""

    _how = "Mul"


@op("ResourceScatterDiv", _ROWS, dtype=NUMERIC, Tindices=INDEX)
class ResourceScatterDiv(_ScatterRows):
    """Divides rows of a variable."""

    _how = "Div"


@op("ResourceScatterMin", _ROWS, dtype=NUMERIC, Tindices=INDEX)
class ResourceScatterMin(_ScatterRows):
    """Replaces elements of rows of a variable by smaller updates."""

    _how = "Min"


@op("ResourceScatterMax", _ROWS, dtype=NUMERIC, Tindices=INDEX)
class ResourceScatterMax(_ScatterRows):
    """Replaces elements of rows of a variable by larger updates."""

    _how = "Max"


@op("ResourceScatterNdUpdate", _SLICES, T=TYPE, Tindices=INDEX, use_locking=True)
class ResourceScatterNdUpdate(_ScatterSlices):
    """Replaces slices of a variable, each named by an index vector."""

    _how = "Update"


@op("ResourceScatterNdAdd", _SLICES, T=TYPE, Tindices=INDEX, use_locking=True)
class ResourceScatterNdAdd(_ScatterSlices):
    """Adds to slices of a variable, each named by an index vector."""

    _how = "Add"


@op("ResourceScatterNdSub", _SLICES, T=TYPE, Tindices=INDEX, use_locking=True)
class ResourceScatterNdSub(_ScatterSlices):
    """Subtracts from slices of a variable, each named by an index vector."""

    _how = "Sub"
