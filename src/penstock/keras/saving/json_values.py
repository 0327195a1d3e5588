"""Configurations as JSON: what ``json`` cannot write by itself."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from penstock.graph.dtypes import DType
from penstock.graph.shape import Dimension, TensorShape


def plain(value: Any) -> Any:
    """For ``json.dumps(..., default=plain)``: objects by class name and config, functions by name, arrays as lists."""
    if hasattr(value, "get_config"):
        return {"class_name": type(value).__name__, "config": value.get_config()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, TensorShape):
        return value.as_list()
    if isinstance(value, Dimension):
        return value.value
    if isinstance(value, DType):
        return value.name
    if callable(value):
        return value.__name__
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError("Not JSON Serializable:", value)
