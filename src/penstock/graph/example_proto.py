"""``tf.train.Example`` and its parts: the protocol buffers that records of training data are stored in.

They are built here, from descriptors, in a pool of their own: wire-compatible with TensorFlow's, and no conflict with TensorFlow in one process.
"""
from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_Field = descriptor_pb2.FieldDescriptorProto
_BYTES, _FLOAT, _INT64, _STRING, _MESSAGE = _Field.TYPE_BYTES, _Field.TYPE_FLOAT, _Field.TYPE_INT64, _Field.TYPE_STRING, _Field.TYPE_MESSAGE


def _add_field(message: Any, name: str, number: int, kind: Any, repeated: bool = False, oneof: int | None = None) -> None:
    """A field; ``kind`` is a type, or the name of a message of this file."""
    field = message.field.add(name=name, number=number, label=_Field.LABEL_REPEATED if repeated else _Field.LABEL_OPTIONAL)
    if isinstance(kind, str):
        field.type, field.type_name = _MESSAGE, f".tensorflow.{kind}"
    else:
        field.type = kind
        if repeated and kind in (_FLOAT, _INT64):
            field.options.packed = True
    if oneof is not None:
        field.oneof_index = oneof


def _add_map(message: Any, name: str, value: str) -> None:
    """A map from strings to messages: on the wire, a repeated entry of key and value."""
    entry_name = "".join(part.capitalize() for part in name.split("_")) + "Entry"
    entry = message.nested_type.add(name=entry_name)
    entry.options.map_entry = True
    _add_field(entry, "key", 1, _STRING)
    _add_field(entry, "value", 2, value)
    _add_field(message, name, 1, f"{message.name}.{entry_name}", repeated=True)


def _file() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="penstock/example.proto", package="tensorflow", syntax="proto3")
    for name, kind in (("BytesList", _BYTES), ("FloatList", _FLOAT), ("Int64List", _INT64)):
        _add_field(file.message_type.add(name=name), "value", 1, kind, repeated=True)
    feature = file.message_type.add(name="Feature")
    feature.oneof_decl.add(name="kind")
    for number, (name, kind) in enumerate((("bytes_list", "BytesList"), ("float_list", "FloatList"), ("int64_list", "Int64List")), 1):
        _add_field(feature, name, number, kind, oneof=0)
    _add_map(file.message_type.add(name="Features"), "feature", "Feature")
    _add_field(file.message_type.add(name="FeatureList"), "feature", 1, "Feature", repeated=True)
    _add_map(file.message_type.add(name="FeatureLists"), "feature_list", "FeatureList")
    _add_field(file.message_type.add(name="Example"), "features", 1, "Features")
    sequence = file.message_type.add(name="SequenceExample")
    _add_field(sequence, "context", 1, "Features")
    _add_field(sequence, "feature_lists", 2, "FeatureLists")
    return file


_pool = descriptor_pool.DescriptorPool()
_pool.Add(_file())


def _message(name: str) -> Any:
    return message_factory.GetMessageClass(_pool.FindMessageTypeByName(f"tensorflow.{name}"))


BytesList, FloatList, Int64List, Feature, Features, FeatureList, FeatureLists, Example, SequenceExample = map(_message, (
    "BytesList", "FloatList", "Int64List", "Feature", "Features", "FeatureList", "FeatureLists", "Example", "SequenceExample"))
