"""Where ``penstock graph`` gets its graph from: a file of any kind that holds one, or a program, whose steps are watched while it runs."""
from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.message import DecodeError
from tensorboard.compat.proto.config_pb2 import RunMetadata, RunOptions
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.meta_graph_pb2 import MetaGraphDef

from penstock.graph.graph import Graph
from penstock.graph.node import Operation, Tensor
from penstock.program.devices import Device
from penstock.saved_model.loader import maybe_saved_model_directory, parse_saved_model
from penstock.session.session import BaseSession
from penstock.summary.reading import summary_iterator
from penstock.train.meta_graph import parse_binary_or_text


@dataclass
class Found:
    """A graph in a file, and the costs of a step if the file has them."""

    graph_def: GraphDef
    metadata: RunMetadata | None = None


@dataclass
class WatchedStep:
    """A step that a program has run: what was fetched, what was fed, how often."""

    graph: Graph
    fetches: Sequence[Tensor]
    targets: Sequence[Operation]
    feeds: Sequence[Tensor]
    devices: list[Device]
    count: int = 0
    metadata: RunMetadata | None = None


@dataclass
class Watched:
    """The steps of a program, in the order in which they were first run."""

    steps: list[WatchedStep] = field(default_factory=list)
    runs: int = 0


class Enough(BaseException):
    """The program has run as many steps as were asked for. No Exception, so that programs do not catch it."""


def read_graph(path: str) -> Found:
    """The graph in a GraphDef, a MetaGraph, a SavedModel (its folder or file), or an event file; OSError if the file holds none."""
    if os.path.isdir(path) and maybe_saved_model_directory(path):
        return Found(parse_saved_model(path).meta_graphs[0].graph_def)
    if os.path.basename(path).startswith("saved_model.pb"):
        return read_graph(os.path.dirname(path) or ".")
    if ".tfevents." in os.path.basename(path):
        return _from_events(path)
    if os.path.isdir(path):
        events = sorted(name for name in os.listdir(path) if ".tfevents." in name)
        if not events:
            raise OSError(f"{path}: a folder without a SavedModel and without event files")
        return _from_events(os.path.join(path, events[-1]))
    with open(path, "rb") as file:
        contents = file.read()
    for kind, graph_of in ((MetaGraphDef, lambda proto: proto.graph_def), (GraphDef, lambda proto: proto)):
        try:
            graph_def = graph_of(parse_binary_or_text(contents, kind, path))
        except (OSError, DecodeError):
            continue
        if graph_def.node:
            return Found(graph_def)
    raise OSError(f"{path}: neither a GraphDef nor a MetaGraphDef, or one without nodes")


def _from_events(path: str) -> Found:
    graph_def, metadata = None, None
    for event in summary_iterator(path):
        kind = event.WhichOneof("what")
        if kind == "graph_def":
            graph_def = GraphDef.FromString(event.graph_def)
        elif kind == "meta_graph_def" and graph_def is None:
            graph_def = MetaGraphDef.FromString(event.meta_graph_def).graph_def
        elif kind == "tagged_run_metadata":
            metadata = RunMetadata.FromString(event.tagged_run_metadata.run_metadata)
    if graph_def is None:
        raise OSError(f"{path}: an event file without a graph (FileWriter(folder, graph) writes one)")
    return Found(graph_def, metadata)


@contextmanager
def watched(most_runs: int | None = None, trace: bool = False) -> Iterator[Watched]:
    """Notes every step that a session runs inside the block; after ``most_runs`` of them, Enough is raised in the program."""
    watch = Watched()
    original = BaseSession._run

    def run(session: Any, wanted: Any, feeds: dict[Tensor, Any], options: Any, run_metadata: Any) -> list[Any]:
        if most_runs is not None and watch.runs >= most_runs:
            raise Enough
        watch.runs += 1
        step = _step_of(watch, session, wanted, tuple(feeds))
        if trace and run_metadata is None:
            options, run_metadata = RunOptions(trace_level=RunOptions.FULL_TRACE), RunMetadata()
        results = original(session, wanted, feeds, options, run_metadata)
        if run_metadata is not None and run_metadata.step_stats.dev_stats:
            step.metadata = run_metadata
        return results

    # The one place that every run passes; watching is for this command alone, so sessions need no hook for it.
    BaseSession._run = run  # type: ignore[method-assign]
    try:
        yield watch
    finally:
        BaseSession._run = original  # type: ignore[method-assign]


def _step_of(watch: Watched, session: Any, wanted: Any, feeds: tuple[Tensor, ...]) -> WatchedStep:
    key = (session.graph, list(wanted.tensors), list(wanted.targets), feeds)
    for step in watch.steps:
        if (step.graph, step.fetches, step.targets, step.feeds) == key:
            break
    else:
        step = WatchedStep(session.graph, list(wanted.tensors), list(wanted.targets), feeds, session.list_devices())
        watch.steps.append(step)
    step.count += 1
    return step


def run_program(main: Callable[[list[str]], int], arguments: list[str], most_runs: int | None, trace: bool) -> Watched:
    """Runs a program to its end, or until it has run ``most_runs`` steps; returns what it did."""
    with watched(most_runs, trace) as watch:
        try:
            main(arguments)
        except (Enough, SystemExit):
            return watch
    return watch
