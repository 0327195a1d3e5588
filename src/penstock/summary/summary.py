"""``tf.summary.scalar`` and friends: summary ops with tags, kept in collections."""
from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tensorboard.compat.proto.summary_pb2 import SummaryMetadata

from penstock.graph import dtypes
from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.keys import GraphKeys
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.summaries import AudioSummaryV2, HistogramSummary, ImageSummary, MergeSummary, ScalarSummary, TensorSummaryV2
from penstock.variables.replicas import current_context


@contextmanager
def tag_and_scope(name: str, family: str | None, values: Any) -> Iterator[tuple[str, str]]:
    """(tag, scope) for a summary called ``name``: characters that a name cannot have become underscores."""
    clean = re.sub(r"[^-/\w\.]", "_", name).lstrip("/")
    scoped = clean if family is None else f"{family}/{clean}"
    with name_scope(scoped, values=values) as scope:
        yield (scope.rstrip("/") if family is None else f"{family}/{scope.rstrip('/')}"), scope


def _collect(summary: Tensor, collections: Any) -> Tensor:
    """Adds the summary to collections; of several replicas, that of the first."""
    context = current_context()
    if context is not None and context.replica_id_in_sync_group > 0:
        return summary
    for key in [GraphKeys.SUMMARIES] if collections is None else collections:
        default_graph().add_to_collection(key, summary)
    return summary


def scalar(name: str, tensor: Any, collections: Any = None, family: str | None = None) -> Tensor:
    """``tf.summary.scalar``: a number that TensorBoard draws over the steps."""
    with tag_and_scope(name, family, [tensor]) as (tag, scope):
        return _collect(ScalarSummary(tag, tensor, name=scope), collections)


def histogram(name: str, values: Any, collections: Any = None, family: str | None = None) -> Tensor:
    """``tf.summary.histogram``: how the values of a tensor are distributed over the steps."""
    with tag_and_scope(name, family, [values]) as (tag, scope):
        return _collect(HistogramSummary(tag, values, name=scope), collections)


def image(name: str, tensor: Any, max_outputs: int = 3, collections: Any = None, family: str | None = None) -> Tensor:
    """``tf.summary.image``: images [batch, height, width, channels] with 1, 3 or 4 channels."""
    with tag_and_scope(name, family, [tensor]) as (tag, scope):
        return _collect(ImageSummary(tag, tensor, max_images=max_outputs, name=scope), collections)


def audio(name: str, tensor: Any, sample_rate: Any, max_outputs: int = 3, collections: Any = None, family: str | None = None) -> Tensor:
    """``tf.summary.audio``: sounds [batch, frames] or [batch, frames, channels] in [-1, 1]."""
    with tag_and_scope(name, family, [tensor]) as (tag, scope):
        return _collect(AudioSummaryV2(tag, tensor, to_tensor(sample_rate, dtypes.float32, "sample_rate"), max_outputs=max_outputs, name=scope),
                        collections)


def tensor_summary(name: str, tensor: Any, summary_description: str | None = None, collections: Any = None, summary_metadata: Any = None,
                   family: str | None = None, display_name: str | None = None) -> Tensor:
    """``tf.summary.tensor_summary``: a whole tensor, with metadata for a plugin of TensorBoard."""
    metadata = SummaryMetadata() if summary_metadata is None else summary_metadata
    metadata.summary_description = summary_description or metadata.summary_description
    metadata.display_name = display_name or metadata.display_name
    with tag_and_scope(name, family, [tensor]) as (tag, scope):
        return _collect(TensorSummaryV2(tag, tensor, metadata.SerializeToString(), name=scope), collections)


def text(name: str, tensor: Any, collections: Any = None) -> Tensor:
    """``tf.summary.text``: strings, which TensorBoard shows as Markdown."""
    if to_tensor(tensor).dtype.base_dtype is not dtypes.string:
        raise ValueError(f"Expected tensor {to_tensor(tensor).name} to have dtype string, got {to_tensor(tensor).dtype.name}")
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))
    return tensor_summary(name, tensor, summary_metadata=metadata, collections=collections)


def _refuse_values() -> None:
    if default_graph().imperative:
        raise RuntimeError("Merging tf.summary.* ops is not compatible with eager execution. Use tf.contrib.summary instead.")


def merge(inputs: Any, collections: Any = None, name: str | None = None) -> Tensor:
    """``tf.summary.merge``: several summaries as one."""
    _refuse_values()
    with name_scope(name, "Merge", list(inputs)):
        merged = MergeSummary(list(inputs))
    return _collect(merged, collections or [])


def merge_all(key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None) -> Tensor | None:
    """``tf.summary.merge_all``: all summaries of the graph as one; None if there are none."""
    _refuse_values()
    summaries = default_graph().get_collection(key, scope)
    return merge(summaries, name=name) if summaries else None


# --- the names of the first releases ---------------------------------------------------------------------------------

def scalar_summary(tags: Any, values: Any, collections: Any = None, name: str | None = None) -> Tensor:
    """``tf.scalar_summary``: a number per tag; the tag is taken as it is."""
    return _collect(ScalarSummary(tags, values, name=name), collections)


def histogram_summary(tag: Any, values: Any, collections: Any = None, name: str | None = None) -> Tensor:
    """``tf.histogram_summary``: ``histogram`` with the tag as it is."""
    return _collect(HistogramSummary(tag, values, name=name), collections)


def image_summary(tag: Any, tensor: Any, max_images: int = 3, collections: Any = None, name: str | None = None) -> Tensor:
    """``tf.image_summary``: ``image`` with the tag as it is."""
    return _collect(ImageSummary(tag, tensor, max_images=max_images, name=name), collections)


def audio_summary(tag: Any, tensor: Any, sample_rate: Any, max_outputs: int = 3, collections: Any = None, name: str | None = None) -> Tensor:
    """``tf.audio_summary``: ``audio`` with the tag as it is."""
    return _collect(AudioSummaryV2(tag, tensor, to_tensor(sample_rate, dtypes.float32), max_outputs=max_outputs, name=name), collections)
