"""Data frames as arrays. pandas is not needed: other values stay as they are."""
from __future__ import annotations

from typing import Any

import numpy as np


def _is_frame(data: Any) -> bool:
    return hasattr(data, "columns") and hasattr(data, "iloc")


def _is_series(data: Any) -> bool:
    return hasattr(data, "iloc") and not hasattr(data, "columns")


def extract_pandas_data(data: Any) -> Any:
    """``tf.contrib.learn.extract_pandas_data``: the numbers of a data frame as float64; ValueError names the columns that have none."""
    if not _is_frame(data):
        return data
    bad = [f"{name!r} type {dtype}" for name, dtype in data.dtypes.items() if getattr(dtype, "kind", "O") not in "biuf"]
    if bad:
        raise ValueError("Data types for extracting pandas data must be int, float, or bool. Found: " + ", ".join(bad))
    return data.values.astype("float")


def extract_pandas_matrix(data: Any) -> Any:
    """``tf.contrib.learn.extract_pandas_matrix``: the values of a data frame, of any type."""
    return data.values if _is_frame(data) else data


def extract_pandas_labels(labels: Any) -> Any:
    """``tf.contrib.learn.extract_pandas_labels``: the only column of a data frame, or a series, as an array."""
    if _is_frame(labels):
        if len(labels.columns) > 1:
            raise ValueError("Only one column for labels is allowed.")
        if any(getattr(dtype, "kind", "O") not in "biuf" for dtype in labels.dtypes):
            raise ValueError("Data types for labels must be int, float, or bool.")
        return labels.values
    return np.asarray(labels.values) if _is_series(labels) else labels
