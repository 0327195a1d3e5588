"""Protocol buffers that TensorBoard's package lacks, written as in a .proto file and made into classes when the module that has them is imported.

    Example, Feature = messages("example.proto", '''
        message Example { map<string, Feature> features = 1; }
        message Feature { oneof kind { bytes text = 1; double number = 2; } }''', "Example", "Feature")

Field numbers are TensorFlow's: the same bytes on the wire. What is understood of the language (proto3): messages, also inside of messages, enums,
``repeated``, ``oneof``, maps and comments.
"""
from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS = ("string", "bytes", "bool", "float", "double", "int32", "int64", "uint32", "uint64", "fixed32", "fixed64")


def messages(file: str, text: str, *wanted: str, package: str = "tensorflow", borrowed: Sequence[ModuleType] = ()) -> tuple[Any, ...]:
    """The classes of the ``wanted`` messages.

    Messages that are fields but not in the text are looked for in ``borrowed``, modules of TensorBoard's; the file then joins their pool, and needs a
    package of its own. Otherwise it gets a pool of its own: no conflict with TensorFlow in one process.
    """
    proto = descriptor_pb2.FileDescriptorProto(name=f"penstock/{file}", package=package, syntax="proto3",
                                               dependency=[module.DESCRIPTOR.name for module in borrowed])
    _Parser(text, borrowed).fill(proto)
    pool = descriptor_pool.Default() if borrowed else descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(proto.SerializeToString())
    return tuple(message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}")) for name in wanted)


class _Parser:
    """Reads the text word by word."""

    def __init__(self, text: str, borrowed: Sequence[ModuleType]) -> None:
        text = re.sub("//.*", "", text)
        self._words: Iterator[str] = iter(re.findall(r"[\w.]+|[{}=;<>,]", text))
        self._enums = set(re.findall(r"\benum\s+(\w+)", text))
        self._theirs = {name: f".{each.full_name}" for module in borrowed
                        for name, each in module.DESCRIPTOR.message_types_by_name.items()}

    def fill(self, file: Any) -> None:
        """Adds the messages and enums of the text."""
        for kind in self._words:
            self._define(kind, file.message_type, file.enum_type)

    def _define(self, kind: str, among_messages: Any, among_enums: Any) -> None:
        name = self._word()
        self._word("{")
        if kind == "message":
            self._message(among_messages.add(name=name))
        elif kind == "enum":
            self._enum(among_enums.add(name=name))
        else:
            raise ValueError(f"neither a message nor an enum: {kind} {name}")

    def _word(self, wanted: str | None = None) -> str:
        word = next(self._words)
        if wanted not in (None, word):
            raise ValueError(f"{wanted!r} should stand where {word!r} does")
        return word

    def _enum(self, enum: Any) -> None:
        while (name := self._word()) != "}":
            self._word("=")
            enum.value.add(name=name, number=int(self._word()))
            self._word(";")

    def _message(self, message: Any) -> None:
        while (word := self._word()) != "}":
            if word in ("message", "enum"):
                self._define(word, message.nested_type, message.enum_type)
            elif word == "oneof":
                self._oneof(message)
            elif word == "map":
                self._map(message)
            elif word == "repeated":
                self._field(message, self._word(), label=_Field.LABEL_REPEATED)
            else:
                self._field(message, word)

    def _oneof(self, message: Any) -> None:
        index = len(message.oneof_decl)
        message.oneof_decl.add(name=self._word())
        self._word("{")
        while (kind := self._word()) != "}":
            self._field(message, kind, oneof_index=index)

    def _map(self, message: Any) -> None:
        """On the wire a repeated message of key and value."""
        _, key, _, value, _ = (self._word(wanted) for wanted in ("<", None, ",", None, ">"))
        field = self._field(message, "", label=_Field.LABEL_REPEATED)
        field.type, field.type_name = _Field.TYPE_MESSAGE, "".join(part.capitalize() for part in field.name.split("_")) + "Entry"
        entry = message.nested_type.add(name=field.type_name)
        entry.options.map_entry = True
        for number, (name, kind) in enumerate((("key", key), ("value", value)), 1):
            self._set_type(entry.field.add(name=name, number=number, label=_Field.LABEL_OPTIONAL), kind)

    def _field(self, message: Any, kind: str, label: Any = _Field.LABEL_OPTIONAL, **more: Any) -> Any:
        name, _, number, _ = (self._word(wanted) for wanted in (None, "=", None, ";"))
        field = message.field.add(name=name, number=int(number), label=label, **more)
        if kind:
            self._set_type(field, kind)
        return field

    def _set_type(self, field: Any, kind: str) -> None:
        if kind in _SCALARS:
            field.type = getattr(_Field, f"TYPE_{kind.upper()}")
        else:
            field.type = _Field.TYPE_ENUM if kind in self._enums else _Field.TYPE_MESSAGE
            field.type_name = self._theirs.get(kind, kind)
