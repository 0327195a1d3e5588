"""The protos of ``tf.profiler`` that TensorBoard's package lacks, and profiles as such."""
from __future__ import annotations

from typing import Any

from tensorboard.compat.proto import tfprof_log_pb2

from penstock.debug.profile.entries import Entry
from penstock.platform.proto import messages

GraphNodeProto, MultiGraphNodeProto, AdviceProto = messages("profile.proto", """
    message GraphNodeProto {
        string name = 1;
        int64 exec_micros = 2; int64 accelerator_exec_micros = 17; int64 cpu_exec_micros = 18;
        int64 requested_bytes = 3; int64 peak_bytes = 24; int64 residual_bytes = 25; int64 output_bytes = 26;
        int64 parameters = 4; int64 float_ops = 13; int64 run_count = 21;
        int64 total_exec_micros = 6; int64 total_accelerator_exec_micros = 19; int64 total_cpu_exec_micros = 20;
        int64 total_requested_bytes = 7; int64 total_peak_bytes = 27; int64 total_residual_bytes = 28; int64 total_output_bytes = 29;
        int64 total_parameters = 8; int64 total_float_ops = 14; int64 total_run_count = 22; int64 total_definition_count = 23;
        repeated string devices = 10;
        repeated GraphNodeProto children = 12;
    }
    message MultiGraphNodeProto {
        string name = 1;
        int64 exec_micros = 2; int64 accelerator_exec_micros = 12; int64 cpu_exec_micros = 13;
        int64 requested_bytes = 3; int64 peak_bytes = 16; int64 residual_bytes = 17; int64 output_bytes = 18;
        int64 parameters = 4; int64 float_ops = 5;
        int64 total_exec_micros = 6; int64 total_accelerator_exec_micros = 14; int64 total_cpu_exec_micros = 15;
        int64 total_requested_bytes = 7; int64 total_peak_bytes = 19; int64 total_residual_bytes = 20; int64 total_output_bytes = 21;
        int64 total_parameters = 8; int64 total_float_ops = 9;
        repeated GraphNodeProto graph_nodes = 10;
        repeated MultiGraphNodeProto children = 11;
    }
    message AdviceProto {
        message Checker { repeated string reports = 2; }
        map<string, Checker> checkers = 1;
    }
    """, "GraphNodeProto", "MultiGraphNodeProto", "AdviceProto", package="tensorflow.tfprof")
OpLogProto, OpLogEntry, ProfileProto = tfprof_log_pb2.OpLogProto, tfprof_log_pb2.OpLogEntry, tfprof_log_pb2.ProfileProto
_FIELDS = {"micros": "exec_micros", "accelerator_micros": "accelerator_exec_micros", "cpu_micros": "cpu_exec_micros", "bytes": "requested_bytes",
           "peak_bytes": "peak_bytes", "residual_bytes": "residual_bytes", "output_bytes": "output_bytes", "params": "parameters",
           "float_ops": "float_ops"}


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
