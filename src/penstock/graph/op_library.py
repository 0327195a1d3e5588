"""``OpDefLibrary``: ops that a program declares by protos and calls by name, as TensorFlow's generated functions do."""
from __future__ import annotations

from typing import Any

from tensorboard.compat.proto.op_def_pb2 import OpDef as OpDefProto
from tensorboard.compat.proto.op_def_pb2 import OpList

from penstock.graph.attrs import REQUIRED, Attr
from penstock.graph.declared_ops import declared_by
from penstock.graph.opdef import REGISTRY, OpDef


class OpDefLibrary:
    """Declared ops by their names. An op that Penstock has too runs; the others can only be built."""

    def __init__(self) -> None:
        self._ops: dict[str, OpDef] = {}

    def add_op(self, op_def: Any) -> None:
        """Adds the op of an OpDef proto, which must be consistent."""
        if not isinstance(op_def, OpDefProto):
            raise TypeError(f"{op_def} is {type(op_def)}, not an op_def_pb2.OpDef")
        if not op_def.name:
            raise ValueError(f"{op_def} missing name.")
        if op_def.name in self._ops:
            raise RuntimeError(f"Op name {op_def.name} registered twice.")
        _check(op_def)
        self._ops[op_def.name] = REGISTRY.get(op_def.name) or declared_by(op_def)

    def add_op_list(self, op_list: Any) -> None:
        """Adds the ops of an OpList proto."""
        if not isinstance(op_list, OpList):
            raise TypeError(f"{op_list} is {type(op_list)}, not an op_def_pb2.OpList")
        for op_def in op_list.op:
            self.add_op(op_def)

    def apply_op(self, op_type_name: str, name: str | None = None, **keywords: Any) -> Any:
        """Adds a node: inputs and attributes are keywords; a name that Python reserves may have an underscore at its end."""
        definition = self._ops.get(op_type_name)
        if definition is None:
            raise RuntimeError("Unrecognized Op name " + op_type_name)
        values = [_take(keywords, arg.name, f"No argument for input {arg.name}") for arg in definition.inputs]
        attributes = {}
        for key, attr in definition.attrs.items():
            if key in definition.inferred:
                if key in keywords:
                    raise TypeError(f"Should not specify value for inferred attr '{key}'.")
                continue
            attributes[key] = _attribute(op_type_name, key, attr, _take(keywords, key, f"No argument for attr {key}"))
        if keywords:
            raise TypeError(f"apply_op() got unexpected keyword arguments: {', '.join(sorted(keywords))}")
        return definition(*values, name=name, **attributes)


def _take(keywords: dict[str, Any], key: str, otherwise: str) -> Any:
    for spelling in (key, key + "_"):
        if spelling in keywords:
            return keywords.pop(spelling)
    raise TypeError(otherwise)


def _attribute(op_type: str, key: str, attr: Attr, value: Any) -> Any:
    if value is None:
        return attr.default if attr.default is not REQUIRED else attr.check(op_type, key, None)
    if attr.kind in ("bool", "list(bool)"):  # a generated function is strict about these
        for item in value if attr.kind != "bool" and isinstance(value, (list, tuple)) else (value,):
            if not isinstance(item, bool):
                raise TypeError(f"Expected bool for argument '{key}' not {item!r}.")
    return value


def _check(op_def: OpDefProto) -> None:
    """Raises TypeError for an argument without a type, with several, or with one that is not declared."""
    kinds = {attr.name: attr.type for attr in op_def.attr}
    for arg in (*op_def.input_arg, *op_def.output_arg):
        count = sum(map(bool, (arg.type, arg.type_attr, arg.type_list_attr)))
        if count != 1:
            raise TypeError(f"Arg '{arg.name}' of '{op_def.name}' must have one type field not {count}")
        for field, kind in (("type_attr", "type"), ("type_list_attr", "list(type)"), ("number_attr", "int")):
            attr = getattr(arg, field)
            if attr and attr not in kinds:
                raise TypeError(f"Inconsistent OpDef for '{op_def.name}', missing attr '{attr}'")
            if attr and kinds[attr] != kind:
                raise TypeError(f"Attr '{attr}' of '{op_def.name}' used as a {field} but has type {kinds[attr]}")
