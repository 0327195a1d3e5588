"""A graph as a GraphDef: its nodes (``exporter.py``) and the functions that they call (``function_def.py``)."""
from __future__ import annotations

from collections.abc import Callable

from tensorboard.compat.proto.graph_pb2 import GraphDef

from penstock.graph import graph
from penstock.graph.exporter import NONE_KEPT, Exporter, Kept
from penstock.graph.function_def import called_functions, to_library
from penstock.graph.graph import Graph
from penstock.graph.node import Operation, Tensor


def _never(op: Operation) -> bool:
    return False


def export(source: Graph, from_version: int | None = None, add_shapes: bool = False) -> GraphDef:
    """The graph, from the op made after ``from_version`` on, with the shapes of its tensors if ``add_shapes``."""
    return _export(Exporter(source, add_shapes), source, NONE_KEPT, from_version)


def export_functional(source: Graph) -> GraphDef:
    """The whole graph with its conditionals and loops as they are: what tasks of a cluster tell each other. All names are those of the graph."""
    kept = Kept(lambda op: True)
    return _export(Exporter(source, False, kept), source, kept)


def export_with_names(source: Graph, keeps: Callable[[Operation], bool] = _never) -> tuple[GraphDef, Callable[[Operation | Tensor], str]]:
    """The whole graph, and a function that says what one of its tensors (``name:index``) or operations is called in the export.

    Conditionals and loops are nodes in it, but for those of which ``keeps`` says that they stay operations.
    """
    kept = Kept(keeps)
    exporter = Exporter(source, False, kept)
    return _export(exporter, source, kept), exporter.name_of


def _export(exporter: Exporter, source: Graph, kept: Kept, from_version: int | None = None) -> GraphDef:
    """The nodes, and the functions that they call."""
    graph_def = GraphDef(versions=source.graph_def_versions)
    functions = called_functions((op for op in source._ops if from_version is None or op._id > from_version), kept)
    functions += [function for function in source._functions.values() if function not in functions]
    exporter.emit(source, None, from_version)
    graph_def.node.extend(exporter.nodes)
    if functions:
        graph_def.library.CopyFrom(to_library(functions, kept))
    return graph_def


graph._Later.export = staticmethod(export)
