"""Operations that get their inputs after they were made, as TensorFlow up to 1.6 let programs make them: Edward copies graphs in this way.

    op = tf.Operation(node_def, graph, [], output_types, [], [], original_op, op_def)
    graph._add_op(op)                # from now on it is found by its name
    op._add_input(tensor)            # one after the other
    ops.set_shapes_for_outputs(op)   # when all are there

An operation may so stand in the graph before what it depends on; a step sorts its operations anyway (``traverse.py``).
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorboard.compat.proto.node_def_pb2 import NodeDef

from penstock.graph.importer import attributes_of
from penstock.graph.node import Operation
from penstock.graph.opdef import REGISTRY
from penstock.graph.shape import unknown_shape

if TYPE_CHECKING:
    from penstock.graph.graph import Graph


def _begin(op: Operation, node_def: NodeDef, g: Graph, inputs: Any = None, output_types: Any = None, control_inputs: Any = None,
           input_types: Any = None, original_op: Operation | None = None, op_def: Any = None) -> None:
    """The constructor: ``op`` is what the NodeDef describes. The types and ``op_def`` follow from that, and are not looked at."""
    definition = REGISTRY[node_def.op]
    attributes = attributes_of(definition, node_def)
    outputs = [(dtype, unknown_shape()) for dtype in definition.output_dtypes(attributes)]
    Operation.__init__(op, g, definition, node_def.name, tuple(inputs or ()), attributes, outputs)
    op._control_inputs = list(control_inputs or ())
    op._set_device(node_def.device)
    op._original_op = original_op
    for name, value in node_def.attr.items():
        if name not in definition.attrs:
            op._set_attr(name, value)


Operation._begin = _begin


def set_shapes_for_outputs(op: Operation) -> None:
    """What is known of the shapes of the outputs, now that the inputs are there."""
    for tensor, shape in zip(op.outputs, op.definition.infer_shapes(op.name, op._inputs, op.attrs, len(op.outputs))):
        tensor.set_shape(shape)
