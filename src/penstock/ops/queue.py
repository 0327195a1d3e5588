"""Queue operations. Their state is a ``penstock.runtime.queues.Queue``, which travels along the handle edges."""
from __future__ import annotations

from typing import Any

from penstock.errors import KernelError, invalid_argument
from penstock.errors import FailedPreconditionError
from penstock.graph import dtypes as dt
from penstock.graph.attrs import SHAPES, Attr, type_list
from penstock.graph.node import Tensor
from penstock.graph.opdef import OpDef, op
from penstock.graph.shape import TensorShape, unknown_shape
from penstock.graph.static import constant_value
from penstock.ops.common import fixed, nothing

__all__ = ["FIFOQueue", "FIFOQueueV2"]
