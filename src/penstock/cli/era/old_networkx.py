"""Names of graphs before NetworkX 2.4 and 3, as graph networks (GraphSAGE, GCN) use them; and their files, before 3.4."""
from __future__ import annotations

import functools
import inspect
from types import ModuleType
from typing import Any


def restore(networkx: ModuleType) -> None:
    """Gives graphs ``node``, the lists as iterators, and the package the functions that became methods."""
    graph = networkx.Graph
    for name, value in {"node": property(lambda self: self.nodes), "nodes_iter": lambda self, data=False: iter(self.nodes(data=data)),
                        "edges_iter": lambda self, *args, **options: iter(self.edges(*args, **options)),
                        "neighbors_iter": lambda self, n: iter(self.neighbors(n))}.items():
        if not hasattr(graph, name):
            setattr(graph, name, value)
    for name in ("from_numpy", "to_numpy", "from_scipy_sparse", "to_scipy_sparse"):
        if not hasattr(networkx, f"{name}_matrix"):
            setattr(networkx, f"{name}_matrix", getattr(networkx, f"{name}_array"))
    if not hasattr(networkx, "connected_component_subgraphs"):
        networkx.connected_component_subgraphs = lambda G, copy=True: (  # type: ignore[attr-defined]
            G.subgraph(nodes).copy() if copy else G.subgraph(nodes) for nodes in networkx.connected_components(G))
    _restore_links(networkx)


def _restore_links(networkx: ModuleType) -> None:
    """Edges of JSON files are called ``links``, as before NetworkX 3.4; files that call them ``edges`` are read, too."""
    read, write = networkx.node_link_graph, networkx.node_link_data
    if "edges" not in inspect.signature(write).parameters:
        return

    @functools.wraps(read)
    def node_link_graph(data: Any, *args: Any, **options: Any) -> Any:
        options.setdefault("edges", "edges" if "edges" in data and "links" not in data else "links")
        return read(data, *args, **options)

    @functools.wraps(write)
    def node_link_data(G: Any, *args: Any, **options: Any) -> Any:
        return write(G, *args, **{"edges": "links", **options})

    for module in (networkx, networkx.readwrite, networkx.readwrite.json_graph):
        module.node_link_graph, module.node_link_data = node_link_graph, node_link_data
