"""``tf.test.assert_equal_graph_def``."""
from __future__ import annotations

from typing import Any

from tensorboard.compat.proto.graph_pb2 import GraphDef


def assert_equal_graph_def(actual: Any, expected: Any, checkpoint_v2: bool = False, hash_table_shared_name: bool = False) -> None:
    """Raises AssertionError unless both GraphDefs have the same nodes, in whatever order. Versions do not count."""
    for value in (actual, expected):
        if not isinstance(value, GraphDef):
            raise TypeError(f"Expected a GraphDef, got {type(value).__name__}")
    left, right = ({node.name: node for node in graph.node} for graph in (actual, expected))
    if left.keys() != right.keys():
        raise AssertionError(f"The nodes differ. Only in the actual graph: {sorted(left.keys() - right.keys())}; "
                             f"only in the expected one: {sorted(right.keys() - left.keys())}.")
    for name, node in left.items():
        if node != right[name]:
            raise AssertionError(f"Node {name!r} differs. Actual:\n{node}\nExpected:\n{right[name]}")
