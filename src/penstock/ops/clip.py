"""Clipping: values and norms of tensors and of IndexedSlices."""
from __future__ import annotations

from typing import Any

from penstock.graph.composite import IndexedSlices
from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import DType
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.scopes import colocate_with, name_scope
from penstock.graph.shape import broadcast_all
from penstock.ops.broadcast_gradient import reduce_to
from penstock.ops.cast import cast
from penstock.ops.common import NUMERIC
from penstock.ops.compare import Greater, GreaterEqual, IsFinite, LessEqual, LogicalAnd
from penstock.ops.constant import constant, identity
from penstock.ops.elementwise import Maximum, Minimum, Mul
from penstock.ops.fill import ones_like, zeros_like
from penstock.ops.pack import stack
from penstock.ops.powers import Rsqrt, Sqrt
from penstock.ops.reduce import reduce_sum
from penstock.ops.select import where
from penstock.ops.shape_ops import size
