"""The protocol buffers inside checkpoints and SavedModels, built from descriptors, with TensorFlow's field numbers: the same bytes on the wire.

A field is written ``number name type``; ``repeated`` and ``oneof`` (a field that is there or not) stand before it. Types that are no message of this
file are TensorFlow's own, which TensorBoard brings along. Enums are int32 here, which is how they travel.
"""
from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from tensorboard.compat.proto import meta_graph_pb2, tensor_pb2, tensor_shape_pb2, versions_pb2

_MESSAGES = {
    # version 2: the entries of the index
    "BundleHeaderProto": "1 num_shards int32, 2 endianness int32, 3 version VersionDef",
    "BundleEntryProto": "1 dtype int32, 2 shape TensorShapeProto, 3 shard_id int32, 4 offset int64, 5 size int64, 6 crc32c fixed32, "
                        "repeated 7 slices TensorSliceProto",
    "TensorSliceExtent": "1 start int64, oneof 2 length int64",
    "TensorSliceProto": "repeated 1 extent TensorSliceExtent",
    # version 1
    "SavedSliceMeta": "1 name string, 2 shape TensorShapeProto, 3 type int32, repeated 4 slice TensorSliceProto",
    "SavedTensorSliceMeta": "repeated 1 tensor SavedSliceMeta, 2 versions VersionDef",
    "SavedSlice": "1 name string, 2 slice TensorSliceProto, 3 data TensorProto",
    "SavedTensorSlices": "1 meta SavedTensorSliceMeta, 2 data SavedSlice",
    # the file `checkpoint`
    "CheckpointState": "1 model_checkpoint_path string, repeated 2 all_model_checkpoint_paths string, "
                       "repeated 3 all_model_checkpoint_timestamps double, 4 last_preserved_timestamp double",
    # the file `saved_model.pb`
    "SavedModel": "1 saved_model_schema_version int64, repeated 2 meta_graphs MetaGraphDef",
}
_PACKAGE = "penstock"
_BORROWED = {"VersionDef": versions_pb2, "TensorShapeProto": tensor_shape_pb2, "TensorProto": tensor_pb2, "MetaGraphDef": meta_graph_pb2}
_Field = descriptor_pb2.FieldDescriptorProto


def _add_field(message: Any, text: str) -> None:
    words = text.split()
    marks, (number, name, kind) = words[:-3], words[-3:]
    field = message.field.add(name=name, number=int(number), label=_Field.LABEL_REPEATED if "repeated" in marks else _Field.LABEL_OPTIONAL)
    if kind in _MESSAGES or kind in _BORROWED:
        package = _PACKAGE if kind in _MESSAGES else _BORROWED[kind].DESCRIPTOR.package
        field.type, field.type_name = _Field.TYPE_MESSAGE, f".{package}.{kind}"
    else:
        field.type = getattr(_Field, f"TYPE_{kind.upper()}")
    if "oneof" in marks:
        field.oneof_index = len(message.oneof_decl)
        message.oneof_decl.add(name=f"has_{name}")


def _define() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(name="penstock/checkpoint.proto", package=_PACKAGE, syntax="proto3",
                                              dependency=[module.DESCRIPTOR.name for module in _BORROWED.values()])
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for text in fields.split(", "):
            _add_field(message, text)
    pool = descriptor_pool.Default()  # where TensorBoard's messages are
    pool.AddSerializedFile(file.SerializeToString())
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")) for name in _MESSAGES}


_classes = _define()
BundleHeaderProto, BundleEntryProto, TensorSliceProto = (
    _classes[name] for name in ("BundleHeaderProto", "BundleEntryProto", "TensorSliceProto"))
SavedTensorSlices, CheckpointState, SavedModel = (_classes[name] for name in ("SavedTensorSlices", "CheckpointState", "SavedModel"))
