"""Operations on accumulators of gradients. Their state is a ``penstock.state.accumulators.Accumulator``."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.attrs import BOOL, SHAPE, one_of
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.shape import TensorShape, unknown_shape
from penstock.ops.common import NUMERIC, fixed, nothing
from penstock.ops.queues.handles import SHARING, find_or_create, plain, two_forms
from penstock.state import accumulators

_FORM = "Resource{}"
_CREATION: dict[str, Any] = {"dtype": NUMERIC, "shape": SHAPE, **SHARING, "reduction_type": one_of("MEAN", "SUM", default="MEAN")}


def _accumulator(ctx: Any, make: Any, dtype: Any, shape: TensorShape, container: str, shared_name: str, reduction: str) -> Any:
    accumulator = find_or_create(ctx, make.kind, container, shared_name, lambda name: make(name, dtype, shape, reduction))
    accumulator.check_request(dtype, shape)
    return accumulator


def _shape_of_gradients(handle: Tensor) -> TensorShape:
    """The shape of the gradients, if the handle comes from the node that makes the accumulator: inside a function it does not."""
    attrs = handle.op.attrs
    return attrs["shape"] if "reduction_type" in attrs else unknown_shape()


def _of_type(handle: Any, dtype: Any) -> Any:
    """The accumulator; InvalidArgumentError if its gradients have another type."""
    handle = plain(handle)
    if handle.dtype is not dtype:
        raise invalid_argument(f"Expected gradients of type {handle.dtype.name} for {handle.kind} '{handle.name}', got {dtype.name}")
    return handle


class _Dense:
    """Collects dense gradients."""

    stateful = True
    gradient = None

    def kernel(ctx, dtype, shape, container, shared_name, reduction_type):
        return _accumulator(ctx, accumulators.DenseAccumulator, dtype, shape, container, shared_name, reduction_type)

    shape = fixed()


_, ResourceConditionalAccumulator = two_forms("ConditionalAccumulator", "-> handle: HANDLE", _Dense, _FORM, **_CREATION)


@op("SparseConditionalAccumulator", "-> handle: Ref(string)", **_CREATION)
class SparseConditionalAccumulator:
    """Collects sparse gradients."""

    stateful = True
    gradient = None

    def kernel(ctx, dtype, shape, container, shared_name, reduction_type):
        return _accumulator(ctx, accumulators.SparseAccumulator, dtype, shape, container, shared_name, reduction_type)

    shape = fixed()


class _Apply:
    """Adds a gradient, unless its ``local_step`` is older than the accumulator's time step."""

    stateful = True
    coordinates = "accumulate"
    ranks = {"local_step": 0}
    shape = nothing()
    gradient = None

    def kernel(handle, local_step, gradient, dtype):
        _of_type(handle, dtype).apply(int(local_step), gradient)
        return ()


class _Take:
    """Waits for ``num_required`` gradients, then gives the mean (or sum) of all that have come, and starts over."""

    stateful = blocking = cancellable = resumable = True
    coordinates = "take"
    ranks = {"num_required": 0}
    gradient = None

    def shape(handle):
        return _shape_of_gradients(handle)

    def kernel(handle, num_required, ctx, dtype):
        return _of_type(handle, dtype).take(ctx.step, int(num_required))


class _Count:
    """How many gradients have come since the last were taken."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(handle):
        return np.int32(plain(handle).count)


class _Dropped:
    """How many gradients were too old since the accumulator was made."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(handle):
        return np.int64(plain(handle).dropped)


class _SetStep:
    """Sets the time step of the accumulator."""

    stateful = True
    coordinates = "advance"
    ranks = {"new_global_step": 0}
    shape = nothing()
    gradient = None

    def kernel(handle, new_global_step):
        plain(handle).set_step(int(new_global_step))
        return ()


_, ResourceAccumulatorApplyGradient = two_forms("AccumulatorApplyGradient", "handle: HANDLE, local_step: int64, gradient: dtype ->", _Apply, _FORM,
                                                dtype=NUMERIC)
_, ResourceAccumulatorTakeGradient = two_forms("AccumulatorTakeGradient", "handle: HANDLE, num_required: int32 -> average: dtype", _Take, _FORM,
                                               dtype=NUMERIC)
AccumulatorNumAccumulated, ResourceAccumulatorNumAccumulated = two_forms("AccumulatorNumAccumulated", "handle: HANDLE -> num_accumulated: int32",
                                                                         _Count, _FORM)
_AccumulatorNumDropped, _ResourceAccumulatorNumDropped = two_forms("_AccumulatorNumDropped", "handle: HANDLE -> num_dropped: int64", _Dropped,
                                                                   "_ResourceAccumulatorNumDropped")
AccumulatorSetGlobalStep, ResourceAccumulatorSetGlobalStep = two_forms("AccumulatorSetGlobalStep", "handle: HANDLE, new_global_step: int64 ->",
                                                                       _SetStep, _FORM)


@op("SparseAccumulatorApplyGradient", "handle: Ref(string), local_step: int64, gradient_indices: int64, gradient_values: dtype, "
    "gradient_shape: int64 ->", dtype=NUMERIC, has_known_shape=BOOL)
class SparseAccumulatorApplyGradient:
    """Adds the rows of a sparse gradient, unless it is too old."""

    stateful = True
    coordinates = "accumulate"
    ranks = {"local_step": 0}
    shape = nothing()
    gradient = None

    def kernel(handle, local_step, gradient_indices, gradient_values, gradient_shape, dtype, has_known_shape):
        shape = np.ravel(gradient_shape) if has_known_shape else np.array([], np.int64)
        _of_type(handle, dtype).apply(int(local_step), gradient_indices, gradient_values, shape)
        return ()


@op("SparseAccumulatorTakeGradient", "handle: Ref(string), num_required: int32 -> indices: int64, values: dtype, shape: int64", dtype=NUMERIC)
class SparseAccumulatorTakeGradient:
    """Waits for ``num_required`` gradients, then gives the mean (or sum) of each row that came, and starts over."""

    stateful = blocking = cancellable = resumable = True
    coordinates = "take"
    ranks = {"num_required": 0}
    gradient = None

    def shape(handle):
        whole = _shape_of_gradients(handle)
        values = TensorShape([None]).concatenate(whole[1:]) if whole.ndims else unknown_shape()
        return [[None], values, [whole.ndims or None]]

    def kernel(handle, num_required, ctx, dtype):
        return _of_type(handle, dtype).take(ctx.step, int(num_required))
