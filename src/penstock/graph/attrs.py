"""Attributes: the compile-time parameters of an operation, their kinds, checks and proto form.

In a declaration ``@op("Conv2D", ..., T=FLOATS, strides=INTS, padding=one_of("SAME", "VALID"), use_cudnn_on_gpu=True)`` a plain Python value is
an attribute with that default, a set of DTypes is a type attribute, and the constants below are attributes that must be given.

Inside Penstock an attribute is a plain Python value: DType, int, float, bool, str, bytes, TensorShape, ndarray, or a tuple of those.
"""
from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from tensorboard.compat.proto.attr_value_pb2 import AttrValue, NameAttrList

from penstock.graph import dtypes
from penstock.graph.dtypes import DType
from penstock.graph.shape import TensorShape, as_shape
from penstock.graph.tensor_proto import array_to_proto, proto_to_array

REQUIRED: Any = object()


@dataclass(frozen=True)
class Attr:
    """What an operation declares of an attribute: its kind as TensorFlow spells it, its default, and what it may be."""

    kind: str
    default: Any = REQUIRED
    allowed: frozenset[Any] | None = None
    minimum: int | None = None

    def check(self, op_type: str, name: str, value: Any) -> Any:
        """The value in its plain form; TypeError or ValueError, naming the attribute, if it does not fit."""
        is_list = self.kind.startswith("list(")
        kind = self.kind[5:-1] if is_list else self.kind
        if not is_list:
            value = _convert(kind, name, value)
        elif isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
            raise TypeError(f"Expected list for attr {name}")
        else:
            value = tuple([_convert(kind, name, item) for item in value])
        self._check_limits(op_type, name, value, is_list)
        return value

    def _check_limits(self, op_type: str, name: str, value: Any, is_list: bool) -> None:
        if self.allowed is not None:
            for item in value if is_list else (value,):
                if item not in self.allowed:
                    raise self._not_allowed(op_type, name, item)
        if self.minimum is not None and (len(value) if is_list else value) < self.minimum:
            passed = f"list of length {len(value)}" if is_list else value
            raise ValueError(f"Attr '{name}' of '{op_type}' Op passed {passed} less than minimum {self.minimum}.")

    def _not_allowed(self, op_type: str, name: str, item: Any) -> Exception:
        if isinstance(item, DType):
            return not_in_types(name, item, self.allowed or ())
        choices = ", ".join(f'"{choice}"' for choice in sorted(self.allowed or ()))
        return ValueError(f"Attr '{name}' of '{op_type}' Op passed string '{item}' not in: {choices}.")


def not_in_types(parameter: str, dtype: DType, allowed: Iterable[DType]) -> TypeError:
    """TensorFlow's words about a type that is not among those that a parameter may have."""
    choices = ", ".join(each.name for each in sorted(allowed, key=int))
    return TypeError(f"Value passed to parameter '{parameter}' has DataType {dtype.name} not in list of allowed values: {choices}")


def _convert(kind: str, name: str, value: Any) -> Any:
    try:
        return _CONVERT[kind](value)
    except (TypeError, ValueError) as error:
        if kind == "shape":
            raise type(error)(f"Error converting {name} to a TensorShape: {error}") from None
        reason = f" ({error})" if kind in ("tensor", "func") else ""
        raise TypeError(f"Expected {_KIND_NAMES.get(kind, kind)} for argument '{name}' not {value!r}.{reason}") from None


def _int(value: Any) -> int:
    if isinstance(value, (bool, np.bool_)):
        raise TypeError("a bool is not an int")
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return int(operator.index(getattr(value, "value", value)))


def _bool(value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)) or (isinstance(value, int) and value in (0, 1)):
        return bool(value)
    raise TypeError("a bool is needed")


def _float(value: Any) -> float:
    if isinstance(value, (str, bytes)):
        raise TypeError("a number is needed")
    return float(np.float32(value))  # what the proto can hold: a graph computes the same before and after it is saved


