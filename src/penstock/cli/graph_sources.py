"""Where ``penstock graph`` gets its graph from: a file of any kind that holds one, or a program, whose steps are watched while it runs."""
from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from google.protobuf.message import DecodeError
from tensorboard.compat.proto.config_pb2 import RunMetadata, RunOptions
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.meta_graph_pb2 import MetaGraphDef

from penstock.execute.pipeline import Pipeline
from penstock.graph.graph import Graph
from penstock.graph.node import Operation, Tensor
from penstock.saved_model.loader import maybe_saved_model_directory, parse_saved_model
from penstock.session.observers import RunObserver, SessionRun, observing_runs
from penstock.summary.reading import summary_iterator
from penstock.train.meta_graph import parse_binary_or_text


@dataclass
class GraphSource:
    """A graph in a file, and the costs of a step if the file has them."""

    graph_def: GraphDef
    metadata: RunMetadata | None = None


@dataclass
class WatchedStep:
    """A step that a program has run: what was fetched, what was fed, how often."""

    graph: Graph
    fetches: list[Tensor]
    targets: list[Operation]
    feeds: list[Tensor]
    pipeline: Pipeline  # the session's own
    count: int = 0
    metadata: RunMetadata | None = None


@dataclass
class WatchedSteps:
    """The steps of a program, in the order in which they were first run."""

    steps: list[WatchedStep] = field(default_factory=list)
    runs: int = 0


class EnoughSteps(BaseException):
    """The program has run as many steps as were asked for. No Exception, so that programs do not catch it."""


def read_graph(path: str) -> GraphSource:
    """The graph in a GraphDef, a MetaGraph, a SavedModel (its folder or file), or an event file; OSError if the file holds none."""
    if os.path.isdir(path) and maybe_saved_model_directory(path):
        return GraphSource(parse_saved_model(path).meta_graphs[0].graph_def)
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
        except (OSError, DecodeError):  # it is not of this kind; what is of neither is told below
            continue
        if graph_def.node:
            return GraphSource(graph_def)
    raise OSError(f"{path}: neither a GraphDef nor a MetaGraphDef, or one without nodes")


def _from_events(path: str) -> GraphSource:
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
    return GraphSource(graph_def, metadata)


class _Watch(RunObserver):
    """Notes every step that a session runs; after ``most_runs`` of them, Enough is raised in the program."""

    def __init__(self, most_runs: int | None, trace: bool) -> None:
        self.watched, self._most_runs, self._trace = WatchedSteps(), most_runs, trace

    def before(self, run: SessionRun) -> None:
        if self._most_runs is not None and self.watched.runs >= self._most_runs:
            raise EnoughSteps
        self.watched.runs += 1
        if self._trace and run.metadata is None:
            run.options, run.metadata = RunOptions(trace_level=RunOptions.FULL_TRACE), RunMetadata()
        self._step_of(run).count += 1

    def after(self, run: SessionRun) -> None:
        if run.metadata is not None and run.metadata.step_stats.dev_stats:
            self._step_of(run).metadata = run.metadata

    def _step_of(self, run: SessionRun) -> WatchedStep:
        key = (run.graph, run.wanted.tensors, run.wanted.targets, list(run.feeds))
        for step in self.watched.steps:
            if (step.graph, step.fetches, step.targets, step.feeds) == key:
                return step
        step = WatchedStep(*key, run.backend.pipeline)
        self.watched.steps.append(step)
        return step


def run_program(main: Callable[[list[str]], int], arguments: list[str], most_runs: int | None, trace: bool) -> WatchedSteps:
    """Runs a program to its end, or until it has run ``most_runs`` steps; returns what it did."""
    watch = _Watch(most_runs, trace)
    with observing_runs(watch), suppress(EnoughSteps, SystemExit):
        main(arguments)
    return watch.watched
