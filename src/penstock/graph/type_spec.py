"""``tf.TypeSpec`` and its kin: what a value made of tensors is like, without its tensors."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes
from penstock.graph.composite import IndexedSlices, SparseTensor, SparseTensorValue
from penstock.graph.shape import TensorShape


class TypeSpec:
    """``tf.TypeSpec``: the base. A subclass tells the class of its values and what it is made with (``_serialize``)."""

    @property
    def value_type(self) -> Any:
        """The class of the values."""
        raise NotImplementedError(f"{type(self).__name__}.value_type")

    def _serialize(self) -> tuple[Any, ...]:
        raise NotImplementedError(f"{type(self).__name__}._serialize")

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether a value, or another specification, fits."""
        other = spec_or_value if isinstance(spec_or_value, TypeSpec) else self._of_value(spec_or_value)
        return type(other) is type(self) and all(_fits(mine, theirs) for mine, theirs in zip(self._serialize(), other._serialize()))

    def most_specific_compatible_type(self, other: Any) -> TypeSpec:
        """The narrowest specification that both this one and ``other`` fit; ValueError if there is none."""
        if type(other) is not type(self):
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}")
        return type(self)(*[self._merge(mine, theirs, other) for mine, theirs in zip(self._serialize(), other._serialize())])

    def _merge(self, mine: Any, theirs: Any, other: TypeSpec) -> Any:
        if isinstance(mine, TensorShape):
            return mine.most_specific_compatible_shape(theirs)
        if mine != theirs:
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}")
        return mine

    def _of_value(self, value: Any) -> TypeSpec | None:
        return None

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and list(map(_plain, self._serialize())) == list(map(_plain, other._serialize()))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((type(self), tuple(map(_plain, self._serialize()))))

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._serialize()!r}"


class BatchableTypeSpec(TypeSpec):
    """``type_spec.BatchableTypeSpec``: of values that datasets can batch."""


def _plain(part: Any) -> Any:
    if isinstance(part, TensorShape):
        return None if part.ndims is None else tuple(part.as_list())
    return part


def _fits(mine: Any, theirs: Any) -> bool:
    return bool(mine.is_compatible_with(theirs)) if hasattr(mine, "is_compatible_with") else mine == theirs


class SparseTensorSpec(BatchableTypeSpec):
    """``tf.SparseTensorSpec``: dense shape and type of a SparseTensor."""

    def __init__(self, shape: Any = None, dtype: Any = dtypes.float32) -> None:
        self._shape, self._dtype = TensorShape(shape), dtypes.as_dtype(dtype)

    value_type = property(lambda self: SparseTensor)
    shape = property(lambda self: self._shape, doc="The dense shape.")
    dtype = property(lambda self: self._dtype, doc="The type of the entries.")

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype

    def _of_value(self, value: Any) -> TypeSpec | None:
        if isinstance(value, SparseTensorValue):
            return SparseTensorSpec(value.dense_shape, value.values.dtype)
        return SparseTensorSpec(value.shape, value.dtype) if isinstance(value, SparseTensor) else None


class IndexedSlicesSpec(TypeSpec):
    """``tf.IndexedSlicesSpec``: dense shape and types of IndexedSlices."""

    def __init__(self, shape: Any = None, dtype: Any = dtypes.float32, indices_dtype: Any = dtypes.int64, dense_shape_dtype: Any = None,
                 indices_shape: Any = None) -> None:
        self._shape, self._values_dtype, self._indices_dtype = TensorShape(shape), dtypes.as_dtype(dtype), dtypes.as_dtype(indices_dtype)
        self._dense_shape_dtype = None if dense_shape_dtype is None else dtypes.as_dtype(dense_shape_dtype)
        self._indices_shape = TensorShape(indices_shape).with_rank(1)

    value_type = property(lambda self: IndexedSlices)

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._values_dtype, self._indices_dtype, self._dense_shape_dtype, self._indices_shape
