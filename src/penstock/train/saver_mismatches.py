"""Which variables of a graph do not fit a checkpoint: what an operation that fails to restore one cannot know."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.checkpoint.contents import CheckpointReader
from penstock.checkpoint.slices import parse_shape_and_slice
from penstock.graph.graph import Graph
from penstock.graph.node import Operation, Tensor
from penstock.graph.shape import TensorShape
from penstock.graph.static import constant_value


def describe_mismatches(graph: Graph, filename_tensor: str, path: str) -> str:
    """A line for each variable that a saver restores and whose shape or type differs in the checkpoint ``path``; empty if there is none."""
    reader = CheckpointReader(path)
    shapes, types = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
    lines = []
    for name, dtype, shape in _restored_tensors(graph.get_tensor_by_name(filename_tensor)):
        if name in shapes and (types[name] != dtype or not TensorShape(shapes[name]).is_compatible_with(shape)):
            lines.append(f"\n  {name}: {types[name].name}{shapes[name]} in the checkpoint, {dtype.name}{shape} in the graph")
    return "".join([*lines, "\n"]) if lines else ""


def _restored_tensors(filename: Tensor) -> Iterator[tuple[str, Any, TensorShape]]:
    """(key, type, shape of the whole variable) of each tensor that is read from a file."""
    for op in filename.consumers():
        keys, specs = (constant_value(tensor) for tensor in op.inputs[1:3]) if op.type == "RestoreV2" else (None, None)
        for tensor, key, spec in zip(op.outputs, keys, specs) if keys is not None and specs is not None else ():
            yield key.decode(), tensor.dtype, TensorShape(parse_shape_and_slice(spec.decode())[0]) if spec else _shape_of_taker(tensor.consumers())


def _shape_of_taker(consumers: list[Operation]) -> TensorShape:
    """The shape of the variable that takes a value."""
    for op in consumers:
        if op.type == "Assign":
            return op.inputs[0].shape
        if op.type == "EnsureShape":
            return TensorShape(op.attrs["shape"])
    return TensorShape(None)
