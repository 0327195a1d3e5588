"""Operations that write summaries to an event file themselves. The state is a ``penstock.state.event_writers.EventWriter``."""
from __future__ import annotations

from typing import Any

import numpy as np
from google.protobuf.message import DecodeError
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import TYPE, Attr, types
from penstock.graph.opdef import op
from penstock.ops.common import REAL, fixed, nothing
from penstock.ops.queues.handles import find_or_create, plain
from penstock.ops.summaries import AudioSummaryV2, HistogramSummary, ImageSummary, ScalarSummary, TensorSummaryV2
from penstock.state.event_writers import EventWriter


def _text(value: Any) -> str:
    return bytes(np.asarray(value, object)[()]).decode()


def _write(writer: Any, step: Any, serialized: Any) -> tuple[()]:
    plain(writer).add(Event(step=int(step), summary=Summary.FromString(np.asarray(serialized, object)[()])))
    return ()


class _Writes:
    """What the ops below share: they have an effect, and no outputs."""

    stateful = True
    shape = nothing()
    gradient = None


@op("SummaryWriter", "-> writer: resource", shared_name="", container="")
class SummaryWriter:
    """A writer of summaries; it is opened by another op."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(ctx, container, shared_name):
        return find_or_create(ctx, "SummaryWriter", container, shared_name, EventWriter, by_node=True)


@op("CreateSummaryFileWriter", "writer: resource, logdir: string, max_queue: int32, flush_millis: int32, filename_suffix: string ->")
class CreateSummaryFileWriter(_Writes):
    """Opens the event file of a writer, unless it is open."""

    def kernel(writer, logdir, max_queue, flush_millis, filename_suffix):
        plain(writer).open(_text(logdir), int(max_queue), int(flush_millis), _text(filename_suffix))
        return ()


@op("FlushSummaryWriter", "writer: resource ->")
class FlushSummaryWriter(_Writes):
    """Writes what has been added."""

    def kernel(writer):
        plain(writer).flush()
        return ()


@op("CloseSummaryWriter", "writer: resource ->")
class CloseSummaryWriter(_Writes):
    """Ends the event file."""

    def kernel(writer):
        plain(writer).close()
        return ()


@op("WriteScalarSummary", "writer: resource, step: int64, tag: string, value: T ->", T=REAL)
class WriteScalarSummary(_Writes):
    """Adds a number."""

    ranks = {"step": 0, "tag": 0, "value": 0}

    def kernel(writer, step, tag, value):
        return _write(writer, step, ScalarSummary.kernel(np.asarray(tag, object), value))


@op("WriteHistogramSummary", "writer: resource, step: int64, tag: string, values: T ->", T=types(*REAL, default=dt.float32))
class WriteHistogramSummary(_Writes):
    """Adds how the values of a tensor are distributed."""

    ranks = {"step": 0, "tag": 0}

    def kernel(writer, step, tag, values):
        return _write(writer, step, HistogramSummary.kernel(np.asarray(tag, object), values))


@op("WriteImageSummary", "writer: resource, step: int64, tag: string, tensor: T, bad_color: uint8 ->", max_images=Attr("int", 3, minimum=1),
    T=types(dt.uint8, dt.float32, dt.float16, default=dt.float32))
class WriteImageSummary(_Writes):
    """Adds images of a batch."""

    ranks = {"step": 0, "tag": 0}

    def kernel(writer, step, tag, tensor, bad_color, max_images):
        return _write(writer, step, ImageSummary.kernel(np.asarray(tag, object), tensor, max_images, bad_color))


@op("WriteAudioSummary", "writer: resource, step: int64, tag: string, tensor: float, sample_rate: float ->", max_outputs=Attr("int", 3, minimum=1))
class WriteAudioSummary(_Writes):
    """Adds sounds of a batch."""

    ranks = {"step": 0, "tag": 0}

    def kernel(writer, step, tag, tensor, sample_rate, max_outputs):
        return _write(writer, step, AudioSummaryV2.kernel(np.asarray(tag, object), tensor, sample_rate, max_outputs))


@op("WriteSummary", "writer: resource, step: int64, tensor: T, tag: string, summary_metadata: string ->", T=TYPE)
class WriteSummary(_Writes):
    """Adds a whole tensor, for a plugin of TensorBoard."""

    ranks = {"step": 0, "tag": 0, "summary_metadata": 0}

    def kernel(writer, step, tensor, tag, summary_metadata):
        return _write(writer, step, TensorSummaryV2.kernel(np.asarray(tag, object), np.asarray(tensor), np.asarray(summary_metadata, object)))


@op("WriteGraphSummary", "writer: resource, step: int64, tensor: string ->")
class WriteGraphSummary(_Writes):
    """Adds a serialized GraphDef."""

    ranks = {"step": 0, "tensor": 0}

    def kernel(writer, step, tensor):
        plain(writer).add(Event(step=int(step), graph_def=np.asarray(tensor, object)[()]))
        return ()


@op("ImportEvent", "writer: resource, event: string ->")
class ImportEvent(_Writes):
    """Adds a serialized Event as it is."""

    ranks = {"event": 0}

    def kernel(writer, event):
        try:
            plain(writer).add(Event.FromString(np.asarray(event, object)[()]))
        except DecodeError:
            raise invalid_argument("Could not parse the event") from None
        return ()
