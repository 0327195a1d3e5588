"""``tf.train.Example`` and its parts: protocol buffers that TensorBoard has no copy of.

The messages are described here, field by field, in TensorFlow's numbers: what is written can be read by TensorFlow, and the other way round.
"""
from __future__ import annotations

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_FILE = "penstock/example.proto"
_PACKAGE = "penstock"  # not TensorFlow's own, so that both can live in one process; the bytes do not hold the name
_Field = descriptor_pb2.FieldDescriptorProto
_KINDS = {"bytes": _Field.TYPE_BYTES, "float": _Field.TYPE_FLOAT, "int64": _Field.TYPE_INT64, "string": _Field.TYPE_STRING}

# {message: fields in the order of their numbers}. `*` repeats a field, `map` is a map from text, `|` puts it into the oneof "kind".
_MESSAGES = {
    "BytesList": ["*bytes value"],
    "FloatList": ["*float value"],
    "Int64List": ["*int64 value"],
    "Feature": ["|BytesList bytes_list", "|FloatList float_list", "|Int64List int64_list"],
    "Features": ["map Feature feature"],
    "FeatureList": ["*Feature feature"],
    "FeatureLists": ["map FeatureList feature_list"],
    "Example": ["Features features"],
    "SequenceExample": ["Features context", "FeatureLists feature_lists"],
}


def _describe(message: descriptor_pb2.DescriptorProto, fields: list[str]) -> None:
    for number, text in enumerate(fields, start=1):
        kind, name = text.removeprefix("map ").split()
        field = message.field.add(name=name, number=number, label=_Field.LABEL_OPTIONAL)
        if text.startswith("map "):
            entry = message.nested_type.add(name="".join(part.title() for part in name.split("_")) + "Entry")
            entry.options.map_entry = True
            _describe(entry, ["string key", f"{kind} value"])
            kind, field.label = f"{message.name}.{entry.name}", _Field.LABEL_REPEATED
        elif kind.startswith("*"):
            kind, field.label = kind[1:], _Field.LABEL_REPEATED
        elif kind.startswith("|"):
            kind, field.oneof_index = kind[1:], 0
            if not message.oneof_decl:
                message.oneof_decl.add(name="kind")
        if kind in _KINDS:
            field.type = _KINDS[kind]
        else:
            field.type, field.type_name = _Field.TYPE_MESSAGE, f".{_PACKAGE}.{kind}"


def _build() -> dict[str, type]:
    file = descriptor_pb2.FileDescriptorProto(name=_FILE, package=_PACKAGE, syntax="proto3")
    for name, fields in _MESSAGES.items():
        _describe(file.message_type.add(name=name), fields)
    pool = descriptor_pool.Default()
    pool.AddSerializedFile(file.SerializeToString())
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")) for name in _MESSAGES}


_CLASSES = _build()
BytesList, FloatList, Int64List = _CLASSES["BytesList"], _CLASSES["FloatList"], _CLASSES["Int64List"]
Feature, Features, FeatureList, FeatureLists = (_CLASSES[name] for name in ("Feature", "Features", "FeatureList", "FeatureLists"))
Example, SequenceExample = _CLASSES["Example"], _CLASSES["SequenceExample"]
