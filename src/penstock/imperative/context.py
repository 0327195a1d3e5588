"""Switching imperative style on, and asking whether it is on."""
from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tensorboard.compat.proto.config_pb2 import ConfigProto

from penstock.graph.graph import Graph, default_graph, has_global_graph, set_global_graph
from penstock.imperative.eager_graph import EagerGraph
from penstock.imperative.segments import Runner

_eager: EagerGraph | None = None
DEVICE_PLACEMENT_EXPLICIT, DEVICE_PLACEMENT_WARN, DEVICE_PLACEMENT_SILENT, DEVICE_PLACEMENT_SILENT_FOR_INT32 = range(4)
SYNC, ASYNC = 0, 1


def enable_eager_execution(config: Any = None, device_policy: Any = None, execution_mode: Any = None) -> None:
    """``tf.enable_eager_execution``: from now on, outside of graphs, operations give values at once.

    To be called at the start of a program. Calling it again does nothing. ``device_policy`` changes nothing: values are in the host's memory.
    """
    if config is not None and not isinstance(config, ConfigProto):
        raise TypeError(f"config must be a tf.ConfigProto, but got {type(config)}")
    if device_policy not in (None, *range(4)):
        raise ValueError("device_policy must be one of None, tf.contrib.eager.DEVICE_PLACEMENT_*")
    if execution_mode not in (None, SYNC, ASYNC):
        raise ValueError("execution_mode must be one of None, tf.contrib.eager.SYNC, tf.contrib.eager.ASYNC")
    if _eager is None and has_global_graph():
        raise ValueError("tf.enable_eager_execution must be called at program startup.")
    set_global_graph(ensure_eager_graph(config))


def disable_eager_execution() -> None:
    """``tf.disable_eager_execution``: back to graphs, for values that are made from now on."""
    if _eager is not None:
        set_global_graph(Graph())


def ensure_eager_graph(config: Any = None) -> EagerGraph:
    """The graph of imperative style, made when it is first asked for."""
    global _eager
    if _eager is None:
        _eager = EagerGraph(Runner(config, sync=os.environ.get("PENSTOCK_EAGER") == "sync"))
    return _eager


def renew_devices() -> None:
    """Asks again which devices there are, after a program has hidden some or made several of one. A ConfigProto of its own stays what it is."""
    if _eager is not None:
        _eager.runner.renew_devices()


def eager_graph() -> EagerGraph:
    """The graph of imperative style; it need not be the default graph at this moment."""
    assert _eager is not None
    return _eager


@contextmanager
def eager_mode() -> Iterator[None]:
    """Inside, operations give values."""
    with ensure_eager_graph().as_default():
        yield


@contextmanager
def graph_mode() -> Iterator[None]:
    """Inside, operations belong to a graph: the default graph, or a new one where operations give values."""
    graph = default_graph()
    with (Graph() if graph.imperative else graph).as_default():
        yield


def executing_eagerly() -> bool:
    """``tf.executing_eagerly``: do operations give values here? Not inside of graphs and functions that are traced."""
    return default_graph().imperative

