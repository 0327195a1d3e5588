"""The protos of ``tf.profiler`` that TensorBoard's package lacks, built from descriptors with TensorFlow's field numbers."""
from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from tensorboard.compat.proto import tfprof_log_pb2

from penstock.debug.profile.entries import Entry

_FIGURES = "exec_micros accelerator_exec_micros cpu_exec_micros requested_bytes peak_bytes residual_bytes output_bytes parameters float_ops"
_GRAPH_NODE = dict(zip(_FIGURES.split(), (2, 17, 18, 3, 24, 25, 26, 4, 13))) | {"run_count": 21, "total_definition_count": 23} | dict(
    zip((f"total_{name}" for name in (*_FIGURES.split(), "run_count")), (6, 19, 20, 7, 27, 28, 29, 8, 14, 22)))
_MULTI_NODE = dict(zip(_FIGURES.split(), (2, 12, 13, 3, 16, 17, 18, 4, 5))) | dict(
    zip((f"total_{name}" for name in _FIGURES.split()), (6, 14, 15, 7, 19, 20, 21, 8, 9)))
_FIELDS = {"micros": "exec_micros", "accelerator_micros": "accelerator_exec_micros", "cpu_micros": "cpu_exec_micros", "bytes": "requested_bytes",
           "peak_bytes": "peak_bytes", "residual_bytes": "residual_bytes", "output_bytes": "output_bytes", "params": "parameters",
           "float_ops": "float_ops"}
_Field = descriptor_pb2.FieldDescriptorProto


def _message(file: Any, name: str, figures: dict[str, int], lists: dict[str, tuple[int, str]]) -> Any:
    message = file.message_type.add(name=name)
    message.field.add(name="name", number=1, type=_Field.TYPE_STRING, label=_Field.LABEL_OPTIONAL)
    for field, number in figures.items():
        message.field.add(name=field, number=number, type=_Field.TYPE_INT64, label=_Field.LABEL_OPTIONAL)
    for field, (number, kind) in lists.items():
        _list(message, field, number, kind)
    return message


def _list(message: Any, name: str, number: int, kind: str) -> None:
    added = message.field.add(name=name, number=number, label=_Field.LABEL_REPEATED)
    if kind == "string":
        added.type = _Field.TYPE_STRING
    else:
        added.type, added.type_name = _Field.TYPE_MESSAGE, f".tensorflow.tfprof.{kind}"


def _advice(file: Any) -> None:
    """AdviceProto: a map from checkers to what they report."""
    advice = file.message_type.add(name="AdviceProto")
    _list(advice, "checkers", 1, "AdviceProto.CheckersEntry")
    _list(advice.nested_type.add(name="Checker"), "reports", 2, "string")
    pair = advice.nested_type.add(name="CheckersEntry")
    pair.options.map_entry = True
    pair.field.add(name="key", number=1, type=_Field.TYPE_STRING, label=_Field.LABEL_OPTIONAL)
    pair.field.add(name="value", number=2, type=_Field.TYPE_MESSAGE, type_name=".tensorflow.tfprof.AdviceProto.Checker", label=_Field.LABEL_OPTIONAL)


def _file() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="penstock/profile.proto", package="tensorflow.tfprof", syntax="proto3")
    _message(file, "GraphNodeProto", _GRAPH_NODE, {"devices": (10, "string"), "children": (12, "GraphNodeProto")})
    _message(file, "MultiGraphNodeProto", _MULTI_NODE, {"graph_nodes": (10, "GraphNodeProto"), "children": (11, "MultiGraphNodeProto")})
    _advice(file)
    return file


_pool = descriptor_pool.DescriptorPool()  # of its own: no conflict with TensorFlow in one process
_pool.Add(_file())
GraphNodeProto, MultiGraphNodeProto, AdviceProto = (message_factory.GetMessageClass(_pool.FindMessageTypeByName(f"tensorflow.tfprof.{name}"))
                                                    for name in ("GraphNodeProto", "MultiGraphNodeProto", "AdviceProto"))
OpLogProto, OpLogEntry, ProfileProto = tfprof_log_pb2.OpLogProto, tfprof_log_pb2.OpLogEntry, tfprof_log_pb2.ProfileProto


def graph_node(root: Entry) -> Any:
    """A tree of operations as a GraphNodeProto."""
    return _tree(root, GraphNodeProto(), _fill_node)


def multi_node(root: Entry) -> Any:
    """A tree of lines as a MultiGraphNodeProto."""
    return _tree(root, MultiGraphNodeProto(), _fill_sum)


def chain(root: Entry) -> Any:
    """A list of types as TensorFlow has it: each has the next one as its child, and totals from there on."""
    first = proto = MultiGraphNodeProto()
    rest = dict(root.total)
    for kind in [root, *root.children]:
        proto = proto.children.add() if kind is not root else proto
        _fill_sum(proto, kind)
        for key, field in _FIELDS.items():
            setattr(proto, f"total_{field}", rest[key])
            rest[key] -= kind.own[key]
    return first


def _tree(root: Entry, proto: Any, fill: Any) -> Any:
    waiting = [(root, proto)]
    while waiting:
        entry, made = waiting.pop()
        fill(made, entry)
        waiting.extend([(child, made.children.add()) for child in entry.children])
    return proto


def _fill_node(proto: Any, entry: Entry) -> None:
    _fill_figures(proto, entry)
    proto.devices.extend(entry.devices)
    proto.run_count, proto.total_run_count = entry.own["run_count"], entry.total["run_count"]
    proto.total_definition_count = entry.total["occurrence"]


def _fill_sum(proto: Any, entry: Entry) -> None:
    _fill_figures(proto, entry)
    for member in entry.members:
        _fill_node(proto.graph_nodes.add(), Entry(member.name, member.own, member.own, devices=member.devices))


def _fill_figures(proto: Any, entry: Entry) -> None:
    proto.name = entry.name
    for key, field in _FIELDS.items():
        setattr(proto, field, entry.own[key])
        setattr(proto, f"total_{field}", entry.total[key])
