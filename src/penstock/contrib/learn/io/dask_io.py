"""Data frames of Dask, whose parts may lie on several machines. Dask is not needed: other values stay as they are."""
from __future__ import annotations

import importlib
import itertools
from typing import Any


def extract_dask_data(data: Any) -> Any:
    """``tf.contrib.learn.extract_dask_data``: a frame or series of Dask with an index that counts its rows through all parts."""
    if not _is_dask(data):
        return data
    dask, frames = importlib.import_module("dask"), importlib.import_module("dask.dataframe")  # only a program that uses Dask comes here
    ends = list(itertools.accumulate(int(length) for length in data.map_partitions(len).compute()))
    parts = [dask.delayed(_with_index_from)(part, start) for part, start in zip(data.to_delayed(), [0, *ends])]
    return frames.from_delayed(parts, meta=data._meta, divisions=(0, *ends))


def extract_dask_labels(labels: Any) -> Any:
    """``tf.contrib.learn.extract_dask_labels``: the same for labels, which have one column."""
    if _is_dask(labels) and hasattr(labels, "columns") and len(labels.columns) > 1:
        raise ValueError("Only one column for labels is allowed.")
    return extract_dask_data(labels)


def _is_dask(data: Any) -> bool:
    return type(data).__module__.startswith("dask") and hasattr(data, "map_partitions")


def _with_index_from(part: Any, start: int) -> Any:
    """A copy of a part of a frame, whose rows are numbered from ``start`` on."""
    part = part.copy()
    part.index = range(start, start + len(part))
    return part
