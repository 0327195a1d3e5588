"""``tf.profiler``: where a graph has its parameters, its float operations, and, of a traced step, its time and memory.

>>> import penstock as tf
>>> with tf.Graph().as_default() as graph:
...     x = tf.placeholder(tf.float32, [8, 4])
...     y = tf.matmul(x, tf.get_variable("w", [4, 2]))
...     options = tf.profiler.ProfileOptionBuilder.float_operation()
...     tf.profiler.profile(graph, options={**options, "output": "none"}).total_float_ops > 2 * 8 * 4 * 2
True
"""
from __future__ import annotations

import os
import sys
from typing import Any

from tensorboard.compat.proto.config_pb2 import RunMetadata

from penstock.debug.profile_options import ProfileOptionBuilder
from penstock.debug.profile_protos import GraphNodeProto, MultiGraphNodeProto, OpLogEntry, OpLogProto
from penstock.debug.profile_report import report_scopes, report_types
from penstock.debug.profile_tree import ROOT, Entry, by_scope, by_type, entries
from penstock.debug.timeline import Timeline
from penstock.errors import InvalidArgumentError, UnimplementedError
from penstock.graph.graph import Graph, default_graph

ALL_ADVICE: dict[str, Any] = {"ExpensiveOperationChecker": {}, "AcceleratorUtilizationChecker": {}, "JobChecker": {}, "OperationChecker": {}}
_KNOWN = {"bytes", "micros", "params", "float_ops", "occurrence", "device", "op_types"}
_FIELDS = {"micros": "exec_micros", "bytes": "requested_bytes", "params": "parameters", "float_ops": "float_ops"}


def profile(graph: Graph | None = None, run_meta: Any = None, op_log: Any = None, cmd: str = "scope", options: dict[str, Any] | None = None) -> Any:
    """Prints a profile and returns it as a proto: by name scope (``cmd="scope"``, a GraphNodeProto) or by type of op (``"op"``).

    ``options`` come from ProfileOptionBuilder; ``run_meta`` is the RunMetadata of a step with FULL_TRACE, for times and memory.
    """
    graph = default_graph() if graph is None else graph
    options = ProfileOptionBuilder.trainable_variables_parameter() if options is None else options
    if cmd not in ("scope", "op"):
        raise UnimplementedError(None, None, f"tf.profiler cannot profile by {cmd!r}; it can by 'scope' and by 'op'")
    _check(options)
    found, unknown = entries(graph, run_meta, op_log)
    if unknown and "float_ops" in options["select"]:
        print(f"{unknown} ops no flops stats due to incomplete shapes.", file=sys.stderr)
    if cmd == "scope":
        root = by_scope(found, options)
        _write(report_scopes(root, options), options, run_meta)
        return _graph_node(root)
    kinds = by_type(found, options)
    _write(report_types([kind for kind, _ in kinds], options), options, run_meta)
    return _multi_node(kinds)


def _check(options: dict[str, Any]) -> None:
    unknown = set(options["select"]) - _KNOWN
    if unknown:
        raise UnimplementedError(None, None, f"tf.profiler cannot select {', '.join(sorted(unknown))}; it knows {', '.join(sorted(_KNOWN))}")
    if options["order_by"] not in {"name", *_KNOWN} - {"device", "op_types"}:
        raise InvalidArgumentError(None, None, f"tf.profiler cannot order by {options['order_by']!r}")


def _write(report: str, options: dict[str, Any], run_meta: Any) -> None:
    kind, _, target = options["output"].partition(":outfile=")
    if kind == "stdout":
        print(report)
    elif kind == "file":
        with open(target, "w", encoding="utf-8") as file:
            file.write(report)
    elif kind == "timeline":
        if run_meta is None:
            raise InvalidArgumentError(None, None, "a timeline needs the RunMetadata of a traced step")
        with open(target, "w", encoding="utf-8") as file:
            file.write(Timeline(run_meta.step_stats).generate_chrome_trace_format())
    elif kind != "none":
        raise UnimplementedError(None, None, f"tf.profiler has no output {options['output']!r}; it has stdout, none, file and timeline")


def _graph_node(entry: Entry) -> Any:
    proto = GraphNodeProto(name=entry.name, devices=entry.devices, total_definition_count=entry.total["occurrence"])
    _fill(proto, entry)
    proto.children.extend(map(_graph_node, entry.children))
    return proto


