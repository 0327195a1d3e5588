"""A graph as a GraphDef: its nodes (``exporter.py``) and the functions that they call (``function_def.py``)."""
from __future__ import annotations

from collections.abc import Callable

from tensorboard.compat.proto.graph_pb2 import GraphDef

from penstock.graph import graph
from penstock.graph.exporter import Exporter
from penstock.graph.function_def import called_functions, to_function_def
from penstock.graph.graph import Graph
from penstock.graph.node import Operation, Tensor


def export(source: Graph, from_version: int | None = None, add_shapes: bool = False) -> GraphDef:
    """The graph, from the op made after ``from_version`` on, with the shapes of its tensors if ``add_shapes``."""
    exporter = Exporter(source, add_shapes)
    exporter.emit(source, None, from_version)
    return _with_functions(exporter, source, from_version)


def _with_functions(exporter: Exporter, source: Graph, from_version: int | None = None) -> GraphDef:
    """The nodes, and the functions that they call."""
    graph_def = GraphDef(versions=source.graph_def_versions)
    graph_def.node.extend(exporter.nodes)
    functions = called_functions(op for op in source._ops if from_version is None or op._id > from_version)
    if functions:
        graph_def.library.function.extend(to_function_def(function) for function in functions)
    return graph_def


def export_with_names(source: Graph) -> tuple[GraphDef, Callable[[Operation | Tensor], str]]:
    """The whole graph, and a function that says what one of its tensors (``name:index``) or operations is called in the export."""
    exporter = Exporter(source, False)
    exporter.emit(source, None)
    return _with_functions(exporter, source), exporter.name_of


graph._Later.export = staticmethod(export)
