"""``tf.ragged.RaggedTensorValue``: what a session returns for a RaggedTensor, and what can be fed for one."""
from __future__ import annotations

from typing import Any

import numpy as np


class RaggedTensorValue:
    """The arrays of a RaggedTensor: ``values`` (an array or another RaggedTensorValue) and ``row_splits``."""

    def __init__(self, values: Any, row_splits: Any) -> None:
        if not (isinstance(row_splits, (np.ndarray, np.generic)) and row_splits.dtype in (np.int64, np.int32) and row_splits.ndim == 1):
            raise TypeError("row_splits must be a 1D int32 or int64 numpy array")
        if not isinstance(values, (np.ndarray, np.generic, RaggedTensorValue)):
            raise TypeError("values must be a numpy array or a RaggedTensorValue")
        if isinstance(values, RaggedTensorValue) and row_splits.dtype != values.row_splits.dtype:
            raise ValueError("row_splits and values.row_splits must have the same dtype")
        self._values, self._row_splits = values, row_splits

    row_splits = property(lambda self: self._row_splits, doc="Where the rows begin and end.")
    values = property(lambda self: self._values, doc="The rows after one another.")
    dtype = property(lambda self: self._values.dtype, doc="The NumPy type of the values.")

    @property
    def flat_values(self) -> Any:
        """The innermost values, an array."""
        return self._values.flat_values if isinstance(self._values, RaggedTensorValue) else self._values

    @property
    def nested_row_splits(self) -> tuple[Any, ...]:
        """The row_splits of all ragged dimensions, the outermost first."""
        inner = self._values.nested_row_splits if isinstance(self._values, RaggedTensorValue) else ()
        return (self._row_splits, *inner)

    @property
    def ragged_rank(self) -> int:
        """The number of ragged dimensions."""
        return len(self.nested_row_splits)

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The shape, with None for ragged dimensions."""
        return (len(self._row_splits) - 1, None, *self._values.shape[1:])

    def to_list(self) -> list[Any]:
        """Its rows as lists of lists."""
        rows = self._values.to_list() if isinstance(self._values, RaggedTensorValue) else self._values.tolist()
        return [rows[start:limit] for start, limit in zip(self._row_splits[:-1], self._row_splits[1:])]

    def __str__(self) -> str:
        return f"<tf.RaggedTensorValue {self.to_list()}>"

    def __repr__(self) -> str:
        return f"tf.RaggedTensorValue(values={self._values!r}, row_splits={self._row_splits!r})"


def value_of(arrays: list[Any]) -> RaggedTensorValue:
    """The value that consists of flat values and nested row_splits."""
    value, *splits = arrays
    for row_splits in reversed(splits):
        value = RaggedTensorValue(value, row_splits)
    return value
