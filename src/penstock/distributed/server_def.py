"""ServerDef, the protocol buffer that describes one task of a cluster, wire-compatible with TensorFlow's.

Its parts are tensorboard's ClusterDef and ConfigProto, so it is added to their pool, under the package that they have
there.
"""
from __future__ import annotations

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from tensorboard.compat.proto import cluster_pb2, config_pb2

_Field = descriptor_pb2.FieldDescriptorProto
_FIELDS = (("cluster", _Field.TYPE_MESSAGE, ".tensorboard.ClusterDef"), ("job_name", _Field.TYPE_STRING, ""),
           ("task_index", _Field.TYPE_INT32, ""), ("default_session_config", _Field.TYPE_MESSAGE, ".tensorboard.ConfigProto"),
           ("protocol", _Field.TYPE_STRING, ""))


def _file() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name="penstock/server.proto", package="penstock", syntax="proto3")
    file.dependency.extend([cluster_pb2.DESCRIPTOR.name, config_pb2.DESCRIPTOR.name])
    message = file.message_type.add(name="ServerDef")
    for number, (name, kind, type_name) in enumerate(_FIELDS, 1):
        message.field.add(name=name, number=number, label=_Field.LABEL_OPTIONAL, type=kind, type_name=type_name or None)
    return file


_pool = descriptor_pool.Default()
_pool.Add(_file())
ServerDef = message_factory.GetMessageClass(_pool.FindMessageTypeByName("penstock.ServerDef"))
