"""The protocol buffers of input pipelines: QueueRunnerDef, and the saved state of a reader.

They are built here, from descriptors, in a pool of their own: wire-compatible with TensorFlow's, and no conflict with TensorFlow in one process.
"""
from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from penstock import errors

_Field = descriptor_pb2.FieldDescriptorProto
_STRING, _INT64, _BYTES, _ENUM = _Field.TYPE_STRING, _Field.TYPE_INT64, _Field.TYPE_BYTES, _Field.TYPE_ENUM
_REPEATED = ("enqueue_op_name", "queue_closed_exception_types")
_MESSAGES: dict[str, dict[str, Any]] = {
    "QueueRunnerDef": {"queue_name": _STRING, "enqueue_op_name": _STRING, "close_op_name": _STRING, "cancel_op_name": _STRING,
                       "queue_closed_exception_types": _ENUM},
    "ReaderBaseState": {"work_started": _INT64, "work_finished": _INT64, "num_records_produced": _INT64, "current_work": _BYTES},
}


def _file() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="penstock/input.proto", package="tensorflow", syntax="proto3")
    codes = file.enum_type.add(name="Code")
    for name, number in vars(errors).items():
        if name.isupper() and type(number) is int:  # TYPE_CHECKING is a bool
            codes.value.add(name=name, number=number)
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, (field, kind) in enumerate(fields.items(), 1):
            label = _Field.LABEL_REPEATED if field in _REPEATED else _Field.LABEL_OPTIONAL
            added = message.field.add(name=field, number=number, label=label, type=kind)
            if kind == _ENUM:
                added.type_name = ".tensorflow.Code"
    return file


_pool = descriptor_pool.DescriptorPool()
_pool.Add(_file())
QueueRunnerDef, ReaderBaseState = (message_factory.GetMessageClass(_pool.FindMessageTypeByName(f"tensorflow.{name}")) for name in _MESSAGES)
