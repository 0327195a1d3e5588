"""``tensorflow.core.framework.types_pb2``: the numbers of the element types. TensorBoard's copy of it also has types of later versions."""
from __future__ import annotations

from tensorboard.compat.proto import types_pb2

from penstock.api.enumerations import Enumeration
from penstock.graph.dtypes import _TYPE_TO_STRING

_KNOWN = (types_pb2.DT_INVALID, *_TYPE_TO_STRING)
DataType = Enumeration("DataType", {name: number for name, number in types_pb2.DataType.items() if number in _KNOWN})
globals().update(DataType.items())
