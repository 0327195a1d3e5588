"""SaveSliceInfo: which part of a larger variable a variable is, for checkpoints."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorboard.compat.proto.variable_pb2 import SaveSliceInfoDef

from penstock.variables.naming import prepend_name_scope, strip_name_scope


class SaveSliceInfo:
    """The name and shape of the whole, and the offset and shape of the part."""

    def __init__(self, full_name: str | None = None, full_shape: Sequence[int] | None = None, var_offset: Sequence[int] | None = None,
                 var_shape: Sequence[int] | None = None, save_slice_info_def: Any = None, import_scope: str | None = None) -> None:
        if save_slice_info_def is not None:
            saved = save_slice_info_def
            full_name = prepend_name_scope(saved.full_name, import_scope)
            full_shape, var_offset, var_shape = list(saved.full_shape), list(saved.var_offset), list(saved.var_shape)
        self.full_name = full_name
        self.full_shape, self.var_offset, self.var_shape = full_shape, var_offset, var_shape

    @property
    def spec(self) -> str:
        """Shape and place in one line, as checkpoints of the first version write it: ``4 2 0,2:0,2``.

        >>> SaveSliceInfo("w", [4, 2], [2, 0], [2, 2]).spec
        '4 2 2,2:0,2'
        """
        shape = " ".join(str(extent) for extent in self.full_shape or ())
        places = ":".join(f"{start},{length}" for start, length in zip(self.var_offset or (), self.var_shape or ()))
        return f"{shape} {places}"

    def to_proto(self, export_scope: str | None = None) -> SaveSliceInfoDef | None:
        """The SaveSliceInfoDef proto; None for a variable outside ``export_scope``."""
        if export_scope is not None and not (self.full_name or "").startswith(export_scope):
            return None
        return SaveSliceInfoDef(full_name=strip_name_scope(self.full_name or "", export_scope), full_shape=self.full_shape,
                                var_offset=self.var_offset, var_shape=self.var_shape)
