"""Attributes of HDF5 files as h5py 2 gave them: text that was written as bytes comes back as bytes, which programs decode."""
from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np


def restore(h5py: ModuleType) -> None:
    """Gives a newer h5py the old behaviour."""
    attributes = h5py.AttributeManager
    get = attributes.__getitem__

    def get_as_written(self: Any, name: Any) -> Any:
        value = get(self, name)
        kind = h5py.check_string_dtype(self.get_id(name).dtype)
        if kind is None or kind.encoding != "ascii":  # h5py makes ASCII of bytes, and UTF-8 of text
            return value
        if isinstance(value, np.ndarray) and value.dtype.kind == "O":
            return np.array([each.encode() if isinstance(each, str) else each for each in value.ravel()], np.bytes_).reshape(value.shape)
        return value.encode() if isinstance(value, str) else value

    attributes.__getitem__ = get_as_written
