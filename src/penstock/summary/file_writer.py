"""FileWriter: writes summaries, graphs and run statistics to an event file that TensorBoard reads."""
from __future__ import annotations

import os
import threading
import time
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event, SessionLog, TaggedRunMetadata
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.meta_graph_pb2 import MetaGraphDef
from tensorboard.compat.proto.summary_pb2 import Summary

from penstock.graph.graph import Graph
from penstock.platform import gfile, logging
from penstock.platform.event_file import EventFile
from penstock.platform.event_names import new_event_path
from penstock.summary.plugin_asset import get_all_plugin_assets
from penstock.train.meta_graph import export_scoped_meta_graph


class FileWriter:
    """``tf.summary.FileWriter(logdir)``: adds events to a new file in ``logdir``; also a context manager that closes itself.

    Events are buffered; they reach the file after ``max_queue`` events, ``flush_secs`` seconds (noticed at the next event), ``flush()`` or
    ``close()``. A disk that is full loses events, with a warning, and nothing else (``event_file.py``).
    """

    def __init__(self, logdir: str, graph: Graph | None = None, max_queue: int = 10, flush_secs: float = 120, graph_def: GraphDef | None = None,
                 filename_suffix: str | None = None, session: Any = None) -> None:
        if session is not None:
            raise RuntimeError("FileWriter with a session writes through the graph, which this version of Penstock does not do; leave it out")
        self._logdir = os.fspath(logdir)
        self._max_queue, self._flush_secs, self._suffix = max_queue, flush_secs, filename_suffix or ""
        self._lock = threading.Lock()
        self._file: EventFile | None = None
        self._seen_metadata: set[str] = set()
        self._tags_with_metadata: set[str] = set()
        self._open()
        if graph is not None or graph_def is not None:
            self.add_graph(graph, graph_def=graph_def)
            definition = graph.as_graph_def(add_shapes=True) if isinstance(graph, Graph) else graph or graph_def
            self.add_meta_graph(export_scoped_meta_graph(graph_def=definition, collection_list=())[0])

    def _open(self) -> None:
        self._file = EventFile(new_event_path(self._logdir, self._suffix))
        self._flushed = time.monotonic()

    def get_logdir(self) -> str:
        """The folder of the event file."""
        return self._logdir

    def add_event(self, event: Event) -> None:
        """Adds an Event proto."""
        with self._lock:
            if self._file is None:
                logging.warning("Attempting to use a closed FileWriter: the event is lost. reopen() the writer to add events.")
                return
            self._file.add(event)
            if len(self._file) >= self._max_queue or time.monotonic() - self._flushed >= self._flush_secs:
                self._file.flush()
                self._flushed = time.monotonic()

    def add_summary(self, summary: Any, global_step: Any = None) -> None:
        """Adds a Summary proto, or the bytes that a summary op returned."""
        if isinstance(summary, bytes):
            summary = Summary.FromString(summary)
        for value in summary.value:  # TensorBoard reads a tag's metadata once: it is not written again
            if value.HasField("metadata"):
                if value.tag in self._tags_with_metadata:
                    value.ClearField("metadata")
                self._tags_with_metadata.add(value.tag)
        self._add(Event(summary=summary), global_step)

    def add_graph(self, graph: Any = None, global_step: Any = None, graph_def: Any = None) -> None:
        """Adds a graph for TensorBoard's graph page."""
        if graph is not None and graph_def is not None:
            raise ValueError("Please pass only graph, or graph_def (deprecated), but not both.")
        if isinstance(graph, Graph):
            graph_def = graph.as_graph_def(add_shapes=True)
            self._write_plugin_assets(graph)
        elif graph is not None:
            graph_def = graph
        if not isinstance(graph_def, GraphDef):
            raise TypeError(f"The passed graph must be an instance of `Graph` or the deprecated `GraphDef`, not {type(graph_def).__name__}")
        self._add(Event(graph_def=graph_def.SerializeToString()), global_step)

    def _write_plugin_assets(self, graph: Graph) -> None:
        for plugin in get_all_plugin_assets(graph):
            folder = os.path.join(self._logdir, "plugins", plugin.plugin_name)
            gfile.MakeDirs(folder)
            for name, content in plugin.assets().items():
                with gfile.Open(os.path.join(folder, name), "w") as file:
                    file.write(content)

    def add_meta_graph(self, meta_graph_def: Any, global_step: Any = None) -> None:
        """Adds a graph with its collections, a MetaGraphDef."""
        if not isinstance(meta_graph_def, MetaGraphDef):
            raise TypeError(f"meta_graph_def must be type MetaGraphDef, saw type: {type(meta_graph_def)}")
        self._add(Event(meta_graph_def=meta_graph_def.SerializeToString()), global_step)

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: Any = None) -> None:
        """Adds the statistics of a step, shown on the graph page under ``tag``."""
        if tag in self._seen_metadata:
            raise ValueError("The provided tag was already used for this event type")
        self._seen_metadata.add(tag)
        self._add(Event(tagged_run_metadata=TaggedRunMetadata(tag=tag, run_metadata=run_metadata.SerializeToString())), global_step)

    def add_session_log(self, session_log: SessionLog, global_step: Any = None) -> None:
        """Adds a note that training started, stopped or saved a checkpoint."""
        self._add(Event(session_log=session_log), global_step)

    def _add(self, event: Event, global_step: Any) -> None:
        event.wall_time = time.time()
        if global_step is not None:
            event.step = int(global_step)
        self.add_event(event)

    def flush(self) -> None:
        """Writes buffered events to the file."""
        with self._lock:
            if self._file is not None:
                self._file.flush()
                self._flushed = time.monotonic()

    def close(self) -> None:
        """Flushes and closes the file."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def reopen(self) -> None:
        """Goes on in a new file after ``close()``."""
        with self._lock:
            if self._file is None:
                self._open()

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


class EventFileWriter(FileWriter):
    """``tensorflow.python.summary.writer.event_file_writer.EventFileWriter``: a FileWriter that is given events only."""

    def __init__(self, logdir: str, max_queue: int = 10, flush_secs: float = 120, filename_suffix: str | None = None) -> None:
        super().__init__(logdir, max_queue=max_queue, flush_secs=flush_secs, filename_suffix=filename_suffix)


class FileWriterCache:
    """One FileWriter per folder."""

    _cache: dict[str, FileWriter] = {}
    _lock = threading.RLock()

    @classmethod
    def get(cls, logdir: str) -> FileWriter:
        """The writer of a folder, made when first asked for."""
        with cls._lock:
            if logdir not in cls._cache:
                cls._cache[logdir] = FileWriter(logdir)
            return cls._cache[logdir]

    @classmethod
    def clear(cls) -> None:
        """Closes and forgets all writers."""
        with cls._lock:
            for writer in cls._cache.values():
                writer.close()
            cls._cache = {}
