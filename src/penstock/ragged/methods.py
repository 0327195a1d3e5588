"""What a RaggedTensor can do beyond its parts: conversions, indexing and Python's operators. Imported with the package."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.graph import dtypes as dt
from penstock.graph.node import Tensor
from penstock.ops.math import compare, division, elementwise, powers
from penstock.ragged.conversion import from_sparse, from_tensor, to_dense, to_sparse
from penstock.ragged.elementwise import binary, map_flat_values
from penstock.ragged.indexing import getitem
from penstock.ragged.tensor import RaggedTensor

_BINARY: dict[str, Callable[..., Any]] = {
    "__add__": elementwise.add, "__sub__": elementwise.subtract, "__mul__": elementwise.multiply, "__truediv__": division.truediv,
    "__div__": division.div, "__floordiv__": division.floordiv, "__mod__": division.floormod, "__pow__": powers.pow,
    "__and__": compare.logical_and, "__or__": compare.logical_or, "__xor__": compare.logical_xor}
_COMPARISONS: dict[str, Callable[..., Any]] = {
    "__lt__": compare.less, "__le__": compare.less_equal, "__gt__": compare.greater, "__ge__": compare.greater_equal}
_UNARY: dict[str, Callable[..., Any]] = {"__neg__": elementwise.negative, "__abs__": elementwise.abs, "__invert__": compare.logical_not}


def _add_operators() -> None:
    def forward(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda x, y: binary(function, x, y)

    def reflected(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda x, y: binary(function, y, x)

    def unary(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda x: map_flat_values(function, x)

    for method, function in {**_BINARY, **_COMPARISONS}.items():
        setattr(RaggedTensor, method, forward(function))
    for method, function in _BINARY.items():
        setattr(RaggedTensor, f"__r{method[2:]}", reflected(function))
    for method, function in _UNARY.items():
        setattr(RaggedTensor, method, unary(function))


def _from_tensor(cls: Any, tensor: Any, lengths: Any = None, padding: Any = None, ragged_rank: int = 1, name: str | None = None,
                 row_splits_dtype: Any = dt.int64) -> RaggedTensor:
    """The rows of a tensor, without what follows their ``lengths``, or without ``padding`` at their ends."""
    return from_tensor(tensor, lengths, padding, ragged_rank, name, row_splits_dtype)


def _from_sparse(cls: Any, st_input: Any, name: str | None = None, row_splits_dtype: Any = dt.int64) -> RaggedTensor:
    """The entries of a SparseTensor of two dimensions whose rows have no gaps."""
    return from_sparse(st_input, name, row_splits_dtype)


def _to_tensor(self: RaggedTensor, default_value: Any = None, name: str | None = None) -> Tensor:
    """The rows as a tensor; shorter ones are filled up with ``default_value``."""
    return to_dense(self, default_value, name)


RaggedTensor.from_tensor = classmethod(_from_tensor)  # type: ignore[attr-defined]
RaggedTensor.from_sparse = classmethod(_from_sparse)  # type: ignore[attr-defined]
RaggedTensor.to_tensor = _to_tensor  # type: ignore[attr-defined]
RaggedTensor.to_sparse = lambda self, name=None: to_sparse(self, name)  # type: ignore[attr-defined]
RaggedTensor.__getitem__ = getitem  # type: ignore[attr-defined]
RaggedTensor.__array_priority__ = 100  # type: ignore[attr-defined]  # `array + ragged` asks the ragged tensor
RaggedTensor.__hash__ = object.__hash__  # type: ignore[method-assign]
_add_operators()
