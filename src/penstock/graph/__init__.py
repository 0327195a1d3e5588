"""The graph: operations, tensors, types, shapes, scopes, and GraphDef in and out."""
