"""How large operations and variables of a model are, printed on demand."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.graph.graph import Graph


def tensor_description(var: Any) -> str:
    """``(float32 2x3)``."""
    return f"({var.dtype.name} {'x'.join(str(extent) for extent in var.shape)})"


def analyze_ops(graph: Graph, print_info: bool = False) -> int:
    """How many elements all outputs of all operations have, as far as shapes are known."""
    if print_info:
        print("---------\nOperations: name -> (type shapes) [size]\n---------")
    total = 0
    for op in graph.get_operations():
        size = sum(output.shape.num_elements() or 0 for output in op.outputs)
        if print_info:
            shapes = [tensor_description(output) for output in op.outputs if output.shape]
            print(op.name, "\t->", ", ".join(shapes), f"[{size}]")
        total += size
    return total


def analyze_vars(variables: Iterable[Any], print_info: bool = False) -> tuple[int, int]:
    """(number of elements, number of bytes) of variables."""
    if print_info:
        print("---------\nVariables: name (type shape) [size]\n---------")
    total_size = total_bytes = 0
    for var in variables:
        size = var.shape.num_elements() or 0
        total_size, total_bytes = total_size + size, total_bytes + size * var.dtype.size
        if print_info:
            print(var.name, tensor_description(var), f"[{size}, bytes: {size * var.dtype.size}]")
    if print_info:
        print(f"Total size of variables: {total_size}\nTotal bytes of variables: {total_bytes}")
    return total_size, total_bytes
