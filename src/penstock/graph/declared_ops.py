"""Op types that OpDef protos declare: tools that read and rewrite graphs meet ops that Penstock does not have. See ``DeclaredOp``."""
from __future__ import annotations

from typing import Any

from tensorboard.compat.proto.op_def_pb2 import OpDef as OpDefProto
from tensorboard.compat.proto.op_def_pb2 import OpList

from penstock.graph import attrs as attr_module
from penstock.graph.attrs import REQUIRED, Attr
from penstock.graph.dtypes import as_dtype
from penstock.graph.opdef import REGISTRY, DeclaredOp
from penstock.platform.logging import get_logger


def declared_by(proto: OpDefProto) -> DeclaredOp:
    """The op that an OpDef declares."""
    attributes = {attr.name: _attr(attr) for attr in proto.attr}
    for arg in (*proto.input_arg, *proto.output_arg):
        if arg.type_list_attr:
            attributes.setdefault(arg.type_list_attr, Attr("list(type)"))
    inputs, outputs = (", ".join(_argument(arg) for arg in arguments) for arguments in (proto.input_arg, proto.output_arg))
    return DeclaredOp(proto.name, f"{inputs} -> {outputs}", attributes, proto.is_stateful)


def register_op_list(op_list: Any) -> None:
    """Declares the ops of an OpList. One that Penstock has is as it was; a warning says so if its declaration is another one."""
    if not isinstance(op_list, OpList):
        raise TypeError(f"{op_list} is {type(op_list)}, not an op_def_pb2.OpList")
    for proto in op_list.op:
        known = REGISTRY.get(proto.name)
        if known is None:
            REGISTRY[proto.name] = declared_by(proto)
        elif (known.proto.input_arg, known.proto.output_arg) != (proto.input_arg, proto.output_arg):
            get_logger().warning("The op %s has another signature than its declaration; nodes of this type keep to the former.", proto.name)


def _argument(arg: Any) -> str:
    name = arg.type_list_attr or arg.type_attr or as_dtype(arg.type).name
    name = f"{arg.number_attr} * {name}" if arg.number_attr else name
    return f"{arg.name}: Ref({name})" if arg.is_ref else f"{arg.name}: {name}"


def _attr(proto: Any) -> Attr:
    kind = proto.type
    default = attr_module.from_proto(kind, proto.default_value) if proto.HasField("default_value") else REQUIRED
    element = kind.removeprefix("list(").removesuffix(")")
    limited = proto.HasField("allowed_values") and element in ("type", "string")
    allowed = attr_module.from_proto(f"list({element})", proto.allowed_values) if limited else None
    return Attr(kind, default, None if allowed is None else frozenset(allowed), proto.minimum if proto.has_minimum else None)
