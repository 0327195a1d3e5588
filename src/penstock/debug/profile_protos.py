"""What ``tf.profiler.profile`` returns: GraphNodeProto and MultiGraphNodeProto, built from descriptors with TensorFlow's field numbers."""
from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from tensorboard.compat.proto import tfprof_log_pb2

_FIGURES = "exec_micros accelerator_exec_micros cpu_exec_micros requested_bytes peak_bytes residual_bytes output_bytes parameters float_ops"
_GRAPH_NODE = dict(zip(_FIGURES.split(), (2, 17, 18, 3, 24, 25, 26, 4, 13))) | {"run_count": 21, "total_definition_count": 23} | dict(
    zip((f"total_{name}" for name in (*_FIGURES.split(), "run_count")), (6, 19, 20, 7, 27, 28, 29, 8, 14, 22)))
_MULTI_NODE = dict(zip(_FIGURES.split(), (2, 12, 13, 3, 16, 17, 18, 4, 5))) | dict(
    zip((f"total_{name}" for name in _FIGURES.split()), (6, 14, 15, 7, 19, 20, 21, 8, 9)))
_Field = descriptor_pb2.FieldDescriptorProto


def _message(file: Any, name: str, figures: dict[str, int], lists: dict[str, tuple[int, str]]) -> None:
    message = file.message_type.add(name=name)
    message.field.add(name="name", number=1, type=_Field.TYPE_STRING, label=_Field.LABEL_OPTIONAL)
    for field, number in figures.items():
        message.field.add(name=field, number=number, type=_Field.TYPE_INT64, label=_Field.LABEL_OPTIONAL)
    for field, (number, kind) in lists.items():
        added = message.field.add(name=field, number=number, label=_Field.LABEL_REPEATED)
        if kind == "string":
            added.type = _Field.TYPE_STRING
        else:
            added.type, added.type_name = _Field.TYPE_MESSAGE, f".tensorflow.tfprof.{kind}"


def _file() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="penstock/profile.proto", package="tensorflow.tfprof", syntax="proto3")
    _message(file, "GraphNodeProto", _GRAPH_NODE, {"devices": (10, "string"), "children": (12, "GraphNodeProto")})
    _message(file, "MultiGraphNodeProto", _MULTI_NODE, {"graph_nodes": (10, "GraphNodeProto"), "children": (11, "MultiGraphNodeProto")})
    return file


_pool = descriptor_pool.DescriptorPool()  # of its own: no conflict with TensorFlow in one process
_pool.Add(_file())
GraphNodeProto, MultiGraphNodeProto = (message_factory.GetMessageClass(_pool.FindMessageTypeByName(f"tensorflow.tfprof.{name}"))
                                       for name in ("GraphNodeProto", "MultiGraphNodeProto"))
OpLogProto, OpLogEntry = tfprof_log_pb2.OpLogProto, tfprof_log_pb2.OpLogEntry
