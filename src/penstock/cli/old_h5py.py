"""Attributes of HDF5 files as h5py 2 gave them: text that was written as bytes comes back as bytes, which programs decode."""
from __future__ import annotations

from types import ModuleType
from typing import Any


def restore(h5py: ModuleType) -> None:
    """Gives a newer h5py the old behaviour."""
    attributes = h5py.AttributeManager
    get = attributes.__getitem__

    def get_as_written(self: Any, name: Any) -> Any:
        value = get(self, name)
        if isinstance(value, str):
            kind = h5py.check_string_dtype(self.get_id(name).dtype)
            if kind is not None and kind.encoding == "ascii":  # what h5py makes of bytes; of text it makes UTF-8
                return value.encode()
        return value

    attributes.__getitem__ = get_as_written
