"""Small functions of TensorFlow's private modules that programs call and that Penstock itself does not need."""
from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.node_def_pb2 import NodeDef
from tensorboard.compat.proto.op_def_pb2 import OpDef as OpDefProto

from penstock.graph.composite import IndexedSlices, SparseTensor
from penstock.graph.device import canonical_name
from penstock.graph.node import Tensor
from penstock.graph.opdef import REGISTRY

_numbers = itertools.count(1)


def uid() -> int:
    """A number that was not given before in this process."""
    return next(_numbers)


def is_dense_tensor_like(value: Any) -> bool:
    """Whether ``value`` is a tensor, or a variable, which stands for one."""
    return isinstance(value, Tensor) or hasattr(value, "initialized_value")


class _TensorLikeType(type):
    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, (Tensor, SparseTensor, IndexedSlices))


class TensorLike(metaclass=_TensorLikeType):
    """TensorFlow's base class of tensors, dense and sparse: for ``isinstance``."""


class RegisterShape:
    """A decorator that gave a shape function to an operation of C++, before TensorFlow 1.0; shapes come with the operation, so it changes nothing."""

    def __init__(self, op_type: str) -> None:
        self.op_type = op_type

    def __call__(self, function: Callable[..., Any] | None) -> Callable[..., Any] | None:
        """``function`` itself."""
        return function


def get_registered_ops() -> dict[str, OpDefProto]:
    """{type: OpDef proto} of every operation."""
    return {op_type: definition.proto for op_type, definition in REGISTRY.items()}


def new_node_def(op_type: str, name: str, device: Any = None, attrs: dict[str, AttrValue] | None = None) -> NodeDef:
    """A NodeDef without inputs."""
    node = NodeDef(op=op_type, name=name, device="" if callable(device) else canonical_name(device))
    for key, value in (attrs or {}).items():
        node.attr[key].CopyFrom(value)
    return node
