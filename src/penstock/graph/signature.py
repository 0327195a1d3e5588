"""The signature of an op: its arguments as TensorFlow writes them, and how flat lists of tensors follow from it.

    features: T                one tensor, whose type is the attribute T
    values: N * T              a list of N tensors of one type
    input: Tin                 a list of mixed types, if Tin is an attribute of type list(type)
    ref: Ref(T)                a reference to a variable
"""
from __future__ import annotations

import functools
from collections import namedtuple
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tensorboard.compat.proto.op_def_pb2 import OpDef as OpDefProto

from penstock.graph import attrs as attr_module
from penstock.graph import dtypes
from penstock.graph.attrs import REQUIRED, Attr
from penstock.graph.dtypes import DType

if TYPE_CHECKING:
    from penstock.graph.node import Operation

_MAX_OUTPUTS = 1 << 16  # of one op: a number beyond that is a mistake, and would fill the memory with Tensors


@dataclass(frozen=True)
class Argument:
    """One argument of a signature."""

    name: str
    dtype: DType | None = None  # a fixed type,
    type_attr: str | None = None  # or the attribute that holds it,
    type_list_attr: str | None = None  # or the attribute that holds the types of a list
    number_attr: str | None = None  # the attribute that holds the length of a list of one type
    is_ref: bool = False

    @property
    def is_list(self) -> bool:
        """True if the argument takes a list of tensors."""
        return self.number_attr is not None or self.type_list_attr is not None

    def length(self, attributes: dict[str, Any]) -> int:
        """How many tensors it takes."""
        if self.type_list_attr is not None:
            return len(attributes[self.type_list_attr])
        return 1 if self.number_attr is None else int(attributes[self.number_attr])


