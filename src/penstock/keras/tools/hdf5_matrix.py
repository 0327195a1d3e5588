"""HDF5Matrix: a data set of an HDF5 file as if it were an array."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from penstock.keras.saving.hdf5 import h5py_module


class HDF5Matrix:
    """``tf.keras.utils.HDF5Matrix``: rows from ``start`` to ``end``, read when they are used, behind a ``normalizer``."""

    refs: ClassVar[dict[str, Any]] = {}

    def __init__(self, datapath: str, dataset: str, start: int = 0, end: int | None = None, normalizer: Callable[[Any], Any] | None = None) -> None:
        if datapath not in self.refs:
            self.refs[datapath] = h5py_module().File(datapath, "r")
        self.data, self.start, self.normalizer = self.refs[datapath][dataset], start, normalizer
        self.end = self.data.shape[0] if end is None else end

    def __len__(self) -> int:
        return self.end - self.start

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            first, last = key.start or 0, len(self) if key.stop is None else key.stop
            rows: Any = slice(first + self.start, self._inside(last - 1) + 1)
        elif isinstance(key, (int, np.integer)):
            rows = self._inside(int(key))
        else:
            rows = self._inside(np.asarray(key))
            order = np.argsort(rows)  # HDF5 reads rows in increasing order
            in_order = self.data[rows[order]]
            values = np.empty_like(in_order)
            values[order] = in_order
            return values if self.normalizer is None else self.normalizer(values)
        return self.data[rows] if self.normalizer is None else self.normalizer(self.data[rows])

    def _inside(self, rows: Any) -> Any:
        """Numbers of rows of the data set; IndexError beyond those that are used."""
        if np.max(rows, initial=-1) >= len(self):
            raise IndexError(f"Row {np.max(rows)} was asked for, but this HDF5Matrix has only {len(self)} rows, from {self.start} to {self.end} of "
                             f"{self.data.name} in {self.data.file.filename}.")
        return rows + self.start

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the rows that are used."""
        return (len(self), *(np.shape(self[0])))

    dtype = property(lambda self: self.data.dtype, doc="The type of the data.")
    ndim = property(lambda self: self.data.ndim, doc="The number of axes.")
    size = property(lambda self: int(np.prod(self.shape)), doc="The number of elements.")
