"""Files for plugins of TensorBoard, which a graph holds and a writer writes with it: ``tensorflow.python.summary.plugin_asset``."""
from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from penstock.graph.graph import Graph, default_graph

_PREFIX = "__tensorboard_plugin_asset__"


class PluginAsset(ABC):
    """The files of one plugin. A class of one's own says which: ``plugin_name``."""

    plugin_name: str | None = None

    @abstractmethod
    def assets(self) -> dict[str, str]:
        """{name of the file: its text}."""


def get_plugin_asset(plugin_asset_cls: Any, graph: Graph | None = None) -> Any:
    """The object of this class that the graph has; it is made at the first call."""
    graph = graph or default_graph()
    if not plugin_asset_cls.plugin_name:
        raise ValueError(f"Class {plugin_asset_cls.__name__} has no plugin_name")
    name = _PREFIX + plugin_asset_cls.plugin_name
    if not graph.get_collection(name):
        graph.add_to_collection(name, plugin_asset_cls())
        graph.add_to_collection(_PREFIX, plugin_asset_cls.plugin_name)
    instance = _only(graph, name)
    if not isinstance(instance, plugin_asset_cls):
        raise ValueError(f"Plugin name collision between classes {plugin_asset_cls.__name__} and {type(instance).__name__}")
    return instance


def get_all_plugin_assets(graph: Graph | None = None) -> list[Any]:
    """Those of all plugins."""
    graph = graph or default_graph()
    return [_only(graph, _PREFIX + name) for name in graph.get_collection(_PREFIX)]


def _only(graph: Graph, name: str) -> Any:
    items = graph.get_collection(name)
    if len(items) != 1:
        raise ValueError(f"Collection for {name} had {len(items)} items, expected 1")
    return items[0]