def _multi_node(kinds: list[tuple[Entry, list[Entry]]]) -> Any:
    """A chain, as TensorFlow has it: each type has the next one as its child, and totals from there on."""
    root = MultiGraphNodeProto(name=ROOT)
    for entry, members in reversed(kinds):
        proto = MultiGraphNodeProto(name=entry.name)
        for key, field in _FIELDS.items():
            setattr(proto, field, entry.own[key])
            setattr(proto, f"total_{field}", entry.own[key] + getattr(root, f"total_{field}"))
            setattr(root, f"total_{field}", getattr(proto, f"total_{field}"))
        proto.graph_nodes.extend(_graph_node(Entry(member.name, member.own, member.own, devices=member.devices)) for member in members)
        proto.children.extend(root.children)
        del root.children[:]
        root.children.append(proto)
    return root


def _fill(proto: Any, entry: Entry) -> None:
    for key, field in _FIELDS.items():
        setattr(proto, field, entry.own[key])
        setattr(proto, f"total_{field}", entry.total[key])
    proto.cpu_exec_micros, proto.total_cpu_exec_micros = proto.exec_micros, proto.total_exec_micros


def advise(graph: Graph | None = None, run_meta: Any = None, options: Any = ALL_ADVICE) -> Any:
    """TensorFlow's advice is about GPUs and its own executor; there is none here."""
    raise UnimplementedError(None, None, "tf.profiler.advise is not there; profile(cmd='op', options=ProfileOptionBuilder.time_and_memory()) "
                                         "shows which operations take the time")


class Profiler:
    """``tf.profiler.Profiler``: profiles of several steps of one graph; of all of them, the mean."""

    def __init__(self, graph: Graph | None = None, op_log: Any = None) -> None:
        self._graph = default_graph() if graph is None else graph
        self._op_log = op_log
        self._steps: dict[int, Any] = {}

    def add_step(self, step: int, run_meta: Any) -> None:
        """Adds the RunMetadata of a traced step."""
        self._steps[step] = run_meta

    def profile_operations(self, options: dict[str, Any]) -> Any:
        """The profile by types of ops."""
        return profile(self._graph, self._metadata(options), self._op_log, "op", options)

    def profile_name_scope(self, options: dict[str, Any]) -> Any:
        """The profile by name scopes."""
        return profile(self._graph, self._metadata(options), self._op_log, "scope", options)

    def profile_python(self, options: dict[str, Any]) -> Any:
        """The profile by lines of the program, which is not there."""
        return profile(self._graph, None, self._op_log, "code", options)

    def profile_graph(self, options: dict[str, Any]) -> Any:
        """The profile along the edges of the graph, which is not there."""
        return profile(self._graph, None, self._op_log, "graph", options)

    def advise(self, options: Any = ALL_ADVICE) -> Any:
        """See ``tf.profiler.advise``."""
        return advise(self._graph, None, options)

    def _metadata(self, options: dict[str, Any]) -> Any:
        """The chosen step; all steps, with their times divided by their number, for step -1."""
        if options["step"] >= 0:
            if options["step"] not in self._steps:
                raise InvalidArgumentError(None, None, f"step {options['step']} was not added; there are {sorted(self._steps)}")
            return self._steps[options["step"]]
        merged = RunMetadata()
        for run_meta in self._steps.values():
            merged.MergeFrom(run_meta)
        for device in merged.step_stats.dev_stats:
            for stats in device.node_stats:
                stats.all_end_rel_micros = max(1, stats.all_end_rel_micros // len(self._steps))
                for output in stats.output:
                    memory = output.tensor_description.allocation_description
                    memory.requested_bytes //= len(self._steps)
        return merged if self._steps else None


def write_op_log(graph: Graph, log_dir: str, op_log: Any = None, run_meta: Any = None, add_trace: bool = True) -> None:
    """``tf.profiler.write_op_log``: writes the types and float operations of all nodes to ``tfprof_log`` in a folder."""
    found, _ = entries(graph, run_meta, op_log)
    log = OpLogProto()
    for entry in found.values():
        log.log_entries.append(OpLogEntry(name=entry.name, float_ops=entry.own["float_ops"], types=sorted(entry.types)))
    os.makedirs(log_dir, exist_ok=True)
    with open(os.path.join(log_dir, "tfprof_log"), "wb") as file:
        file.write(log.SerializeToString())
