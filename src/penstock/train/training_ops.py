"""The operations that a training session needs, as Scaffold and Supervisor hold them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.graph.graph import Graph
from penstock.ops.flow.misc import group
from penstock.train.lookup import tables_initializer
from penstock.train.resources import local_resources
from penstock.variables.initialization import local_variables_initializer


def collected_or_new(graph: Graph, collection: str, make: Callable[[], Any]) -> Any:
    """The first item of a collection; if there is none, what ``make`` makes, which joins the collection unless it is None."""
    items = graph.get_collection(collection)
    if items:
        return items[0]
    item = make()
    if item is not None:
        graph.add_to_collection(collection, item)
    return item


def initialize_local_state() -> Any:
    """An operation that initializes all local variables and tables, and creates the resources of this task."""
    return group(local_variables_initializer(), tables_initializer(), *[each.create for each in local_resources()])


class TrainingOps:
    """What is run before training, and what is written during it."""

    _init_op: Any
    _init_feed_dict: Any
    _ready_op: Any
    _ready_for_local_init_op: Any
    _summary_op: Any
    _saver: Any

    @property
    def init_op(self) -> Any:
        """Initializes the variables if there is no checkpoint."""
        return self._init_op

    @property
    def init_feed_dict(self) -> Any:
        """Fed to ``init_op``."""
        return self._init_feed_dict

    @property
    def ready_op(self) -> Any:
        """The names of variables that have no value."""
        return self._ready_op

    @property
    def ready_for_local_init_op(self) -> Any:
        """The names of variables without a value that the local initialization needs; None if it needs none."""
        return self._ready_for_local_init_op

    @property
    def summary_op(self) -> Any:
        """All summaries as one; None if there are none."""
        return self._summary_op

    @property
    def saver(self) -> Any:
        """Saves and restores the variables."""
        return self._saver
