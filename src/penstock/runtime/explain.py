"""Why a kernel could not work: when shapes were unknown while the graph was built, the op's shape function is asked again with the real ones.

Its message (``Dimensions must be equal, but are 2 and 3``) says more than NumPy's, and kernels need not repeat its checks.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.compiler.ir import Node
from penstock.graph.dtypes import resource
from penstock.graph.graph import Graph, Tensor
from penstock.graph.opdef import lookup
from penstock.graph.shape import TensorShape


def complaint(node: Node, inputs: list[Any]) -> str | None:
    """What the op's shape function says against the inputs of a kernel that failed; None if it agrees with them."""
    try:
        with Graph().as_default() as graph:
            tensors = tuple(_stand_in(graph, producer.output_dtypes[index], value) for (producer, index), value in zip(node.inputs, inputs))
            node.definition.add_node(graph, node.name, tensors, node.attrs)
    except ValueError as error:
        return str(error)
    except Exception:  # an explanation that cannot be had must not hide the error that it was meant for
        return None
    return None


def _stand_in(graph: Graph, dtype: Any, value: Any) -> Tensor:
    """A node that has the value of an input: a constant, or a placeholder where it is no array."""
    if isinstance(value, (np.ndarray, np.generic)) and dtype is not resource and not dtype.is_ref:
        return lookup("Const").add_node(graph, graph.unique_name("input"), (), {"value": np.asarray(value), "dtype": dtype}).outputs[0]
    shape = TensorShape(np.shape(value.value)) if getattr(value, "value", None) is not None else TensorShape(None)
    node = lookup("Placeholder").add_node(graph, graph.unique_name("input"), (), {"dtype": dtype, "shape": shape})
    return node.outputs[0]
