"""Names of graphs before NetworkX 2.4 and 3, as graph networks (GraphSAGE, GCN) use them."""
from __future__ import annotations

from types import ModuleType


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
