"""What data frames had before pandas 1 and 2, as programs that read CSV files use it."""
from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np


def restore(pandas: ModuleType) -> None:
    """Gives frames and series ``as_matrix``, ``append``, ``ix`` and ``iteritems`` again."""
    def as_matrix(self: Any, columns: Any = None) -> Any:
        return (self if columns is None else self[columns]).values

    def append(self: Any, other: Any, ignore_index: bool = False, verify_integrity: bool = False, sort: bool = False) -> Any:
        others = list(other) if isinstance(other, (list, tuple)) else [other]
        rows = [each if isinstance(each, (pandas.DataFrame, pandas.Series)) else pandas.DataFrame([each]) for each in others]
        if isinstance(self, pandas.DataFrame):
            rows = [each.to_frame().T if isinstance(each, pandas.Series) else each for each in rows]
        return pandas.concat([self, *rows], ignore_index=ignore_index, verify_integrity=verify_integrity, sort=sort)

    def old_append(self: Any, to_append: Any, ignore_index: bool = False, verify_integrity: bool = False) -> Any:
        return append(self, to_append, ignore_index, verify_integrity)

    for kind, names in ((pandas.DataFrame, {"as_matrix": as_matrix, "append": append, "iteritems": pandas.DataFrame.items, "ix": property(_Ix)}),
                        (pandas.Series, {"as_matrix": lambda self: self.values, "append": old_append, "iteritems": pandas.Series.items,
                                         "ix": property(_Ix)})):
        for name, value in names.items():
            if not hasattr(kind, name):
                setattr(kind, name, value)


class _Ix:
    """``frame.ix[rows, columns]``: labels, or positions where an axis has no integers for labels."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def __getitem__(self, key: Any) -> Any:
        return self.data.iloc[self._positions(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        try:
            self.data.iloc[self._positions(key)] = value
        except KeyError:  # a new row or column
            self.data.loc[key] = value

    def _positions(self, key: Any) -> tuple[Any, ...]:
        return tuple(map(_positions, self.data.axes, key if isinstance(key, tuple) else (key,)))


def _positions(axis: Any, key: Any) -> Any:
    """The positions in an axis that a part of a key means."""
    parts = (key.start, key.stop) if isinstance(key, slice) else np.atleast_1d(key).tolist()
    if np.asarray(key).dtype == bool:
        return np.asarray(key)
    if axis.dtype.kind not in "iu" and all(part is None or isinstance(part, int) for part in parts):
        return key
    if isinstance(key, slice):
        return axis.slice_indexer(key.start, key.stop, key.step)
    if np.ndim(key) == 0:
        return axis.get_loc(key)
    places = axis.get_indexer_for(key)
    if (places < 0).any():
        raise KeyError(key)
    return places
