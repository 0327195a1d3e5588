"""The messages of TensorFlow's MasterService, wire-compatible: those that tensorboard's protocol buffers lack.

One line per message: its fields as name = number : type, where a capital letter begins a message of tensorboard's pool or of
this table, and * marks a repeated field.
"""
from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from tensorboard.compat.proto import config_pb2, graph_pb2, tensor_pb2

_Field = descriptor_pb2.FieldDescriptorProto
_PACKAGE = "penstock.master"
_TYPES = {"string": _Field.TYPE_STRING, "int64": _Field.TYPE_INT64, "int32": _Field.TYPE_INT32, "bool": _Field.TYPE_BOOL,
          "fixed64": _Field.TYPE_FIXED64}
_THEIRS = ("GraphDef", "ConfigProto", "RunOptions", "RunMetadata", "TensorProto", "CallableOptions")
_MESSAGES = {
    "NamedTensor": "name=1:string tensor=2:TensorProto",
    "DeviceAttributes": "name=1:string device_type=2:string memory_limit=4:int64 incarnation=6:fixed64",
    "CreateSessionRequest": "graph_def=1:GraphDef config=2:ConfigProto target=3:string",
    "CreateSessionResponse": "session_handle=1:string graph_version=2:int64",
    "ExtendSessionRequest": "session_handle=1:string graph_def=2:GraphDef current_graph_version=3:int64",
    "ExtendSessionResponse": "new_graph_version=4:int64",
    "RunStepRequest": "session_handle=1:string feed=2:*NamedTensor fetch=3:*string target=4:*string options=5:RunOptions partial_run_handle=6:string "
                      "store_errors_in_response_body=7:bool request_id=8:int64",
    "RunStepResponse": "tensor=1:*NamedTensor metadata=2:RunMetadata status_code=3:int32 status_error_message=4:string",
    "PartialRunSetupRequest": "session_handle=1:string feed=2:*string fetch=3:*string target=4:*string request_id=5:int64",
    "PartialRunSetupResponse": "partial_run_handle=1:string",
    "CloseSessionRequest": "session_handle=1:string",
    "CloseSessionResponse": "",
    "ResetRequest": "container=1:*string device_filters=2:*string",
    "ResetResponse": "",
    "ListDevicesRequest": "session_handle=1:string",
    "ListDevicesResponse": "local_device=1:*DeviceAttributes remote_device=2:*DeviceAttributes",
    "MakeCallableRequest": "session_handle=1:string options=2:CallableOptions request_id=3:int64",
    "MakeCallableResponse": "handle=1:int64",
    "RunCallableRequest": "session_handle=1:string handle=2:int64 feed=3:*TensorProto request_id=4:int64",
    "RunCallableResponse": "fetch=1:*TensorProto metadata=2:RunMetadata",
    "ReleaseCallableRequest": "session_handle=1:string handle=2:int64",
    "ReleaseCallableResponse": "",
}


def _file() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name="penstock/master.proto", package=_PACKAGE, syntax="proto3")
    file.dependency.extend(module.DESCRIPTOR.name for module in (config_pb2, graph_pb2, tensor_pb2))
    for message, fields in _MESSAGES.items():
        proto = file.message_type.add(name=message)
        for text in fields.split():
            name, rest = text.split("=")
            number, kind = rest.split(":")
            repeated, kind = kind.startswith("*"), kind.removeprefix("*")
            proto.field.add(name=name, number=int(number), label=_Field.LABEL_REPEATED if repeated else _Field.LABEL_OPTIONAL,
                            type=_TYPES.get(kind, _Field.TYPE_MESSAGE), type_name=None if kind in _TYPES else _full_name(kind))
    return file


def _full_name(kind: str) -> str:
    return f".tensorboard.{kind}" if kind in _THEIRS else f".{_PACKAGE}.{kind}"


_pool = descriptor_pool.Default()
_pool.Add(_file())


def message(name: str) -> Any:
    """The class of a message."""
    return message_factory.GetMessageClass(_pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))


REQUESTS = {name.removesuffix("Request"): message(name) for name in _MESSAGES if name.endswith("Request")}
RESPONSES = {name.removesuffix("Response"): message(name) for name in _MESSAGES if name.endswith("Response")}
