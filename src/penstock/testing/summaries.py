"""``tf.contrib.testing``: what a test asks of summaries, in event files and without any."""
from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
from tensorboard.compat.proto.summary_pb2 import Summary

from penstock.summary import file_writer
from penstock.summary.reading import summary_iterator


class FakeSummaryWriter:
    """Stands in for FileWriter, from `install` to `uninstall`, and keeps what is written."""

    _replaced_summary_writer: ClassVar[Any] = None

    @classmethod
    def install(cls) -> None:
        """From now on FileWriterCache makes such writers."""
        if cls._replaced_summary_writer is not None:
            raise ValueError("FakeSummaryWriter already installed.")
        cls._replaced_summary_writer = file_writer.FileWriter
        file_writer.FileWriter = FakeSummaryWriter  # type: ignore[assignment,misc]

    @classmethod
    def uninstall(cls) -> None:
        """FileWriter is itself again."""
        if cls._replaced_summary_writer is None:
            raise ValueError("FakeSummaryWriter not installed.")
        file_writer.FileWriter = cls._replaced_summary_writer  # type: ignore[misc]
        cls._replaced_summary_writer = None

    def __init__(self, logdir: str, graph: Any = None) -> None:
        self._logdir, self._graph = logdir, graph
        self._summaries: dict[int, list[Summary]] = {}
        self._graphs: list[Any] = []
        self._meta_graphs: list[Any] = []
        self._session_logs: list[Any] = []
        self._run_metadata: dict[str, Any] = {}

    @property
    def summaries(self) -> dict[int, list[Summary]]:
        """{step: what was written at it}."""
        return self._summaries

    def assert_summaries(self, test_case: Any, expected_logdir: str | None = None, expected_graph: Any = None,
                         expected_summaries: dict[int, dict[str, float]] | None = None, expected_added_graphs: list[Any] | None = None,
                         expected_added_meta_graphs: list[Any] | None = None, expected_session_logs: list[Any] | None = None) -> None:
        """Compares what was written with {step: {tag: value}} and the others, as far as they are given; how many steps per second is not compared."""
        if expected_logdir is not None:
            test_case.assertEqual(expected_logdir, self._logdir)
        if expected_graph is not None:
            test_case.assertIs(expected_graph, self._graph)
        for step, expected in (expected_summaries or {}).items():
            test_case.assertIn(step, self._summaries)
            values = {value.tag: value.simple_value for each in self._summaries[step] for value in each.value if value.tag != "global_step/sec"}
            test_case.assertEqual(expected, values)
        for wanted, written in ((expected_added_graphs, self._graphs), (expected_added_meta_graphs, self._meta_graphs),
                                (expected_session_logs, self._session_logs)):
            if wanted is not None:
                test_case.assertEqual(wanted, written)

    def add_summary(self, summ: Any, current_global_step: int) -> None:
        """Keeps a summary, or the bytes of one."""
        self._summaries.setdefault(current_global_step, []).append(Summary.FromString(summ) if isinstance(summ, bytes) else summ)

    def add_graph(self, graph: Any, global_step: int | None = None, graph_def: Any = None) -> None:
        """Keeps a graph."""
        _check_step(global_step)
        if graph_def is not None:
            raise ValueError(f"Unexpected graph_def {graph_def}.")
        self._graphs.append(graph)

    def add_meta_graph(self, meta_graph_def: Any, global_step: int | None = None) -> None:
        """Keeps a MetaGraphDef."""
        _check_step(global_step)
        self._meta_graphs.append(meta_graph_def)

    def add_session_log(self, session_log: Any, global_step: int | None = None) -> None:
        """Keeps a SessionLog."""
        self._session_logs.append(session_log)

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: int | None = None) -> None:
        """Keeps what is known of a step."""
        _check_step(global_step)
        self._run_metadata[tag] = run_metadata

    def flush(self) -> None:
        """Nothing waits to be written."""

    def reopen(self) -> None:
        """There is no file."""

    def close(self) -> None:
        """There is no file."""


def _check_step(global_step: int | None) -> None:
    if global_step is not None and global_step < 0:
        raise ValueError(f"Invalid global_step {global_step}.")


def assert_summary(expected_tags: Iterable[str], expected_simple_values: dict[str, float], summary_proto: Summary) -> None:
    """The summary has these tags and no others, and these values up to two decimals."""
    for value in summary_proto.value:
        if value.tag in expected_simple_values:
            np.testing.assert_almost_equal(value.simple_value, expected_simple_values[value.tag], decimal=2, err_msg=value.tag)
    tags = {value.tag for value in summary_proto.value}
    if tags != set(expected_tags):
        raise ValueError(f"Expected tags {set(expected_tags)}, got {tags}.")


def to_summary_proto(summary_str: bytes) -> Summary:
    """The summary of these bytes."""
    return Summary.FromString(summary_str)


def latest_event_file(base_dir: str) -> str | None:
    """The last event file of a folder, None if it has none."""
    return max(glob.glob(os.path.join(glob.escape(base_dir), "events.*")), default=None)


def latest_events(base_dir: str) -> Iterable[Any]:
    """The events of the last event file."""
    path = latest_event_file(base_dir)
    return [] if path is None else summary_iterator(path)


def latest_summaries(base_dir: str) -> list[Any]:
    """Those of the last event file's events that are summaries."""
    return [event for event in latest_events(base_dir) if event.HasField("summary")]


def simple_values_from_events(events: Iterable[Any], tags: Iterable[str]) -> dict[str, float]:
    """{tag: its value at the last step}."""
    wanted, last = set(tags), {}
    for event in events:
        for value in event.summary.value if event.HasField("summary") else ():
            if value.tag not in wanted:
                continue
            if not value.HasField("simple_value"):
                raise ValueError(f"Summary for {value.tag} is not a simple_value.")
            if value.tag not in last or event.step > last[value.tag][0]:
                last[value.tag] = event.step, value.simple_value
    return {tag: value for tag, (_, value) in last.items()}
