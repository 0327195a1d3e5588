"""``tf.contrib.summary``: summaries that ops write to an event file themselves, when the step is one that is recorded.

A writer is a resource that an op opens; ``initialize`` runs it. What ``scalar`` and the others return is added to a collection: ``all_summary_ops``.
Without a default writer they do nothing, and so they do unless ``always_record_summaries()`` or a condition says otherwise.
"""
from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

from tensorboard.compat.proto.graph_pb2 import GraphDef

from penstock.contrib import prelude as tf
from penstock.graph.dtypes import string
from penstock.graph.graph import Graph
from penstock.graph.scopes import device
from penstock.graph.stacks import default_session
from penstock.ops.summary_writers import (
    CloseSummaryWriter,
    CreateSummaryFileWriter,
    FlushSummaryWriter,
    ImportEvent,
    WriteAudioSummary,
    WriteGraphSummary,
    WriteHistogramSummary,
    WriteImageSummary,
    WriteScalarSummary,
    WriteSummary,
)
from penstock.ops.summary_writers import SummaryWriter as SummaryWriterOp
from penstock.summary.summary import tag_and_scope
from penstock.train.global_step import get_or_create_global_step

_INIT_COLLECTION = "_SUMMARY_WRITER_V2"


class _Defaults(threading.local):
    """Of this thread: the writer, and whether to record (None: no)."""

    writer: Any = None
    recording: Any = None


_defaults = _Defaults()


# --- writers ---------------------------------------------------------------------------------------------------------


class SummaryWriter:
    """``tf.contrib.summary.SummaryWriter``: where summaries go, if it is the default; also a context that makes it that."""

    def __init__(self, resource: Any, init_op_fn: Callable[[Any], Any] | None = None) -> None:
        self._resource, self._init_op_fn = resource, init_op_fn
        self._init_op = None if init_op_fn is None else init_op_fn(resource)
        if self._init_op is not None:
            tf.add_to_collection(_INIT_COLLECTION, self._init_op)

    def set_as_default(self) -> None:
        """All summaries of this thread go to it from now on."""
        if self._resource is not None:
            _defaults.writer = self

    @contextlib.contextmanager
    def as_default(self) -> Iterator[SummaryWriter]:
        """All summaries inside go to it."""
        if self._resource is None:
            yield self
            return
        before, _defaults.writer = _defaults.writer, self
        try:
            yield self
            self.flush()
        finally:
            _defaults.writer = before

    def init(self) -> Any:
        """An op that opens the file."""
        return None if self._init_op_fn is None else self._init_op_fn(self._resource)

    def flush(self) -> Any:
        """An op that writes what has been added."""
        return None if self._resource is None else flush(self)

    def close(self) -> Any:
        """An op that ends the file."""
        if self._resource is None:
            return None
        with tf.control_dependencies([self.flush()]), device("cpu:0"):
            return CloseSummaryWriter(self._resource)


def create_file_writer(logdir: Any, max_queue: Any = None, flush_millis: Any = None, filename_suffix: Any = None,
                       name: str | None = None) -> SummaryWriter:
    """``tf.contrib.summary.create_file_writer``: a writer to a new event file in ``logdir``; with None one that writes nothing."""
    if logdir is None:
        return SummaryWriter(None)
    logdir = os.fspath(logdir)
    with device("cpu:0"):
        queue = tf.constant(10) if max_queue is None else max_queue
        millis = tf.constant(2 * 60 * 1000) if flush_millis is None else flush_millis
        suffix = tf.constant(".v2") if filename_suffix is None else filename_suffix
        resource = SummaryWriterOp(shared_name="logdir:" + logdir if name is None else name)
        return SummaryWriter(resource, lambda writer: CreateSummaryFileWriter(writer, logdir, queue, millis, suffix))


def create_summary_file_writer(*args: Any, **kwargs: Any) -> SummaryWriter:
    """The older name of ``create_file_writer``."""
    return create_file_writer(*args, **kwargs)


def summary_writer_initializer_op() -> list[Any]:
    """``tf.contrib.summary.summary_writer_initializer_op``: the ops that open the files of all writers of this graph."""
    return tf.get_collection(_INIT_COLLECTION)


def initialize(graph: Any = None, session: Any = None) -> None:
    """``tf.contrib.summary.initialize``: opens all writers, and writes ``graph`` to the default one."""
    if _defaults.writer is None:
        raise RuntimeError("No default tf.contrib.summary.SummaryWriter found")
    session = session or default_session()
    if session is None:
        raise ValueError("session must be passed if no default session exists")
    session.run(summary_writer_initializer_op())
    if graph is not None:
        serialized = tf.placeholder(string)
        session.run(_graph(serialized, 0), feed_dict={serialized: _serialize(graph)})


def flush(writer: Any = None, name: str | None = None) -> Any:
    """``tf.contrib.summary.flush``: an op that writes what has been added to a writer, or to the default one."""
    writer = _defaults.writer if writer is None else writer
    if writer is None:
        return tf.no_op()
    with device("cpu:0"):
        return FlushSummaryWriter(writer._resource if isinstance(writer, SummaryWriter) else writer, name=name)


# --- when to record --------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _record_if(condition: Any) -> Iterator[None]:
    before, _defaults.recording = _defaults.recording, condition
    try:
        yield
    finally:
        _defaults.recording = before


def always_record_summaries() -> Any:
    """``tf.contrib.summary.always_record_summaries``: a context whose summaries are written at each step."""
    return _record_if(True)


def never_record_summaries() -> Any:
    """``tf.contrib.summary.never_record_summaries``: a context whose summaries are not written."""
    return _record_if(False)


