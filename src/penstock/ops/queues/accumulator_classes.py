"""``tf.ConditionalAccumulator`` and ``tf.SparseConditionalAccumulator`` as Python objects that add operations to the graph."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes as dt
from penstock.graph.composite import IndexedSlices
from penstock.graph.convert import to_tensor
from penstock.graph.node import Operation, Tensor
from penstock.graph.shape import as_shape, unknown_shape
from penstock.ops.array.cast import cast
from penstock.ops.queues import accumulators as ops


def _int64(value: Any) -> Tensor:
    return cast(to_tensor(value), dt.int64)


class ConditionalAccumulatorBase:
    """What dense and sparse accumulators share."""

    _count: Any = None
    _dropped: Any = None
    _set_step: Any = None

    def __init__(self, dtype: Any, shape: Any, accumulator_ref: Tensor) -> None:
        self._dtype, self._shape = dt.as_dtype(dtype), shape
        self._accumulator_ref = accumulator_ref

    @property
    def accumulator_ref(self) -> Tensor:
        """The handle of the accumulator."""
        return self._accumulator_ref

    @property
    def name(self) -> str:
        """The name of the node that makes the accumulator."""
        return self._accumulator_ref.op.name

    @property
    def dtype(self) -> dt.DType:
        """The type of the gradients."""
        return self._dtype

    def num_accumulated(self, name: str | None = None) -> Tensor:
        """How many gradients have come since the last were taken."""
        return self._count(self._accumulator_ref, name=name or f"{self.name.split('/')[-1]}_NumAccumulated")

    def num_dropped(self, name: str | None = None) -> Tensor:
        """How many gradients were dropped, because they were older than the time step, since the accumulator was made (not in TensorFlow)."""
        return self._dropped(self._accumulator_ref, name=name or f"{self.name.split('/')[-1]}_NumDropped")

    def set_global_step(self, new_global_step: Any, name: str | None = None) -> Operation:
        """An operation that sets the time step; older gradients are dropped from then on."""
        return self._set_step(self._accumulator_ref, _int64(new_global_step), name=name)


def _check_reduction(reduction_type: str) -> None:
    if reduction_type not in ("MEAN", "SUM"):
        raise ValueError(f"reduction_type must be 'MEAN' or 'SUM', not {reduction_type!r}")


class ConditionalAccumulator(ConditionalAccumulatorBase):
    """``tf.ConditionalAccumulator``: collects dense gradients until there are enough, and hands out their mean (or sum)."""

    _count = staticmethod(ops.ResourceAccumulatorNumAccumulated)
    _dropped = staticmethod(ops._ResourceAccumulatorNumDropped)
    _set_step = staticmethod(ops.ResourceAccumulatorSetGlobalStep)

    def __init__(self, dtype: Any, shape: Any = None, shared_name: str | None = None, name: str = "conditional_accumulator",
                 reduction_type: str = "MEAN") -> None:
        _check_reduction(reduction_type)
        shape = unknown_shape() if shape is None else as_shape(shape)
        super().__init__(dtype, shape, ops.ResourceConditionalAccumulator(dtype=dtype, shape=shape, shared_name=shared_name, name=name,
                                                                          reduction_type=reduction_type))

    def apply_grad(self, grad: Any, local_step: Any = 0, name: str | None = None) -> Operation:
        """An operation that adds a gradient, unless ``local_step`` is older than the accumulator's time step."""
        grad = to_tensor(grad, self._dtype)
        grad.shape.assert_is_compatible_with(self._shape)
        return ops.ResourceAccumulatorApplyGradient(self._accumulator_ref, _int64(local_step), grad, name=name)

    def take_grad(self, num_required: Any, name: str | None = None) -> Tensor:
        """The mean (or sum) of the gradients, when at least ``num_required`` have come."""
        taken = ops.ResourceAccumulatorTakeGradient(self._accumulator_ref, num_required, dtype=self._dtype, name=name)
        taken.set_shape(self._shape)
        return taken


class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """``tf.SparseConditionalAccumulator``: collects sparse gradients until there are enough."""

    _count = staticmethod(ops.AccumulatorNumAccumulated)
    _dropped = staticmethod(ops._AccumulatorNumDropped)
    _set_step = staticmethod(ops.AccumulatorSetGlobalStep)

    def __init__(self, dtype: Any, shape: Any = None, shared_name: str | None = None, name: str = "sparse_conditional_accumulator",
                 reduction_type: str = "MEAN") -> None:
        _check_reduction(reduction_type)
        shape = unknown_shape() if shape is None else as_shape(shape)
        super().__init__(dtype, shape, ops.SparseConditionalAccumulator(dtype=dtype, shape=shape, shared_name=shared_name, name=name,
                                                                        reduction_type=reduction_type))

    def apply_indexed_slices_grad(self, grad: IndexedSlices, local_step: Any = 0, name: str | None = None) -> Operation:
        """An operation that adds a gradient of rows."""
        return self.apply_grad(grad.indices, grad.values, grad.dense_shape, local_step, name)

    def apply_grad(self, grad_indices: Any, grad_values: Any, grad_shape: Any = None, local_step: Any = 0, name: str | None = None) -> Operation:
        """An operation that adds a gradient of rows, unless ``local_step`` is older than the accumulator's time step."""
        step = _int64(local_step)
        return ops.SparseAccumulatorApplyGradient(
            self._accumulator_ref, step, cast(grad_indices, dt.int64), grad_values, cast([] if grad_shape is None else grad_shape, dt.int64),
            dtype=self._dtype, has_known_shape=grad_shape is not None, name=name)

    def take_grad(self, num_required: Any, name: str | None = None) -> Any:
        """(indices, values, shape) of the mean (or sum) of the gradients, when at least ``num_required`` have come."""
        return ops.SparseAccumulatorTakeGradient(self._accumulator_ref, num_required, dtype=self._dtype, name=name)

    def take_indexed_slices_grad(self, num_required: Any, name: str | None = None) -> IndexedSlices:
        """The mean (or sum) of the gradients as IndexedSlices."""
        taken = self.take_grad(num_required, name)
        return IndexedSlices(values=taken.values, indices=taken.indices, dense_shape=taken.shape)
