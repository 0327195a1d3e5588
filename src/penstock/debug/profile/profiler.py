"""The public functions of ``tf.profiler``.

>>> import penstock as tf
>>> with tf.Graph().as_default() as graph:
...     x = tf.placeholder(tf.float32, [8, 4])
...     y = tf.matmul(x, tf.get_variable("w", [4, 2]))
...     options = tf.profiler.ProfileOptionBuilder.float_operation()
...     tf.profiler.profile(graph, options={**options, "output": "none"}).total_float_ops > 2 * 8 * 4 * 2
True
"""
from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from penstock.debug.profile import advice, protos
from penstock.debug.profile.advice import ALL_ADVICE
from penstock.debug.profile.code import by_line
from penstock.debug.profile.entries import FIGURES, Entry, entries
from penstock.debug.profile.log import profile_proto
from penstock.debug.profile.options import ProfileOptionBuilder
from penstock.debug.profile.pprof import write_pprof
from penstock.debug.profile.report import SELECTABLE, report_tree, report_types
from penstock.debug.profile.tree import by_inputs, by_scope, by_type, visible_tree
from penstock.debug.timeline import Timeline
from penstock.errors import InvalidArgumentError, UnimplementedError
from penstock.graph.graph import Graph, default_graph

Entries = dict[str, Entry]
Options = dict[str, Any]
Made = tuple[Any, str]  # a profile as a proto and as text


def _code(by_name: Entries, graph: Graph, options: Options) -> Made:
    root = visible_tree(by_line(by_name, graph, options), options, lines=True)
    return protos.multi_node(root), report_tree(root, options)


def _graph(by_name: Entries, graph: Graph, options: Options) -> Made:
    root = visible_tree(by_inputs(by_name, graph), options, only_accounted=True)
    return protos.graph_node(root), report_tree(root, options)


def _scope(by_name: Entries, graph: Graph, options: Options) -> Made:
    root = visible_tree(by_scope(by_name), options)
    return protos.graph_node(root), report_tree(root, options)


def _types(by_name: Entries, graph: Graph, options: Options) -> Made:
    root = by_type(by_name, options)
    return protos.chain(root), report_types(root, options)


_VIEWS: dict[str, Callable[[Entries, Graph, Options], Made]] = {"scope": _scope, "graph": _graph, "code": _code, "op": _types}


def profile(graph: Graph | None = None, run_meta: Any = None, op_log: Any = None, cmd: str = "scope", options: Options | None = None) -> Any:
    """Prints a profile and returns it as a proto.

    ``cmd`` is "scope" (by name scopes) or "graph" (operations with their inputs below them), which return a GraphNodeProto; "op" (by types) or "code"
    (by lines of the program), which return a MultiGraphNodeProto. ``options`` come from ProfileOptionBuilder; ``run_meta`` is the RunMetadata of a
    step with FULL_TRACE, for times and memory.
    """
    graph = default_graph() if graph is None else graph
    return _profile(graph, [] if run_meta is None else [run_meta], op_log, cmd, options or ProfileOptionBuilder.trainable_variables_parameter())


def _profile(graph: Graph, steps: Sequence[Any], op_log: Any, cmd: str, options: Options) -> Any:
    _check(cmd, options)
    by_name, unknown = entries(graph, steps, op_log)
    if unknown and "float_ops" in options["select"]:
        print(f"{unknown} ops no flops stats due to incomplete shapes.", file=sys.stderr)
    proto, report = _VIEWS[cmd](by_name, graph, options)
    kind, _, target = options["output"].partition(":outfile=")
    if kind == "pprof":
        write_pprof(target, entries(graph, steps, op_log)[0], graph, options)
    else:
        _write(report, kind, target, steps)
    return proto