def record_summaries_every_n_global_steps(n: int, global_step: Any = None) -> Any:
    """``tf.contrib.summary.record_summaries_every_n_global_steps``: a context whose summaries are written at every n-th step."""
    step = get_or_create_global_step() if global_step is None else global_step
    if tf.get_default_graph().imperative:
        return _record_if(lambda: tf.equal(step % n, 0))  # the step of the moment
    with device("cpu:0"):
        return _record_if(tf.equal(step % n, 0))


def should_record_summaries() -> Any:
    """``tf.contrib.summary.should_record_summaries``: whether summaries are written, as a tensor."""
    recording = False if _defaults.recording is None else _defaults.recording
    return tf.logical_and(True, recording() if callable(recording) else recording)


# --- summaries -------------------------------------------------------------------------------------------------------


def all_summary_ops() -> list[Any]:
    """``tf.contrib.summary.all_summary_ops``: all summaries of this graph; running them writes those that are to be recorded."""
    return tf.get_collection(tf.GraphKeys._SUMMARY_COLLECTION)


def _summary_op(name: str, tensor: Any, write: Callable[[Any, str, str], Any], family: str | None) -> Any:
    """An op that writes a summary to the default writer if it is to be recorded, and tells whether it did."""
    writer = _defaults.writer
    if writer is None:
        return tf.no_op()
    scope = tf.get_default_graph().get_name_scope()

    def record() -> Any:
        with tf.name_scope(scope + "/" if scope else ""), tag_and_scope(name, family, [tensor]) as (tag, own):
            with tf.control_dependencies([write(writer._resource, tag, own)]):
                return tf.constant(True)

    with device("cpu:0"):
        result = tf.smart_cond(should_record_summaries(), record, lambda: tf.constant(False), name="")
        tf.add_to_collection(tf.GraphKeys._SUMMARY_COLLECTION, result)
    return result


def _step(step: Any) -> Any:
    if step is None:
        return get_or_create_global_step()
    return step if isinstance(step, tf.Tensor) else tf.convert_to_tensor(step, tf.int64)


def scalar(name: str, tensor: Any, family: str | None = None, step: Any = None) -> Any:
    """``tf.contrib.summary.scalar``: a number."""
    return _summary_op(name, tensor, lambda writer, tag, scope: WriteScalarSummary(writer, _step(step), tag, tf.identity(tensor), name=scope), family)


def histogram(name: str, tensor: Any, family: str | None = None, step: Any = None) -> Any:
    """``tf.contrib.summary.histogram``: how values are distributed."""
    return _summary_op(name, tensor, lambda writer, tag, scope: WriteHistogramSummary(writer, _step(step), tag, tf.identity(tensor), name=scope),
                     family)


def image(name: str, tensor: Any, bad_color: Any = None, max_images: int = 3, family: str | None = None, step: Any = None) -> Any:
    """``tf.contrib.summary.image``: images of a batch."""
    def write(writer: Any, tag: str, scope: str) -> Any:
        color = tf.constant([255, 0, 0, 255], dtype=tf.uint8) if bad_color is None else bad_color
        return WriteImageSummary(writer, _step(step), tag, tf.identity(tensor), color, max_images=max_images, name=scope)

    return _summary_op(name, tensor, write, family)


def audio(name: str, tensor: Any, sample_rate: Any, max_outputs: int, family: str | None = None, step: Any = None) -> Any:
    """``tf.contrib.summary.audio``: sounds of a batch."""
    return _summary_op(name, tensor, lambda writer, tag, scope: WriteAudioSummary(
        writer, _step(step), tag, tf.identity(tensor), sample_rate, max_outputs=max_outputs, name=scope), family)


def generic(name: str, tensor: Any, metadata: Any = None, family: str | None = None, step: Any = None) -> Any:
    """``tf.contrib.summary.generic``: a whole tensor, with metadata for a plugin of TensorBoard."""
    def write(writer: Any, tag: str, scope: str) -> Any:
        serialized = "" if metadata is None else metadata.SerializeToString() if hasattr(metadata, "SerializeToString") else metadata
        return WriteSummary(writer, _step(step), tf.identity(tensor), tag, serialized, name=scope)

    return _summary_op(name, tensor, write, family)


def _serialize(graph: Any) -> bytes:
    return (graph.as_graph_def(add_shapes=True) if isinstance(graph, Graph) else graph).SerializeToString()


def graph(param: Any, step: Any = None, name: str | None = None) -> Any:
    """``tf.contrib.summary.graph``: an op that writes a serialized graph, which comes as a tensor."""
    if not isinstance(param, tf.Tensor):
        kind = type(param)
        hint = "; use initialize(graph=...)" if isinstance(param, (Graph, GraphDef)) else ""
        raise TypeError(f"graph() needs a tf.Tensor (e.g. tf.placeholder) in graph mode, but was: {kind}{hint}")
    if _defaults.writer is None:
        return tf.no_op()
    with device("cpu:0"):
        return WriteGraphSummary(_defaults.writer._resource, _step(step), tf.identity(param), name=name)


_graph = graph  # where an argument has the same name


def import_event(tensor: Any, name: str | None = None) -> Any:
    """``tf.contrib.summary.import_event``: an op that writes a serialized event as it is."""
    return ImportEvent(_defaults.writer._resource, tensor, name=name)


def eval_dir(model_dir: str, name: str | None = None) -> str:
    """``tf.contrib.summary.eval_dir``: where the summaries of an evaluation of ``model_dir`` belong."""
    return os.path.join(model_dir, "eval" if not name else "eval_" + name)
