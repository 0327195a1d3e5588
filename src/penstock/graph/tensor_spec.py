"""``tf.TensorSpec``: shape, type and name of a tensor that is not there yet."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.graph import dtypes
from penstock.graph.dtypes import DType
from penstock.graph.node import Tensor
from penstock.graph.shape import TensorShape
from penstock.graph.type_spec import BatchableTypeSpec


class TensorSpec(BatchableTypeSpec):
    """``tf.TensorSpec``."""

    def __init__(self, shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> None:
        self._shape, self._dtype, self._name = TensorShape(shape), dtypes.as_dtype(dtype), name

    shape = property(lambda self: self._shape, doc="The shape, a TensorShape.")
    dtype = property(lambda self: self._dtype, doc="The type of the elements.")
    name = property(lambda self: self._name, doc="The name, or None.")

    value_type = property(lambda self: Tensor)

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, self._name

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> TensorSpec:
        """A copy of ``spec``, under another name if one is given."""
        return cls(spec.shape, spec.dtype, name or spec.name)

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        """What a tensor is like."""
        if isinstance(tensor, Tensor):
            return TensorSpec(tensor.shape, tensor.dtype, name or tensor.op.name)
        raise ValueError(f"`tensor` should be a tf.Tensor, but got {tensor!r}")

    def is_compatible_with(self, spec_or_tensor: Any) -> bool:
        """Whether type and shape of a tensor, or of another spec, fit."""
        return self.dtype.is_compatible_with(spec_or_tensor.dtype) and self.shape.is_compatible_with(spec_or_tensor.shape)

    def most_specific_compatible_type(self, other: Any) -> TensorSpec:
        """The narrowest spec that both this one and ``other`` fit; ValueError if there is none."""
        if type(other) is not type(self) or self.dtype != other.dtype:
            raise ValueError(f"Types are not compatible: {self!r} vs {other!r}")
        return TensorSpec(self.shape.most_specific_compatible_shape(other.shape), self.dtype, self.name if self.name == other.name else None)

    def _key(self) -> tuple[Any, ...]:
        extents = None if self._shape.ndims is None else tuple(self._shape.as_list())
        return type(self), extents, self._dtype, self._name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorSpec) and self._key() == other._key()

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._key()[1:3])

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r})"


class BoundedTensorSpec(TensorSpec):
    """A TensorSpec whose elements lie between two bounds, which are included."""

    def __init__(self, shape: Any, dtype: Any, minimum: Any, maximum: Any, name: str | None = None) -> None:
        super().__init__(shape, dtype, name)
        self._minimum, self._maximum = self._bound("minimum", minimum), self._bound("maximum", maximum)

    def _bound(self, what: str, value: Any) -> np.ndarray[Any, Any]:
        if value is None:
            raise ValueError(f"{what} can not be None.")
        kind: DType = self._dtype
        array = np.array(value, dtype=kind.as_numpy_dtype)
        if not self._shape.is_compatible_with(array.shape) and array.shape:
            raise ValueError(f"{what} is not compatible with shape. Message: {self._shape} and {array.shape} do not fit.")
        array.setflags(write=False)
        return array

    minimum = property(lambda self: self._minimum, doc="The smallest values.")
    maximum = property(lambda self: self._maximum, doc="The largest values.")

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> BoundedTensorSpec:
        """A bounded spec like ``spec``, which may be a library's own with a type of NumPy; without bounds of its own, those of its type."""
        dtype = dtypes.as_dtype(spec.dtype)
        return cls(spec.shape, dtype, getattr(spec, "minimum", dtype.min), getattr(spec, "maximum", dtype.max), name or spec.name)

    def _key(self) -> tuple[Any, ...]:
        return *super()._key(), self._minimum.tobytes(), self._maximum.tobytes()

    def __repr__(self) -> str:
        return (f"BoundedTensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r}, minimum={self.minimum!r}, "
                f"maximum={self.maximum!r})")
