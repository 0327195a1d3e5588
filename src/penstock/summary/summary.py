"""``tf.summary.scalar`` and friends: summary ops with tags, kept in collections."""
from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from penstock.graph.graph import default_graph
from penstock.graph.keys import GraphKeys
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.summaries import HistogramSummary, MergeSummary, ScalarSummary


@contextmanager
def _tagged(name: str, family: str | None, values: Any) -> Iterator[tuple[str, str]]:
    """(tag, scope) for a summary called ``name``: characters that a name cannot have become underscores."""
    clean = re.sub(r"[^-/\w\.]", "_", name).lstrip("/")
    scoped = clean if family is None else f"{family}/{clean}"
    with name_scope(scoped, values=values) as scope:
        yield (scope.rstrip("/") if family is None else f"{family}/{scope.rstrip('/')}"), scope


def _collect(summary: Tensor, collections: Any) -> Tensor:
    for key in [GraphKeys.SUMMARIES] if collections is None else collections:
        default_graph().add_to_collection(key, summary)
    return summary


def scalar(name: str, tensor: Any, collections: Any = None, family: str | None = None) -> Tensor:
    """``tf.summary.scalar``: a number that TensorBoard draws over the steps."""
    with _tagged(name, family, [tensor]) as (tag, scope):
        return _collect(ScalarSummary(tag, tensor, name=scope), collections)


def histogram(name: str, values: Any, collections: Any = None, family: str | None = None) -> Tensor:
    """``tf.summary.histogram``: how the values of a tensor are distributed over the steps."""
    with _tagged(name, family, [values]) as (tag, scope):
        return _collect(HistogramSummary(tag, values, name=scope), collections)


def merge(inputs: Any, collections: Any = None, name: str | None = None) -> Tensor:
    """``tf.summary.merge``: several summaries as one."""
    with name_scope(name, "Merge", list(inputs)):
        merged = MergeSummary(list(inputs))
    return _collect(merged, collections or [])


def merge_all(key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None) -> Tensor | None:
    """``tf.summary.merge_all``: all summaries of the graph as one; None if there are none."""
    found = default_graph().get_collection(key, scope)
    return merge(found, name=name) if found else None
