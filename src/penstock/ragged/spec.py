"""``tf.RaggedTensorSpec``: shape, type and ragged dimensions of a RaggedTensor that is not there yet."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes
from penstock.graph.shape import TensorShape
from penstock.graph.type_spec import BatchableTypeSpec, TypeSpec
from penstock.ragged.tensor import RaggedTensor, as_values, is_ragged


class RaggedTensorSpec(BatchableTypeSpec):
    """``tf.RaggedTensorSpec``."""

    def __init__(self, shape: Any = None, dtype: Any = dtypes.float32, ragged_rank: int | None = None, row_splits_dtype: Any = dtypes.int64) -> None:
        self._shape, self._dtype, self._row_splits_dtype = TensorShape(shape), dtypes.as_dtype(dtype), dtypes.as_dtype(row_splits_dtype)
        ndims = self._shape.ndims
        if ragged_rank is None:
            if ndims is None:
                raise ValueError("Must specify ragged_rank or a shape with known rank.")
            ragged_rank = ndims - 1
        if not isinstance(ragged_rank, int):
            raise TypeError("ragged_rank must be an int")
        if ndims is not None and ragged_rank >= ndims:
            raise ValueError("ragged_rank must be less than rank.")
        self._ragged_rank = ragged_rank

    value_type = property(lambda self: RaggedTensor)

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, self._ragged_rank, self._row_splits_dtype

    def _of_value(self, value: Any) -> TypeSpec | None:
        return RaggedTensorSpec.from_value(value) if is_ragged(value) else None

    @classmethod
    def from_value(cls, value: Any) -> RaggedTensorSpec:
        """What ``value``, a RaggedTensor or its value, is like."""
        value = as_values(value)
        return cls(value.shape, value.dtype, value.ragged_rank, value.row_splits.dtype.base_dtype)
