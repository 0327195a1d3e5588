"""Looking at the attributes of operations."""
from __future__ import annotations

import ctypes
from typing import Any

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto

from penstock.capi.entries import entry
from penstock.capi.memory import fill, new_buffer
from penstock.capi.structs import AttrMetadata
from penstock.capi.tensors import tensor_of
from penstock.errors import InvalidArgumentError, NotFoundError
from penstock.graph import attrs
from penstock.graph.dtypes import as_dtype
from penstock.graph.node import Operation
from penstock.graph.tensor_proto import proto_to_array

_FIELDS = {"string": "s", "int": "i", "float": "f", "bool": "b", "type": "type", "shape": "shape", "tensor": "tensor", "func": "func"}
_NUMBERS = {"string": 0, "int": 1, "float": 2, "bool": 3, "type": 4, "shape": 5, "tensor": 6, "placeholder": 7, "func": 8}


def _value(op: Operation, name: str) -> tuple[str, AttrValue]:
    """The kind of an attribute as OpDefs spell it, and its value."""
    if name in op.attrs:
        kind = op.definition.attrs[name].kind
        return kind, attrs.to_proto(kind, op.attrs[name])
    if name == "_class" and op._colocation:
        return "list(string)", AttrValue(list=AttrValue.ListValue(s=list(op._colocation)))
    if name in op._extra:
        proto = op._extra[name]
        return "placeholder" if proto.WhichOneof("value") == "placeholder" else attrs.kind_of_proto(proto), proto
    raise NotFoundError(None, None, f"No attr named '{name}' in NodeDef:\n\t [[{{{{node {op.name}}}}}]]")


def _one(op: Operation, name: str, wanted: str) -> Any:
    kind, proto = _value(op, name)
    if kind != wanted:
        raise InvalidArgumentError(None, None, f"AttrValue had value with type '{kind}' when '{wanted}' expected: attr '{name}' of node '{op.name}'")
    return getattr(proto, _FIELDS[wanted])


def _some(op: Operation, name: str, wanted: str, most: int) -> list[Any]:
    kind, proto = _value(op, name)
    if kind != f"list({wanted})":
        raise InvalidArgumentError(None, None, f"AttrValue had value with type '{kind}' when 'list({wanted})' expected: attr '{name}' of '{op.name}'")
    return list(getattr(proto.list, _FIELDS[wanted]))[:max(most, 0)]


def _rank(shape: TensorShapeProto) -> int:
    return -1 if shape.unknown_rank else len(shape.dim)


@entry
def TF_OperationGetAttrMetadata(op: Operation, name: str) -> AttrMetadata:
    """What kind of value it is, and how much memory it takes."""
    kind, proto = _value(op, name)
    if not kind.startswith("list("):
        total = len(proto.s) if kind == "string" else _rank(proto.shape) if kind == "shape" else -1
        return AttrMetadata(0, -1, _NUMBERS[kind], total)
    kind = kind[5:-1]
    values = getattr(proto.list, _FIELDS[kind])
    total = sum(map(len, values)) if kind == "string" else sum(max(_rank(each), 0) for each in values) if kind == "shape" else -1
    return AttrMetadata(1, len(values), _NUMBERS[kind], total)


@entry
def TF_OperationGetAttrString(op: Operation, name: str, value: int | None, max_length: int) -> None:
    """Its bytes, as many as there is room for."""
    text = _one(op, name, "string")[:max_length]
    if text:
        ctypes.memmove(value, text, len(text))  # type: ignore[arg-type]


@entry
def TF_OperationGetAttrStringList(op: Operation, name: str, values: Any, lengths: Any, most: int, storage: int | None, size: int) -> None:
    """The strings go to ``storage``; where each is, and how long, to ``values`` and ``lengths``."""
    at = 0
    for index, text in enumerate(_some(op, name, "string", most)):
        if at + len(text) > size:
            raise InvalidArgumentError(None, None, "Not enough storage to hold the requested list of strings")
        values[index], lengths[index] = (storage or 0) + at, len(text)
        if text:
            ctypes.memmove((storage or 0) + at, text, len(text))
        at += len(text)


def _getters(suffix: str, kind: str) -> None:
    """The two functions for an attribute of plain numbers."""
    def one(op: Operation, name: str, value: Any) -> None:
        value[0] = _one(op, name, kind)

    def some(op: Operation, name: str, values: Any, most: int) -> None:
        for index, item in enumerate(_some(op, name, kind, most)):
            values[index] = item

    one.__name__, some.__name__ = f"TF_OperationGetAttr{suffix}", f"TF_OperationGetAttr{suffix}List"
    entry(one)
    entry(some)


for _suffix in ("Int", "Float", "Bool", "Type"):
    _getters(_suffix, _suffix.lower())


@entry
def TF_OperationGetAttrShape(op: Operation, name: str, value: Any, num_dims: int) -> None:
    """The extents, as many as there is room for."""
    for index, dim in enumerate(list(_one(op, name, "shape").dim)[:max(num_dims, 0)]):
        value[index] = dim.size


@entry
def TF_OperationGetAttrShapeList(op: Operation, name: str, dims: Any, num_dims: Any, most: int, storage: Any, size: int) -> None:
    """The extents go to ``storage``; where those of each shape are, and how many, to ``dims`` and ``num_dims``."""
    at = 0
    for index, shape in enumerate(_some(op, name, "shape", most)):
        num_dims[index] = _rank(shape)
        if shape.unknown_rank:
            continue
        if at + len(shape.dim) > size:
            raise InvalidArgumentError(None, None, "Not enough storage to hold the requested list of shapes")
        dims[index] = ctypes.cast(ctypes.addressof(storage.contents) + 8 * at, ctypes.POINTER(ctypes.c_int64)) if shape.dim else storage
        for dim in shape.dim:
            storage[at] = dim.size
            at += 1


@entry
def TF_OperationGetAttrTensorShapeProto(op: Operation, name: str, value: Any) -> None:
    """A shape, serialized."""
    fill(value, _one(op, name, "shape").SerializeToString())


@entry
def TF_OperationGetAttrTensorShapeProtoList(op: Operation, name: str, values: Any, most: int) -> None:
    """Several, in new buffers."""
    places = ctypes.cast(values, ctypes.POINTER(ctypes.c_void_p))
    for index, shape in enumerate(_some(op, name, "shape", most)):
        places[index] = new_buffer(shape.SerializeToString())


def _new_tensor(proto: Any) -> int:
    return tensor_of(proto_to_array(proto), as_dtype(proto.dtype))


@entry
def TF_OperationGetAttrTensor(op: Operation, name: str, value: Any) -> None:
    """A value, as a new tensor."""
    value[0] = _new_tensor(_one(op, name, "tensor"))


@entry
def TF_OperationGetAttrTensorList(op: Operation, name: str, values: Any, most: int) -> None:
    """Several."""
    for index, proto in enumerate(_some(op, name, "tensor", most)):
        values[index] = _new_tensor(proto)


@entry
def TF_OperationGetAttrValueProto(op: Operation, name: str, output_attr_value: Any) -> None:
    """Anything, serialized."""
    try:
        proto = _value(op, name)[1]
    except NotFoundError as error:  # TensorFlow has another class here
        raise InvalidArgumentError(None, None, f"Operation '{op.name}' has no attr named '{name}'.") from error
    fill(output_attr_value, proto.SerializeToString())