class Signature:
    """Inputs, outputs and attributes of an op type."""

    def __init__(self, op_type: str, signature: str, declared: dict[str, Any]) -> None:
        self.type = op_type
        self.attrs: dict[str, Attr] = {name: attr_module.as_attr(value) for name, value in declared.items()}
        inputs, _, outputs = signature.partition("->")
        self.inputs = tuple(self._parse(text) for text in inputs.split(",") if text.strip())
        self.outputs = tuple(self._parse(text) for text in outputs.split(",") if text.strip())
        self.position = {arg.name: index for index, arg in enumerate(self.inputs)}
        self.inferred = {attr for arg in self.inputs for attr in (arg.type_attr, arg.type_list_attr, arg.number_attr) if attr}
        self.functions = tuple(name for name, attr in self.attrs.items() if attr.kind == "func")  # the attributes that are functions
        self.has_lists = any(arg.is_list for arg in self.inputs)
        self.has_one_output = len(self.outputs) == 1 and not self.outputs[0].is_list

    def _parse(self, text: str) -> Argument:
        name, _, spec = (part.strip() for part in text.partition(":"))
        is_ref = spec.startswith("Ref(")
        spec = spec[4:-1].strip() if is_ref else spec
        number, star, spec_type = (part.strip() for part in spec.partition("*"))
        if not star:
            number, spec_type = None, spec  # type: ignore[assignment]
        if spec_type in self.attrs:
            if self.attrs[spec_type].kind == "list(type)":
                return Argument(name, type_list_attr=spec_type, is_ref=is_ref)
            return Argument(name, type_attr=spec_type, number_attr=number, is_ref=is_ref)
        return Argument(name, dtype=dtypes.as_dtype(spec_type), number_attr=number, is_ref=is_ref)

    # --- flat inputs -------------------------------------------------------------------------------------------------

    def group(self, flat: Sequence[Any], attributes: dict[str, Any]) -> list[tuple[Argument, list[Any]]]:
        """Flat inputs as (argument, its tensors) pairs."""
        groups, start = [], 0
        for arg in self.inputs:
            length = arg.length(attributes)
            groups.append((arg, list(flat[start:start + length])))
            start += length
        return groups

    def arguments(self, flat: Sequence[Any], attributes: dict[str, Any]) -> Sequence[Any]:
        """Flat inputs as one value per argument: a list where the signature has a list."""
        if not self.has_lists:
            return flat
        return [items if arg.is_list else items[0] for arg, items in self.group(flat, attributes)]

    # --- outputs -----------------------------------------------------------------------------------------------------

    def output_dtypes(self, attributes: dict[str, Any]) -> list[DType]:
        """The type of each output, list outputs unrolled."""
        return [dtype for arg in self.outputs for dtype in self._types(arg, attributes)]

    def output_names(self, attributes: dict[str, Any]) -> list[str]:
        """The name of each output, list outputs unrolled."""
        return [arg.name for arg in self.outputs for _ in self._types(arg, attributes)]

    def _types(self, arg: Argument, attributes: dict[str, Any]) -> list[DType]:
        if arg.type_list_attr is not None:
            types = list(attributes[arg.type_list_attr])
        else:
            types = [attributes[arg.type_attr] if arg.type_attr is not None else arg.dtype]
            types *= 1 if arg.number_attr is None else self._list_length(attributes[arg.number_attr])
        return [dtype._as_ref for dtype in types] if arg.is_ref else types

    def _list_length(self, length: int) -> int:
        if length > _MAX_OUTPUTS:
            raise ValueError(f"'{self.type}' Op with {length} outputs: more than {_MAX_OUTPUTS} are not possible")
        return length

    def unflatten_outputs(self, op: Operation) -> Any:
        """What calling the op returns: a named tuple of outputs, in which a list output is a list; a sole list output is that list."""
        outputs: list[Any] = []
        flat, start = op.outputs, 0
        for arg in self.outputs:
            if not arg.is_list:
                outputs.append(flat[start])
                start += 1
                continue
            length = arg.length(op.attrs)
            outputs.append(flat[start:start + length])
            start += length
        return outputs[0] if len(outputs) == 1 else self.result_type(*outputs)

    @functools.cached_property
    def result_type(self) -> Any:
        """The named tuple of the outputs, as TensorFlow has it: named after the op type, with a field per output."""
        return namedtuple(self.type if self.type.isidentifier() else "Outputs", [arg.name for arg in self.outputs], rename=True)

    # --- attributes --------------------------------------------------------------------------------------------------

    def check_attrs(self, given: dict[str, Any]) -> dict[str, Any]:
        """The attributes that a caller gives, each checked and in its own type; None is as good as nothing."""
        attributes: dict[str, Any] = {}
        for name, value in given.items():
            attr = self.attrs.get(name)
            if attr is None:
                raise TypeError(f"{self.type}() got an unexpected keyword argument '{name}'")
            if value is not None:
                attributes[name] = attr.check(self.type, name, value)
        return attributes

    def fill_defaults(self, attributes: dict[str, Any]) -> None:
        """Adds the attributes that are missing."""
        if len(attributes) == len(self.attrs):
            return
        for name, attr in self.attrs.items():
            if name not in attributes:
                if attr.default is REQUIRED:
                    raise TypeError(f"No argument for attr '{name}' of op {self.type}")
                attributes[name] = attr.default

    # --- as a proto --------------------------------------------------------------------------------------------------

    def to_proto(self, **flags: bool) -> OpDefProto:
        """The signature as an OpDef proto, with these flags set."""
        proto = OpDefProto(name=self.type, **flags)
        for field, arguments in ((proto.input_arg, self.inputs), (proto.output_arg, self.outputs)):
            for arg in arguments:
                field.add(name=arg.name, type=0 if arg.dtype is None else arg.dtype.as_datatype_enum, type_attr=arg.type_attr or "",
                          type_list_attr=arg.type_list_attr or "", number_attr=arg.number_attr or "", is_ref=arg.is_ref)
        for name, attr in self.attrs.items():
            entry = proto.attr.add(name=name, type=attr.kind)
            if attr.default is not REQUIRED:
                entry.default_value.CopyFrom(attr_module.to_proto(attr.kind, attr.default))
        return proto
