"""Calls of functions: Penstock has functions where ops take them as attributes, so a call is their nodes in its place."""
from __future__ import annotations

from tensorboard.compat.proto.node_def_pb2 import NodeDef

from penstock.capi.handles import GraphState
from penstock.errors import InvalidArgumentError
from penstock.graph import raw_ops
from penstock.graph.function_def import inline
from penstock.graph.node import Operation, Tensor


def add_call(state: GraphState, node: NodeDef, inputs: list[Tensor], control: list[Operation]) -> Operation:
    """The operation called ``node.name`` whose outputs are those of the function ``node.op``; its nodes stand in a scope of that name."""
    proto, graph = state.functions[node.op], state.graph
    wanted = [arg.type for arg in proto.signature.input_arg]
    given = [tensor.dtype.base_dtype.as_datatype_enum for tensor in inputs]
    if wanted != given:
        raise InvalidArgumentError(None, None, f"the function '{node.op}' takes arguments of types {wanted}, and '{node.name}' was given {given}")
    with graph.as_default(), graph.device(node.device or None), graph.control_dependencies(control):
        graph.unique_name(node.name)  # from now on it is taken
        results = inline(proto, inputs, f"{node.name}/")
        if results:
            op = raw_ops.IdentityN(results, name=f"{node.name}/")[0].op
        else:
            op = raw_ops.NoOp(name=f"{node.name}/")
    state.called[op] = node.op
    return op
