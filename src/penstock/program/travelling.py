"""Handles between a step and its caller: what is fetched of a handle is its name, what is fed is looked up by it. See ``ops/travelling.py``."""
from __future__ import annotations

from penstock.graph import dtypes
from penstock.ops.travelling import HandleNames, NamedResource, ResourceName
from penstock.program.ir import Edge, Node, Program


def with_named_handles(program: Program) -> Program:
    """The program of a caller's step, to and from whom handles go by name; its own nodes are rewired."""
    fed = [arg for arg in program.args if arg.attrs["T"] is dtypes.resource]
    if fed:
        looked_up = {(arg, 0): (_looked_up(arg), 0) for arg in fed}
        for node in program.nodes:
            node.inputs = [looked_up.get(edge, edge) for edge in node.inputs]
        for arg in fed:
            node = looked_up[arg, 0][0]
            node.inputs = [(arg, 0)]
            arg.attrs = {**arg.attrs, "T": dtypes.string}
            arg._dtypes = None
            program.nodes.insert(program.nodes.index(arg) + 1, node)
        program.fetches = [looked_up.get(edge, edge) for edge in program.fetches]
    program.fetches = [_named(program, edge) for edge in program.fetches]
    return program


def _looked_up(arg: Node) -> Node:
    return Node(NamedResource, f"{arg.name}/_resource", {}, device=arg.device, origin=arg.origin)


def _named(program: Program, edge: Edge) -> Edge:
    """The edge that is fetched: if it carries a handle, that of a new node, which tells the name."""
    producer, index = edge
    if producer.output_dtypes[index] is dtypes.resource:
        definition = ResourceName
    elif producer.definition.outputs and producer.definition.outputs[0].is_ref and producer.definition.outputs[0].dtype is dtypes.string:
        definition = HandleNames  # of an op that says itself that its output is a reference to a string, whatever its attributes
    else:
        return edge
    node = Node(definition, f"{producer.name}/_name{index}", {}, [edge], device=producer.device, origin=producer.origin)
    program.nodes.append(node)
    return node, 0


