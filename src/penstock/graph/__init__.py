"""The graph: operations, tensors, types, shapes, scopes, and GraphDef in and out."""
from penstock.graph import export as _export  # noqa: F401 (gives Graph its as_graph_def)
