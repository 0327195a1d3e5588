"""Imperative style for one test: a graph of its own, which goes with it."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from penstock.imperative.eager_graph import EagerGraph
from penstock.imperative.segments import Runner


@contextmanager
def imperative(sync: bool = False) -> Iterator[EagerGraph]:
    """A ``with`` block in which operations give values."""
    graph = EagerGraph(Runner(sync=sync))
    with graph.as_default():
        yield graph