def _string(value: Any) -> Any:
    """Text where it is text: bytes that are not UTF-8 stay bytes."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value
    raise TypeError("a string is needed")


def _type(value: Any) -> DType:
    return dtypes.as_dtype(value).base_dtype


def _tensor(value: Any) -> np.ndarray:
    return value if isinstance(value, np.ndarray) else proto_to_array(value)


def _func(value: Any) -> Any:
    name = getattr(value, "name", value)
    if not isinstance(name, str):
        raise TypeError("a function is needed")
    return value


_KIND_NAMES = {"type": "DataType"}  # in TensorFlow's messages
_CONVERT: dict[str, Callable[[Any], Any]] = {
    "int": _int, "float": _float, "bool": _bool, "string": _string, "type": _type, "shape": as_shape, "tensor": _tensor, "func": _func}

INT, FLOAT, BOOL, STRING, SHAPE, TENSOR, FUNC, TYPE = (
    Attr(kind) for kind in ("int", "float", "bool", "string", "shape", "tensor", "func", "type"))
INTS, FLOATS_LIST, STRINGS, SHAPES, TYPES = (Attr(f"list({kind})") for kind in ("int", "float", "string", "shape", "type"))


def one_of(*choices: str, default: Any = REQUIRED) -> Attr:
    """A string attribute with a fixed set of values."""
    return Attr("string", default, frozenset(choices))


def ints(*default: int) -> Attr:
    """A list of ints with a default."""
    return Attr("list(int)", default)


def count(minimum: int = 0) -> Attr:
    """The length of an input list (``values: N * T``); it is inferred, not given."""
    return Attr("int", minimum=minimum)


def type_list(minimum: int = 0, allowed: Iterable[DType] | None = None) -> Attr:
    """The types of an input list of mixed types; inferred from the inputs."""
    return Attr("list(type)", minimum=minimum, allowed=None if allowed is None else frozenset(allowed))


def types(*allowed: DType, default: Any = REQUIRED) -> Attr:
    """A type attribute with a default."""
    return Attr("type", default, frozenset(allowed) or None)


def as_attr(declared: Any) -> Attr:
    """The Attr for what stands in a declaration: an Attr, a set of DTypes, or a default value."""
    if isinstance(declared, Attr):
        return declared
    if isinstance(declared, (frozenset, set, list, tuple)) and all(isinstance(choice, DType) for choice in declared):
        return Attr("type", allowed=frozenset(declared))
    for python_type, kind in ((bool, "bool"), (int, "int"), (float, "float"), (str, "string"), (DType, "type"), (TensorShape, "shape")):
        if isinstance(declared, python_type):
            return Attr(kind, declared)
    raise TypeError(f"{declared!r} does not declare an attribute")


# --- proto form ------------------------------------------------------------------------------------------------------

def _bytes(text: Any) -> bytes:
    return text.encode() if isinstance(text, str) else text


def _name_attr_list(function: Any) -> NameAttrList:
    return function if isinstance(function, NameAttrList) else NameAttrList(name=getattr(function, "name", function))


_FIELD = {"int": "i", "float": "f", "bool": "b", "string": "s", "type": "type", "shape": "shape", "tensor": "tensor", "func": "func"}
_ENCODE: dict[str, Callable[[Any], Any]] = {
    "int": int, "float": float, "bool": bool, "string": _bytes, "type": lambda d: d.as_datatype_enum, "shape": lambda s: s.as_proto(),
    "tensor": array_to_proto, "func": _name_attr_list}
_DECODE: dict[str, Callable[[Any], Any]] = {
    "int": int, "float": float, "bool": bool, "string": _string, "type": dtypes.as_dtype, "shape": TensorShape, "tensor": proto_to_array,
    "func": lambda f: f.name}


def to_proto(kind: str, value: Any) -> AttrValue:
    """The AttrValue proto of a plain value."""
    if kind.startswith("list("):
        kind = kind[5:-1]
        return AttrValue(list=AttrValue.ListValue(**{_FIELD[kind]: [_ENCODE[kind](item) for item in value]}))
    return AttrValue(**{_FIELD[kind]: _ENCODE[kind](value)})


def from_proto(kind: str, proto: AttrValue) -> Any:
    """The plain value in an AttrValue proto of a known kind."""
    if kind.startswith("list("):
        kind = kind[5:-1]
        return tuple(_DECODE[kind](item) for item in getattr(proto.list, _FIELD[kind]))
    if proto.WhichOneof("value") != _FIELD[kind]:
        raise ValueError(f"an attribute of kind {kind} holds a value of kind {proto.WhichOneof('value')}")
    return _DECODE[kind](getattr(proto, _FIELD[kind]))


def kind_of_proto(proto: AttrValue) -> str:
    """The kind of an attribute that no operation declares, read off its proto."""
    field = proto.WhichOneof("value")
    kinds = {short: kind for kind, short in _FIELD.items()}
    if field != "list":
        return kinds.get(field, "func")
    for short, kind in kinds.items():
        if getattr(proto.list, short):
            return f"list({kind})"
    return "list(int)"