def _check(cmd: str, options: Options) -> None:
    if cmd not in _VIEWS:
        raise InvalidArgumentError(None, None, f"tf.profiler cannot profile by {cmd!r}; it can by {', '.join(map(repr, _VIEWS))}")
    unknown = set(options["select"]) - SELECTABLE
    if unknown:
        raise InvalidArgumentError(None, None, f"tf.profiler cannot select {', '.join(sorted(unknown))}; it knows {', '.join(sorted(SELECTABLE))}")
    if options["order_by"] not in {"name", *FIGURES}:
        raise InvalidArgumentError(None, None, f"tf.profiler cannot order by {options['order_by']!r}; it can by name, {', '.join(FIGURES)}")
    if cmd != "code" and options["output"].startswith("pprof"):
        raise InvalidArgumentError(None, None, f"a profile for pprof is one of lines: cmd='code', not {cmd!r}")


def _write(report: str, kind: str, target: str, steps: Sequence[Any]) -> None:
    if kind == "stdout":
        print(report)
    elif kind == "file":
        with open(target, "w", encoding="utf-8") as file:
            file.write(report)
    elif kind == "timeline":
        if not steps:
            raise InvalidArgumentError(None, None, "a timeline needs the RunMetadata of a traced step")
        with open(target, "w", encoding="utf-8") as file:
            file.write(Timeline(steps[-1].step_stats).generate_chrome_trace_format())
    elif kind != "none":
        raise UnimplementedError(None, None, f"tf.profiler has no output {kind!r}; it has stdout, none, file, timeline and pprof")


def advise(graph: Graph | None = None, run_meta: Any = None, options: Options = ALL_ADVICE) -> Any:
    """Prints what stands out in a traced step, and returns it as an AdviceProto; ``options`` name the checkers."""
    return _advise(default_graph() if graph is None else graph, [] if run_meta is None else [run_meta], None, options)


def _advise(graph: Graph, steps: Sequence[Any], op_log: Any, options: Options) -> Any:
    proto = protos.AdviceProto()
    for name, texts in advice.reports(advice.ProfiledStep(graph, lambda: entries(graph, steps, op_log)[0]), options).items():
        print("\n".join(["", f"{name}:", *texts]))
        proto.checkers[name].reports.extend(texts)
    return proto


class Profiler:
    """``tf.profiler.Profiler``: profiles of several steps of one graph; of all of them, the mean."""

    def __init__(self, graph: Graph | None = None, op_log: Any = None) -> None:
        self._graph = default_graph() if graph is None else graph
        self._op_log = op_log
        self._steps: dict[int, Any] = {}

    def add_step(self, step: int, run_meta: Any) -> None:
        """Adds the RunMetadata of a traced step."""
        self._steps[step] = run_meta

    def profile_operations(self, options: Options) -> Any:
        """The profile by types of ops."""
        return self._profile("op", options)

    def profile_name_scope(self, options: Options) -> Any:
        """The profile by name scopes."""
        return self._profile("scope", options)

    def profile_python(self, options: Options) -> Any:
        """The profile by lines of the program."""
        return self._profile("code", options)

    def profile_graph(self, options: Options) -> Any:
        """The profile of operations with their inputs below them."""
        return self._profile("graph", options)

    def advise(self, options: Options = ALL_ADVICE) -> Any:
        """See ``tf.profiler.advise``."""
        return _advise(self._graph, list(self._steps.values()), self._op_log, options)

    def serialize_to_string(self) -> bytes:
        """All that is known, as the bytes of a ProfileProto."""
        proto: bytes = profile_proto(self._graph, self._steps, self._op_log).SerializeToString()
        return proto

    def _profile(self, cmd: str, options: Options) -> Any:
        """Of the chosen step; of all steps for step -1."""
        step = options["step"]
        if step >= 0 and step not in self._steps:
            raise InvalidArgumentError(None, None, f"step {step} was not added; there are {sorted(self._steps)}")
        return _profile(self._graph, [self._steps[step]] if step >= 0 else list(self._steps.values()), self._op_log, cmd, options)
