"""Values made of several tensors: IndexedSlices and SparseTensor, and what a session returns for them; the base of others."""
from __future__ import annotations

from collections import namedtuple
from typing import Any

from penstock.graph import dtypes
from penstock.graph.convert import to_tensor
from penstock.graph.node import Operation, Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.shape import TensorShape
from penstock.graph.stacks import default_session
from penstock.graph.static import constant_value_as_shape
from penstock.platform.deprecation import renamed_args

IndexedSlicesValue = namedtuple("IndexedSlicesValue", ["values", "indices", "dense_shape"])
SparseTensorValue = namedtuple("SparseTensorValue", ["indices", "values", "dense_shape"])


class CompositeTensor:
    """The base of further values made of several tensors: what sessions and structures have to know of them."""

    def _components(self) -> list[Tensor]:
        """The tensors it is made of."""
        raise NotImplementedError

    def _with_components(self, components: list[Any]) -> Any:
        """The same kind of value made of other tensors."""
        raise NotImplementedError

    def _value(self, *arrays: Any) -> Any:
        """What a session returns for it, given the values of its components."""
        raise NotImplementedError

    def _value_components(self, value: Any) -> list[Any]:
        """What is fed for its components when ``value`` is fed for it."""
        raise NotImplementedError


class IndexedSlices:
    """Rows of a larger tensor: ``dense[indices[i]] = values[i]``. The gradient of a gather, kept sparse up to the optimizer."""

    def __init__(self, values: Tensor, indices: Tensor, dense_shape: Tensor | None = None) -> None:
        self.values, self.indices, self.dense_shape = values, indices, dense_shape

    @property
    def name(self) -> str:
        """The name of its values."""
        return self.values.name

    @property
    def device(self) -> str:
        """The device of its values."""
        return self.values.device

    @property
    def op(self) -> Operation:
        """The operation that makes its values."""
        return self.values.op

    @property
    def dtype(self) -> dtypes.DType:
        """The type of its values."""
        return self.values.dtype

    @property
    def graph(self) -> Any:
        """The graph it belongs to."""
        return self.values.graph

    def __neg__(self) -> IndexedSlices:
        return IndexedSlices(-self.values, self.indices, self.dense_shape)

    def __str__(self) -> str:
        dense = f", dense_shape={self.dense_shape!s}" if self.dense_shape is not None else ""
        return f"IndexedSlices(indices={self.indices!s}, values={self.values!s}{dense})"

    __repr__ = __str__


class SparseTensor:
    """The non-zero entries of a tensor: ``indices`` [n, rank], ``values`` [n], ``dense_shape`` [rank], in row-major order."""

    @renamed_args(shape="dense_shape")
    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        with name_scope(None, "SparseTensor", [x for x in (indices, values, dense_shape) if isinstance(x, Tensor)]):
            self._indices = to_tensor(indices, dtypes.int64, "indices")
            self._values = to_tensor(values, None, "values")
            self._dense_shape = to_tensor(dense_shape, dtypes.int64, "dense_shape")
        indices_shape = self._indices.shape.with_rank(2)
        values_shape = self._values.shape.with_rank(1)
        dense_shape_shape = self._dense_shape.shape.with_rank(1)
        indices_shape[0].merge_with(values_shape[0])
        indices_shape[1].merge_with(dense_shape_shape[0])

    @classmethod
    def from_value(cls, sparse_tensor_value: Any) -> SparseTensor:
        """A SparseTensor for a SparseTensorValue."""
        if not isinstance(sparse_tensor_value, (SparseTensor, SparseTensorValue)):
            raise TypeError(f"Neither a SparseTensor nor SparseTensorValue: {sparse_tensor_value}.")
        return cls(sparse_tensor_value.indices, sparse_tensor_value.values, sparse_tensor_value.dense_shape)

    @property
    def indices(self) -> Tensor:
        """Where the entries stand, one row per entry."""
        return self._indices

    @property
    def values(self) -> Tensor:
        """The entries."""
        return self._values

    @property
    def dense_shape(self) -> Tensor:
        """The shape of the whole as a tensor."""
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        """What is known of the shape before anything runs."""
        return constant_value_as_shape(self._dense_shape)

    def get_shape(self) -> TensorShape:
        """``shape``."""
        return self.shape

    @property
    def dtype(self) -> dtypes.DType:
        """The type of the entries."""
        return self._values.dtype

    @property
    def op(self) -> Operation:
        """The operation that makes its values."""
        return self._values.op

    @property
    def graph(self) -> Any:
        """The graph it belongs to."""
        return self._indices.graph

    def eval(self, feed_dict: Any = None, session: Any = None) -> SparseTensorValue:
        """Its value in ``session`` or the default session."""
        indices, values, dense_shape = (session or _default_session()).run([self.indices, self.values, self.dense_shape], feed_dict)
        return SparseTensorValue(indices, values, dense_shape)

    def __str__(self) -> str:
        return f"SparseTensor(indices={self._indices!s}, values={self._values!s}, dense_shape={self._dense_shape!s})"

    __repr__ = __str__


def _default_session() -> Any:
    session = default_session()
    if session is None:
        raise ValueError("Cannot evaluate a SparseTensor: No default session is registered. Use `with sess.as_default()` or pass a session.")
    return session


SparseTensorType = (SparseTensor, SparseTensorValue)


def convert_to_tensor_or_sparse_tensor(value: Any, dtype: Any = None, name: str | None = None) -> Any:
    """A SparseTensor as it is, everything else as a Tensor."""
    if isinstance(value, SparseTensorValue):
        value = SparseTensor.from_value(value)
    if isinstance(value, SparseTensor):
        if dtype is not None and not dtypes.as_dtype(dtype).is_compatible_with(value.dtype):
            raise RuntimeError(f"Sparse dtype: requested = {dtypes.as_dtype(dtype).name}, actual = {value.dtype.name}")
        return value
    return to_tensor(value, None if dtype is None else dtypes.as_dtype(dtype), name)


def convert_to_tensor_or_indexed_slices(value: Any, dtype: Any = None, name: str | None = None) -> Any:
    """IndexedSlices as they are, everything else as a Tensor."""
    return value if isinstance(value, IndexedSlices) else to_tensor(value, None if dtype is None else dtypes.as_dtype(dtype), name)
