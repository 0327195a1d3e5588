"""What other programs read of a profile: the log of operations (``tfprof_log``), and all that a Profiler knows, as a ProfileProto."""
from __future__ import annotations

import os
from typing import Any

from penstock.debug.profile.code import frames
from penstock.debug.profile.entries import Entry, entries
from penstock.debug.profile.protos import OpLogEntry, OpLogProto, ProfileProto
from penstock.graph.graph import Graph
from penstock.graph.node import Operation


class _Strings:
    """Strings by number, as traces refer to them."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def add_trace(self, code: Any, op: Operation) -> None:
        """Appends the lines that led to an operation."""
        for file, line, function in frames(op):
            code.traces.add(file_id=self._number(file), lineno=line, function_id=self._number(function), line_id=self._number(""), func_start_line=-1)

    def _number(self, text: str) -> int:
        return self.known.setdefault(text, len(self.known) + 1)

    def store(self, proto: Any) -> None:
        """Writes the strings to a proto."""
        for text, number in self.known.items():
            proto.id_to_string[number] = text


def write_op_log(graph: Graph, log_dir: str, op_log: Any = None, run_meta: Any = None, add_trace: bool = True) -> None:
    """``tf.profiler.write_op_log``: writes types and float operations of all nodes, and the lines that made them, to ``tfprof_log`` in a folder."""
    log = made_op_log(graph, op_log, run_meta, add_trace)
    os.makedirs(log_dir, exist_ok=True)
    with open(os.path.join(log_dir, "tfprof_log"), "wb") as file:
        file.write(log.SerializeToString())


def made_op_log(graph: Graph, op_log: Any = None, run_meta: Any = None, add_trace: bool = True) -> Any:
    """An OpLogProto of the nodes of a graph; what another one tells of them is taken over."""
    by_name, _ = entries(graph, [] if run_meta is None else [run_meta], op_log)
    log, strings = OpLogProto(), _Strings()
    for entry in by_name.values():
        added = OpLogEntry(name=entry.name, float_ops=entry.own["float_ops"], types=sorted(entry.types))
        if add_trace:
            strings.add_trace(added.code_def, graph.get_operation_by_name(entry.name))
        log.log_entries.append(added)
    strings.store(log)
    return log


def profile_proto(graph: Graph, steps: dict[int, Any], op_log: Any = None) -> Any:
    """A ProfileProto of a graph and its traced steps."""
    by_name, _ = entries(graph, list(steps.values()), op_log)
    proto, strings, numbers = ProfileProto(has_trace=True, steps=sorted(steps)), _Strings(), {name: number for number, name in enumerate(by_name)}
    for name, number in numbers.items():
        _fill_node(proto.nodes[number], by_name[name], graph.get_operation_by_name(name), numbers)
        strings.add_trace(proto.nodes[number].trace, graph.get_operation_by_name(name))
    for step, run_meta in steps.items():
        _add_executions(proto, numbers, step, run_meta)
    strings.store(proto)
    return proto


def _fill_node(node: Any, entry: Entry, op: Operation, numbers: dict[str, int]) -> None:
    node.name, node.op, node.id, node.float_ops = entry.name, op.type, numbers[entry.name], entry.own["float_ops"]
    node.op_types.extend(sorted(entry.types))
    node.canonical_device = entry.devices[0] if entry.devices else ""
    node.shape.extend(entry.shape or ())
    for index, tensor in enumerate(op._inputs):
        node.inputs[index] = numbers[tensor.op.name]
        node.src_output_index[numbers[tensor.op.name]] = tensor.value_index
    for index, shape in enumerate(entry.input_shapes):
        node.input_shapes[index].int64_values.extend(shape or ())


def _add_executions(proto: Any, numbers: dict[str, int], step: int, run_meta: Any) -> None:
    for device in run_meta.step_stats.dev_stats:
        for stats in device.node_stats:
            if stats.node_name in numbers:
                _add_execution(proto.nodes[numbers[stats.node_name]].execs[step], device.device, stats)


def _add_execution(execution: Any, device: str, stats: Any) -> None:
    execution.run_count += 1
    begin, end = stats.all_start_micros, stats.all_start_micros + stats.all_end_rel_micros
    execution.all_start_micros = min(begin, execution.all_start_micros or begin)
    execution.latest_end_micros = max(end, execution.latest_end_micros)
    execution.cpu_execs[device].times.add().int64_values.extend([begin, stats.all_end_rel_micros])
    if device not in execution.devices:
        execution.devices.append(device)
    taken = sum(memory.total_bytes for memory in stats.memory)
    execution.memory_execs.add(memory_micros=begin, requested_bytes=taken, peak_bytes=taken, residual_bytes=taken, output_bytes=sum(
        output.tensor_description.allocation_description.requested_bytes for output in stats.output))
