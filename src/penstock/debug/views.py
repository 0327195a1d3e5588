"""NodeView: a node of a graph as printers and drawings see it, whatever it was made from: a Graph, a GraphDef, or the program of a step."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.graph.dtypes import as_dtype
from penstock.graph.node import Operation
from penstock.graph.shape import TensorShape, brackets
from penstock.program.ir import Node

_LONG = 40  # characters of an attribute's value that are shown


@dataclass
class NodeView:
    """One node. ``inputs`` are (name of the producer, which of its outputs); ``outputs`` tell types and shapes, such as ``float32[?,10]``."""

    name: str
    op: str
    device: str = ""
    inputs: list[tuple[str, int]] = field(default_factory=list)
    control: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    attrs: dict[str, str] = field(default_factory=dict)
    micros: int = 0  # how long it ran
    bytes: int = 0  # of its outputs


def of_graph(operations: Iterable[Operation]) -> list[NodeView]:
    """The operations of a Graph."""
    return [NodeView(op.name, op.type, op.device, [(tensor.op.name, tensor.value_index) for tensor in op._inputs],
                     [other.name for other in op._control_inputs], [tensor_text(each.dtype, each.shape) for each in op.outputs],
                     _attributes(op.attrs)) for op in operations]


def of_program(nodes: Iterable[Node]) -> list[NodeView]:
    """The nodes of a program, or of a part of one."""
    return [NodeView(node.name, node.definition.type, node.device, [(producer.name, index) for producer, index in node.inputs],
                     [other.name for other in node.control], _program_outputs(node), _attributes(node.attrs)) for node in nodes]


def _program_outputs(node: Node) -> list[str]:
    """Shapes are those of the user's op; what a pass has made has none."""
    known = node.origin.outputs if node.origin is not None and node.origin.type == node.definition.type else []
    shapes: list[Any] = [tensor.shape for tensor in known]
    return [tensor_text(dtype, shapes[index] if index < len(shapes) else TensorShape(None)) for index, dtype in enumerate(node.output_dtypes)]


def of_graph_def(graph_def: Any) -> list[NodeView]:
    """The nodes of a GraphDef, whose operations need not be known; shapes are there if the file has them."""
    return [_of_node_def(node) for node in graph_def.node]


def _of_node_def(node: Any) -> NodeView:
    inputs, control = [], []
    for name in node.input:
        if name.startswith("^"):
            control.append(name[1:])
        else:
            producer, _, index = name.partition(":")
            inputs.append((producer, int(index) if index.isdigit() else 0))
    shapes = node.attr["_output_shapes"].list.shape if "_output_shapes" in node.attr else ()
    dtype = next((as_dtype(node.attr[key].type).name for key in ("dtype", "T", "DstT", "out_type") if key in node.attr and node.attr[key].type), "")
    return NodeView(node.name, node.op, node.device, inputs, control, [dtype + _shape_text(TensorShape(shape)) for shape in shapes],
                    {key: _short(_proto_text(value)) for key, value in sorted(node.attr.items()) if not key.startswith("_")})


def tensor_text(dtype: Any, shape: TensorShape) -> str:
    """A type and a shape in one word: ``float32[?,10]``, ``float32[]`` for a scalar, ``float32`` if not even the rank is known."""
    return f"{dtype.name}{_shape_text(shape)}"


def _shape_text(shape: TensorShape) -> str:
    return "" if shape.ndims is None else brackets(shape)


def _attributes(attrs: dict[str, Any]) -> dict[str, str]:
    return {key: _short(_attribute_text(value)) for key, value in attrs.items()
            if not key.startswith("_") and value is not None and not (isinstance(value, (str, bytes)) and not value)}


def _attribute_text(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return np.array2string(value, threshold=6, separator=",").replace("\n", "") if value.size <= 6 else f"<{value.size} values>"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_attribute_text, value)) + "]"
    if isinstance(value, TensorShape):
        return _shape_text(value) or "?"
    return str(getattr(value, "name", value))


def _proto_text(value: Any) -> str:
    kind = value.WhichOneof("value")
    if kind == "tensor":
        return f"<tensor {_shape_text(TensorShape(value.tensor.tensor_shape))}>"
    if kind == "type":
        return as_dtype(value.type).name
    if kind == "shape":
        return _shape_text(TensorShape(value.shape))
    return str(getattr(value, kind)).strip().replace("\n", " ") if kind else ""


def _short(text: str) -> str:
    return text if len(text) <= _LONG else text[:_LONG - 1] + "…"


def add_costs(views: Sequence[NodeView], run_metadata: Any) -> None:
    """Tells each node what it cost in a traced step."""
    costs: dict[str, tuple[int, int]] = {}
    for device in run_metadata.step_stats.dev_stats:
        for stats in device.node_stats:
            micros, size = costs.get(stats.node_name, (0, 0))
            put_out = sum(output.tensor_description.allocation_description.requested_bytes for output in stats.output)
            costs[stats.node_name] = (micros + stats.all_end_rel_micros, size + put_out)
    for view in views:
        view.micros, view.bytes = costs.get(view.name, (0, 0))
