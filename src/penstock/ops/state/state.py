"""Variables as references: the ops that make, write and inspect them.

An edge of a ref type carries a ``state.resources.Ref``, the holder of the value. Where it goes into an argument that is not a ref, the executor
reads it first; a kernel with a ``Ref`` argument gets the holder itself, writes to it and passes it on, so that an update can be fetched and chained.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import KernelError, OutOfRangeError, invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import INT, SHAPE, STRING, TYPE
from penstock.graph.opdef import op
from penstock.graph.shape import TensorShape, brackets, unknown_shape
from penstock.ops.array.scatter_nd import check_scatter_nd
from penstock.ops.common import FLOATS, INDEX, NUMERIC, at_least, fixed, like, merge
from penstock.ops.state.scattering import check_scatter, scatter, scatter_nd

KIND = "Variable"  # of resource, in the table of the task


def _variable_kernel(ctx, dtype, container, shared_name):
    return ctx.resources.variable(container, shared_name or ctx.op.name, KIND, dtype)


@op("VariableV2", "-> ref: Ref(dtype)", shape=SHAPE, dtype=TYPE, container="", shared_name="")
class VariableV2:
    """A variable: state that lives as long as its session, or its parameter server."""

    stateful = True

    def shape(shape):
        return shape

    kernel = _variable_kernel
    gradient = None


@op("Variable", "-> ref: Ref(dtype)", shape=SHAPE, dtype=TYPE, container="", shared_name="")
class Variable:
    """A variable in graphs of the first releases, where an empty shape meant an unknown one."""

    stateful = True

    def shape(shape):
        return unknown_shape() if shape.ndims == 0 else shape

    kernel = _variable_kernel
    gradient = None


@op("TemporaryVariable", "-> ref: Ref(dtype)", shape=SHAPE, dtype=TYPE, var_name="")
class TemporaryVariable:
    """A variable that lives inside one step, until DestroyTemporaryVariable takes its value."""

    stateful = True

    def shape(shape):
        return shape

    def kernel(ctx, shape, dtype, var_name):
        if not shape.is_fully_defined():
            raise invalid_argument(f"a temporary variable needs a shape without unknown extents, not {shape}")
        ref = ctx.resources.temporary(var_name or ctx.op.name, dtype)
        ref.assign(np.zeros(shape.as_list(), dtype.np))
        return ref

    gradient = None


@op("DestroyTemporaryVariable", "ref: Ref(T) -> value: T", T=TYPE, var_name=STRING)
class DestroyTemporaryVariable:
    """The last value of a TemporaryVariable."""

    stateful = True
    shape = like("ref")

    def kernel(ref):
        return ref.read()

    gradient = None


@op("IsVariableInitialized", "ref: Ref(dtype) -> is_initialized: bool", dtype=TYPE)
class IsVariableInitialized:
    """True once the variable has a value."""

    stateful = allows_uninitialized = True
    shape = fixed()

    def kernel(ref):
        return np.bool_(ref.initialized)

    gradient = None


@op("_InitializedValue", "ref: Ref(T), initial_value: T -> output: T", T=TYPE)
class InitializedValue:
    """The value of a variable if it has one, else ``initial_value``."""

    stateful = allows_uninitialized = True

    def shape(ref, initial_value):
        return ref.shape if ref.shape.is_fully_defined() else initial_value.shape

    def kernel(ref, initial_value):
        with ref.lock:
            return ref.read() if ref.initialized else initial_value

    gradient = None


@op("Assign", "ref: Ref(T), value: T -> output_ref: Ref(T)", T=TYPE, validate_shape=True, use_locking=True)
class Assign:
    """Replaces the value of a variable."""

    stateful = allows_uninitialized = True
    updates = ("ref",)

    def shape(ref, value, validate_shape):
        return merge(ref.shape, value.shape) if validate_shape else value.shape

    def kernel(ref, value, ctx, validate_shape):
        with ref.lock:
            if validate_shape:
                _check_assigned_shape(ref, np.shape(value), ctx)
            ref.assign(value)
        return ref

    def lower(b, value):
        return value

    gradient = None


def _check_assigned_shape(ref: Any, given: tuple[int, ...], ctx: Any) -> None:
    """Against the value that is there; against the declared shape as long as there is none."""
    if ref.value is not None:
        fits, wanted = ref.value.shape == given, ref.value.shape
    else:
        declared = ctx.op.inputs[0].shape
        fits, wanted = declared.is_compatible_with(given), declared.extents
    if not fits:
        raise invalid_argument(f"Assign requires shapes of both tensors to match. lhs shape= {brackets(wanted)} rhs shape= {brackets(given)}")


def check_same_size(ref: Any, value: Any) -> None:
    """InvalidArgumentError unless an elementwise update fits the variable; it does not broadcast."""
    if ref.extents() != np.shape(value):
        raise invalid_argument("Parameters and update must be the same size")


class _Update:
    gradient = None
    stateful = True
    updates = ("ref",)

    def shape(ref, value):
        return merge(ref.shape, value.shape)


@op("AssignAdd", "ref: Ref(T), value: T -> output_ref: Ref(T)", T=NUMERIC, use_locking=False)
class AssignAdd(_Update):
    """Adds to a variable."""

    def kernel(ref, value):
        check_same_size(ref, value)
        ref.apply(np.add, value)
        return ref

    def lower(b, ref, value):
        return b.add(ref, value)


@op("AssignSub", "ref: Ref(T), value: T -> output_ref: Ref(T)", T=NUMERIC, use_locking=False)
class AssignSub(_Update):
    """Subtracts from a variable."""

    def kernel(ref, value):
        check_same_size(ref, value)
        ref.apply(np.subtract, value)
        return ref

    def lower(b, ref, value):
        return b.sub(ref, value)


def count_up(ref: Any, limit: int) -> Any:
    """The value of a counter, which goes up by one; OutOfRangeError at the limit."""
    with ref.lock:
        value = ref.read()[()]
        if value >= limit:
            raise KernelError(OutOfRangeError, f"Reached limit of {limit}")
        ref.assign(value + 1)
    return value


@op("CountUpTo", "ref: Ref(T) -> output: T", limit=INT, T=INDEX)
class CountUpTo:
    """The value of a scalar variable before it is incremented; fails once the limit is reached."""

    stateful = True

    def shape(ref):
        return merge(ref.shape, TensorShape(()))

    def kernel(ref, limit):
        return count_up(ref, limit)

    gradient = None


# --- sparse updates --------------------------------------------------------------------------------------------------

_ORDERED = FLOATS | {dt.int32, dt.int64}
_SCATTER = "ref: Ref(T), indices: Tindices, updates: T -> output_ref: Ref(T)"


class _Scatter:
    """What all writes to parts of a variable have in common."""

    stateful = True
    updates = ("ref",)
    gradient = None

    def shape(ref, indices, updates, _check):
        return _check(ref.shape, indices.shape, updates.shape)

    def kernel(ref, indices, updates, _write, _how):
        with ref.lock:
            _write(ref.mutable(), indices, updates, _how)
        return ref


class _ScatterRows(_Scatter):
    _check, _write = check_scatter, scatter

    def native(emit, ref, indices, updates, _how):
        return emit.index.scatter(ref, indices, updates, _how)


class _ScatterSlices(_Scatter):
    ranks = {"indices": at_least(1), "updates": at_least(1)}
    _check, _write = check_scatter_nd, scatter_nd

    def native(emit, ref, indices, updates, _how):
        return emit.index.scatter_nd(ref, indices, updates, _how)


@op("ScatterUpdate", _SCATTER, T=TYPE, Tindices=INDEX, use_locking=True)
class ScatterUpdate(_ScatterRows):
    """Replaces rows of a variable."""

    _how = "Update"


@op("ScatterAdd", _SCATTER, T=NUMERIC, Tindices=INDEX, use_locking=False)
class ScatterAdd(_ScatterRows):
    """Adds to rows of a variable; a row that is named twice gets both updates."""

    _how = "Add"


@op("ScatterSub", _SCATTER, T=NUMERIC, Tindices=INDEX, use_locking=False)
class ScatterSub(_ScatterRows):
    """Subtracts from rows of a variable."""

    _how = "Sub"


@op("ScatterMul", _SCATTER, T=NUMERIC, Tindices=INDEX, use_locking=False)
class ScatterMul(_ScatterRows):
    """Multiplies rows of a variable."""

    _how = "Mul"


@op("ScatterDiv", _SCATTER, T=NUMERIC, Tindices=INDEX, use_locking=False)
class ScatterDiv(_ScatterRows):
    """Divides rows of a variable."""

    _how = "Div"


@op("ScatterMin", _SCATTER, T=_ORDERED, Tindices=INDEX, use_locking=False)
class ScatterMin(_ScatterRows):
    """Replaces elements of rows of a variable by smaller updates."""

    _how = "Min"


@op("ScatterMax", _SCATTER, T=_ORDERED, Tindices=INDEX, use_locking=False)
class ScatterMax(_ScatterRows):
    """Replaces elements of rows of a variable by larger updates."""

    _how = "Max"


@op("ScatterNdUpdate", _SCATTER, T=TYPE, Tindices=INDEX, use_locking=True)
class ScatterNdUpdate(_ScatterSlices):
    """Replaces slices of a variable, each named by an index vector."""

    _how = "Update"


@op("ScatterNdAdd", _SCATTER, T=NUMERIC, Tindices=INDEX, use_locking=False)
class ScatterNdAdd(_ScatterSlices):
    """Adds to slices of a variable, each named by an index vector."""

    _how = "Add"


@op("ScatterNdSub", _SCATTER, T=NUMERIC, Tindices=INDEX, use_locking=False)
class ScatterNdSub(_ScatterSlices):
    """Subtracts from slices of a variable, each named by an index vector."""

    _how = "Sub"
