"""The graph: operations, tensors, types, shapes, scopes, and GraphDef in and out."""
from penstock.graph import export as _export  # noqa: F401 (gives Graph its as_graph_def)
from penstock.graph import late_inputs as _late_inputs  # noqa: F401 (gives Operation TensorFlow's own constructor)
